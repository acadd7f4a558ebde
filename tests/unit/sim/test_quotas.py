"""A pod beyond a ResourceQuota is created once the quota has capacity again."""

from pathlib import Path

import pytest

from stretto.api.wire.kinds import POD, RESOURCE_QUOTA
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.inputs.scenario.feed import Feed, materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.plane.copy import SchedulingRules
from stretto.sim.feeder import Feeder
from stretto.sim.history.virtual_run import run_scenario
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion, Store

QUOTA = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: team}
spec: {hard: {requests.cpu: "4"}}
"""
SCENARIO = """
fleet: {shapes: [{count: 2, cpu: 8, memory: 32Gi}]}
workloads:
  - manifests: [quota.yaml]
  - {name: job, pods: {count: 5, cpu: 2, memory: 1Gi}}
"""


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    """Five pods of two cores, and a quota of four cores."""
    (tmp_path / "quota.yaml").write_text(QUOTA)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return materialise(load_scenario(tmp_path / "s.yaml"), Rng(0))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(ManualClock(), Rng(0))


def names(store: Store) -> list[str]:
    return [record.name for record in store.list(POD).records]


def test_pods_beyond_a_quota_are_not_created(feed: Feed, store: MemoryStore) -> None:
    feeder = Feeder(feed, store, "s")
    feeder.feed(0)
    assert (names(store), feeder.pods) == (["job-0", "job-1"], 2)
    refused = feeder.quotas.refused
    assert list(refused) == [f"default/job-{i}" for i in (2, 3, 4)]
    assert "exceeded quota: team, requested: requests.cpu=2" in refused["default/job-2"].message


def test_without_a_change_of_the_quota_nothing_is_tried(feed: Feed, store: MemoryStore) -> None:
    feeder = Feeder(feed, store, "s")
    feeder.feed(0)
    assert feeder.next_due() == float("inf")
    assert feeder.feed(1000) == 0


@pytest.mark.parametrize(("freed", "tried"), [(0.5, 1), (2, 3), (8, 15), (100, 123)])
def test_a_freed_quota_is_used_at_the_next_attempt(
    feed: Feed, store: MemoryStore, freed: float, tried: float
) -> None:
    feeder = Feeder(feed, store, "s")
    feeder.feed(0)
    store.delete(POD, [Deletion("default", "job-0")])
    feeder.feed(freed)
    assert (names(store), feeder.next_due()) == (["job-1"], tried)
    feeder.feed(tried)
    assert (names(store), feeder.next_due()) == (["job-1", "job-2"], float("inf"))


def test_a_run_goes_on_with_the_pods_that_were_refused(feed: Feed, store: MemoryStore) -> None:
    first = Feeder(feed, store, "s")
    first.feed(0)
    store.delete(POD, [Deletion("default", "job-1")])
    again = Feeder(feed, store, "s")
    again.feed(0)
    assert (names(store), list(again.quotas.refused)) == (
        ["job-0", "job-2"],
        ["default/job-3", "default/job-4"],
    )


def test_jobs_run_one_after_another_within_a_quota(tmp_path: Path) -> None:
    (tmp_path / "quota.yaml").write_text(QUOTA)
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("memory: 1Gi}", "memory: 1Gi, duration: 10}"))
    ended = run_scenario(tmp_path / "s.yaml", SchedulingRules("", "numpy"))
    assert (ended.live.sample().arrived, ended.live.refused, names(ended.site.store)) == (5, {}, [])
    assert ended.site.store.list(RESOURCE_QUOTA).records

"""The default division in columns, and what one cluster after the other gives."""

import numpy as np
import pytest

from stretto.api.types.core import Taint
from stretto.base.rng import Rng
from stretto.federation.planner.division import apportion
from stretto.federation.planner.hashes import fnv1a, fnv1a_each
from stretto.federation.scheduling.fleet import Amounts, MemberCluster
from stretto.federation.scheduling.replicas.default import default_division
from stretto.federation.scheduling.supply import SupplyTable
from stretto.federation.scheduling.workload import FederatedWorkload, ReplicaLimits
from stretto.state.nodes.taints import NO_SCHEDULE
from tests.support.references.fleet_division import plain_division

NAMES = tuple("abcdefghij")
REQUEST = {"cpu": 1000, "memory": 3}


def cluster(rng: Rng, name: str) -> MemberCluster:
    size = {"cpu": 1000 * rng.randint(0, 60), "memory": 200}
    return MemberCluster(
        name,
        taints=(Taint("key", NO_SCHEDULE, ""),) if rng.random() < 0.1 else (),
        allocatable=size if rng.random() < 0.9 else {},
        available={"cpu": rng.randint(-3000, size["cpu"]), "memory": rng.randint(0, 200)},
    )


def some(rng: Rng, share: float, most: int) -> dict[str, int]:
    return {name: rng.randint(0, most) for name in NAMES if rng.random() < share}


def workload(rng: Rng) -> FederatedWorkload:
    limits = ReplicaLimits(
        minimum=some(rng, 0.2, 5),
        maximum=some(rng, 0.2, 30),
        weights=some(rng, 0.8, rng.choice([3, 10, 1000])) if rng.random() < 0.5 else {},
        limited=some(rng, 0.05, 9),
        estimated=some(rng, 0.1, 20),
        keep_unschedulable=rng.random() < 0.3,
        avoid_disruption=rng.random() < 0.7,
    )
    return FederatedWorkload(
        f"default/w{rng.randint(0, 99)}",
        rng.randint(1, 150),
        request=rng.choice([REQUEST, {}]),
        current=some(rng, 0.3, 30),
        running=some(rng, 0.3, 30) if rng.random() < 0.7 else None,
        limits=limits,
    )


@pytest.mark.parametrize("seed", range(60))
def test_columns_give_what_each_cluster_gives(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Rng(seed)
    clusters, one = [cluster(rng, name) for name in NAMES], workload(rng)
    supply, at = SupplyTable(clusters), np.arange(len(clusters))
    promised: dict[str, Amounts] = {x.name: {"cpu": rng.randint(0, 9000)} for x in clusters}
    supply.promise(at, np.array([x["cpu"] for x in promised.values()]), {"cpu": 1})
    found = default_division()(one, supply, at)
    monkeypatch.setattr(apportion, "sequence_counts", lambda *_: None)
    expected = plain_division(one, clusters, promised)
    assert found.replicas == {name: count for name, count in expected.total().items() if count}
    assert (found.waiting, found.unplaced) == (expected.pending, expected.unplaced)


@pytest.mark.parametrize("count", [3, 40])
def test_hashes_of_many_names_are_those_of_each(count: int) -> None:
    names = [f"cluster-{number}" for number in range(count)]
    prefixes = np.array([fnv1a(name) for name in names], np.uint32)
    found = fnv1a_each(prefixes, "default/wéb").tolist()
    assert found == [fnv1a(name + "default/wéb") for name in names]

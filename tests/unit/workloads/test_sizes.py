"""Workloads that are much larger than their cluster: pods beyond a limit are not created."""

from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import DEPLOYMENT, JOB, NODE, POD, STATEFUL_SET, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.federation.settings import FederationSettings
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.loop import ReconcileLoop
from stretto.sim.fleet.controllers import MOST_WAITING
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Patch, Record, Store
from stretto.testing import make_node
from stretto.workloads.cluster import BURST, LocalCluster

MOST = 2**31 - 1
FITTING = 4
LABELS = {"app": "web"}
CONTAINER = {"name": "main", "image": "v1", "resources": {"requests": {"cpu": "1"}}}
SPEC: dict[str, Any] = {
    "selector": {"matchLabels": LABELS},
    "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}},
}


@pytest.fixture
def fleet() -> EmbeddedFleet:
    fleet = EmbeddedFleet(ManualClock(1_000_000.0), FederationSettings())
    fleet.add_member("alpha", [make_node("n0", cpu=FITTING)])
    return fleet


def store(fleet: EmbeddedFleet) -> Store:
    return fleet.members["alpha"].store


def create(fleet: EmbeddedFleet, kind: Kind, **spec: Any) -> None:
    body = {"metadata": {"name": "web"}, "spec": {**SPEC, **spec}}
    store(fleet).create(kind, [msgspec.json.encode(body)])


def pods_after(fleet: EmbeddedFleet, seconds: float = 20.0) -> int:
    fleet.run_until(fleet.clock.monotonic() + seconds)
    return len(store(fleet).list(POD).records)


def test_the_largest_deployment_costs_its_capacity_and_the_pods_that_may_wait(
    fleet: EmbeddedFleet,
) -> None:
    create(fleet, DEPLOYMENT, replicas=MOST)
    assert pods_after(fleet) == FITTING + MOST_WAITING


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        (STATEFUL_SET, {"replicas": MOST, "podManagementPolicy": "Parallel"}),
        (JOB, {"parallelism": MOST, "completions": MOST, "completionMode": "Indexed"}),
        (JOB, {"parallelism": MOST, "completions": MOST}),
    ],
)
def test_so_does_every_kind_that_creates_pods_at_once(
    kind: Kind, spec: dict[str, Any], fleet: EmbeddedFleet
) -> None:
    create(fleet, kind, **spec)
    assert pods_after(fleet) == FITTING + MOST_WAITING


def test_more_pods_follow_as_nodes_are_added(fleet: EmbeddedFleet) -> None:
    create(fleet, DEPLOYMENT, replicas=MOST)
    pods_after(fleet)
    store(fleet).create(NODE, [make_node("n1", cpu=FITTING)])
    assert pods_after(fleet) == 2 * FITTING + MOST_WAITING


def test_a_workload_that_shrinks_keeps_its_replicas(fleet: EmbeddedFleet) -> None:
    create(fleet, DEPLOYMENT, replicas=MOST)
    pods_after(fleet)
    store(fleet).patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"replicas": 3}})])
    assert pods_after(fleet) == 3


def test_a_cluster_without_a_limit_creates_pods_in_batches() -> None:
    clock = ManualClock(0.0)
    cache = ReconcileLoop(clock).add_store("alpha", MemoryStore(clock, Rng(1)))
    cluster = LocalCluster(cache, clock)
    waiting = [StoredObject(Record(POD, "default", "web", "uid", 1, b"{}"))] * MOST_WAITING
    assert cluster.creatable(MOST, waiting) == BURST

"""Centralized autoscalers: the host scales sources by what the pods of all members use."""

from concurrent.futures import Future
from typing import Any

import msgspec
import pytest

from stretto.api.kinds.federation import FEDERATED_TYPE_CONFIG
from stretto.api.types.capacity.autoscaling import ScaleTargetRef
from stretto.api.types.capacity.metrics import ContainerMetrics, PodMetrics
from stretto.api.wire.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER
from stretto.api.wire.meta import ObjectMeta
from stretto.base.clock import ManualClock
from stretto.base.errors import UnreachableError
from stretto.federation import names
from stretto.federation.scaling.metrics import FleetMetrics
from stretto.federation.scaling.pods import FleetPods
from stretto.federation.scaling.sources import SourceScales
from stretto.reconcile.reconciler import RetryError
from stretto.reconcile.scales import NoScaleError
from stretto.reconcile.usage import WITHIN_S
from stretto.sim.fleet.server.availability import ServerAvailability
from stretto.stores.render import render
from stretto.stores.store import Patch
from stretto.workloads.use.annotations import USE
from tests.support.federation_world import REPLICAS, FederationWorld

TYPES = FEDERATED_TYPE_CONFIG.kind
PATHS = {**REPLICAS, "labelSelector": "spec.selector"}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
WEB = ScaleTargetRef(kind="Deployment", name="web", api_version="apps/v1")


@pytest.fixture
def world() -> FederationWorld:
    made = FederationWorld()
    change = {"spec": {"pathDefinition": PATHS}}
    made.host.patch(TYPES, [Patch("", "deployments.apps", change)])
    made.policy()
    return made


def deployment(world: FederationWorld, replicas: int, use: str) -> None:
    """A Deployment whose pods request 200 millicores each and use a stated amount."""
    container = {"name": "main", "image": "app:v1", "resources": {"requests": {"cpu": "200m"}}}
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels, "annotations": {USE: f"cpu={use}"}},
        "spec": {"containers": [container]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    world.create(DEPLOYMENT, "web", metadata={"labels": {names.POLICY: "plan"}}, spec=spec)
    world.run()


def autoscaler(world: FederationWorld, mode: str = "centralized", name: str = "web") -> None:
    """One that keeps the pods at half of their requests."""
    target = {"type": "Utilization", "averageUtilization": 50}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    spec = {"scaleTargetRef": TARGET, "minReplicas": 1, "maxReplicas": 20, "metrics": metrics}
    labels = {names.HPA_MODE: mode}
    world.create(HORIZONTAL_POD_AUTOSCALER, name, metadata={"labels": labels}, spec=spec)
    world.run(40.0)


def source(world: FederationWorld) -> int:
    record = world.host.get(DEPLOYMENT, "default", "web")
    assert record is not None
    replicas: int = msgspec.json.decode(render(record))["spec"]["replicas"]
    return replicas


def status(world: FederationWorld) -> dict[str, Any]:
    record = world.host.get(HORIZONTAL_POD_AUTOSCALER, "default", "web")
    assert record is not None
    found: dict[str, Any] = msgspec.json.decode(render(record))["status"]
    return found


def test_the_pods_of_all_members_count(world: FederationWorld) -> None:
    deployment(world, 3, use="200m")
    autoscaler(world)
    assert source(world) > 3
    assert sum(count or 0 for count in world.placed().values()) == source(world)
    current = status(world)["currentMetrics"][0]["resource"]["current"]
    assert current["averageUtilization"] == 100


def test_a_distributed_autoscaler_scales_nothing_on_the_host(world: FederationWorld) -> None:
    deployment(world, 3, use="200m")
    autoscaler(world, mode="distributed")
    assert source(world) == 3


def test_a_workload_does_not_shrink_without_the_metrics_of_a_member(world: FederationWorld) -> None:
    deployment(world, 6, use="100m")
    world.fleet.members["gamma"].served.set_availability(ServerAvailability.SILENT)
    autoscaler(world)
    world.run(400.0)
    assert source(world) == 6


def test_a_workload_shrinks_to_what_its_pods_use(world: FederationWorld) -> None:
    deployment(world, 9, use="20m")
    autoscaler(world)
    world.run(400.0)
    assert source(world) == 2
    assert sum(count or 0 for count in world.placed().values()) == 2


def test_a_kind_without_replicas_states_the_fix(world: FederationWorld) -> None:
    world.run()
    scales = SourceScales(world.fleet.federation.fleet)
    with pytest.raises(NoScaleError, match="create its FederatedTypeConfig"):
        scales.read("default", ScaleTargetRef(kind="Job", name="web", api_version="batch/v1"))
    with pytest.raises(NoScaleError, match="correct scaleTargetRef"):
        scales.read("default", WEB)


class SlowMember:
    """A member whose answers come when the test gives them."""

    def __init__(self) -> None:
        self.answers: list[Future[list[PodMetrics]]] = []

    def usage(self, namespace: str) -> Future[list[PodMetrics]]:
        self.answers.append(Future())
        return self.answers[-1]


class Slow:
    """Metrics of a fleet of one member that answers late."""

    def __init__(self, world: FederationWorld) -> None:
        self.clock = ManualClock(0.0)
        self.member = SlowMember()
        connections: dict[str, Any] = {"alpha": self.member}
        pods = FleetPods(world.fleet.federation.fleet)
        self.metrics = FleetMetrics(pods, connections.get, self.clock)


@pytest.fixture
def slow(world: FederationWorld) -> Slow:
    deployment(world, 3, use="200m")
    return Slow(world)


def test_an_evaluation_waits_for_an_answer_and_sends_one_request(slow: Slow) -> None:
    for _ in range(2):
        with pytest.raises(RetryError, match="alpha"):
            slow.metrics.pods("default")
    use = (ContainerMetrics("main", {"cpu": "1"}),)
    measured = PodMetrics(ObjectMeta("web-1"), "2026-01-01T00:00:00Z", "15s", use)
    slow.member.answers[0].set_result([measured])
    assert [each.metadata.name for each in slow.metrics.pods("default")] == ["alpha/web-1"]
    assert len(slow.member.answers) == 1


def test_a_member_that_does_not_answer_delays_no_evaluation_for_long(slow: Slow) -> None:
    with pytest.raises(RetryError):
        slow.metrics.pods("default")
    slow.clock.advance(WITHIN_S)
    assert slow.metrics.pods("default") == []


def test_a_member_without_metrics_has_none(slow: Slow) -> None:
    with pytest.raises(RetryError):
        slow.metrics.pods("default")
    slow.member.answers[0].set_exception(UnreachableError("list pods", "not served"))
    assert slow.metrics.pods("default") == []

"""ScalingPolicies in a cluster with a scheduler, Deployments and a kubelet."""

from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import DEPLOYMENT, NODE, SCALING_POLICY
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.capacity.scaling.controller import TRIED_AGAIN_S, ScalingController
from stretto.reconcile.loop import ReconcileLoop
from stretto.sim.fleet.member import EmbeddedMember
from stretto.stores.render import render
from stretto.stores.store import Deletion, Patch
from stretto.testing import make_node

Fields = dict[str, Any]


class ScaledCluster:
    """Nodes of two zones, and a Deployment of one-core pods for each zone."""

    def __init__(self) -> None:
        self.clock = ManualClock(1_000_000.0)
        nodes = [make_node("e0", cpu=4, zone="east"), make_node("w0", cpu=8, zone="west")]
        self.member = EmbeddedMember("local", self.clock, Rng(0), nodes)
        self.store = self.member.store
        for zone in ("east", "west"):
            self._deploy(zone)
        self.start()

    def start(self) -> None:
        """Start the controller, as after a restart."""
        self.loop = ReconcileLoop(self.clock)
        cache = self.loop.add_store("local", self.store)
        self.loop.add_controllers([ScalingController(cache, self.clock)])

    def _deploy(self, zone: str) -> None:
        container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
        pod = {
            "nodeSelector": {"topology.kubernetes.io/zone": zone},
            "containers": [container],
        }
        labels = {"app": "web", "zone": zone}
        template = {"metadata": {"labels": labels}, "spec": pod}
        spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
        body = {"metadata": {"name": f"web-{zone}"}, "spec": spec}
        self.store.create(DEPLOYMENT, [msgspec.json.encode(body)])

    def policy(self, replicas: int, *groups: Fields, **more: Any) -> None:
        spec = {"replicas": replicas, "groups": groups, "selector": "app=web", **more}
        body = {"metadata": {"name": "web"}, "spec": spec}
        (reply,) = self.store.create(SCALING_POLICY, [msgspec.json.encode(body)])
        assert reply.record is not None, reply.message

    def want(self, replicas: int) -> None:
        self.patch({"spec": {"replicas": replicas}})

    def patch(self, change: Fields) -> None:
        self.store.patch(SCALING_POLICY, [Patch("default", "web", change)])

    def run(self, seconds: float = 60.0) -> None:
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end:
            while self.loop.step() or self.member.step():
                pass
            self.clock.advance(5.0)

    def replicas(self) -> dict[str, int]:
        found = [msgspec.json.decode(render(each)) for each in self.store.list(DEPLOYMENT).records]
        return {each["metadata"]["name"]: each["spec"]["replicas"] for each in found}

    def status(self) -> Fields:
        (record,) = self.store.list(SCALING_POLICY).records
        found: Fields = msgspec.json.decode(render(record)).get("status") or {}
        return found


def group(zone: str, most: int, **more: Any) -> Fields:
    target = {"kind": "Deployment", "name": f"web-{zone}"}
    return {"name": zone, "targetRef": target, "max": most, **more}


@pytest.fixture
def cluster() -> ScaledCluster:
    return ScaledCluster()


def test_replicas_are_divided_in_order(cluster: ScaledCluster) -> None:
    cluster.policy(5, group("east", 3, priority=1), group("west", 8, priority=2))
    cluster.run()
    assert cluster.replicas() == {"web-east": 3, "web-west": 2}
    assert cluster.status()["conditions"][0]["reason"] == "AllDivided"


def test_what_a_zone_cannot_place_goes_to_the_next_group(cluster: ScaledCluster) -> None:
    cluster.policy(7, group("east", 10, priority=1), group("west", 8, priority=2))
    cluster.run()
    assert cluster.replicas() == {"web-east": 4, "web-west": 3}


def test_pods_that_turn_out_later_to_fit_nowhere_lower_the_limit(cluster: ScaledCluster) -> None:
    cluster.policy(5, group("east", 10, priority=1), group("west", 8, priority=2))
    cluster.run(20.0)
    cluster.want(7)
    cluster.run(120.0)
    assert cluster.replicas() == {"web-east": 4, "web-west": 3}


def test_a_restart_keeps_what_a_zone_could_not_place(cluster: ScaledCluster) -> None:
    cluster.policy(7, group("east", 10, priority=1), group("west", 8, priority=2))
    cluster.run()
    cluster.start()
    cluster.run()
    assert cluster.replicas() == {"web-east": 4, "web-west": 3}


def test_a_zone_with_a_new_node_is_tried_again(cluster: ScaledCluster) -> None:
    cluster.policy(7, group("east", 10, priority=1), group("west", 8, priority=2))
    cluster.run()
    cluster.member.store.create(NODE, [make_node("e1", cpu=8, zone="east")])
    cluster.run(TRIED_AGAIN_S + 60)
    assert cluster.replicas() == {"web-east": 7, "web-west": 0}


def test_the_emergency_pool_is_emptied_first(cluster: ScaledCluster) -> None:
    cluster.policy(6, group("west", 8, role="Emergency"), group("east", 4))
    cluster.run()
    cluster.want(3)
    cluster.run()
    assert cluster.replicas() == {"web-east": 3, "web-west": 0}


def test_replicas_without_a_group_are_reported(cluster: ScaledCluster) -> None:
    cluster.policy(9, group("east", 2), group("west", 3))
    cluster.run()
    assert (cluster.status()["unmet"], cluster.status()["conditions"][0]["reason"]) == (
        4,
        "GroupsFull",
    )


def test_a_missing_workload_is_named_and_its_replicas_go_elsewhere(cluster: ScaledCluster) -> None:
    cluster.store.delete(DEPLOYMENT, [Deletion("default", "web-east", "")])
    cluster.policy(3, group("east", 4), group("west", 8))
    cluster.run()
    condition = cluster.status()["conditions"][0]
    assert cluster.replicas() == {"web-west": 3}
    assert (condition["reason"], "web-east" in condition["message"]) == ("TargetMissing", True)


def test_an_invalid_cron_expression_changes_nothing(cluster: ScaledCluster) -> None:
    bound = {"start": "9 9 9 9 x", "durationSeconds": 60, "min": 0, "max": 1}
    cluster.policy(3, group("east", 4, bounds=[bound]))
    cluster.run()
    assert cluster.replicas() == {"web-east": 0, "web-west": 0}
    assert cluster.status()["conditions"][0]["reason"] == "InvalidSpec"


def test_scaling_does_not_go_back_and_forth(cluster: ScaledCluster) -> None:
    cluster.policy(7, group("east", 10, priority=1), group("west", 8, priority=2))
    cluster.run()
    seen = set()
    for _ in range(20):
        cluster.run(10)
        seen.add(tuple(cluster.replicas().items()))
    assert seen == {(("web-east", 4), ("web-west", 3))}


def test_a_trial_of_a_full_group_takes_no_running_replica(cluster: ScaledCluster) -> None:
    cluster.policy(7, group("east", 10, priority=1), group("west", 8, priority=2))
    cluster.run()
    seen = set()
    for _ in range(40):
        cluster.run(10)
        seen.add(cluster.replicas()["web-west"])
    assert seen == {3}

"""Rolling updates over embedded members: one window over all clusters, whatever coincides."""

import json
from typing import Any

import msgspec
import pytest

from stretto.api.kinds.federation import (
    FEDERATED_CLUSTER,
    FEDERATED_OBJECT,
    FEDERATED_TYPE_CONFIG,
    PROPAGATION_POLICY,
)
from stretto.api.wire.kinds import DEPLOYMENT, POD, Kind
from stretto.base.clock import ManualClock
from stretto.federation import names
from stretto.federation.settings import FederationSettings
from stretto.reconcile.cache import StoredObject
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.parts import FleetParts
from stretto.stores.store import Patch
from stretto.testing import make_node
from stretto.workloads.kubelet.course import PodCourse

Fields = dict[str, Any]
MEMBERS = ("alpha", "beta", "gamma")


def slow(pod: StoredObject) -> PodCourse:
    """Pods are ready after three seconds; those of the image `broken` never are."""
    image = pod.spec["containers"][0]["image"]
    return PodCourse(ready_after=None if image == "broken" else 3.0)


class RollingWorld:
    """Nine replicas in three members, with a window of one pod above and one below."""

    def __init__(self, **rule: Any) -> None:
        self.clock = ManualClock(1_000_000.0)
        self.fleet = EmbeddedFleet(
            self.clock, FederationSettings(drift_delay=1.0), FleetParts(course=slow)
        )
        self._set_up()
        notes = {names.ROLLOUT: json.dumps(rule)} if rule else {}
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
        pods = {"spec": {"containers": [{"name": "main", "image": "v1"}]}}
        self.create(
            DEPLOYMENT,
            "web",
            metadata={"labels": {names.POLICY: "plan"}, "annotations": notes},
            spec={"replicas": 9, "strategy": rolling, "template": pods},
        )
        self.run(20)

    def _set_up(self) -> None:
        source = {"group": "apps", "version": "v1", "kind": "Deployment"}
        typed = {**source, "pluralName": "deployments", "scope": "Namespaced"}
        paths = {"replicasSpec": "spec.replicas"}
        pipeline = [[names.SCHEDULER], [names.OVERRIDES]]
        self.create(
            FEDERATED_TYPE_CONFIG.kind,
            "deployments.apps",
            spec={"sourceType": typed, "controllers": pipeline, "pathDefinition": paths},
        )
        for name in MEMBERS:
            self.create(FEDERATED_CLUSTER.kind, name, spec={})
            ready = [{"type": each, "status": "True"} for each in ("Joined", "Ready")]
            status = {"conditions": ready, "apiResourceTypes": [source]}
            change = Patch("", name, {"status": status})
            self.fleet.host.patch_status(FEDERATED_CLUSTER.kind, [change])
            self.fleet.add_member(name, [make_node(f"{name}-0", cpu="64")])
        self.create(PROPAGATION_POLICY.kind, "plan", spec=self.weighted(1, 1, 1))

    def weighted(self, *weights: int) -> Fields:
        placement = [
            {"cluster": name, "preferences": {"weight": weight}}
            for name, weight in zip(MEMBERS, weights, strict=True)
        ]
        replicas = {"replicaRescheduling": {"avoidDisruption": False}}
        when = {"rescheduleWhen": {"policyContentChanged": True}}
        return {
            "schedulingMode": "Divide",
            "placement": placement,
            "reschedulePolicy": {**when, **replicas},
        }

    def create(self, kind: Kind, name: str, **fields: Any) -> None:
        metadata = {"name": name, **fields.pop("metadata", {})}
        self.fleet.host.create(kind, [msgspec.json.encode({"metadata": metadata, **fields})])

    def update(self, image: str, **spec: Any) -> None:
        pods = {"spec": {"containers": [{"name": "main", "image": image}]}}
        change = Patch("default", "web", {"spec": {"template": pods, **spec}})
        self.fleet.host.patch(DEPLOYMENT, [change])

    def migrate(self, *weights: int) -> None:
        change = Patch("default", "plan", {"spec": self.weighted(*weights)})
        self.fleet.host.patch(PROPAGATION_POLICY.kind, [change])

    def pods(self, name: str) -> list[StoredObject]:
        records = self.fleet.members[name].store.list(POD).records
        found = (StoredObject(each) for each in records)
        return [each for each in found if not each.is_terminating]

    def images(self) -> dict[str, set[str]]:
        """Images of the pods by member that has pods."""
        pods = {name: self.pods(name) for name in MEMBERS}
        return {
            name: {each.spec["containers"][0]["image"] for each in found}
            for name, found in pods.items()
            if found
        }

    def run(self, seconds: int) -> list[tuple[int, int]]:
        """Pods and available pods of all members after every half second."""
        seen = []
        for _ in range(2 * seconds):
            self.fleet.run_until(self.clock.monotonic() + 0.5)
            pods = [each for name in MEMBERS for each in self.pods(name)]
            seen.append((len(pods), sum(map(_is_ready, pods))))
        return seen

    def status(self) -> Fields:
        record = self.fleet.host.get(FEDERATED_OBJECT.kind, "default", "web-deployments.apps")
        assert record is not None
        found: Fields = json.loads(StoredObject(record).annotations[names.ROLLOUT_STATUS])
        return found


def _is_ready(pod: StoredObject) -> bool:
    conditions = pod.status.get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def test_an_update_keeps_one_window_over_all_clusters() -> None:
    world = RollingWorld()
    world.update("v2")
    seen = world.run(90)
    assert max(total for total, _ in seen) <= 10
    assert min(usable for _, usable in seen) >= 8
    assert world.images() == {name: {"v2"} for name in MEMBERS}


def test_a_migration_keeps_the_window() -> None:
    world = RollingWorld()
    world.migrate(1, 2, 0)
    seen = world.run(60)
    assert max(total for total, _ in seen) <= 10
    assert min(usable for _, usable in seen) >= 8
    assert {name: len(world.pods(name)) for name in MEMBERS} == {"alpha": 3, "beta": 6, "gamma": 0}


def test_an_update_during_a_migration_and_a_rescale_keeps_the_window() -> None:
    world = RollingWorld()
    world.migrate(1, 2, 0)
    world.update("v2", replicas=12)
    seen = world.run(150)
    assert max(total for total, _ in seen) <= 13
    assert min(usable for _, usable in seen) >= 8
    assert world.images() == {"alpha": {"v2"}, "beta": {"v2"}}


def test_the_canary_updates_first_and_waits_for_approval() -> None:
    world = RollingWorld(stages=[{"clusters": ["beta"], "approval": True}])
    world.update("v2")
    world.run(60)
    assert world.images() == {"alpha": {"v1"}, "beta": {"v2"}, "gamma": {"v1"}}
    assert world.status()["verdict"] == "waiting"


def test_a_broken_revision_returns_to_the_previous_one() -> None:
    world = RollingWorld(limitSeconds=30, rollback=True)
    world.update("broken")
    seen = world.run(120)
    assert min(usable for _, usable in seen) >= 8
    assert world.images() == {name: {"v1"} for name in MEMBERS}


def test_a_rollout_goes_on_after_a_change_of_other_fields() -> None:
    world = RollingWorld()
    world.update("v2")
    world.run(10)
    text = world.status()["revision"]
    world.update("v2", paused=False)
    world.run(90)
    assert world.status()["revision"] == text
    assert world.status()["verdict"] == "done"


@pytest.mark.parametrize("rule", [{"stages": 3}, {"unknown": True}])
def test_a_malformed_rule_is_reported_and_nothing_changes(rule: Fields) -> None:
    world = RollingWorld()
    note = {"metadata": {"annotations": {names.ROLLOUT: json.dumps(rule)}}}
    world.fleet.host.patch(DEPLOYMENT, [Patch("default", "web", note)])
    world.update("v2")
    world.run(10)
    assert any(names.ROLLOUT in each for each in world.fleet.federation.loop.errors.values())
    assert world.images() == {name: {"v1"} for name in MEMBERS}

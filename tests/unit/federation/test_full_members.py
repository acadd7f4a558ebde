"""Replicas of a Deployment over members that its pods fill, while it updates and is rescaled."""

import json
from typing import Any, Final

import pytest

from stretto.api.kinds.federation import FEDERATED_OBJECT
from stretto.api.wire.kinds import DEPLOYMENT, POD
from stretto.federation import names
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.conditions import true_condition
from stretto.sim.fleet.building import built
from stretto.sim.fleet.description import ClusterShape, FleetDescription
from stretto.stores.store import Patch

Fields = dict[str, Any]
MEMBERS: Final = ("alpha", "beta", "gamma")
EACH: Final = 3
"""CPUs of a member, and its replicas of one CPU."""


def pods_of(image: str) -> Fields:
    container = {"name": "main", "image": image, "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}


def deployment(replicas: int) -> Fields:
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
        "template": pods_of("v1"),
    }
    metadata = {"name": "web", "namespace": "default", "labels": {names.POLICY: "plan"}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def policy(weights: tuple[int, ...]) -> Fields:
    shares = [{"preferences": {"weight": each}} if each else {} for each in weights]
    placement = [{"cluster": name, **x} for name, x in zip(MEMBERS, shares, strict=True)]
    return {
        "apiVersion": "core.kubeadmiral.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "plan", "namespace": "default"},
        "spec": {"schedulingMode": "Divide", "placement": placement},
    }


class FullWorld:
    """A Deployment whose pods fill three members."""

    def __init__(self, replicas: int, *weights: int, cpus: tuple[int, ...] = (EACH,) * 3) -> None:
        shapes = tuple(ClusterShape(name, 1, n) for name, n in zip(MEMBERS, cpus, strict=True))
        objects = (policy(weights), deployment(replicas))
        self.fleet = built(FleetDescription(shapes, objects))
        self.run(30)

    def update(self, **spec: Any) -> None:
        self.fleet.host.patch(DEPLOYMENT, [Patch("default", "web", {"spec": spec})])

    def run(self, seconds: float) -> list[tuple[int, int]]:
        """Pods and ready pods of all members after every half second."""
        seen = []
        for _ in range(int(2 * seconds)):
            self.fleet.run_until(self.fleet.clock.monotonic() + 0.5)
            pods = [each for name in MEMBERS for each in self.pods(name)]
            seen.append((len(pods), sum(map(is_ready, pods))))
        return seen

    def pods(self, member: str) -> list[StoredObject]:
        found = map(StoredObject, self.fleet.members[member].store.list(POD).records)
        return [each for each in found if not each.is_terminating]

    def ready(self) -> list[int]:
        return [sum(map(is_ready, self.pods(name))) for name in MEMBERS]

    def waiting(self) -> str | None:
        record = self.fleet.host.get(FEDERATED_OBJECT.kind, "default", "web-deployments.apps")
        assert record is not None
        return StoredObject(record).annotations.get(names.WAITING)


def is_ready(pod: StoredObject) -> bool:
    return true_condition(pod.status.get("conditions"), "Ready") is not None


@pytest.mark.parametrize("weights", [(0, 0, 0), (1, 1, 1)], ids=["by capacity", "by weights"])
@pytest.mark.parametrize("after", [0, 2, 5])
def test_a_smaller_number_during_an_update_fills_each_member(
    after: float, weights: tuple[int, ...]
) -> None:
    world = FullWorld(12, *weights)
    world.update(template=pods_of("v2"))
    world.run(after)
    world.update(replicas=9)
    world.run(60)
    assert world.ready() == [EACH, EACH, EACH]
    assert world.waiting() is None


@pytest.mark.parametrize(("before", "after"), [(12, 9), (9, 12), (6, 9)])
def test_the_window_holds_where_an_update_is_rescaled(before: int, after: int) -> None:
    world = FullWorld(before, 1, 1, 1)
    world.update(template=pods_of("v2"))
    seen = world.run(2)
    world.update(replicas=after)
    seen += world.run(60)
    assert max(total for total, _ in seen) <= max(before, after) + 1
    assert min(ready for _, ready in seen) >= min(before, after, 3 * EACH) - 1


def test_replicas_beyond_the_capacity_are_reported_once_the_update_ends() -> None:
    world = FullWorld(6, 1, 1, 1)
    world.update(template=pods_of("v2"), replicas=11)
    world.run(60)
    assert world.ready() == [EACH, EACH, EACH]
    assert sum(json.loads(world.waiting() or "{}")["clusters"].values()) == 2


@pytest.mark.parametrize("more", [10, 11])
def test_a_workload_that_fills_some_members_grows_in_the_others(more: int) -> None:
    world = FullWorld(9, 0, 0, 0, cpus=(3, 3, 5))
    world.update(replicas=more)
    world.run(60)
    assert sum(world.ready()) == more
    assert world.waiting() is None

"""Writes of this scheduler as Gödel's components read them, and the reverse."""

import json
from typing import Any

from stretto.api.wire.kinds import MOVEMENT, POD, RESERVATION, Kind
from stretto.base.clock import Clock
from stretto.base.errors import NotAllowedError
from stretto.stores.store import Patch, Record, Store
from stretto.stores.wrapper import StoreWrapper
from stretto.testing import make_node, make_pod
from tests.unit.daemons.roles.rig import Rig, says

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web"}


class WithRights(StoreWrapper):
    """A connection without permission to read single Movements."""

    def __init__(self, inner: Store, clock: Clock) -> None:
        super().__init__(inner)
        del clock

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        if kind is MOVEMENT:
            raise NotAllowedError("get movements", "forbidden")
        return super().get(kind, namespace, name)


def owned(name: str, **more: Any) -> bytes:
    """A pod of the ReplicaSet."""
    return make_pod(name, owner={**OWNER, "controller": True}, **more)


def recommend(rig: Rig, node: str, count: int) -> None:
    """A foreign rescheduler requests this number of pods of the owner on a node."""
    head = {"apiVersion": MOVEMENT.api_version, "kind": "Movement", "metadata": {"name": "m1"}}
    rig.put(MOVEMENT, json.dumps({**head, "spec": {"creator": "other"}}).encode())
    who = {"type": "ReplicaSet", "namespace": "default", "name": "web"}
    wanted = [{"node": node, "desiredPodCount": count}]
    status = {"status": {"owners": [{"owner": who, "recommendedNodes": wanted}]}}
    rig.store.patch_status(MOVEMENT, [Patch("", "m1", status)])


def test_as_many_pods_name_a_movement_as_it_has_on_the_node() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1"), make_node("n2"))
    recommend(rig, "n1", 2)
    rig.pods(*(owned(f"p{i}") for i in range(4)))
    rig.settle()
    named = {f"p{i}": rig.notes(f"p{i}").get("movement-name") for i in range(4)}
    followers = [name for name, movement in named.items() if movement == "m1"]
    assert [rig.node_of(name) for name in followers] == ["n1", "n1"]
    rows = rig.shown(MOVEMENT, "m1")["status"]["owners"][0]["recommendedNodes"]
    assert len(rows[0]["actualPods"]) == 2


def test_a_daemon_without_permission_to_get_movements_still_follows_them() -> None:
    rig = Rig("a", door=WithRights)
    rig.stop("controller")
    rig.nodes(make_node("n1"), make_node("n2"))
    recommend(rig, "n2", 1)
    rig.pods(owned("p"))
    rig.settle()
    assert (rig.node_of("p"), rig.notes("p")["movement-name"]) == ("n2", "m1")


def test_a_pod_names_the_reserved_place_that_it_takes() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1"), make_node("n2"))
    keeps = {"godel.bytedance.com/reservation": "true"}
    rig.pods(owned("old", annotations=keeps))
    rig.settle()
    node = rig.node_of("old")
    rig.delete(POD, "old", namespace="default")
    rig.settle()
    rig.pods(owned("new", annotations=keeps))
    rig.settle()
    notes = rig.notes("new")
    assert notes["matched-reservation-placeholder"] == "default/old-placeholder"
    assert rig.node_of("new") == node


def test_a_reserved_place_ends_in_every_daemon_when_it_is_taken() -> None:
    rig = Rig("a", "b")
    rig.nodes(make_node("n1", cpu="4"))
    rig.pods(owned("old", cpu="2", annotations=says(reservation="true")))
    rig.settle()
    rig.delete(POD, "old", namespace="default")
    rig.settle()
    rig.pods(owned("new", cpu="2", annotations=says(reservation="true")))
    rig.run(2.0)
    assert rig.store.list(RESERVATION).records == []
    assert [len(rig.roles[name].cluster.reservations.places) for name in rig.roles] == [0] * 5


def test_a_pod_may_take_a_reserved_place_by_index_whichever_pod_held_it() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1", cpu="2"))
    rig.pods(make_pod("old", cpu="2", annotations=says(reservation="true", reservation_index="7")))
    rig.settle()
    rig.delete(POD, "old", namespace="default")
    rig.settle()
    rig.pods(make_pod("other", cpu="2", annotations=says(reservation_index="8")))
    rig.pods(make_pod("back", cpu="2", annotations=says(reservation_index="7")))
    rig.run(2.0)
    assert rig.bound() == {"back": "n1"}


def test_a_shard_that_insists_is_answered_less_and_less_often() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1", unschedulable=True))
    rig.settle()
    rig.stop("a")
    rig.pods(make_pod("p"))
    insisted = 0
    for _ in range(600):
        rig.settle()
        if rig.notes("p")["pod-state"] == "dispatched":
            rig.say("p", pod_state="assumed", assumed_node="n1")
            insisted += 1
        rig.clock.advance(0.1)
    assert insisted < 12


def test_repeated_invalid_writes_on_a_pod_cause_no_busy_loop() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1", unschedulable=True))
    rig.pods(make_pod("p"))
    written = 0
    for _ in range(100):
        rig.settle()
        if rig.notes("p").get("pod-state") != "flying":
            rig.say("p", pod_state="flying")
            written += 1
        rig.clock.advance(0.1)
    assert written < 14

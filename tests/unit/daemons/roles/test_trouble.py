"""Trouble of every kind on the way: nothing is bound twice, nothing is stuck, nothing goes hot."""

from collections.abc import Sequence

import pytest

from stretto.api.wire.kinds import NODE, POD, POD_GROUP, SCHEDULER, Kind
from stretto.base.clock import Clock
from stretto.daemons.roles.binder import binder_plane
from stretto.stores.store import Bind, Patch, Replies, Store
from stretto.stores.wrapper import StoreWrapper
from stretto.testing import make_group, make_node, make_pod
from tests.unit.daemons.roles.rig import Rig, names, says

HANDS = ["dispatcher", "a", "binder"]
GATE = {"schedulingGates": [{"name": "wait"}]}
VICTIM = '{"node":"n1","victims":[{"name":"x","namespace":"default","uid":"gone"}]}'
AT_A = {"pod_state": "assumed", "selected_scheduler": "a"}
ODD = [
    {**AT_A, "nominated_node": "{nope"},
    {**AT_A, "nominated_node": "null"},
    {**AT_A, "nominated_node": "[" * 5000},
    {**AT_A, "nominated_node": '{"node":"","victims":[]}'},
    {**AT_A, "nominated_node": '{"node":"n1","victims":null}'},
    {**AT_A, "nominated_node": VICTIM},
    {**AT_A, "assumed_node": "nowhere"},
    {**AT_A, "assumed_node": "n1", "nominated_node": VICTIM},
    {**AT_A, "assumed_node": "n1", "micro_topology": "x;;:="},
    {"failed_schedulers": ",,a,,absent,"},
    {"scheduled_index_in_scheduling_unit": "minus"},
]


class Touchy(StoreWrapper):
    """A connection on which another client changes every second pod just before its delivery."""

    def __init__(self, inner: Store, clock: Clock) -> None:
        super().__init__(inner)
        del clock
        self.count = 0

    def touch(self, namespace: str, name: str) -> None:
        self.count += 1
        if self.count % 2:
            label = {"metadata": {"labels": {"touched": str(self.count)}}}
            self._inner.patch(POD, [Patch(namespace, name, label)])

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        for each in patches if kind is POD else ():
            self.touch(each.namespace, each.name)
        return super().patch_status(kind, patches)

    def bind(self, binds: Sequence[Bind]) -> Replies:
        for each in binds:
            self.touch(each.namespace, each.name)
        return super().bind(binds)


def test_every_hand_over_may_conflict_once_and_all_is_placed() -> None:
    rig = Rig("a", "b", door=Touchy)
    rig.nodes(*(make_node(name, cpu="4") for name in names("n", 4)))
    rig.groups(make_group("g", 3))
    rig.pods(*(make_pod(name, cpu="1", group="g") for name in names("g", 3)))
    rig.pods(*(make_pod(name, cpu="1") for name in names("p", 10)))
    rig.run(60.0)
    assert len(rig.bound()) == 13


@pytest.mark.parametrize("notes", ODD)
def test_whatever_stands_on_a_pod_it_is_placed_in_the_end(notes: dict[str, str]) -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1"))
    rig.pods(make_pod("odd", annotations=says(**notes)))
    rig.run(10.0)
    assert rig.bound() == {"odd": "n1"}


def test_a_shard_that_shuts_down_returns_its_pods_to_the_others_at_once() -> None:
    rig = Rig("a", "b", "c")
    rig.nodes(make_node("n1"))
    rig.settle()
    rig.stop("c")
    rig.pods(*(make_pod(name) for name in names("p", 9)))
    rig.settle()
    rig.delete(SCHEDULER, "c")
    rig.run(3.0)
    assert len(rig.bound()) == 9


def test_a_shard_whose_object_is_removed_registers_again_under_its_name() -> None:
    rig = Rig("a", "b", dead_after=60.0)
    rig.nodes(make_node("n1"))
    rig.settle()
    rig.delete(SCHEDULER, "b")
    rig.run(3.0)
    assert rig.schedulers() == ["a"]
    rig.run(40.0)
    rig.pods(*(make_pod(name) for name in names("p", 6)))
    rig.settle()
    assert {rig.notes(name)["selected-scheduler"] for name in rig.bound()} == {"a", "b"}


def test_two_binders_bind_nothing_twice_and_no_gang_in_part() -> None:
    rig = Rig("a")
    rig.roles["second"] = binder_plane(rig.config, rig.store, rig.clock)
    rig.nodes(make_node("n1", cpu="4"), make_node("n2", cpu="4"))
    rig.groups(make_group("g", 3))
    rig.pods(*(make_pod(name, cpu="1", group="g") for name in names("g", 3)))
    rig.pods(*(make_pod(name, cpu="1") for name in names("p", 7)))
    rig.run(20.0)
    assert len(rig.bound()) == 8
    assert sum(name.startswith("g") for name in rig.bound()) in (0, 3)


@pytest.mark.parametrize("role", HANDS)
def test_a_pod_that_changes_its_scheduler_is_released_by_every_component(role: str) -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1", cpu="1"))
    rig.settle()
    rig.stop(role)
    rig.pods(make_pod("p", cpu="1"))
    rig.settle()
    rig.change(POD, "p", {"spec": {"schedulerName": "other"}}, "default")
    rig.start(role)
    rig.pods(make_pod("next", cpu="1"))
    rig.run(5.0)
    assert rig.bound() == {"next": "n1"}


@pytest.mark.parametrize("role", HANDS)
def test_a_gate_holds_a_pod_in_whoevers_hands_it_is(role: str) -> None:
    notes = [{}, {"pod_state": "dispatched"}, {"pod_state": "assumed", "assumed_node": "n1"}]
    at = notes[HANDS.index(role)] and says(selected_scheduler="a", **notes[HANDS.index(role)])
    rig = Rig("a")
    rig.nodes(make_node("n1"))
    rig.pods(make_pod("p", spec=GATE, annotations=at))
    rig.run(10.0)
    assert rig.bound() == {}
    rig.change(POD, "p", {"spec": {"schedulingGates": None}}, "default")
    rig.run(3.0)
    assert rig.bound() == {"p": "n1"}


def test_a_pod_nominated_to_a_node_that_is_removed_goes_elsewhere() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1", cpu="2"))
    rig.pods(make_pod("low", cpu="2", priority=1))
    rig.settle()
    rig.clock.advance(100.0)
    rig.stop("binder")
    rig.pods(make_pod("high", cpu="2", priority=9))
    rig.settle()
    rig.delete(NODE, "n1")
    rig.nodes(make_node("n2", cpu="2"))
    rig.start("binder")
    rig.run(5.0)
    assert rig.node_of("high") == "n2"


@pytest.mark.parametrize("role", ["a", "binder"])
def test_a_gang_whose_minimum_rises_on_the_way_waits_for_the_pods_it_lacks(role: str) -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1", cpu="4"))
    rig.settle()
    rig.stop(role)
    rig.groups(make_group("g", 2))
    rig.pods(*(make_pod(name, cpu="1", group="g") for name in names("g", 2)))
    rig.settle()
    rig.change(POD_GROUP, "g", {"spec": {"minMember": 3}}, "default")
    rig.start(role)
    rig.run(20.0)
    assert rig.bound() == {}
    rig.pods(make_pod("g-2", cpu="1", group="g"))
    rig.run(10.0)
    assert len(rig.bound()) == 3


def test_a_dispatcher_that_starts_again_sends_a_late_pod_where_its_gang_is() -> None:
    rig = Rig("a", "b", "c")
    rig.nodes(make_node("n1"))
    rig.settle()
    for shard in "abc":
        rig.stop(shard)
    rig.groups(make_group("g", 2))
    rig.pods(*(make_pod(name, group="g") for name in names("g", 2)))
    rig.settle()
    rig.start("dispatcher")
    rig.pods(make_pod("g-2", group="g"))
    rig.settle()
    assert len({rig.notes(name)["selected-scheduler"] for name in names("g", 3)}) == 1

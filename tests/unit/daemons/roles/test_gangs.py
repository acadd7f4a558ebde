"""A gang is bound as a whole or not at all, through all daemons and faults."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from stretto.api.wire.kinds import POD, POD_GROUP, Kind
from stretto.stores.store import Patch, Replies, Store
from stretto.stores.wrapper import StoreWrapper
from stretto.testing import make_group, make_node, make_pod
from tests.unit.daemons.roles.rig import Rig, names, says


class Meanwhile(StoreWrapper):
    """A line on which something is done just before a PodGroup is locked or given up."""

    def __init__(self, inner: Store, done: Callable[[], object]) -> None:
        super().__init__(inner)
        self.done = done

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        if kind is POD_GROUP:
            self.done()
        return super().patch(kind, patches)

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        if any((each.patch.get("status") or {}).get("phase") == "Timeout" for each in patches):
            self.done()
        return super().patch_status(kind, patches)


def a_gang(rig: Rig, size: int, least: int, **spec: Any) -> None:
    """Pods of one core each and their group."""
    rig.groups(make_group("g", least, **spec))
    rig.pods(*(make_pod(name, cpu="1", group="g") for name in names("g", size)))


def state(rig: Rig, pod: str) -> str:
    """In whose hands a pod is."""
    return rig.notes(pod)["pod-state"]


@pytest.mark.parametrize("lost", ["its group", "a member"])
def test_a_gang_that_cannot_be_bound_any_more_holds_no_capacity(lost: str) -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1", cpu="3"))
    rig.settle()
    rig.stop("binder")
    a_gang(rig, 3, 3)
    rig.settle()
    rig.delete(*((POD_GROUP, "g") if lost == "its group" else (POD, "g-1")), namespace="default")
    rig.start("binder")
    rig.pods(make_pod("other", cpu="3"))
    rig.run(60.0)
    assert (state(rig, "g-0"), rig.node_of("other")) == ("dispatched", "n1")


def test_a_gang_that_timed_out_while_no_binder_ran_holds_no_capacity() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1", cpu="2"))
    rig.settle()
    rig.stop("binder")
    a_gang(rig, 2, 2, scheduleTimeoutSeconds=5)
    rig.run(10.0)
    rig.start("binder")
    rig.pods(make_pod("other", cpu="2"))
    rig.run(40.0)
    assert (state(rig, "g-0"), rig.node_of("other")) == ("dispatched", "n1")


def test_a_gang_that_is_given_up_just_before_it_is_locked_is_not_bound() -> None:
    rig = Rig("a")
    over = Patch("default", "g", {"status": {"phase": "Timeout"}})
    rig.nodes(make_node("n1", cpu="4"))
    rig.door = lambda store, _: Meanwhile(store, lambda: store.patch_status(POD_GROUP, [over]))
    rig.start("binder")
    a_gang(rig, 2, 2)
    rig.run(10.0)
    assert rig.bound() == {}


def test_a_gang_that_is_locked_just_before_its_time_is_over_is_not_given_up() -> None:
    rig = Rig("a")
    lock = {"metadata": {"annotations": says(podgroup_final_op_lock="binder")}}
    rig.door = lambda store, _: Meanwhile(
        store, lambda: rig.change(POD_GROUP, "g", lock, "default")
    )
    rig.start("controller")
    a_gang(rig, 1, 2, scheduleTimeoutSeconds=5)
    rig.run(10.0)
    assert rig.shown(POD_GROUP, "g", "default")["status"]["phase"] == "Pending"


def test_a_gang_whose_pods_are_at_two_shards_comes_together_again() -> None:
    rig = Rig("a", "b")
    rig.nodes(make_node("n1", cpu="4"))
    rig.settle()
    rig.groups(make_group("g", 3))
    at = [says(pod_state="dispatched", selected_scheduler=shard) for shard in "aba"]
    rig.pods(*(make_pod(f"g-{i}", group="g", annotations=notes) for i, notes in enumerate(at)))
    rig.run(5.0)
    assert len(rig.bound()) == 3


def test_a_pod_that_changes_its_group_on_the_way_counts_for_the_new_one() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1", cpu="4"))
    rig.settle()
    rig.stop("binder")
    rig.groups(make_group("h", 2))
    a_gang(rig, 2, 2)
    rig.settle()
    rig.say("g-1", pod_group_name="h")
    rig.start("binder")
    rig.pods(make_pod("h-1", group="h"))
    rig.run(60.0)
    assert set(rig.bound()) == {"g-1", "h-1"}

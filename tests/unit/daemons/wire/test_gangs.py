"""A gang is whole or not at all, whatever becomes of it on its way through the daemons."""

from typing import Any

import pytest

from stretto.api.kinds import POD, POD_GROUP
from stretto.testing import make_group, make_node, make_pod
from tests.unit.daemons.wire.rig import Rig, names


def a_gang(rig: Rig, size: int, least: int, **spec: Any) -> None:
    """Pods of one core each and their group."""
    rig.groups(make_group("g", least, **spec))
    rig.pods(*(make_pod(name, cpu="1", group="g") for name in names("g", size)))


def state(rig: Rig, pod: str) -> str:
    """In whose hands a pod is."""
    return rig.notes(pod)["pod-state"]


@pytest.mark.parametrize("lost", ["its group", "a member"])
def test_a_gang_that_cannot_be_bound_any_more_holds_no_room(lost: str) -> None:
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


def test_a_gang_that_timed_out_while_no_binder_ran_holds_no_room() -> None:
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

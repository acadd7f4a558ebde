"""The drain of a node, planned on a copy of a state."""

import pytest

from stretto.base.errors import NotFoundError
from stretto.plane.copy import SchedulingRules
from stretto.sim.history.plan import PlanReport, plan_drain
from stretto.testing import make_node, make_pod
from tests.unit.sim.test_plan import state

NUMPY = SchedulingRules("default", "numpy")
LARGE, SMALL = make_node("a", cpu="8"), make_node("b", cpu="4")
DAEMON = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}


def drained(*pods: bytes) -> PlanReport:
    """The report of the drain of node ``a``."""
    return plan_drain(state(*pods, nodes=[LARGE, SMALL]), "a", NUMPY)


def test_pods_of_a_drained_node_go_elsewhere_or_stay_pending() -> None:
    report = drained(make_pod("large", cpu="6", node="a"), make_pod("small", cpu="2", node="a"))
    assert [(each.pod, each.node) for each in report.placed] == [("default/small", "b")]
    (waiting,) = report.pending
    assert waiting.pods == ("default/large",)
    assert waiting.reason is not None


def test_pods_of_a_daemon_set_end_with_their_node() -> None:
    report = drained(make_pod("agent", cpu="6", node="a", owner=DAEMON))
    assert (report.pods, report.placed, report.pending) == (1, (), ())


def test_the_drain_of_an_unknown_node_is_refused() -> None:
    with pytest.raises(NotFoundError, match="node z"):
        plan_drain(state(), "z", NUMPY)

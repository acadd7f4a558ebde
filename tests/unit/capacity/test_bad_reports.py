"""Reports that lie, come twice, go back in time or stop: promises, pools and moves stay lawful."""

import json
from typing import Any

import pytest

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE, POD
from stretto.base.clock import timestamp
from stretto.stores.store import Deletion, Patch
from stretto.testing import Harness, make_node, make_pod
from tests.unit.capacity.test_estimators import lending
from tests.unit.capacity.test_node_ratios import given, harness
from tests.unit.control.test_hot_nodes import Fleet

REAL, CAP, USUAL = 4000, 12_000, 4800
"""CPU of the node; three times as much; and what it promises at a use of one core."""
HOUR = 3600.0
BEST_EFFORT = {"katalyst.kubewharf.io/qos_level": "reclaimed_cores"}


def status(at: Harness, cpu: str, later: float = 0.0, **more: Any) -> dict[str, Any]:
    """A report of a measurement so many seconds after now."""
    use = {"cpu": cpu, "memory": "1Gi"}
    metric = {"updateTime": timestamp(at.clock.now() + later), "nodeMetric": {"genericUsage": use}}
    return {"status": {"nodeMetricStatus": metric | more}}


def measured(cpu: str = "1", later: float = 0.0, **more: Any) -> Harness:
    """A node with a pod of two cores and one report."""
    at = harness({"caps": {"cpu": 3}})
    at.clock.advance(24 * HOUR)
    at.submit(make_pod("p", cpu="2"))
    at.settle()
    body = {"metadata": {"name": "n"}, **status(at, cpu, later, **more)}
    at.create(CUSTOM_NODE_RESOURCE, json.dumps(body).encode())
    at.settle()
    return at


def report(at: Harness, cpu: str, later: float = 0.0) -> None:
    at.store.patch_status(CUSTOM_NODE_RESOURCE, [Patch("", "n", status(at, cpu, later))])
    at.settle()


def said(at: Harness) -> str:
    return at.plane.cluster.abnormal.get("customnoderesource n", "")


# ---------------------------------------------------------------- promises


@pytest.mark.parametrize(
    ("cpu", "promised", "message"),
    [
        ("NaN", REAL, "expected a quantity"),
        ("much", REAL, "expected a quantity"),
        ("1e18", REAL, "no machine uses cpu 1e18"),
        ("-5", 8000, "cpu -5 is negative; it counts as 0"),
    ],
)
def test_use_that_cannot_be_raises_no_promise_above_its_cap(
    cpu: str, promised: int, message: str
) -> None:
    at = measured(cpu)
    assert (given(at), at.breaches()) == (promised, [])
    assert message in said(at)
    assert promised <= CAP


@pytest.mark.parametrize("later", [-HOUR, HOUR, 1e8])
def test_a_report_of_another_time_promises_nothing_more(later: float) -> None:
    assert given(measured(later=later)) == REAL


def test_a_report_that_comes_twice_changes_no_promise() -> None:
    at = measured()
    report(at, "1")
    report(at, "1")
    assert (given(at), at.breaches()) == (USUAL, [])


def test_a_report_that_goes_back_in_time_changes_no_promise_and_is_named() -> None:
    at = measured()
    report(at, "0", later=-30)
    assert given(at) == USUAL
    assert "is older than the last measurement" in said(at)


def test_a_report_that_names_deleted_pods_promises_as_one_without_them() -> None:
    group = {"QoSLevel": "shared_cores", "podList": ["default/p", "default/gone"]}
    assert given(measured(groupMetric=[group])) == USUAL


def test_a_report_whose_node_is_deleted_promises_nothing_and_returns_with_the_node() -> None:
    at = measured()
    at.store.delete(NODE, [Deletion("", "n")])
    at.settle()
    report(at, "1")
    assert (at.placements(), at.breaches()) == ({"p": "n"}, [])


def test_reports_that_stop_for_an_hour_end_the_overcommit_and_evict_no_pod() -> None:
    at = measured()
    at.submit(make_pod("q", cpu="2500m"))
    at.settle()
    at.settle(HOUR)
    assert (given(at), sorted(at.placements().values())) == (REAL, ["n", "n"])
    at.submit(make_pod("late", cpu="100m"))
    at.settle()
    assert at.node_of("late") == ""


# ---------------------------------------------------------------- pools


@pytest.mark.parametrize(("later", "node"), [(0.0, "n"), (599.0, "n"), (601.0, ""), (1e8, "")])
def test_a_pool_whose_report_is_in_the_future_lends_nothing(later: float, node: str) -> None:
    at = lending(later)
    at.settle(60)
    at.submit(
        make_pod("p", cpu="1", annotations={"katalyst.kubewharf.io/qos_level": "reclaimed_cores"})
    )
    at.settle()
    assert at.node_of("p") == node


# ---------------------------------------------------------------- moves


@pytest.mark.parametrize("lie", ["NaN", "-8", "much"])
def test_use_that_cannot_be_moves_no_pod(lie: str) -> None:
    fleet = Fleet()
    assert (fleet.round(hot=lie), fleet.on_hot) == (0, 8)


def test_use_that_goes_back_in_time_moves_no_pod() -> None:
    fleet = Fleet()
    fleet.round(hot="1")
    late = status(fleet.at, "8", later=-90.0)
    fleet.at.store.patch_status(CUSTOM_NODE_RESOURCE, [Patch("", "hot", late)])
    fleet.at.settle(61)
    assert fleet.on_hot == 8


def test_pods_that_are_deleted_after_the_report_are_not_moved() -> None:
    fleet = Fleet()
    fleet.at.store.delete(POD, [Deletion("default", f"p{number}") for number in range(8)])
    assert (fleet.round(), fleet.at.breaches()) == (0, [])


def test_a_hot_node_that_is_deleted_after_the_report_moves_no_pod() -> None:
    fleet = Fleet()
    fleet.at.store.delete(NODE, [Deletion("", "hot")])
    assert (fleet.round(), fleet.at.breaches()) == (0, [])


def test_a_node_that_is_resized_is_hot_by_its_new_size() -> None:
    fleet = Fleet()
    fleet.at.store.delete(NODE, [Deletion("", "hot")])
    fleet.at.create_nodes(make_node("hot", cpu="40", memory="64Gi"))
    assert (fleet.round(), fleet.at.breaches()) == (0, [])


def test_clocks_that_differ_by_years_keep_the_moves_of_other_nodes() -> None:
    fleet = Fleet()
    nodes = [make_node(f"n{number}", cpu="10", memory="64Gi") for number in range(12)]
    fleet.at.create_nodes(*nodes)
    body = {"metadata": {"name": "n0"}, **status(fleet.at, "1", later=1e8)}
    fleet.at.create(CUSTOM_NODE_RESOURCE, json.dumps(body).encode())
    assert (fleet.round(), fleet.at.breaches()) == (3, [])

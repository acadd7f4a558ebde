"""Measurements of nodes: percentiles, reports that go back in time, come twice, or lie."""

import json

import numpy as np
import pytest

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE
from stretto.base.clock import timestamp
from stretto.framework.profile.profile import load_profile
from stretto.state.nodes.measurements import SAMPLES, NodeUseHistory
from stretto.stores.store import Deletion, Patch
from stretto.testing import Harness, make_node, make_pod

AT = 1_000_000.0
FIRST = np.array([0], np.int64)


def report(name: str, cpu: str, at: float = AT, pods: tuple[str, ...] = ()) -> bytes:
    metric = {
        "updateTime": timestamp(at),
        "nodeMetric": {"genericUsage": {"cpu": cpu, "memory": "1Gi"}},
        "groupMetric": [{"QoSLevel": "shared_cores", "podList": list(pods)}] if pods else [],
    }
    status = {"nodeMetricStatus": metric}
    return json.dumps({"metadata": {"name": name}, "status": status}).encode()


def harness(args: dict[str, object] | None = None, nodes: int = 1) -> Harness:
    plugins = {"filter": {"enabled": [{"name": "LoadAware"}]}}
    config = [{"name": "LoadAware", "args": args or {}}]
    profile = load_profile({"profiles": [{"plugins": plugins, "pluginConfig": config}]})
    made = [make_node(f"n{i}", cpu="10", memory="100Gi") for i in range(nodes)]
    return Harness(made, profile=profile, config={"tier": "numpy"})


def report_again(at: Harness, cpu: str, time: float) -> None:
    status = json.loads(report("n0", cpu, time))["status"]
    at.store.patch_status(CUSTOM_NODE_RESOURCE, [Patch("", "n0", {"status": status})])
    at.settle()


def used(at: Harness) -> int:
    return int(at.plane.cluster.nodes.reports.used[0, 0])


def said(at: Harness) -> str:
    return at.plane.cluster.abnormal.get("customnoderesource n0", "")


def test_a_percentile_is_the_use_that_so_many_measurements_do_not_exceed() -> None:
    history = NodeUseHistory()
    history.grow(1)
    for number in range(10):
        history.add(0, np.array([number, 10 * number], np.int64), float(number))
    assert history.percentile(FIRST, 50.0, 0.0).tolist() == [[4, 40]]
    assert history.percentile(FIRST, 95.0, 0.0).tolist() == [[9, 90]]
    assert history.percentile(FIRST, 50.0, 8.0).tolist() == [[8, 80]]
    assert history.percentile(FIRST, 50.0, 99.0).tolist() == [[-1, -1]]


def test_only_the_last_measurements_count() -> None:
    history = NodeUseHistory()
    history.grow(1)
    for number in range(3 * SAMPLES):
        history.add(0, np.array([number, 0], np.int64), float(number))
    assert history.percentile(FIRST, 1.0, 0.0)[0, 0] == 2 * SAMPLES


def test_a_node_is_judged_by_a_percentile_of_its_measurements() -> None:
    at = harness({"aggregated": {"usageAggregationType": "p95"}})
    for number, cpu in enumerate(("9", "1", "1")):
        at.replace(CUSTOM_NODE_RESOURCE, report("n0", cpu, AT + 60 * number))
        at.settle()
    assert not at.placed(make_pod("p", cpu="1"))["p"]


def test_a_spike_does_not_decide_where_the_median_is_low() -> None:
    at = harness({"aggregated": {"usageAggregationType": "p50"}})
    for number, cpu in enumerate(("1", "1", "9")):
        at.replace(CUSTOM_NODE_RESOURCE, report("n0", cpu, AT + 60 * number))
        at.settle()
    assert at.placed(make_pod("p", cpu="1"))["p"] == "n0"


def test_a_report_that_goes_back_in_time_changes_no_use_and_this_is_reported() -> None:
    at = harness()
    at.create(CUSTOM_NODE_RESOURCE, report("n0", "2"))
    at.settle()
    report_again(at, "9", AT - 30)
    assert used(at) == 2000
    assert "is older than the last measurement" in said(at)


def test_a_clock_that_was_set_back_by_more_than_an_hour_is_accepted() -> None:
    at = harness()
    at.create(CUSTOM_NODE_RESOURCE, report("n0", "2"))
    at.settle()
    report_again(at, "9", AT - 7200)
    assert used(at) == 9000


def test_a_report_that_comes_twice_does_not_count_later_pods_as_measured() -> None:
    at = harness()
    at.create(CUSTOM_NODE_RESOURCE, report("n0", "5"))
    at.placed(make_pod("p", cpu="1"))
    report_again(at, "5", AT)
    assert int(at.plane.cluster.nodes.reports.requested[0, 0]) == 0


def test_an_agent_whose_clock_is_years_ahead_does_not_make_other_reports_old() -> None:
    at = harness({"filterExpiredNodeMetrics": True}, nodes=3)
    at.create(CUSTOM_NODE_RESOURCE, report("n0", "1"), report("n1", "1"))
    at.create(CUSTOM_NODE_RESOURCE, report("n2", "9", AT + 1e8))
    assert at.placed(make_pod("p", cpu="1"))["p"] in ("n0", "n1")


def test_reports_that_stop_for_an_hour_refuse_or_pass_by_the_profile() -> None:
    for refuses in (False, True):
        at = harness({"filterExpiredNodeMetrics": refuses}, nodes=2)
        at.create(CUSTOM_NODE_RESOURCE, report("n0", "9", AT - 3600), report("n1", "9"))
        assert at.placed(make_pod("p", cpu="1"))["p"] == ("" if refuses else "n0")


@pytest.mark.parametrize(("cpu", "found"), [("-5", 0), ("NaN", -1), ("much", -1)])
def test_use_that_cannot_be_counts_as_none_or_is_reported(cpu: str, found: int) -> None:
    at = harness()
    at.create(CUSTOM_NODE_RESOURCE, report("n0", cpu))
    at.settle()
    assert used(at) == found if len(at.plane.cluster.nodes.reports.used) else found == -1
    assert found == 0 or "expected a quantity" in said(at)


@pytest.mark.parametrize("cpu", ["1000001", "9e15", "1e18", "-1e30"])
def test_use_that_no_machine_has_is_ignored_and_this_is_reported(cpu: str) -> None:
    at = harness()
    at.create(CUSTOM_NODE_RESOURCE, report("n0", cpu))
    at.settle()
    assert used(at) == -1
    assert f"no machine uses cpu {cpu}" in said(at)


def test_a_report_that_lies_stops_no_other_report() -> None:
    at = harness(nodes=2)
    at.create(CUSTOM_NODE_RESOURCE, report("n0", "1e18"), report("n1", "9"))
    assert at.placed(make_pod("p", cpu="1"))["p"] == "n0"


def test_negative_use_is_reported() -> None:
    at = harness()
    at.create(CUSTOM_NODE_RESOURCE, report("n0", "-5"))
    at.settle()
    assert "cpu -5 is negative" in said(at)


def test_use_of_a_level_that_no_machine_has_counts_as_not_stated() -> None:
    at = harness()
    body = json.loads(report("n0", "2", pods=("default/p",)))
    group = body["status"]["nodeMetricStatus"]["groupMetric"][0]
    group["genericUsage"] = {"cpu": "1e18"}
    at.create(CUSTOM_NODE_RESOURCE, json.dumps(body).encode())
    at.settle()
    assert (used(at), "no machine uses cpu 1e18" in said(at)) == (2000, True)


def test_pods_in_a_report_that_are_deleted_have_no_effect() -> None:
    at = harness()
    at.create(CUSTOM_NODE_RESOURCE, report("n0", "1", pods=("default/gone", "default/also-gone")))
    assert at.placed(make_pod("p", cpu="1"))["p"] == "n0"


def test_a_node_that_is_resized_is_judged_by_its_new_size() -> None:
    at = harness()
    at.create(CUSTOM_NODE_RESOURCE, report("n0", "7"))
    assert not at.placed(make_pod("p", cpu="1"))["p"]
    at.store.delete(NODE, [Deletion("", "n0")])
    at.create_nodes(make_node("n0", cpu="40", memory="100Gi"))
    at.settle(30)
    assert at.node_of("p") == "n0"

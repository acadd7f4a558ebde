"""Gödel's rules: labels, sub-clusters, measured load, scarce resources, CPU to memory."""

import json
from typing import Any

import pytest

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.base.errors import StrettoError
from stretto.framework.plugins.cpu_memory_ratio import AdaptiveCpuToMemRatioRule
from stretto.framework.profile.profile import load_profile
from stretto.state.rows.resources import ResourceColumns
from stretto.testing import Harness, make_node, make_pod, make_report

PLAIN = {"tier": "numpy"}


def by(name: str, args: dict[str, Any] | None = None, *, filters: bool = False, score: int = 0):
    """A profile with one more rule, its score alone where it scores."""
    plugins: dict[str, Any] = {}
    if filters:
        plugins["filter"] = {"enabled": [{"name": name}]}
    if score:
        only = {"disabled": [{"name": "*"}], "enabled": [{"name": name, "weight": score}]}
        plugins["score"] = only
    config = [{"name": name, "args": args or {}}]
    return load_profile({"profiles": [{"plugins": plugins, "pluginConfig": config}]})


def placed(profile: Any, nodes: list[bytes], *pods: bytes, reports: tuple[bytes, ...] = ()):
    harness = Harness(nodes, profile=profile, config=PLAIN)
    harness.create(CUSTOM_NODE_RESOURCE, *reports)
    harness.submit(*pods)
    harness.settle()
    return harness.placements()


def test_labels_must_be_there_or_not() -> None:
    nodes = [make_node("ssd", labels={"disk": "ssd"}), make_node("old", labels={"retired": ""})]
    must = by("NodeLabel", {"presentLabels": ["disk"]}, filters=True)
    must_not = by("NodeLabel", {"absentLabels": ["retired"]}, filters=True)
    assert placed(must, nodes, make_pod("p")) == {"p": "ssd"}
    assert placed(must_not, nodes, make_pod("p")) == {"p": "ssd"}


def test_labels_may_be_preferred() -> None:
    nodes = [make_node("a"), make_node("b", labels={"fast": "1"}), make_node("c")]
    wanted = by("NodeLabel", {"presentLabelsPreference": ["fast"]}, score=1)
    assert placed(wanted, nodes, make_pod("p")) == {"p": "b"}


def test_nodes_of_a_sub_cluster_are_for_pods_that_request_it() -> None:
    nodes = [make_node("mine", labels={"sub": "x"}), make_node("open")]
    isolated = by("SubCluster", {"key": "sub", "isolated": True}, filters=True)
    inside = make_pod("in", spec={"nodeSelector": {"sub": "x"}})
    assert placed(isolated, nodes, inside, make_pod("out")) == {"in": "mine", "out": "open"}


def report(name: str, cpu: str, at: str = "2026-01-01T00:10:00Z") -> bytes:
    return make_report(name, [], used={"cpu": cpu, "memory": "1Gi"}, at=at)


def test_hot_nodes_are_refused_and_cool_ones_preferred() -> None:
    nodes = [make_node("hot", cpu="10"), make_node("warm", cpu="10"), make_node("cool", cpu="10")]
    reports = (report("hot", "6500m"), report("warm", "4"), report("cool", "1"))
    rule = by("LoadAware", filters=True, score=1)
    pods = [make_pod(f"p{i}", cpu="1") for i in range(1)]
    assert placed(rule, nodes, *pods, reports=reports) == {"p0": "cool"}
    only_hot = placed(rule, nodes[:1], *pods, reports=reports[:1])
    assert only_hot == {"p0": ""}


def test_old_measurements_count_as_none_or_refuse() -> None:
    nodes = [make_node("stale", cpu="10"), make_node("fresh", cpu="10")]
    reports = (report("stale", "9", at="2026-01-01T00:00:00Z"), report("fresh", "6"))
    passes = by("LoadAware", {"usageThresholds": {"cpu": 50}}, filters=True)
    refuses = by(
        "LoadAware",
        {"usageThresholds": {"cpu": 50}, "filterExpiredNodeMetrics": True},
        filters=True,
    )
    assert placed(passes, nodes, make_pod("p"), reports=reports) == {"p": "stale"}
    assert placed(refuses, nodes, make_pod("p"), reports=reports) == {"p": ""}


def test_scarce_resources_are_kept_for_those_that_request() -> None:
    nodes = [make_node("gpu", cpu="64", gpus=8), make_node("plain", cpu="4")]
    rule = by("NodeResourcesAffinity", score=1)
    assert placed(rule, nodes, make_pod("p"), make_pod("g", gpus=1)) == {"p": "plain", "g": "gpu"}


def test_the_ratio_of_cpu_and_memory_has_a_compiled_form() -> None:
    assert AdaptiveCpuToMemRatioRule({}).compiled(ResourceColumns()) is not None


def test_cpu_and_memory_are_taken_in_the_ratio_in_which_they_are_left() -> None:
    nodes = [make_node("lean", cpu="16", memory="16Gi"), make_node("fat", cpu="16", memory="128Gi")]
    rule = by("AdaptiveCpuToMemRatio", score=1)
    pods = (make_pod("cpu", cpu="4", memory="4Gi"), make_pod("mem", cpu="1", memory="8Gi"))
    assert placed(rule, nodes, *pods) == {"cpu": "lean", "mem": "fat"}


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("NodeLabel", {"presentLabels": [3]}),
        ("SubCluster", {"key": "k", "isolated": "yes"}),
        ("LoadAware", {"usageThresholds": {"disk": 5}}),
        ("LoadAware", {"filterExpiredNodeMetrics": 1}),
        ("LoadAware", {"cpuSpeeds": {"label": "cpu", "factors": {"fast": 0}}}),
        ("LoadAware", {"cpuSpeeds": {"label": "cpu", "factors": {}}}),
        ("LoadAware", {"cpuSpeeds": {"factors": {"fast": 2}}}),
        ("NodeResourcesAffinity", {"resource": ["x"]}),
        ("AdaptiveCpuToMemRatio", {"ratio": 2}),
    ],
)
def test_wrong_arguments_are_reported(name, args) -> None:
    with pytest.raises(StrettoError, match=name):
        by(name, args, filters=name == "SubCluster", score=0 if name == "SubCluster" else 1)


def test_a_measurement_counts_pods_that_came_after_it() -> None:
    body = json.loads(report("n", "1"))
    body["status"]["nodeMetricStatus"]["groupMetric"] = [{"podList": ["default/old"]}]
    nodes = [make_node("n", cpu="10")]
    rule = by("LoadAware", {"usageThresholds": {"cpu": 50}}, filters=True)
    harness = Harness(nodes, profile=rule, config=PLAIN)
    harness.submit(make_pod("new", cpu="4", node="n"))
    harness.settle()
    harness.create(CUSTOM_NODE_RESOURCE, json.dumps(body).encode())
    harness.submit(make_pod("p", cpu="1"))
    harness.settle()
    assert harness.node_of("p") == ""  # 1 measured + 85 % of 4 and of 1 is 52.5 % of ten cores


NOTES = {
    "godel.bytedance.com/hard-constraints": "LoadAware",
    "godel.bytedance.com/soft-constraints": "LoadAware:100",
}


@pytest.mark.parametrize("how", ["by the pod", "by the profile"])
@pytest.mark.parametrize("together", [False, True])
def test_the_threshold_holds_for_equal_pods_between_two_measurements(
    how: str, together: bool
) -> None:
    own = how == "by the pod"
    profile = load_profile("default") if own else by("LoadAware", filters=True, score=1)
    nodes = [make_node(f"n{i}", cpu="32", memory="128Gi") for i in range(4)]
    harness = Harness(nodes, profile=profile, config=PLAIN)
    harness.create(CUSTOM_NODE_RESOURCE, *(report(f"n{i}", "6" if i else "2") for i in range(4)))
    harness.settle()
    notes = {"annotations": NOTES} if own else {}
    pods = [make_pod(f"p{i}", cpu="2", memory="1Gi", **notes) for i in range(50)]
    for batch in [pods] if together else [[pod] for pod in pods]:
        harness.submit(*batch)
        harness.settle()
    nodes_used = list(harness.placements().values())
    counts = [nodes_used.count(f"n{i}") for i in range(4)]
    assert counts == [11, 8, 8, 8]  # 2 + 0.85 * 22 and 6 + 0.85 * 16 are below 65 % of 32


def test_a_new_measurement_replaces_what_was_expected() -> None:
    harness = Harness(
        [make_node("n", cpu="10")], profile=by("LoadAware", filters=True), config=PLAIN
    )
    harness.create(CUSTOM_NODE_RESOURCE, report("n", "6500m"))
    harness.submit(make_pod("p", cpu="1"))
    harness.settle()
    assert not harness.node_of("p")
    harness.replace(CUSTOM_NODE_RESOURCE, report("n", "1", at="2026-01-01T00:11:00Z"))
    harness.settle()
    assert harness.node_of("p") == "n"


def test_a_faster_cpu_has_more_to_give() -> None:
    nodes = [make_node(n, cpu="10", labels={"cpu": n}) for n in ("old", "new", "other")]
    speeds = {"cpuSpeeds": {"label": "cpu", "factors": {"new": 2, "old": 0.5}}}
    rule = by("LoadAware", {"usageThresholds": {"cpu": 60}, **speeds}, filters=True, score=1)
    reports = tuple(report(n, "5") for n in ("old", "new", "other"))  # half of each is in use
    pods = [make_pod(f"p{i}", cpu="2") for i in range(3)]
    found = placed(rule, nodes, *pods, reports=reports)
    assert found == {"p0": "new", "p1": "", "p2": ""}

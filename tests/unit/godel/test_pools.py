"""Best-effort pods take from what a node's agent has reclaimed, and from nothing else."""

import json
from typing import Any

import pytest

from stretto.api.types.handover_annotations import RESOURCE_TYPE
from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE, QUEUE
from stretto.framework.profile.profile import load_profile
from stretto.state.classes.annotations import QOS_LEVEL
from stretto.stores.store import Deletion, Patch
from stretto.testing import Harness, make_node, make_pod, make_report

PLAIN = {"tier": "numpy"}
BEST_EFFORT = {"annotations": {RESOURCE_TYPE: "best-effort"}}
POOL = {"cpu": "2", "memory": "4Gi", "pods": "10"}


def harness_of(*nodes: bytes, pools: dict[str, Any] | None = None, **more: Any) -> Harness:
    """Nodes, and the pools of some."""
    harness = Harness(nodes or (make_node("n", cpu="4"),), config=PLAIN, **more)
    for name, pool in (pools or {}).items():
        harness.create(CUSTOM_NODE_RESOURCE, make_report(name, [], pool=pool))
    harness.settle()
    return harness


def message(harness: Harness, pod: str) -> str:
    pods = harness.plane.cluster.pods
    class_id = int(pods.class_id[pods.name.index(pod)])
    said = harness.plane.verdicts.of(class_id, 0.0, at_any_cost=True)
    assert said is not None
    return said.message


def test_a_full_node_takes_best_effort_pods_while_its_pool_lasts() -> None:
    harness = harness_of(pools={"n": POOL})
    pods = [make_pod(f"b{i}", cpu="1", memory="1Gi", **BEST_EFFORT) for i in range(3)]
    found = harness.placed(make_pod("guaranteed", cpu="4"), *pods)
    assert found == {"guaranteed": "n", "b0": "n", "b1": "n", "b2": ""}
    assert "1 Insufficient reclaimed cpu" in message(harness, "b2")


def test_best_effort_pods_use_no_capacity_of_the_node_itself() -> None:
    harness = harness_of(pools={"n": POOL})
    pods = make_pod("b", cpu="2", **BEST_EFFORT), make_pod("guaranteed", cpu="4")
    assert harness.placed(*pods) == {"b": "n", "guaranteed": "n"}


def test_a_best_effort_pod_takes_one_of_the_nodes_places_too() -> None:
    harness = harness_of(make_node("n", cpu="4", pods="1"), pools={"n": POOL})
    pods = make_pod("b", cpu="1", **BEST_EFFORT), make_pod("guaranteed", cpu="1")
    assert harness.placed(*pods) == {"b": "n", "guaranteed": ""}


@pytest.mark.parametrize("pool", [None, {"cpu": "2", "memory": "4Gi"}, {"pods": "10"}])
def test_a_node_without_a_pool_or_with_half_of_one_takes_none(pool: dict[str, str] | None) -> None:
    harness = harness_of(pools={"n": pool} if pool is not None else {})
    assert harness.placed(make_pod("b", cpu="1", **BEST_EFFORT)) == {"b": ""}


@pytest.mark.parametrize(
    ("notes", "node"),
    [
        ({QOS_LEVEL: "reclaimed_cores"}, "pooled"),
        ({QOS_LEVEL: "reclaimed_cores", RESOURCE_TYPE: "guaranteed"}, "pooled"),
        ({QOS_LEVEL: "shared_cores", RESOURCE_TYPE: "best-effort"}, "plain"),
        ({RESOURCE_TYPE: "guaranteed"}, "plain"),
    ],
)
def test_the_quality_of_service_goes_before_the_resource_type(
    notes: dict[str, str], node: str
) -> None:
    nodes = make_node("pooled", cpu="1"), make_node("plain", cpu="4")
    harness = harness_of(*nodes, pools={"pooled": POOL})
    assert harness.placed(make_pod("p", cpu="2", annotations=notes)) == {"p": node}


def test_an_unknown_resource_type_is_reported_on_that_pod_only() -> None:
    harness = harness_of(pools={"n": POOL})
    odd = make_pod("odd", cpu="1", annotations={RESOURCE_TYPE: "burstable"})
    assert harness.placed(odd, make_pod("fine", cpu="1")) == {"odd": "", "fine": "n"}
    reported = harness.plane.cluster.abnormal["pod default/odd"]
    assert "burstable" in reported
    assert "best-effort" in reported


def test_a_pool_that_grows_wakes_the_pods_that_wait_for_it() -> None:
    harness = harness_of(pools={"n": {**POOL, "cpu": "1"}})
    assert harness.placed(make_pod("b", cpu="2", **BEST_EFFORT)) == {"b": ""}
    harness.replace(CUSTOM_NODE_RESOURCE, make_report("n", [], pool=POOL))
    assert harness.placed() == {"b": "n"}


def test_a_pool_ends_with_its_report() -> None:
    harness = harness_of(pools={"n": POOL})
    harness.store.delete(CUSTOM_NODE_RESOURCE, [Deletion("", "n")])
    assert harness.placed(make_pod("b", cpu="1", **BEST_EFFORT)) == {"b": ""}
    assert harness.placed(make_pod("guaranteed", cpu="4"))["guaranteed"] == "n"


def test_a_pool_stays_when_its_node_grows() -> None:
    harness = harness_of(pools={"n": POOL})
    more = {"status": {"allocatable": {"cpu": "8"}}}
    harness.store.patch_status(NODE, [Patch("", "n", more)])
    pods = make_pod("b", cpu="2", **BEST_EFFORT), make_pod("guaranteed", cpu="8")
    assert harness.placed(*pods) == {"b": "n", "guaranteed": "n"}


def test_a_report_that_is_older_than_its_node_gives_no_pool() -> None:
    node = json.loads(make_node("n"))
    node["metadata"]["creationTimestamp"] = "2026-02-01T00:00:00Z"
    harness = harness_of(json.dumps(node).encode())
    old = make_report("n", [], pool=POOL, created="2026-01-01T00:00:00Z")
    harness.create(CUSTOM_NODE_RESOURCE, old)
    assert harness.placed(make_pod("b", cpu="1", **BEST_EFFORT)) == {"b": ""}
    assert "its pool are ignored" in harness.plane.cluster.abnormal["customnoderesource n"]


def test_a_negative_pool_is_reported_and_counts_as_none() -> None:
    harness = harness_of(pools={"n": {**POOL, "cpu": "-1"}})
    assert harness.placed(make_pod("b", cpu="1", **BEST_EFFORT)) == {"b": ""}
    assert "cpu" in harness.plane.cluster.abnormal["customnoderesource n"]


def test_a_pod_that_requests_the_pool_preempts_only_pods_that_use_it() -> None:
    harness = harness_of(pools={"n": POOL})
    low = [
        make_pod("guaranteed", cpu="4", priority=1),
        make_pod("pooled", cpu="2", priority=1, **BEST_EFFORT),
    ]
    assert harness.placed(*low) == {"guaranteed": "n", "pooled": "n"}
    found = harness.placed(make_pod("b", cpu="2", priority=9, **BEST_EFFORT))
    assert found == {"guaranteed": "n", "b": "n"}


def test_a_profile_may_score_what_is_left_of_the_pool() -> None:
    resources = [{"name": f"reclaimed {name}", "weight": 1} for name in ("cpu", "memory")]
    strategy = {"type": "LeastAllocated", "resources": resources}
    config = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]
    profile = load_profile({"profiles": [{"pluginConfig": config}]})
    nodes = [make_node(name, cpu="4") for name in "ab"]
    harness = harness_of(*nodes, pools={"a": POOL, "b": {**POOL, "cpu": "4"}}, profile=profile)
    assert harness.placed(make_pod("first", cpu="1", **BEST_EFFORT)) == {"first": "b"}


def test_a_queue_may_be_limited_in_what_it_takes_of_pools() -> None:
    harness = harness_of(pools={"n": POOL})
    spec = {"limit": {"reclaimed cpu": "1"}}
    harness.create(QUEUE, json.dumps({"metadata": {"name": "q"}, "spec": spec}).encode())
    notes = {**BEST_EFFORT["annotations"], "stretto.dev/queue": "q"}
    pods = [make_pod(name, cpu="600m", annotations=notes) for name in "ab"]
    assert sorted(harness.placed(*pods).values()) == ["", "n"]


def test_rules_of_kube_scheduler_ignore_the_pool() -> None:
    harness = harness_of(pools={"n": POOL}, profile="kube-parity")
    pods = make_pod("b", cpu="3", **BEST_EFFORT), make_pod("guaranteed", cpu="2")
    assert harness.placed(*pods) == {"b": "n", "guaranteed": ""}

"""Bad input in the live exact path: the pod gets an error, and the others continue."""

import json
from typing import Any

import msgspec
import pytest

from stretto.api.wire import kinds
from stretto.api.wire.kinds import NODE, POD
from stretto.stores.store import Deletion
from stretto.testing import make_node, make_pod
from tests.support.parity_cluster import HOST, ZONE, pod, thing
from tests.support.parity_plane import Parity

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
LONG = 30.0


def near(kind: str, *terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {kind: {REQUIRED: list(terms)}}}


def on_nodes(*rules: dict[str, Any]) -> dict[str, Any]:
    terms = [{"matchExpressions": list(rules)}]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}


def rule(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def peers(key: str, selector: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": selector}


def volume(name: str) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]}


RED = {"matchLabels": {"color": "red"}}
MANY = [rule(f"key-{i}", "NotIn", *(f"v{j}" for j in range(3))) for i in range(1000)]
SPECS: dict[str, tuple[dict[str, Any], str]] = {
    "affinity that contradicts itself": (
        {"labels": {"color": "red"}}
        | {"affinity": {"podAffinity": {REQUIRED: [peers(HOST, {"matchLabels": {"a": "b"}})]},
                        "podAntiAffinity": {REQUIRED: [peers(HOST, {"matchLabels": {"a": "b"}})]}}},
        "2 node(s) didn't match pod affinity rules",
    ),
    "a node selector that contradicts itself": (
        on_nodes(rule(ZONE, "In", "a"), rule(ZONE, "NotIn", "a")),
        "2 node(s) didn't match Pod's node affinity/selector",
    ),
    "a topology key that no node has": (
        {"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
                                        **peers("no/such", RED)}]},
        "2 node(s) didn't match pod topology spread constraints (missing required label)",
    ),
    "a label that is no integer under Gt": (
        on_nodes(rule("gen", "Gt", "3")),
        "2 node(s) didn't match Pod's node affinity/selector",
    ),
    "a limit that is no integer under Gt": (
        on_nodes(rule("gen", "Gt", "three")),
        "2 node(s) didn't match Pod's node affinity/selector",
    ),
    "a missing claim": (volume("nowhere"), 'persistentvolumeclaim "nowhere" not found'),
    "a claim of a class that is missing": (volume("orphan"), "unbound immediate"),
    "affinity to a node that is gone": (
        {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
            {"matchFields": [rule("metadata.name", "In", "gone")]}]}}}},
        "0/2 nodes are available",
    ),
    "an unknown operator": (
        near("podAffinity", peers(HOST, {"matchExpressions": [rule("a", "Resembles", "b")]})),
        "operator",
    ),
    "more than all nodes have": (
        {"requests": {"cpu": "800"}}, "2 Insufficient cpu"
    ),
}  # fmt: skip
"""The constraints of a pod, and the message."""


def plane_of_two() -> Parity:
    plane = Parity(*(make_node(f"{z}1", zone=z, cpu="4", labels={"gen": "new"}) for z in "ab"))
    plane.define(thing("PersistentVolumeClaim", "orphan", spec={"storageClassName": "no-such"}))
    return plane


@pytest.mark.parametrize(("constraints", "said"), SPECS.values(), ids=list(SPECS))
def test_an_impossible_request_is_reported_and_blocks_no_other_pod(
    constraints: dict[str, Any], said: str
) -> None:
    plane = plane_of_two()
    plane.submit_pod(pod("odd", **constraints))
    plane.submit(make_pod("plain"))
    plane.settle(LONG)
    assert (plane.node_of("odd"), plane.node_of("plain")) == ("", "a1")
    assert said in plane.said["odd"]


def test_a_selector_of_a_thousand_terms_is_met_like_any_other() -> None:
    plane = plane_of_two()
    far = near("podAntiAffinity", *(peers(ZONE, {"matchExpressions": [each]}) for each in MANY))
    plane.submit_pod(pod("many", **on_nodes(*MANY)))
    plane.submit_pod(pod("far", **far))
    plane.settle()
    assert (plane.node_of("many"), plane.node_of("far")) == ("a1", "b1")


def asking(**requests: str) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests}}


RAW: dict[str, dict[str, Any]] = {
    "a quantity below zero": {"containers": [asking(cpu="-1")]},
    "a quantity that is none": {"containers": [asking(cpu="lots")]},
    "a quantity that overflows": {"containers": [asking(cpu="8E")]},
    "quantities that overflow together": {"containers": [asking(memory="9E"), asking(memory="9E")]},
    "volumes that are no list": {"containers": [{"name": "c"}], "volumes": "all of them"},
    "an image that is a number": {"containers": [{"name": "c", "image": 7}]},
}


@pytest.mark.parametrize("spec", RAW.values(), ids=list(RAW))
def test_a_malformed_pod_reports_its_error_and_blocks_no_other(spec: dict[str, Any]) -> None:
    plane = plane_of_two()
    meta = {"name": "odd", "namespace": "default"}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    body["spec"] = {"schedulerName": "stretto", **spec}
    replies = plane.store.create(POD, [json.dumps(body).encode()])
    plane.submit(make_pod("plain"))
    plane.settle(LONG)
    refused = replies[0].message
    noted = plane.plane.cluster.abnormal.get("pod default/odd", "")
    assert plane.node_of("plain") == "a1"
    assert plane.node_of("odd") == ""
    assert refused or noted or plane.said["odd"]


def test_a_running_pod_with_a_malformed_body_still_uses_its_capacity() -> None:
    plane = plane_of_two()
    plane.submit(make_pod("odd", node="a1", cpu="2"))
    plane.settle()
    (uid,) = plane.plane.cluster.records
    lost = msgspec.structs.replace(plane.plane.cluster.records[uid], body=b"[]", version=1 << 40)
    plane.plane.cluster.records[uid] = lost
    plane.plane.cluster.ledger.touch([plane.plane.cluster.nodes.by_name["a1"]])
    assert plane.runtime.follower.snapshot.used["cpu"].tolist() == [2000, 0]


def test_a_budget_that_selects_everything_stops_no_preemption() -> None:
    plane = plane_of_two()
    budget = {"selector": {}, "minAvailable": 9}
    plane.define(thing("PodDisruptionBudget", "all", spec=budget))
    plane.submit(*(make_pod(f"low-{z}", node=f"{z}1", cpu="4", priority=0) for z in "ab"))
    plane.submit_pod(pod("big", requests={"cpu": "4"}, priority=10))
    plane.settle(LONG)
    assert plane.node_of("big") == "a1"


# ------------------------------------------------- what went wrong elsewhere, by name


def test_a_nomination_ends_with_its_pod_and_holds_no_capacity() -> None:
    """kubernetes#102339, #106780."""
    plane = plane_of_two()
    plane.submit(*(make_pod(f"low-{z}", node=f"{z}1", cpu="4", priority=0) for z in "ab"))
    plane.settle()
    plane.patch(POD, "low-a", metadata={"finalizers": ["x/y"]})
    plane.submit_pod(pod("big", requests={"cpu": "4"}, priority=10))
    plane.settle()
    plane.delete("big")
    plane.patch(POD, "low-a", metadata={"finalizers": None})
    plane.submit_pod(pod("small", requests={"cpu": "4"}, priority=0))
    plane.settle(LONG)
    assert (plane.node_of("small"), plane.plane.cluster.nominations.by_row) == ("a1", {})


def test_a_victim_that_never_terminates_does_not_block_its_preemptor_for_good() -> None:
    """kubernetes#95752, #66549."""
    plane = plane_of_two()
    plane.submit(make_pod("stuck", node="a1", cpu="4", priority=0))
    plane.submit(make_pod("soft", node="b1", cpu="4", priority=5))
    plane.settle()
    plane.patch(POD, "stuck", metadata={"finalizers": ["x/y"]})
    plane.submit_pod(pod("big", requests={"cpu": "4"}, priority=10))
    plane.settle(10.0)
    assert plane.node_of("big") == ""
    plane.settle(400.0)
    assert plane.node_of("big") == "b1"


def test_affinity_to_a_missing_node_or_to_nothing_fails_alone() -> None:
    """kubernetes#124930, #82796."""
    plane = plane_of_two()
    no_terms = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}}
    gone = SPECS["affinity to a node that is gone"][0]
    nothing = {"affinity": {"podAffinity": {}, "podAntiAffinity": {}}}
    for name, constraints in (("no-terms", no_terms), ("gone", gone), ("nothing", nothing)):
        plane.submit_pod(pod(name, **constraints))
    plane.store.delete(NODE, [Deletion("", "b1")])
    plane.settle(LONG)
    assert plane.placements() == {"no-terms": "", "gone": "", "nothing": "a1"}


def test_one_bad_claim_blocks_no_other_claim() -> None:
    """volcano#2843."""
    plane = plane_of_two()
    meta = {"name": "bad", "namespace": "default"}
    bad = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta}
    body = json.dumps({**bad, "spec": {"accessModes": 7}}).encode()
    plane.store.create(kinds.PERSISTENT_VOLUME_CLAIM, [body])
    plane.submit_pod(pod("odd", **volume("bad")))
    plane.submit(*(make_pod(f"p{i}") for i in range(5)))
    plane.settle()
    assert sorted(name for name, node in plane.placements().items() if not node) == ["odd"]
    assert 'persistentvolumeclaim "bad" not found' in plane.said["odd"]

"""Bad input under the default profile: the pod gets an error, and the others continue."""

import json
from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import NODE, PERSISTENT_VOLUME_CLAIM, POD, POD_DISRUPTION_BUDGET
from stretto.control.reporting.reporter import ReportConfig
from stretto.stores.store import Deletion
from stretto.testing import Harness, make_node, make_pod
from tests.support.parity_cluster import pod
from tests.unit.framework.parity.test_bad_input import (
    LONG,
    MANY,
    RAW,
    REQUIRED,
    SPECS,
    on_nodes,
    volume,
)

SAYS_MORE = {
    "a limit that is no integer under Gt": "expected exactly one integer for Gt",
    "a claim of a class that is missing": '"no-such" not found',
}
"""Cases in which the default profile reports the error instead of "no node matches"."""


def encoded(name: str, **constraints: Any) -> bytes:
    body = msgspec.to_builtins(pod(name, **constraints))
    body["metadata"]["namespace"] = "default"
    body["spec"]["schedulerName"] = "stretto"
    return json.dumps({"apiVersion": "v1", "kind": "Pod", **body}).encode()


@pytest.fixture
def plane() -> Harness:
    nodes = [make_node(f"{z}1", zone=z, cpu="4", labels={"gen": "new"}) for z in "ab"]
    harness = Harness(nodes, config={"tier": "numpy", "report": ReportConfig()})
    claim = {"metadata": {"name": "orphan", "namespace": "default"}}
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spec = {"spec": {**size, "storageClassName": "no-such"}}
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    harness.create(PERSISTENT_VOLUME_CLAIM, json.dumps({**kind, **claim, **spec}).encode())
    return harness


def said_of(plane: Harness, name: str) -> str:
    record = plane.store.get(POD, "default", name)
    assert record is not None
    conditions = msgspec.json.decode(record.body).get("status", {}).get("conditions", [])
    reported = [each.get("message", "") for each in conditions]
    return " ".join([*reported, plane.plane.cluster.abnormal.get(f"pod default/{name}", "")])


@pytest.mark.parametrize("name", SPECS)
def test_an_impossible_request_is_reported_and_blocks_no_other_pod(
    plane: Harness, name: str
) -> None:
    constraints, said = SPECS[name]
    plane.put(POD, encoded("odd", **constraints), make_pod("plain"))
    plane.settle(LONG)
    assert (plane.node_of("odd"), bool(plane.node_of("plain"))) == ("", True)
    assert SAYS_MORE.get(name, said) in said_of(plane, "odd")


def test_a_selector_of_a_thousand_terms_is_met_like_any_other(plane: Harness) -> None:
    plane.submit(encoded("many", **on_nodes(*MANY)), make_pod("plain"))
    plane.settle()
    assert plane.node_of("many") != ""


@pytest.mark.parametrize("spec", RAW.values(), ids=list(RAW))
def test_a_malformed_pod_reports_its_error_and_blocks_no_other(
    plane: Harness, spec: dict[str, Any]
) -> None:
    meta = {"name": "odd", "namespace": "default"}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
    replies = plane.store.create(
        POD, [json.dumps({**body, "spec": {"schedulerName": "stretto", **spec}}).encode()]
    )
    plane.submit(make_pod("plain"))
    plane.settle(LONG)
    assert plane.node_of("plain") != ""
    if replies[0].record is not None:
        assert plane.node_of("odd") or said_of(plane, "odd").strip()


def test_a_budget_that_selects_everything_stops_no_preemption(plane: Harness) -> None:
    meta = {"name": "all", "namespace": "default"}
    body: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta,
    }
    body["spec"] = {"selector": {}, "minAvailable": 9}
    plane.create(POD_DISRUPTION_BUDGET, json.dumps(body).encode())
    plane.submit(*(make_pod(f"low-{z}", node=f"{z}1", cpu="4", priority=0) for z in "ab"))
    plane.settle()
    plane.submit(make_pod("big", cpu="4", priority=10))
    plane.settle(LONG)
    assert plane.node_of("big") != ""


def test_affinity_to_a_missing_node_or_to_nothing_fails_alone(plane: Harness) -> None:
    """kubernetes#124930, #82796."""
    no_terms: dict[str, Any] = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}}
    gone = SPECS["affinity to a node that is gone"][0]
    nothing: dict[str, Any] = {"affinity": {"podAffinity": {}, "podAntiAffinity": {}}}
    specs = {"no-terms": no_terms, "gone": gone, "nothing": nothing}
    plane.put(POD, *(encoded(name, **constraints) for name, constraints in specs.items()))
    plane.store.delete(NODE, [Deletion("", "b1")])
    plane.settle(LONG)
    assert plane.placements() == {"no-terms": "", "gone": "", "nothing": "a1"}


def test_one_bad_claim_blocks_no_other_claim(plane: Harness) -> None:
    """volcano#2843."""
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    body: dict[str, Any] = {**kind, "metadata": {"name": "bad", "namespace": "default"}}
    body["spec"] = {"accessModes": 7}
    plane.store.create(PERSISTENT_VOLUME_CLAIM, [json.dumps(body).encode()])
    plane.submit(encoded("odd", **volume("bad")), make_pod("plain"))
    plane.settle(LONG)
    assert (plane.node_of("odd"), bool(plane.node_of("plain"))) == ("", True)


def test_a_nomination_ends_with_its_pod_and_holds_no_capacity(plane: Harness) -> None:
    """kubernetes#102339, #106780."""
    plane.submit(*(make_pod(f"low-{z}", node=f"{z}1", cpu="4", priority=5) for z in "ab"))
    plane.submit(make_pod("big", cpu="4", priority=10))
    plane.plane.step()
    plane.plane.step()
    plane.delete("big")
    plane.settle(LONG)
    assert plane.plane.cluster.nominations.by_row == {}
    plane.submit(make_pod("small", cpu="4", priority=0))
    plane.settle(LONG)
    assert bool(plane.node_of("small")) != all(plane.node_of(f"low-{z}") for z in "ab")

"""Pods go where the agent that is to start them is: the kubelet, or Gödel's node manager."""

import json
from typing import Any

import pytest

from stretto.api.types.handover_annotations import LAUNCHER
from stretto.api.wire.kinds import NM_NODE, NODE
from stretto.stores.store import Deletion, Patch
from stretto.testing import Harness, make_node, make_pod

PLAIN = {"tier": "numpy"}
BY_MANAGER = {"annotations": {LAUNCHER: "node-manager"}}
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


def manager(name: str, cpu: str = "4", **more: Any) -> bytes:
    """An NMNode."""
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    status = {"resourceCapacity": amounts, "resourceAllocatable": amounts}
    meta = {"name": name, **more.pop("metadata", {})}
    return json.dumps({"kind": "NMNode", "metadata": meta, "status": status, **more}).encode()


def harness_of(*managers: bytes, nodes: tuple[bytes, ...] = (), **more: Any) -> Harness:
    harness = Harness(nodes, config=PLAIN, **more)
    harness.create(NM_NODE, *managers)
    harness.settle()
    return harness


def test_a_node_without_a_kubelet_takes_pods_of_its_node_manager_alone() -> None:
    harness = harness_of(manager("m"))
    pods = make_pod("kubelet"), make_pod("manager", **BY_MANAGER)
    assert harness.placed(*pods) == {"kubelet": "", "manager": "m"}


def test_a_node_without_a_node_manager_takes_pods_of_its_kubelet_alone() -> None:
    harness = harness_of(nodes=(make_node("n"),))
    pods = make_pod("kubelet"), make_pod("manager", **BY_MANAGER)
    assert harness.placed(*pods) == {"kubelet": "n", "manager": ""}


def test_a_node_with_both_takes_both_from_the_same_capacity() -> None:
    harness = harness_of(manager("n"), nodes=(make_node("n", cpu="4"),))
    pods = (make_pod("a", cpu="2"), make_pod("b", cpu="2", **BY_MANAGER), make_pod("c", cpu="1"))
    assert harness.placed(*pods) == {"a": "n", "b": "n", "c": ""}


@pytest.mark.parametrize(("pod", "node"), [(make_pod("p"), "n"), (make_pod("p", **BY_MANAGER), "")])
def test_each_heeds_the_taints_of_its_own_agent(pod: bytes, node: str) -> None:
    harness = harness_of(manager("n", spec={"taints": [TAINT]}), nodes=(make_node("n"),))
    assert harness.placed(pod) == {"p": node}


def test_a_taint_of_the_node_and_a_cordon_are_the_kubelets() -> None:
    node = make_node("n", taints=[TAINT], unschedulable=True)
    harness = harness_of(manager("n"), nodes=(node,))
    pods = make_pod("kubelet"), make_pod("manager", **BY_MANAGER)
    assert harness.placed(*pods) == {"kubelet": "", "manager": "n"}


def test_a_pod_that_tolerates_the_managers_taint_is_admitted() -> None:
    harness = harness_of(manager("m", spec={"taints": [TAINT]}))
    tolerates = {"tolerations": [{"key": "k", "operator": "Exists"}]}
    assert harness.placed(make_pod("p", spec=tolerates, **BY_MANAGER)) == {"p": "m"}


def test_labels_of_the_manager_count_where_there_is_no_node() -> None:
    harness = harness_of(manager("a"), manager("b", metadata={"labels": {"disk": "ssd"}}))
    wants = {"nodeSelector": {"disk": "ssd"}}
    assert harness.placed(make_pod("p", spec=wants, **BY_MANAGER)) == {"p": "b"}


def test_a_waiting_pod_is_placed_when_its_agent_comes() -> None:
    harness = harness_of(nodes=(make_node("n"),))
    assert harness.placed(make_pod("p", **BY_MANAGER)) == {"p": ""}
    harness.create(NM_NODE, manager("n"))
    harness.settle(20.0)
    assert harness.node_of("p") == "n"


def test_a_pod_keeps_its_capacity_when_the_kubelet_comes_and_goes() -> None:
    harness = harness_of(manager("m", cpu="4"))
    assert harness.placed(make_pod("p", cpu="3", **BY_MANAGER)) == {"p": "m"}
    harness.create_nodes(make_node("m", cpu="4"))
    assert harness.placed(make_pod("q", cpu="2"))["q"] == ""
    harness.store.delete(NODE, [Deletion("", "m")])
    harness.settle()
    assert harness.placed(make_pod("r", cpu="2", **BY_MANAGER))["r"] == ""
    assert harness.placed(make_pod("s", cpu="1", **BY_MANAGER))["s"] == "m"


def test_a_manager_that_goes_takes_its_node_with_it() -> None:
    harness = harness_of(manager("m"))
    harness.store.delete(NM_NODE, [Deletion("", "m")])
    assert harness.placed(make_pod("p", **BY_MANAGER)) == {"p": ""}
    assert harness.plane.cluster.nodes.by_name == {}


def test_a_manager_that_grows_admits_more_pods() -> None:
    harness = harness_of(manager("m", cpu="1"))
    assert harness.placed(make_pod("p", cpu="2", **BY_MANAGER)) == {"p": ""}
    status = json.loads(manager("m", cpu="4"))["status"]
    harness.store.patch_status(NM_NODE, [Patch("", "m", {"status": status})])
    harness.settle(20.0)
    assert harness.node_of("p") == "m"


def test_a_fresh_list_of_nodes_does_not_remove_nodes_without_a_kubelet() -> None:
    harness = harness_of(manager("m"))
    before = int(harness.plane.cluster.ledger.slots.generation[0])
    harness.settle(700.0)
    assert int(harness.plane.cluster.ledger.slots.generation[0]) == before


def test_rules_of_kube_scheduler_reject_nodes_without_a_kubelet() -> None:
    harness = harness_of(manager("m"), profile="kube-parity")
    assert harness.placed(make_pod("p", **BY_MANAGER)) == {"p": ""}


def test_an_unknown_agent_is_rejected_by_name() -> None:
    harness = harness_of(nodes=(make_node("n"),))
    assert harness.placed(make_pod("p", annotations={LAUNCHER: "systemd"})) == {"p": ""}
    said = harness.plane.cluster.abnormal["pod default/p"]
    assert "expected one of kubelet, node-manager" in said

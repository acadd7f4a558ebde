import msgspec
import numpy as np
import pytest

from stretto.api.wire.meta import NodeSelector
from stretto.api.wire.selectors import node_terms
from stretto.state.nodes.table import NO_RANK, NodeFacts, zone_name
from stretto.state.work.units import Cure
from tests.support.small_cluster import a_node, nodes_of, slots_of, term


def selector(*terms: dict[str, object]) -> NodeSelector:
    return msgspec.convert({"nodeSelectorTerms": list(terms)}, NodeSelector)


def test_a_new_node_is_reported_with_all_its_fields() -> None:
    nodes = NodeFacts()
    changed = nodes.put(3, a_node("n", {"a": "1"}, taints=["gpu:NoSchedule"]))
    assert changed == Cure.NODE_ADDED | Cure.NODE_LABELS | Cure.NODE_TAINTS
    assert (nodes.by_name, nodes.names[3], nodes.uids[3]) == ({"n": 3}, "n", "uid-n")


def test_the_same_node_again_changes_nothing() -> None:
    node = a_node("n", {"a": "1"}, taints=["gpu:NoSchedule"], unschedulable=True)
    nodes = nodes_of(node)
    version = nodes.version
    assert nodes.put(0, node) == Cure.NONE
    assert nodes.version == version


def test_each_change_reports_what_it_may_cure() -> None:
    nodes = nodes_of(a_node("n"))
    assert nodes.put(0, a_node("n", {"a": "1"})) == Cure.NODE_LABELS
    assert nodes.put(0, a_node("n", {"a": "1"}, unschedulable=True)) == Cure.NODE_TAINTS
    assert nodes.put(0, a_node("n", {"a": "1"}, taints=["x:NoExecute"])) == Cure.NODE_TAINTS
    assert nodes.put(0, a_node("n", taints=["x:NoExecute"])) == Cure.NODE_LABELS


def test_a_namesake_with_another_uid_is_another_node() -> None:
    nodes = nodes_of(a_node("n"))
    nodes.uids[0] = "older"
    assert Cure.NODE_ADDED in nodes.put(0, a_node("n"))


def test_another_name_on_a_slot_replaces_the_node() -> None:
    nodes = nodes_of(a_node("old"))
    nodes.put(0, a_node("new"))
    assert nodes.by_name == {"new": 0}


def test_one_name_cannot_live_on_two_slots() -> None:
    nodes = nodes_of(a_node("n"))
    with pytest.raises(ValueError, match="is on slot 0, not 1"):
        nodes.put(1, a_node("n"))


def test_a_removed_node_leaves_nothing() -> None:
    nodes = nodes_of(a_node("n", {"zone": "a"}, taints=["x:NoExecute"], unschedulable=True))
    nodes.remove(0)
    nodes.remove(0)
    assert (len(nodes), nodes.names[0], nodes.live[0]) == (0, "", 0)
    assert (nodes.taint_set[0], nodes.unschedulable[0], nodes.labels.of(0)) == (0, 0, {})


def test_equal_lists_of_taints_share_a_number() -> None:
    nodes = nodes_of(
        a_node("a", taints=["x:NoExecute"]), a_node("b", taints=["x:NoExecute"]), a_node("c")
    )
    assert nodes.taint_set[:3].tolist() == [1, 1, 0]
    assert nodes.taint_ids_in(nodes.taint_set[:3]).tolist() == [0, 1]


def test_the_number_of_an_unused_list_is_reused() -> None:
    nodes = nodes_of(a_node("n"))
    for turn in range(20):
        nodes.put(0, a_node("n", taints=[f"t{turn}:NoExecute"]))
    assert len(nodes.taint_sets) <= 3
    assert nodes.taint_sets[nodes.taint_set[0]][0].key == "t19"


def test_name_rank_orders_live_nodes_by_name() -> None:
    nodes = nodes_of(a_node("n10"), a_node("n2"), a_node("n1"))
    assert nodes.name_rank[:4].tolist() == [1, 2, 0, NO_RANK]
    nodes.remove(2)
    nodes.put(5, a_node("a"))
    assert np.argsort(nodes.name_rank, kind="stable")[:3].tolist() == [5, 0, 1]


def test_the_zone_is_a_label_and_its_old_name_still_counts() -> None:
    old, new = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
    assert [zone_name(x) for x in ({}, {old: "a"}, {old: "a", new: "b"})] == ["", "a", "b"]
    assert nodes_of(a_node("n", {new: "z1"})).zones[0] == "z1"


def test_a_term_requires_labels_and_names_together() -> None:
    nodes = nodes_of(a_node("n0", {"a": "1"}), a_node("n1", {"a": "1"}), a_node("n2"))
    terms = node_terms(selector(term("a In 1", "@ NotIn n0"), term("@ In n2")), "test")
    assert nodes.matches(terms, np.arange(4)).tolist() == [False, True, True, False]


def test_a_term_without_rules_matches_no_node() -> None:
    nodes = nodes_of(a_node("n"))
    assert not nodes.matches(node_terms(selector({}), "test"), slots_of(0)).any()
    assert not nodes.matches((), slots_of(0)).any()

from collections.abc import Hashable
from typing import ClassVar

import numpy as np
import pytest

from stretto.framework.contract.rule import (
    BoolArray,
    Fail,
    FilterRule,
    Refusal,
    Restrict,
    Scope,
    SlotArray,
    View,
)
from stretto.framework.engine.diagnosis import Diagnosis, ReasonCount, Shortage, diagnose
from stretto.framework.plugins.node_affinity import REASON_CONFLICT, NodeAffinityRule
from stretto.framework.plugins.node_name import NodeNameRule
from stretto.framework.plugins.node_unschedulable import NodeUnschedulableRule
from stretto.framework.plugins.taints import TaintTolerationRule
from stretto.state.classes.table import PodClass
from stretto.state.nodes.table import NodeFacts
from tests.support.small_cluster import a_class, a_node, look, nodes_of, requiring, term

SELECTOR = "node(s) didn't match Pod's node affinity/selector"


class Full(FilterRule):
    """Refuses slots below a number: too little CPU, and on slot 0 too little memory as well."""

    NAME: ClassVar[str] = "Full"
    SCOPE: ClassVar[Scope] = Scope.SLOT

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        return ~self.refusals(pod, view, slots)[0].mask

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        below = int(self.args["below"])
        return [
            Refusal("Insufficient cpu", np.asarray(slots < below)),
            Refusal("Insufficient memory", np.asarray(slots == 0)),
        ]

    def lacks(self, pod: PodClass, view: View, slot: int) -> list[tuple[str, int, int]]:
        return [("cpu", 500, 100 * slot)]


class Pinning(FilterRule):
    """Allows slot 1 only, or fails."""

    NAME: ClassVar[str] = "Pinning"
    SCOPE: ClassVar[Scope] = Scope.SLOT

    def signature(self, pod: PodClass) -> Hashable | None:
        return None if self.args.get("silent") else pod.id

    def prepare(self, pod: PodClass, view: View) -> Restrict | Fail | None:
        return self.args["answer"]  # type: ignore[no-any-return]

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        return np.ones(len(slots), np.bool_)

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        return []


def diagnosed(rules: list[FilterRule], pod: PodClass, nodes: NodeFacts) -> Diagnosis:
    return diagnose(rules, pod, look(nodes), nodes.live_slots())


def five() -> NodeFacts:
    return nodes_of(
        a_node("e", {"zone": "a"}),
        a_node("d", {"zone": "a"}),
        a_node("c", {"zone": "a"}),
        a_node("b", taints=["gpu:NoSchedule"]),
        a_node("a", unschedulable=True),
    )


def all_rules(below: int = 3) -> list[FilterRule]:
    static = [
        NodeUnschedulableRule({}),
        NodeNameRule({}),
        TaintTolerationRule({}),
        NodeAffinityRule({}),
    ]
    return [*static, Full({"below": below})]


def test_each_node_counts_under_the_first_rule_that_refuses_it() -> None:
    found = diagnosed(all_rules(5), requiring(term("zone In a")), five())
    assert found.message == (
        "0/5 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable, 3 Insufficient cpu."
    )
    assert (found.total, found.available) == (5, 0)


def test_entries_stand_in_the_order_of_their_text_figures_included() -> None:
    nodes = nodes_of(*(a_node(f"n{i:02}", unschedulable=i < 10) for i in range(12)))
    found = diagnosed(all_rules(0), a_class(nodeSelector={"x": "y"}), nodes)
    assert found.message == (
        f"0/12 nodes are available: 10 node(s) were unschedulable, 2 {SELECTOR}."
    )
    assert [each.count for each in found.reasons] == [10, 2]


def test_the_nearest_have_the_fewest_reasons_then_hope_then_the_smallest_name() -> None:
    found = diagnosed(all_rules(3), a_class(), five())
    assert [near.name for near in found.nearest] == ["c", "d", "a", "b", "e"]
    assert found.nearest[2].reasons == ("node(s) were unschedulable",)


def test_a_near_node_shows_its_shortage_where_the_rule_has_one() -> None:
    found = diagnosed(all_rules(3), a_class(), five())
    assert found.nearest[0].lacks == (Shortage("cpu", 500, 200),)
    assert found.nearest[2].lacks == ()


def test_nodes_that_pass_are_counted_and_are_not_near() -> None:
    found = diagnosed(all_rules(1), a_class(), five())
    assert (found.available, len(found.nearest)) == (2, 3)
    assert found.message.startswith("2/5 nodes are available: 1 Insufficient cpu, ")


def test_a_rule_that_fails_at_once_is_the_only_reason_in_the_message() -> None:
    found = diagnosed(all_rules(5), requiring(term("@ In a", "@ In b")), five())
    assert found.message == f"0/5 nodes are available: {REASON_CONFLICT}."
    assert found.reasons == (ReasonCount(REASON_CONFLICT, "NodeAffinity", 5, resolvable=False),)


def test_nodes_that_the_affinity_does_not_name_are_reported_by_plugin() -> None:
    found = diagnosed(all_rules(5), requiring(term("@ In d")), five())
    assert found.message == (
        "0/5 nodes are available: 1 Insufficient cpu, "
        "4 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_nodes_that_the_node_name_does_not_name_have_its_own_reason() -> None:
    found = diagnosed(all_rules(5), a_class(nodeName="d"), five())
    assert found.message == (
        "0/5 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable, "
        "3 node(s) didn't match the requested node name."
    )


def test_pins_that_have_no_node_in_common_are_named_together() -> None:
    rules = [Pinning({"answer": Restrict(np.array([1]))}), NodeAffinityRule({})]
    found = diagnosed(rules, requiring(term("@ In e")), five())
    assert found.message == (
        "0/5 nodes are available: "
        "node(s) didn't satisfy plugin(s) [NodeAffinity Pinning] simultaneously."
    )


def test_without_nodes_the_message_names_the_cause() -> None:
    assert diagnosed(all_rules(), a_class(), nodes_of()).message == (
        "no nodes available to schedule pods"
    )


@pytest.mark.parametrize("wanted", [0, 2])
def test_as_many_near_nodes_are_named_as_requested(wanted: int) -> None:
    nodes = five()
    found = diagnose(all_rules(), a_class(), look(nodes), nodes.live_slots(), wanted)
    assert len(found.nearest) == wanted

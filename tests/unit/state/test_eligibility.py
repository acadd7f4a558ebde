from collections.abc import Hashable

import numpy as np
import pytest

from stretto.base.errors import InputError
from stretto.framework.contract.rule import View
from stretto.framework.plugins.node_affinity import NodeAffinityRule
from stretto.framework.plugins.node_unschedulable import NodeUnschedulableRule
from stretto.framework.plugins.taints import TaintTolerationRule
from stretto.state.classes.table import PodClass
from stretto.state.nodes import static_rows
from stretto.state.nodes.eligibility import Eligibility
from stretto.state.nodes.labels import BoolArray, SlotArray
from stretto.state.nodes.table import NodeFacts
from tests.support.small_cluster import (
    a_class,
    a_node,
    look,
    nodes_of,
    preferring,
    requiring,
    term,
)

TAINTS, AFFINITY = TaintTolerationRule({}), NodeAffinityRule({})


def a_fleet() -> NodeFacts:
    return nodes_of(
        a_node("n0", {"zone": "a"}),
        a_node("n1", {"zone": "b"}, taints=["gpu:NoSchedule"]),
        a_node("n2", {"zone": "b"}, unschedulable=True),
    )


def rows_over(nodes: NodeFacts, row_bytes: int = 1 << 20) -> Eligibility[View]:
    filters = [NodeUnschedulableRule({}), TAINTS, AFFINITY]
    scores = [(TAINTS, 3), (AFFINITY, 2)]
    return Eligibility(filters, scores, nodes, lambda: look(nodes), row_bytes)


def passing(rows: Eligibility[View], pod: PodClass) -> list[int]:
    row = rows.filter_row(pod)
    return np.flatnonzero(rows.rows[row]).tolist()


def scored(rows: Eligibility[View], pod: PodClass) -> list[int]:
    row = rows.score_row(pod)
    return rows.scores[row, :3].tolist()


def test_without_rules_every_live_slot_passes_and_scores_nothing() -> None:
    rows: Eligibility[View] = Eligibility([], [], a_fleet(), lambda: look(NodeFacts()))
    pod = a_class()
    assert (rows.filter_row(pod), rows.score_row(pod)) == (0, 0)
    assert (passing(rows, pod), scored(rows, pod)) == ([0, 1, 2], [0, 0, 0])


def test_a_row_is_what_all_filters_allow() -> None:
    rows = rows_over(a_fleet())
    assert passing(rows, a_class()) == [0]
    assert passing(rows, a_class(tolerations=[{"operator": "Exists"}])) == [0, 1, 2]
    assert passing(rows, requiring(term("zone In b"))) == []


def test_a_score_row_is_the_weighted_sum() -> None:
    rows = rows_over(a_fleet())
    assert scored(rows, preferring((5, term("zone In b")))) == [300, 500, 500]


def test_classes_that_request_the_same_share_a_row() -> None:
    rows = rows_over(a_fleet())
    one, two = requiring(term("zone In a")), requiring(term("zone In a"))
    assert rows.filter_row(one) == rows.filter_row(two)
    assert rows.filter_row(one) != rows.filter_row(a_class())


def test_pods_that_differ_in_their_preferences_only_share_the_filter_row() -> None:
    rows = rows_over(a_fleet())
    wishing = preferring((1, term("zone In a")))
    assert rows.filter_row(wishing) == rows.filter_row(a_class())
    assert rows.score_row(wishing) != rows.score_row(a_class())


def test_slots_without_a_node_are_in_no_row() -> None:
    rows = rows_over(a_fleet())
    rows.filter_row(a_class(tolerations=[{"operator": "Exists"}]))
    assert not rows.rows[:, 3:].any()
    assert not rows.scores[:, 3:].any()


def test_a_changed_node_is_right_in_every_row_after_a_refresh() -> None:
    nodes = a_fleet()
    rows = rows_over(nodes)
    pods = [a_class(), requiring(term("zone In c"))]
    before = [passing(rows, pod) for pod in pods]
    nodes.put(2, a_node("n2", {"zone": "c"}))
    rows.refresh([2])
    assert (before, [passing(rows, pod) for pod in pods]) == ([[0], []], [[0, 2], [2]])


def test_a_removed_node_is_removed_from_every_row() -> None:
    nodes = a_fleet()
    rows = rows_over(nodes)
    rows.filter_row(a_class())
    nodes.remove(0)
    rows.refresh([0])
    assert not rows.rows[:, 0].any()


def test_rows_grow_with_the_slots() -> None:
    nodes = a_fleet()
    rows = rows_over(nodes)
    pod = a_class()
    rows.filter_row(pod)
    nodes.put(500, a_node("far"))
    rows.refresh([500])
    assert passing(rows, pod) == [0, 500]
    assert rows.rows.shape[1] == rows.scores.shape[1] >= 501


def test_the_row_used_longest_ago_is_given_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_rows, "MIN_ROWS", 3)
    rows = rows_over(a_fleet(), row_bytes=0)
    one, two, three = (requiring(term(f"zone In {z}")) for z in "abc")
    kept, given = rows.filter_row(one), rows.filter_row(two)
    serials = rows.row_serials.copy()
    rows.filter_row(one)
    assert rows.filter_row(three) == given
    assert rows.filter_row(one) == kept
    assert rows.epoch == 1
    assert np.flatnonzero(rows.row_serials != serials).tolist() == [given]


def test_a_class_whose_row_was_given_away_gets_a_right_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_rows, "MIN_ROWS", 2)
    rows = rows_over(nodes_of(*(a_node(f"n{z}", {"zone": z}) for z in "abc")), row_bytes=0)
    pods = [requiring(term(f"zone In {z}")) for z in "abc"]
    for _ in range(3):
        assert [passing(rows, pod) for pod in pods] == [[0], [1], [2]]


def test_rows_that_are_kept_are_not_given_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_rows, "MIN_ROWS", 3)
    rows = rows_over(a_fleet(), row_bytes=0)
    first, second = (rows.filter_row(requiring(term(f"zone In {z}"))) for z in "ab")
    rows.mark_used(np.array([first]), np.array([0]))
    assert rows.filter_row(requiring(term("zone In c"))) == second


def test_a_rule_runs_once_for_a_signature_that_many_rows_share() -> None:
    class Counting(TaintTolerationRule):
        requested = 0

        def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
            self.requested += 1
            return super().filter(pod, view, slots)

    nodes, rule = a_fleet(), Counting({})
    rows = Eligibility([rule, AFFINITY], [], nodes, lambda: look(nodes))
    for zone in "abcdef":
        rows.filter_row(requiring(term(f"zone In {zone}")))
    rows.refresh([0])
    assert rows.rows.any()
    assert rule.requested == 2


def test_a_rule_of_others_needs_no_more_than_the_contract() -> None:
    class Even:
        def signature(self, pod: PodClass) -> Hashable | None:
            return pod.id

        def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
            return slots % 2 == 0

    nodes = a_fleet()
    rows = Eligibility([Even()], [], nodes, lambda: look(nodes))
    assert passing(rows, a_class()) == [0, 2]


@pytest.mark.parametrize("weights", [(300, 28), (-1, 2)])
def test_weights_that_a_row_cannot_hold_are_refused(weights: tuple[int, int]) -> None:
    scores = list(zip((TAINTS, AFFINITY), weights, strict=True))
    with pytest.raises(InputError, match="weights of static scores"):
        Eligibility([], scores, a_fleet(), lambda: look(NodeFacts()))

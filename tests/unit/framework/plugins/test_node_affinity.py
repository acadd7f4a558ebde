from typing import Any

import numpy as np
import pytest

from stretto.base.errors import StrettoError, UnknownNameError
from stretto.framework.contract.rule import Fail, Restrict
from stretto.framework.plugins.node_affinity import (
    REASON,
    REASON_ADDED,
    REASON_CONFLICT,
    NodeAffinityRule,
)
from tests.support.small_cluster import (
    a_class,
    a_node,
    affinity,
    look,
    nodes_of,
    preferring,
    requiring,
    slots_of,
    term,
)

RULE = NodeAffinityRule({})
VIEW = look(
    nodes_of(
        a_node("n0", {"zone": "a", "gen": "007"}),
        a_node("n1", {"zone": "b", "gen": "12"}),
        a_node("n2", {"zone": "b", "gen": "old"}),
        a_node("n3"),
    )
)
ALL = slots_of(0, 1, 2, 3)


def enforcing(*terms: dict[str, Any], preferred: Any = ()) -> NodeAffinityRule:
    wire = affinity(required=terms or None, preferred=preferred)["nodeAffinity"]
    return NodeAffinityRule({"addedAffinity": wire})


def test_a_pod_without_terms_fits_every_node() -> None:
    assert RULE.signature(a_class()) is None
    assert RULE.prepare(a_class(), VIEW) is None
    assert RULE.filter(a_class(), VIEW, ALL).all()


@pytest.mark.parametrize(
    ("terms", "passing"),
    [
        ([term("zone In b")], [1, 2]),
        ([term("zone NotIn b")], [0, 3]),
        ([term("zone Exists")], [0, 1, 2]),
        ([term("zone DoesNotExist")], [3]),
        ([term("gen Gt 7")], [1]),
        ([term("gen Lt 8")], [0]),
        ([term("zone In b", "gen Gt 7")], [1]),
        ([term("zone In a"), term("gen In old")], [0, 2]),
        ([term("@ In n3")], [3]),
        ([term("@ NotIn n3")], [0, 1, 2]),
        ([term("zone In b", "@ In n1")], [1]),
        ([{}], []),
        ([{}, term("zone In a")], [0]),
        ([], []),
    ],
)
def test_any_one_required_term_must_hold(terms: list[dict[str, Any]], passing: list[int]) -> None:
    mask = RULE.filter(requiring(*terms), VIEW, ALL)
    assert np.flatnonzero(mask).tolist() == passing


def test_every_label_of_the_selector_must_be_there() -> None:
    pod = a_class(nodeSelector={"zone": "b", "gen": "12"})
    assert RULE.filter(pod, VIEW, slots_of(2, 1)).tolist() == [False, True]


def test_selector_and_affinity_must_both_hold() -> None:
    pod = requiring(term("gen Exists"), nodeSelector={"zone": "a"})
    assert np.flatnonzero(RULE.filter(pod, VIEW, ALL)).tolist() == [0]


def test_the_score_is_the_percentage_of_the_weights_met() -> None:
    pod = preferring(
        (30, term("zone In b")), (10, term("gen Gt 7")), (5, {}), (0, term("x Exists"))
    )
    assert RULE.score(pod, VIEW, ALL).tolist() == [0, 100, 75, 0]
    assert RULE.filter(pod, VIEW, ALL).all()


def test_a_pod_without_preferences_scores_nothing() -> None:
    assert not RULE.score(requiring(term("zone Exists")), VIEW, ALL).any()


def test_names_in_every_term_narrow_the_search() -> None:
    answer = RULE.prepare(requiring(term("@ In n3"), term("@ In n1", "zone In a")), VIEW)
    assert isinstance(answer, Restrict)
    assert answer.slots.tolist() == [1, 3]


@pytest.mark.parametrize("other", [term("zone In a"), term("@ NotIn n1"), {}])
def test_a_term_without_names_leaves_the_search_wide(other: dict[str, Any]) -> None:
    assert RULE.prepare(requiring(term("@ In n3"), other), VIEW) is None


def test_names_that_contradict_each_other_fail_at_once() -> None:
    assert RULE.prepare(requiring(term("@ In n1", "@ In n2")), VIEW) == Fail(REASON_CONFLICT)


def test_a_name_of_no_node_leaves_no_slot() -> None:
    answer = RULE.prepare(requiring(term("@ In gone")), VIEW)
    assert isinstance(answer, Restrict)
    assert len(answer.slots) == 0


@pytest.mark.parametrize("rule", ["zone Near b", "zone In", "gen Gt x", "gen Gt 1,2", "@ Exists"])
def test_a_term_that_cannot_be_read_is_met_by_no_node(rule: str) -> None:
    pod = requiring(term(rule), term("zone In a"))
    assert np.flatnonzero(RULE.filter(pod, VIEW, ALL)).tolist() == [0]
    assert RULE.prepare(pod, VIEW) is None


def test_a_pod_with_only_malformed_terms_reports_the_error() -> None:
    answer = RULE.prepare(requiring(term("gen Gt x")), VIEW)
    assert isinstance(answer, Fail)
    assert "exactly one integer for Gt" in answer.reason
    assert not RULE.filter(requiring(term("gen Gt x")), VIEW, ALL).any()


def test_equal_preferences_in_another_order_have_one_signature() -> None:
    one = requiring(
        term("a In x,y", "b Exists"), term("c Exists"), nodeSelector={"p": "1", "q": "2"}
    )
    two = requiring(
        term("c Exists"), term("b Exists", "a In y,x"), nodeSelector={"q": "2", "p": "1"}
    )
    assert RULE.signature(one) == RULE.signature(two)
    assert RULE.signature(one) != RULE.signature(requiring(term("a In x,y", "b Exists")))


def test_filter_and_score_depend_on_their_own_halves() -> None:
    pod = preferring((1, term("a Exists")))
    assert RULE.filter_signature(pod) is None
    assert RULE.score_signature(pod) is not None
    assert RULE.signature(pod) is not None


def test_a_selector_of_nothing_required_is_not_one_of_an_empty_list() -> None:
    assert RULE.filter_signature(a_class()) is None
    assert RULE.filter_signature(requiring()) is not None


def test_the_others_are_refused_for_good() -> None:
    (refusal,) = RULE.refusals(requiring(term("zone In b")), VIEW, ALL)
    assert (refusal.reason, refusal.mask.tolist()) == (REASON, [True, False, False, True])
    assert not refusal.resolvable


def test_an_affinity_added_by_the_profile_holds_for_every_pod() -> None:
    rule = enforcing(term("zone Exists"), preferred=[(1, term("zone In a"))])
    assert np.flatnonzero(rule.filter(a_class(), VIEW, ALL)).tolist() == [0, 1, 2]
    assert rule.score(a_class(), VIEW, ALL).tolist() == [100, 0, 0, 0]
    assert rule.signature(a_class()) is not None


def test_the_profile_refuses_before_the_pod_does() -> None:
    first, second = enforcing(term("zone Exists")).refusals(requiring(term("zone In b")), VIEW, ALL)
    assert (first.reason, first.mask.tolist()) == (REASON_ADDED, [False, False, False, True])
    assert (second.reason, second.mask.tolist()) == (REASON, [True, False, False, False])


@pytest.mark.parametrize(
    "args",
    [
        {"addedAfinity": {}},
        {"addedAffinity": []},
        {"addedAffinity": affinity(required=[term("zone Near b")])["nodeAffinity"]},
        {"addedAffinity": affinity(preferred=[(1, term("gen Gt x"))])["nodeAffinity"]},
    ],
)
def test_wrong_arguments_are_refused(args: dict[str, Any]) -> None:
    with pytest.raises(StrettoError):
        NodeAffinityRule(args)


def test_an_unknown_argument_is_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean addedAffinity"):
        NodeAffinityRule({"addedAfinity": {}})


def test_an_empty_cluster_is_answered_with_nothing() -> None:
    view, nothing = look(nodes_of()), np.zeros(0, np.int64)
    assert len(RULE.filter(requiring(term("zone In b")), view, nothing)) == 0
    assert len(RULE.score(preferring((1, term("a Exists"))), view, nothing)) == 0

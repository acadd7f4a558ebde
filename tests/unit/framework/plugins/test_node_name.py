import numpy as np
import pytest

from stretto.base.errors import UnknownNameError
from stretto.framework.contract.rule import Restrict
from stretto.framework.plugins.node_name import REASON, NodeNameRule
from tests.support.small_cluster import a_class, a_node, look, nodes_of, slots_of

VIEW = look(nodes_of(a_node("n0"), a_node("n1"), a_node("n2")))
ALL = slots_of(0, 1, 2)
RULE = NodeNameRule({})


def test_a_pod_that_names_no_node_is_not_its_business() -> None:
    pod = a_class()
    assert RULE.signature(pod) is None
    assert RULE.prepare(pod, VIEW) is None
    assert RULE.filter(pod, VIEW, ALL).all()
    assert RULE.refusals(pod, VIEW, ALL) == []


def test_only_the_named_node_passes() -> None:
    assert RULE.filter(a_class(nodeName="n1"), VIEW, ALL).tolist() == [False, True, False]


def test_the_search_is_narrowed_to_the_named_node() -> None:
    answer = RULE.prepare(a_class(nodeName="n2"), VIEW)
    assert isinstance(answer, Restrict)
    assert answer.slots.tolist() == [2]


def test_a_name_that_no_node_has_leaves_no_slot() -> None:
    pod = a_class(nodeName="gone")
    answer = RULE.prepare(pod, VIEW)
    assert isinstance(answer, Restrict)
    assert answer.slots.tolist() == []
    assert not RULE.filter(pod, VIEW, ALL).any()


def test_the_others_are_refused_for_good() -> None:
    (refusal,) = RULE.refusals(a_class(nodeName="n1"), VIEW, ALL)
    assert (refusal.reason, refusal.mask.tolist()) == (REASON, [True, False, True])
    assert not refusal.resolvable


def test_an_empty_cluster_is_answered_with_nothing() -> None:
    empty = look(nodes_of())
    assert len(RULE.filter(a_class(nodeName="n1"), empty, np.zeros(0, np.int64))) == 0


def test_arguments_are_refused_and_the_type_of_their_list_is_not() -> None:
    NodeNameRule({"kind": "NodeNameArgs"})
    with pytest.raises(UnknownNameError, match="NodeName"):
        NodeNameRule({"loud": True})

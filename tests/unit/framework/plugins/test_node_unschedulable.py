import numpy as np
import pytest

from stretto.base.errors import UnknownNameError
from stretto.framework.plugins.node_unschedulable import REASON, NodeUnschedulableRule
from tests.support.small_cluster import a_class, a_node, look, nodes_of, slots_of

VIEW = look(nodes_of(a_node("open"), a_node("cordoned", unschedulable=True)))
ALL = slots_of(0, 1)
RULE = NodeUnschedulableRule({})
KEY = "node.kubernetes.io/unschedulable"


def test_a_cordoned_node_takes_no_new_pod() -> None:
    assert RULE.filter(a_class(), VIEW, ALL).tolist() == [True, False]


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": KEY, "operator": "Exists"},
        {"key": KEY, "operator": "Exists", "effect": "NoSchedule"},
        {"operator": "Exists"},
        {"key": KEY},
    ],
)
def test_a_pod_that_tolerates_cordons_may_use_the_node(toleration: dict[str, str]) -> None:
    pod = a_class(tolerations=[toleration])
    assert RULE.signature(pod) is None
    assert RULE.filter(pod, VIEW, ALL).all()


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": KEY, "operator": "Exists", "effect": "NoExecute"},
        {"key": "other", "operator": "Exists"},
        {"key": KEY, "value": "x"},
    ],
)
def test_other_tolerations_do_not_help(toleration: dict[str, str]) -> None:
    assert not RULE.filter(a_class(tolerations=[toleration]), VIEW, ALL)[1]


def test_all_pods_that_tolerate_no_cordon_share_one_signature() -> None:
    odd = a_class(tolerations=[{"key": "x", "operator": "Exists"}])
    assert RULE.signature(a_class()) == RULE.signature(odd) is not None


def test_the_cordoned_are_refused_for_good() -> None:
    (refusal,) = RULE.refusals(a_class(), VIEW, ALL)
    assert (refusal.reason, refusal.mask.tolist()) == (REASON, [False, True])
    assert not refusal.resolvable
    assert RULE.refusals(a_class(), VIEW, slots_of(0)) == []


def test_an_empty_cluster_is_answered_with_nothing() -> None:
    assert len(RULE.filter(a_class(), look(nodes_of()), np.zeros(0, np.int64))) == 0


def test_arguments_are_refused_and_the_type_of_their_list_is_not() -> None:
    NodeUnschedulableRule({"kind": "NodeUnschedulableArgs"})
    with pytest.raises(UnknownNameError, match="NodeUnschedulable"):
        NodeUnschedulableRule({"loud": True})

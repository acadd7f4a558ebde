import msgspec
import numpy as np
import pytest

from stretto.api.types.core import Taint
from stretto.api.types.pod import Toleration
from stretto.base.errors import UnknownNameError
from stretto.framework.plugins.taints import REASON, TaintTolerationRule
from stretto.state.nodes.taints import tolerates
from tests.support.small_cluster import a_class, a_node, a_taint, look, nodes_of, slots_of

RULE = TaintTolerationRule({})
VIEW = look(
    nodes_of(
        a_node("plain"),
        a_node("gpu", taints=["gpu=a100:NoSchedule"]),
        a_node("leaving", taints=["gone:NoExecute"]),
        a_node("both", taints=["gpu=a100:NoSchedule", "gone:NoExecute"]),
        a_node("shy", taints=["a:PreferNoSchedule", "b:PreferNoSchedule"]),
    )
)
ALL = slots_of(0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("toleration", "taint", "tolerated"),
    [
        ({"key": "a", "value": "1"}, "a=1:NoSchedule", True),
        ({"key": "a", "operator": "Equal", "value": "1"}, "a=2:NoSchedule", False),
        ({"key": "a"}, "a:NoSchedule", True),
        ({"key": "a", "operator": "Exists"}, "a=2:NoSchedule", True),
        ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, "a:NoSchedule", False),
        ({"operator": "Exists"}, "a=2:NoExecute", True),
        ({"operator": "Exists", "effect": "NoSchedule"}, "a:NoExecute", False),
        ({"value": "1"}, "a=1:NoSchedule", True),
        ({"key": "b", "operator": "Exists"}, "a:NoSchedule", False),
        ({"key": "a", "operator": "Gt", "value": "5"}, "a=6:NoSchedule", True),
        ({"key": "a", "operator": "Gt", "value": "5"}, "a=5:NoSchedule", False),
        ({"key": "a", "operator": "Lt", "value": "5"}, "a=-1:NoSchedule", True),
        ({"key": "a", "operator": "Lt", "value": "5"}, "a=007:NoSchedule", False),
        ({"key": "a", "operator": "Gt", "value": "x"}, "a=6:NoSchedule", False),
        ({"key": "a", "operator": "Near", "value": "6"}, "a=6:NoSchedule", False),
    ],
)
def test_a_toleration_tolerates_a_taint(
    toleration: dict[str, str], taint: str, tolerated: bool
) -> None:
    requested = msgspec.convert(toleration, Toleration)
    assert tolerates(requested, msgspec.convert(a_taint(taint), Taint)) is tolerated


def test_untolerated_taints_reject_unless_they_are_prefer_no_schedule() -> None:
    assert RULE.filter(a_class(), VIEW, ALL).tolist() == [True, False, False, False, True]


def test_every_no_schedule_and_no_execute_taint_must_be_tolerated() -> None:
    pod = a_class(tolerations=[{"key": "gpu", "operator": "Exists"}])
    assert RULE.filter(pod, VIEW, ALL).tolist() == [True, True, False, False, True]


def test_a_toleration_of_everything_opens_every_node() -> None:
    assert RULE.filter(a_class(tolerations=[{"operator": "Exists"}]), VIEW, ALL).all()


def test_each_untolerated_prefer_no_schedule_taint_costs_score() -> None:
    one = a_class(tolerations=[{"key": "a", "operator": "Exists"}])
    assert RULE.score(a_class(), VIEW, ALL).tolist() == [100, 100, 100, 100, 33]
    assert RULE.score(one, VIEW, slots_of(4, 0)).tolist() == [50, 100]


def test_taints_concern_pods_without_tolerations_too() -> None:
    assert RULE.signature(a_class()) == RULE.signature(a_class(nodeName="x")) is not None


def test_what_does_not_matter_is_no_part_of_the_signature() -> None:
    one = {"key": "a", "operator": "Equal", "effect": "NoExecute", "tolerationSeconds": 300}
    two = {"key": "b", "operator": "Exists"}
    first = a_class(tolerations=[one, two])
    second = a_class(tolerations=[two, {**one, "operator": "", "tolerationSeconds": 9}, two])
    assert RULE.signature(first) == RULE.signature(second)


def test_filter_and_score_depend_on_their_own_effects() -> None:
    soft = a_class(tolerations=[{"key": "a", "operator": "Exists", "effect": "PreferNoSchedule"}])
    assert RULE.filter_signature(soft) == RULE.filter_signature(a_class())
    assert RULE.score_signature(soft) != RULE.score_signature(a_class())


def test_the_tainted_are_refused_for_good_and_without_naming_the_taint() -> None:
    (refusal,) = RULE.refusals(a_class(), VIEW, ALL)
    assert (refusal.reason, refusal.mask.tolist()) == (REASON, [False, True, True, True, False])
    assert not refusal.resolvable
    assert RULE.refusals(a_class(), VIEW, slots_of(0, 4)) == []


def test_an_empty_cluster_is_answered_with_nothing() -> None:
    nothing = np.zeros(0, np.int64)
    assert len(RULE.filter(a_class(), look(nodes_of()), nothing)) == 0
    assert len(RULE.score(a_class(), look(nodes_of()), nothing)) == 0


def test_arguments_are_refused_and_the_type_of_their_list_is_not() -> None:
    TaintTolerationRule({"kind": "TaintTolerationArgs"})
    with pytest.raises(UnknownNameError, match="TaintToleration"):
        TaintTolerationRule({"loud": True})

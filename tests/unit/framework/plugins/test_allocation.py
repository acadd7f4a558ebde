"""NodeResourcesBalancedAllocation: how evenly a node would be used."""

from typing import Any

import pytest

from stretto.base.errors import InputError, UnknownNameError
from stretto.framework.compiled.tables import ScoreCode
from stretto.framework.plugins.allocation import NAME, NodeResourcesBalancedAllocationRule
from tests.support.slot_cluster import SlotSketch


def scores(sketch: SlotSketch, *names: str, **requested: Any) -> list[int]:
    args = {"resources": [{"name": name} for name in names]} if names else {}
    rule = NodeResourcesBalancedAllocationRule(args)
    return rule.score(sketch.pod(**requested), sketch.view, sketch.slots).tolist()


def test_even_use_is_worth_everything_and_uneven_use_half_the_difference_less() -> None:
    sketch = SlotSketch({"cpu": "4", "memory": "4Gi"}, {"cpu": "8", "memory": "2Gi"})
    assert scores(sketch, cpu="2", memory="2Gi") == [100, 62]


def test_three_resources_are_judged_by_their_standard_deviation() -> None:
    node = {"cpu": "4", "memory": "4Gi", "resources": {"ephemeral-storage": "4Gi"}}
    requested = {"cpu": "4", "memory": "2Gi", "resources": {"ephemeral-storage": "0"}}
    names = ("cpu", "memory", "ephemeral-storage")
    assert scores(SlotSketch(node), *names, **requested) == [59]


def test_what_a_node_has_not_got_is_left_out() -> None:
    sketch = SlotSketch({"cpu": "4"}, {"cpu": "4", "resources": {"example.com/nic": "4"}})
    assert scores(sketch, "cpu", "example.com/nic", cpu="2") == [100, 75]


def test_an_empty_answer_for_an_empty_cluster() -> None:
    assert scores(SlotSketch()) == []


def test_the_compiled_form_has_no_weights() -> None:
    sketch = SlotSketch({})
    rule = NodeResourcesBalancedAllocationRule({"resources": [{"name": "cpu", "weight": 9}]})
    score = rule.compiled(sketch.cluster.ledger.resources)
    assert score == (ScoreCode.BALANCED, (0,), (1.0,), ())


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean resources"):
        NodeResourcesBalancedAllocationRule({"resource": []})
    with pytest.raises(InputError, match=NAME):
        NodeResourcesBalancedAllocationRule({"resources": "cpu"})

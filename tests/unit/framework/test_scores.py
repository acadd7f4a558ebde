"""Which scores are fused, and how the rest is laid out."""

from typing import Any

import pytest

from stretto.base.errors import InputError
from stretto.framework.compiled.devices import fgd_thresholds
from stretto.framework.compiled.tables import PairScore, ScoreCode, ScoreTable
from stretto.framework.engine.compile_scores import compile_scores
from stretto.framework.profile.profile import load_profile
from stretto.state.rows.resources import ResourceColumns


def compiled(*names: str, **args: dict[str, Any]) -> tuple[PairScore, ScoreTable]:
    score = {"disabled": [{"name": "*"}], "enabled": [{"name": n, "weight": 3} for n in names]}
    config = [{"name": name, "args": given} for name, given in args.items()]
    profile = load_profile({"profiles": [{"plugins": {"score": score}, "pluginConfig": config}]})
    return compile_scores(profile.scores, ResourceColumns())


FIT, BALANCED = "NodeResourcesFit", "NodeResourcesBalancedAllocation"
CPU_MEMORY = [{"name": "memory", "weight": 2}, {"name": "cpu", "weight": 1}]


def test_fit_and_balance_over_cpu_and_memory_are_one_pass() -> None:
    pair, table = compiled(FIT, BALANCED)
    assert (pair.least, pair.most, pair.balanced, len(table.code)) == (3, 0, 3, 0)
    assert (pair.first, pair.second, pair.first_weight, pair.second_weight) == (0, 1, 1, 1)


def test_weights_follow_their_columns_in_whatever_order_they_are_given() -> None:
    args = {"scoringStrategy": {"type": "MostAllocated", "resources": CPU_MEMORY}}
    pair, _ = compiled(FIT, BALANCED, **{FIT: args})
    assert (pair.first_weight, pair.second_weight, pair.most) == (1, 2, 3)


def test_scores_over_other_resources_go_to_the_table() -> None:
    args = {"resources": [{"name": "cpu"}, {"name": "ephemeral-storage"}]}
    pair, table = compiled(FIT, BALANCED, **{BALANCED: args})
    assert (pair.least, pair.balanced) == (3, 0)
    assert table.code.tolist() == [ScoreCode.BALANCED]
    assert table.column[0, :2].tolist() == [0, 2]


def test_a_ratio_goes_to_the_table_with_its_shape() -> None:
    shape = [{"utilization": 10, "score": 0}, {"utilization": 100, "score": 10}]
    strategy = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}
    pair, table = compiled(FIT, **{FIT: {"scoringStrategy": strategy}})
    assert (table.points[0], table.shape_x[0, :2].tolist()) == (2, [10, 100])
    assert table.shape_y[0, :2].tolist() == [0, 100]
    assert pair.first_weight + pair.second_weight == 0


def test_policies_keep_their_order_and_weight() -> None:
    _, table = compiled("FGD", "BestFit")
    assert table.code.tolist() == [ScoreCode.FGD, ScoreCode.BEST_FIT]
    assert table.weight.tolist() == [3, 3]


@pytest.mark.parametrize("names", [(), ("Random",), ("TaintToleration",)])
def test_with_nothing_to_compute_rows_are_still_made_in_one_pass(names: tuple[str, ...]) -> None:
    pair, table = compiled(*names)
    assert (len(table.code), pair.least, pair.most, pair.balanced) == (0, 0, 0, 0)
    assert pair.first_weight + pair.second_weight > 0


def test_more_resources_than_the_tables_hold_are_refused() -> None:
    rule, _ = load_profile("default").slot_scores[0]
    rule.resources = tuple((f"example.com/{i}", 1) for i in range(9))  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="at most 8 resources"):
        compile_scores([(rule, 1)], ResourceColumns())


def test_thresholds_ascend_and_the_last_is_never_reached() -> None:
    thresholds = fgd_thresholds()
    assert (thresholds[1:] > thresholds[:-1]).all()
    assert (len(thresholds), thresholds[-1]) == (100, float("inf"))

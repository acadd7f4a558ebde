"""The openb study's policies, by its formulas worked out by hand (gpu_policies)."""

from typing import Any

import numpy as np
import pytest

from stretto.base.errors import InputError, UnknownNameError
from stretto.framework.compiled.tables import NOTHING, ScoreCode
from stretto.framework.compiled.typical import TypicalPod, weighted_pods
from stretto.framework.plugins.gpu_policies import (
    BestFitRule,
    DotProdRule,
    FgdRule,
    GpuClusteringRule,
    GpuPackingRule,
    RandomRule,
)
from tests.support.slot_cluster import SlotSketch


def score(rule: Any, sketch: SlotSketch, **requested: Any) -> list[int]:
    return rule.score(sketch.pod(**requested), sketch.view, sketch.slots).tolist()


def test_random_has_no_scores_and_costs_nothing() -> None:
    sketch = SlotSketch({}, {"gpus": 2})
    assert score(RandomRule({}), sketch, gpus=1) == [0, 0]
    assert RandomRule({}).compiled(sketch.cluster.ledger.resources) == NOTHING


def test_best_fit_prefers_the_least_remainder() -> None:
    sketch = SlotSketch({"cpu": "64", "gpus": 4}, {"cpu": "128", "gpus": 8})
    # 100(1 − ((64−32)/128 + (4−2)/8)/2) = 75 and 100(1 − ((128−32)/128 + (8−2)/8)/2) = 25
    assert score(BestFitRule({}), sketch, cpu="32", gpus=2) == [75, 25]


def test_dot_prod_prefers_little_of_what_is_requested() -> None:
    sketch = SlotSketch({"cpu": "64", "gpus": 4}, {"cpu": "128", "gpus": 8})
    # 100(1 − (64·64/128² + 4·4/8²)/2) = 75 and 100(1 − (128·64/128² + 8·4/8²)/2) = 50
    assert score(DotProdRule({}), sketch, cpu="64", gpus=4) == [75, 50]


@pytest.mark.parametrize("rule", [BestFitRule({}), DotProdRule({})])
def test_nodes_larger_than_the_studys_stay_on_the_scale(rule: Any) -> None:
    sketch = SlotSketch({"cpu": "1024", "gpus": 16})
    (found,) = score(rule, sketch, cpu="900", gpus=16)
    assert 0 <= found <= 100


def test_packing_takes_gpus_in_use_then_free_ones_of_a_node_in_use_then_an_idle_node() -> None:
    sketch = SlotSketch({"gpus": 2}, {"gpus": 2}, {"gpus": 2})
    sketch.run("n0", sketch.pod(gpus=1, gpu_milli=400), [1])
    sketch.run("n1", sketch.pod(gpus=1, gpu_milli=1000), [0])
    # GPU 1 of n0 has 60 % free: 100 − 60/10; n1 needs one whole GPU: 50 − 1; n2 is idle: 33 − 2
    assert score(GpuPackingRule({}), sketch, gpus=1, gpu_milli=500) == [94, 49, 31]


def test_packing_does_not_score_pods_without_gpu() -> None:
    assert score(GpuPackingRule({}), SlotSketch({"gpus": 2})) == [0]


def test_clustering_keeps_pods_of_a_form_together() -> None:
    sketch = SlotSketch(*[{"gpus": 8}] * 4)
    sketch.run("n0", sketch.pod(gpus=1), [0])
    sketch.run("n1", sketch.pod(gpus=1), [0])
    sketch.run("n1", sketch.pod(gpus=2), [1, 2])
    sketch.run("n2", sketch.pod(gpus=2), [0, 1])
    # own form alone 75 + 25/8, among others 50 + 25·3/8, only others 25·2/8, empty 25
    assert score(GpuClusteringRule({}), sketch, gpus=1) == [78, 59, 6, 25]


def test_clustering_does_not_score_pods_without_gpu() -> None:
    assert score(GpuClusteringRule({}), SlotSketch({"gpus": 2})) == [0]


def test_fgd_prefers_the_node_whose_gpus_lose_least_of_their_use() -> None:
    sketch = SlotSketch({"gpus": 1}, {"gpus": 1})
    sketch.run("n0", sketch.pod(gpus=1, gpu_milli=500), [0])
    halves = [(TypicalPod(0, 1, 500), 1.0)]
    sketch.typical = weighted_pods(halves, sketch.cluster.ledger.devices)
    # n0: no remainder, no loss. n1: 700 of 1000 remain, and are usable. Then 300 taken:
    found = score(FgdRule({}), sketch, gpus=1, gpu_milli=300)
    # n0 keeps 200 that fit no pod: 100·sigmoid(−0.2); n1 keeps 700 that fit one: 50
    assert found == [45, 50]


def test_fgd_without_typical_pods_finds_all_nodes_alike() -> None:
    assert score(FgdRule({}), SlotSketch({"gpus": 1}, {}), gpus=1) == [50, 50]


def test_each_policy_has_its_code() -> None:
    resources = SlotSketch().cluster.ledger.resources
    rules = [
        DotProdRule({}),
        BestFitRule({}),
        GpuPackingRule({}),
        GpuClusteringRule({}),
        FgdRule({}),
    ]
    assert [rule.compiled(resources).code for rule in rules] == [ScoreCode(n) for n in range(4, 9)]


def test_typical_pods_may_come_from_the_profile() -> None:
    item = {"cpu": 4000, "count": 1, "milli": 500, "models": ["T4"], "frequency": 3}
    other = {"cpu": 100, "frequency": 1}
    devices = SlotSketch().cluster.ledger.devices
    fixed = FgdRule({"typicalPods": [item, other]}).fixed(devices)
    assert fixed is not None
    assert fixed.frequency.tolist() == [0.75, 0.25]
    assert (fixed.gpus.tolist(), fixed.milli.tolist()) == ([1, 0], [500, 0])
    assert fixed.models[0] == 1 << devices.model_number("T4")


def test_typical_pods_are_learnt_unless_given() -> None:
    devices = SlotSketch().cluster.ledger.devices
    assert FgdRule({}).fixed(devices) is FgdRule({"typicalPods": "learn"}).fixed(devices) is None


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("lern", "did you mean learn"),
        ([{"cpu": 1}], "typicalPods[0].frequency"),
        ([{"cpu": -1, "frequency": 1}], "typicalPods[0].cpu"),
        ([{"count": 17, "frequency": 1}], "typicalPods[0].count"),
        ([{"count": 1, "milli": 0, "frequency": 1}], "typicalPods[0].milli"),
        ([{"count": 1, "models": "T4", "frequency": 1}], "typicalPods[0].models"),
        ([{"gpus": 1, "frequency": 1}], "'gpus'"),
    ],
)
def test_wrong_typical_pods_are_refused(value: Any, part: str) -> None:
    with pytest.raises((InputError, UnknownNameError)) as caught:
        FgdRule({"typicalPods": value})
    assert part in str(caught.value)


def test_other_policies_take_no_arguments() -> None:
    with pytest.raises(UnknownNameError):
        BestFitRule({"weight": 1})


def test_scores_are_int32_for_restricted_slots_too() -> None:
    sketch = SlotSketch({"gpus": 2}, {"gpus": 4})
    for rule in (
        DotProdRule({}),
        BestFitRule({}),
        GpuPackingRule({}),
        GpuClusteringRule({}),
        FgdRule({}),
    ):
        found = rule.score(sketch.pod(gpus=1), sketch.view, sketch.slots[1:])
        assert (found.dtype, found.shape) == (np.int32, (1,))

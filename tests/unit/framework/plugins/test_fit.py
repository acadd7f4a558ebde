"""NodeResourcesFit: every reason, every strategy, wrong arguments."""

from typing import Any

import numpy as np
import pytest

from stretto.base.errors import InputError, UnknownNameError
from stretto.framework.compiled.tables import ScoreCode
from stretto.framework.contract.rule import Fail
from stretto.framework.plugins.fit import TOO_MANY_RESOURCES, NodeResourcesFitRule
from tests.support.slot_cluster import SlotSketch

RULE = NodeResourcesFitRule({})
SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 50, "score": 10}]
SHAPE += [{"utilization": 100, "score": 0}]


def strategy(kind: str, **more: Any) -> NodeResourcesFitRule:
    return NodeResourcesFitRule({"scoringStrategy": {"type": kind, **more}})


def reasons(sketch: SlotSketch, **requested: Any) -> dict[str, list[tuple[int, bool]]]:
    """Reason to (node number, resolvable)."""
    found: dict[str, list[tuple[int, bool]]] = {}
    for refusal in RULE.refusals(sketch.pod(**requested), sketch.view, sketch.slots):
        for node in np.flatnonzero(refusal.mask).tolist():
            found.setdefault(refusal.reason, []).append((node, refusal.resolvable))
    return found


def test_a_pod_goes_where_every_amount_is_free() -> None:
    sketch = SlotSketch({"cpu": "1"}, {"cpu": "4"}, {"cpu": "4", "memory": "64Mi"})
    pod = sketch.pod(cpu="2", memory="128Mi")
    assert RULE.filter(pod, sketch.view, sketch.slots).tolist() == [False, True, False]


def test_only_the_requested_slots_are_answered() -> None:
    sketch = SlotSketch({"cpu": "1"}, {"cpu": "4"})
    answer = RULE.filter(sketch.pod(cpu="2"), sketch.view, sketch.slots[1:])
    assert answer.tolist() == [True]


def test_an_empty_cluster_gets_an_empty_answer() -> None:
    sketch = SlotSketch()
    assert RULE.filter(sketch.pod(), sketch.view, sketch.slots).tolist() == []


def test_what_running_pods_take_could_be_freed_and_what_the_node_lacks_could_not() -> None:
    sketch = SlotSketch({"cpu": "4"}, {"cpu": "1"})
    sketch.run("n0", sketch.pod(cpu="3"))
    assert reasons(sketch, cpu="2") == {"Insufficient cpu": [(0, True), (1, False)]}


@pytest.mark.parametrize(
    ("requested", "reason"),
    [
        ({"cpu": "100"}, "Insufficient cpu"),
        ({"memory": "1Ti"}, "Insufficient memory"),
        ({"resources": {"ephemeral-storage": "2Gi"}}, "Insufficient ephemeral-storage"),
        ({"resources": {"example.com/nic": "3"}}, "Insufficient example.com/nic"),
        ({"resources": {"example.com/absent": "1"}}, "Insufficient example.com/absent"),
        ({"resources": {"hugepages-2Mi": "2Mi"}}, "Insufficient hugepages-2Mi"),
    ],
)
def test_each_resource_has_its_own_reason(requested: dict[str, Any], reason: str) -> None:
    sketch = SlotSketch({"resources": {"ephemeral-storage": "1Gi", "example.com/nic": "2"}})
    assert reasons(sketch, **requested) == {reason: [(0, False)]}


def test_a_full_node_has_too_many_pods() -> None:
    sketch = SlotSketch({"pods": 1}, {"pods": 0})
    sketch.run("n0", sketch.pod())
    assert reasons(sketch) == {"Too many pods": [(0, True), (1, False)]}


def test_pod_places_are_named_before_resources() -> None:
    sketch = SlotSketch({"pods": 0, "cpu": "1"})
    assert list(reasons(sketch, cpu="2")) == ["Too many pods", "Insufficient cpu"]


def test_a_node_that_shrank_below_its_usage_admits_no_more_pods() -> None:
    sketch = SlotSketch({"cpu": "4"})
    sketch.run("n0", sketch.pod(cpu="3"))
    sketch.cluster.ledger.set_allocatable(0, {"cpu": 1000, "memory": 1 << 40, "pods": 9})
    assert reasons(sketch, cpu="0") == {}
    assert reasons(sketch, cpu="1m") == {"Insufficient cpu": [(0, True)]}


def test_it_shows_what_is_lacking_in_exact_units() -> None:
    sketch = SlotSketch({"cpu": "4", "memory": "1Gi"})
    sketch.run("n0", sketch.pod(cpu="3", memory="512Mi"))
    lacks = RULE.lacks(sketch.pod(cpu="2", memory="1Gi"), sketch.view, sketch.slot("n0"))
    assert lacks == [("cpu", 2000, 1000), ("memory", 1 << 30, 1 << 29)]


def test_a_class_of_too_many_resources_goes_nowhere_and_states_why() -> None:
    many = {f"example.com/r{i}": "1" for i in range(12)}
    sketch = SlotSketch({"resources": dict.fromkeys(many, "5")})
    pod = sketch.pod(resources=many)
    assert RULE.prepare(pod, sketch.view) == Fail(TOO_MANY_RESOURCES)
    assert not RULE.filter(pod, sketch.view, sketch.slots).any()
    assert reasons(sketch, resources=many) == {TOO_MANY_RESOURCES: [(0, False)]}


# ---------------------------------------------------------------- scores


def scores(rule: NodeResourcesFitRule, sketch: SlotSketch, **requested: Any) -> list[int]:
    return rule.score(sketch.pod(**requested), sketch.view, sketch.slots).tolist()


TWO = SlotSketch({"cpu": "4", "memory": "4Gi"}, {"cpu": "8", "memory": "4Gi"})


def test_least_allocated_is_the_mean_free_share_after_placing() -> None:
    assert scores(strategy("LeastAllocated"), TWO, cpu="2", memory="1Gi") == [62, 75]


def test_most_allocated_is_the_mean_used_share_after_placing() -> None:
    assert scores(strategy("MostAllocated"), TWO, cpu="2", memory="1Gi") == [37, 25]


def test_weights_count_as_often_as_stated() -> None:
    weights = [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]
    rule = strategy("LeastAllocated", resources=weights)
    assert scores(rule, TWO, cpu="2", memory="1Gi") == [56, 75]


def test_one_resource_may_be_weighed_alone() -> None:
    rule = strategy("MostAllocated", resources=[{"name": "cpu", "weight": 1}])
    assert scores(rule, TWO, cpu="2", memory="4Gi") == [50, 25]


def test_a_resource_that_a_node_has_not_got_is_left_out() -> None:
    sketch = SlotSketch({"cpu": "4"}, {"cpu": "4", "resources": {"example.com/nic": "4"}})
    weights = [{"name": "cpu", "weight": 1}, {"name": "example.com/nic", "weight": 1}]
    rule = strategy("MostAllocated", resources=weights)
    assert scores(rule, sketch, cpu="2") == [50, 25]


def test_a_resource_that_no_node_has_scores_nothing() -> None:
    rule = strategy("LeastAllocated", resources=[{"name": "example.com/none"}])
    assert scores(rule, TWO) == [0, 0]


def test_the_ratio_follows_its_shape() -> None:
    rule = strategy(
        "RequestedToCapacityRatio",
        resources=[{"name": "cpu"}],
        requestedToCapacityRatio={"shape": SHAPE},
    )
    assert scores(rule, TWO, cpu="2") == [100, 50]


def test_free_below_zero_scores_as_full() -> None:
    sketch = SlotSketch({"cpu": "4", "memory": "4Gi"})
    sketch.run("n0", sketch.pod(cpu="3", memory="0"))
    sketch.cluster.ledger.set_allocatable(0, {"cpu": 1000, "memory": 4 << 30, "pods": 9})
    assert scores(strategy("MostAllocated"), sketch, cpu="0", memory="0") == [50]


def test_the_compiled_form_names_columns_weights_and_shape() -> None:
    weights = [{"name": "memory", "weight": 2}, {"name": "cpu"}]
    ratio = {"shape": SHAPE}
    rule = strategy("RequestedToCapacityRatio", resources=weights, requestedToCapacityRatio=ratio)
    score = rule.compiled(TWO.cluster.ledger.resources)
    assert score == (ScoreCode.RATIO, (1, 0), (2.0, 1.0), ((0, 0), (50, 100), (100, 0)))


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("args", "error", "part"),
    [
        ({"scoringStrateg": {}}, UnknownNameError, "did you mean scoringStrategy"),
        ({"scoringStrategy": {"type": "Least"}}, UnknownNameError, "LeastAllocated"),
        ({"scoringStrategy": []}, InputError, "scoringStrategy: got []"),
        ({"scoringStrategy": {"resources": [{"weight": 1}]}}, InputError, "resources[0].name"),
        (
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}},
            InputError,
            "from 0 to 100",
        ),
        ({"scoringStrategy": {"resources": [{"name": "cpu"}] * 2}}, InputError, "once"),
        (
            {"scoringStrategy": {"resources": [{"name": f"r{i}"} for i in range(9)]}},
            InputError,
            "at most 8",
        ),
        ({"scoringStrategy": {"type": "RequestedToCapacityRatio"}}, InputError, "1 to 16 points"),
        (
            {"scoringStrategy": {"requestedToCapacityRatio": {"shape": SHAPE}}},
            InputError,
            "nothing, unless",
        ),
        ({"ignoredResources": ["example.com/nic"]}, InputError, "over-committed"),
    ],
)
def test_wrong_arguments_are_refused_where_they_stand(
    args: dict[str, Any], error: type[Exception], part: str
) -> None:
    with pytest.raises(error) as caught:
        NodeResourcesFitRule(args)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("shape", "part"),
    [
        ([{"utilization": 5, "score": 11}], "shape[0].score"),
        ([{"utilization": 101, "score": 1}], "shape[0].utilization"),
        ([{"utilization": 5, "score": 1}, {"utilization": 5, "score": 2}], "more than the 5"),
        ([{"utilization": 5}], "shape[0].score"),
    ],
)
def test_a_shape_must_ascend_within_its_scale(shape: list[dict[str, int]], part: str) -> None:
    with pytest.raises(InputError) as caught:
        strategy("RequestedToCapacityRatio", requestedToCapacityRatio={"shape": shape})
    assert part in str(caught.value)

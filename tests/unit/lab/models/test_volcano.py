"""Models after Volcano: shares of queues, packing, load that is not measured yet."""

import pytest

from stretto.capacity.model.profiles import CapacityProfile
from stretto_lab.models.volcano import capacities, proportion, states
from stretto_lab.models.volcano.accounts import QueueAccount
from stretto_lab.models.volcano.capacities import QueueTreeError
from stretto_lab.models.volcano.packing import PackingWeights, packing_score
from stretto_lab.models.volcano.shadow import (
    MeasuredNode,
    ShadowTask,
    TaskPhase,
    TwoResources,
    UsageRules,
    shadow_load,
    takes_tasks,
    usage_score,
)
from stretto_lab.models.volcano.states import ShareQueue

WHOLE = {"cpu": 10_000.0}
GREEDY = QueueAccount(request={"cpu": 20_000.0})
ROOT = ShareQueue("root")
NODE = MeasuredNode(TwoResources(4_000, 4_000), TwoResources(0.5, 0.5), age_s=10)
TASK = ShadowTask(TwoResources(1_000, 1_000), TwoResources())


def deserved(profile: CapacityProfile) -> list[float]:
    queues = [ShareQueue("a", weight=9), ShareQueue("b", guarantee={"cpu": 5_000.0})]
    accounts = {"a": GREEDY, "b": GREEDY}
    found = proportion.proportional(queues, accounts, WHOLE, profile)
    return [each.deserved["cpu"] for each in found]


def test_guarantees_come_before_the_division_except_for_volcano() -> None:
    assert sum(deserved(CapacityProfile.STRETTO)) == pytest.approx(10_000)
    assert deserved(CapacityProfile.VOLCANO) == pytest.approx([5_000, 5_000])


def test_what_a_queue_does_not_request_goes_to_the_others() -> None:
    accounts = {"a": QueueAccount(request={"cpu": 1_000.0}), "b": GREEDY}
    found = proportion.proportional([ShareQueue("a"), ShareQueue("b")], accounts, WHOLE)
    assert [each.deserved["cpu"] for each in found] == pytest.approx([1_000, 9_000])


def test_a_parent_holds_what_its_children_hold_and_takes_no_task() -> None:
    leaf = QueueAccount(allocated={"cpu": 3_000.0})
    queues = [ROOT, ShareQueue("a"), ShareQueue("b", parent="a")]
    found = {each.spec.name: each for each in capacities.tree(queues, {"b": leaf}, WHOLE)}
    assert found["a"].account.allocated == {"cpu": 3_000}
    assert not states.admits(found["a"], [found["root"]], {"cpu": 1})


def most_of(name: str, *queues: ShareQueue) -> dict[str, float]:
    """Maximum amounts of a queue of a tree."""
    found = {each.spec.name: each for each in capacities.tree(queues, {}, WHOLE)}
    return found[name].capability


def test_the_capability_of_the_root_limits_its_children() -> None:
    root = ShareQueue("root", capability={"cpu": 4_000.0})
    assert most_of("a", root, ShareQueue("a")) == {"cpu": 4_000, "memory": 0}
    assert most_of("a", ROOT, ShareQueue("a"))["cpu"] == float("inf")


def test_a_queue_has_no_resource_that_its_parent_lacks() -> None:
    assert "gpu" not in most_of("a", ROOT, ShareQueue("a", capability={"gpu": 4.0}))


def test_a_guarantee_of_a_resource_that_the_parent_lacks_reaches_the_children() -> None:
    queues = [ROOT, ShareQueue("a", guarantee={"gpu": 2.0}), ShareQueue("b", parent="a")]
    assert [most_of(name, *queues)["gpu"] for name in ("a", "b")] == [2, 2]


def test_nothing_limits_a_deserved_resource_that_others_have_guaranteed_completely() -> None:
    queues = [ShareQueue("a", deserved={"gpu": 3.0}), ShareQueue("b", guarantee={"gpu": 4.0})]
    found = capacities.flat(queues, {"a": QueueAccount()}, {"gpu": 4.0})
    assert ("gpu" in found[0].capability, found[0].deserved["gpu"]) == (False, 3)


@pytest.mark.parametrize(
    ("queues", "said"),
    [
        ([ShareQueue("a")], "no queue root"),
        ([ROOT, ShareQueue("a", parent="x")], "unknown parent x"),
        ([ROOT, ShareQueue("a", parent="a")], "queue a has jobs and children"),
        ([ROOT, ShareQueue("a"), ShareQueue("b", parent="a")], "queue a has jobs and children"),
    ],
)
def test_queues_that_are_no_tree_are_refused(queues: list[ShareQueue], said: str) -> None:
    with pytest.raises(QueueTreeError, match=said):
        capacities.tree(queues, {"a": GREEDY}, WHOLE)


def test_queues_that_are_their_own_ancestors_have_no_capability() -> None:
    cycle = [ShareQueue("a", parent="b"), ShareQueue("b", parent="a")]
    found = {each.spec.name: each for each in capacities.tree([ROOT, *cycle], {}, WHOLE)}
    assert [found[name].path for name in "ab"] == [("a", "b", "a"), ("b", "a")]
    assert [found[name].capability for name in "ab"] == [{}, {}]


def test_an_admitted_job_counts_for_the_next() -> None:
    found = capacities.flat([ShareQueue("a")], {"a": QueueAccount()}, WHOLE)
    wanted = [("a", {"cpu": 6_000.0}), ("a", {"cpu": 6_000.0}), ("b", {})]
    assert states.admit_jobs({"a": found[0]}, wanted) == [True, False, None]


def test_packing_prefers_the_node_that_becomes_fullest() -> None:
    weights = PackingWeights({"cpu": 1.0})
    assert packing_score({"cpu": 1}, {"cpu": 2}, {"cpu": 4}, weights) == 75
    assert packing_score({"cpu": 3}, {"cpu": 2}, {"cpu": 4}, weights) == 0


def test_a_negative_weight_of_the_score_is_honoured_for_volcano_only() -> None:
    weights = PackingWeights({"cpu": 1.0}, score=-1.0)
    scores = [packing_score({"cpu": 1}, {}, {"cpu": 2}, weights, each) for each in CapacityProfile]
    assert [each for each in scores if each] == [-50]


def test_tasks_that_no_metric_shows_count_as_load() -> None:
    started = TASK._replace(phase=TaskPhase.STARTED, started_ago_s=60)
    shadow = shadow_load(NODE, [TASK, started], UsageRules())
    assert shadow == TwoResources(700, 700)
    assert usage_score(NODE, shadow, UsageRules()) < usage_score(NODE, TwoResources(), UsageRules())


def test_estimates_are_raised_on_a_loaded_node() -> None:
    shadow = shadow_load(NODE, [TASK, TASK], UsageRules())
    assert shadow.cpu == pytest.approx(700 + 1.2 * 700)


@pytest.mark.parametrize(
    ("used", "age_s", "takes"), [(0.8, 0, True), (0.9, 0, False), (1, 301, True)]
)
def test_a_hot_node_takes_no_task_while_its_metrics_are_fresh(
    used: float, age_s: float, takes: bool
) -> None:
    node = NODE._replace(used=TwoResources(used, 0.0), age_s=age_s)
    assert takes_tasks(node, UsageRules()) is takes


@pytest.mark.parametrize("percent", [7, 55, 56])
def test_a_node_at_its_threshold_takes_tasks(percent: int) -> None:
    used = TwoResources(percent / 100, 0.0)
    rules = UsageRules(thresholds=TwoResources(float(percent), 100.0))
    assert takes_tasks(MeasuredNode(TwoResources(1, 1), used, age_s=1), rules)

"""The default division: published examples, limits, what is reported, bad input."""

import pytest

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.federation.planner.division.apportion import LOOKAHEAD, _Rounding
from stretto.federation.planner.division.demand import DivisionCluster, DivisionDemand
from stretto.federation.planner.division.plan import divide
from stretto.federation.planner.division.sequence import sequence_counts
from stretto.federation.planner.division.shares import UNBOUNDED, ShareBounds

EQUAL = tuple(map(DivisionCluster, "abc"))
PRESENT = {"a": 15, "b": 15}


def placed(replicas: int, *clusters: DivisionCluster, **current: int) -> list[int]:
    plan = divide(DivisionDemand(replicas, clusters or EQUAL, current))
    return list(plan.placed.values())


@pytest.mark.parametrize(
    ("replicas", "expected"), [(15, [8, 7, 0]), (30, [15, 15, 0]), (36, [15, 15, 6])]
)
def test_few_replicas_move_when_the_total_changes(replicas: int, expected: list[int]) -> None:
    assert sorted(placed(replicas, **PRESENT), reverse=True) == sorted(expected, reverse=True)


@pytest.mark.parametrize(("moves", "expected"), [(0, 0), (4, 4), (100, 10), (None, 10)])
def test_allowed_moves_bring_a_plan_nearer_to_the_exact_division(
    moves: int | None, expected: int
) -> None:
    plan = divide(DivisionDemand(30, EQUAL, PRESENT, moves=moves))
    assert plan.placed["c"] == expected


def test_ten_equal_clusters_differ_by_one_replica() -> None:
    clusters = tuple(map(DivisionCluster, "abcdefghij"))
    assert sorted(placed(12, *clusters)) == [1] * 8 + [2] * 2


def test_equal_shares_are_rounded_up_where_replicas_run() -> None:
    plan = divide(DivisionDemand(15, EQUAL[:2], {"a": 7, "b": 8}, moves=None))
    assert plan.placed == {"a": 7, "b": 8}


def test_a_lower_maximum_moves_replicas_at_once() -> None:
    a, b = DivisionCluster("a", maximum=5), DivisionCluster("b")
    assert placed(30, a, b, a=20, b=10) == [5, 25]


def test_a_higher_minimum_moves_replicas_at_once() -> None:
    a, b = DivisionCluster("a", minimum=25), DivisionCluster("b")
    assert placed(30, a, b, a=20, b=10) == [25, 5]


def test_minimums_above_the_total_are_served_in_proportion() -> None:
    a, b = DivisionCluster("a", minimum=30), DivisionCluster("b", minimum=10)
    assert placed(8, a, b) == [6, 2]


def test_a_cluster_without_weight_keeps_what_no_other_can_take() -> None:
    a, b = DivisionCluster("a", weight=0), DivisionCluster("b")
    assert placed(5, a, b, a=10) == [5, 0]


def test_replicas_that_no_cluster_may_run_are_reported() -> None:
    limited = DivisionCluster("a", maximum=4)
    assert divide(DivisionDemand(10, (limited,))).unplaced == 6


def test_replicas_that_fit_nowhere_wait_where_they_may_run() -> None:
    a, b = DivisionCluster("a", capacity=3), DivisionCluster("b", maximum=2)
    plan = divide(DivisionDemand(10, (a, b)))
    assert (plan.placed, plan.pending, plan.unplaced) == ({"a": 3, "b": 2}, {"a": 5}, 0)


def test_unschedulable_replicas_are_kept_beside_their_replacements() -> None:
    a, b = DivisionCluster("a", capacity=3), DivisionCluster("b")
    plan = divide(DivisionDemand(10, (a, b), keep_unschedulable=True))
    assert (plan.placed, plan.kept) == ({"a": 3, "b": 7}, {"a": 2})


def test_small_clusters_do_not_take_more_than_their_quota() -> None:
    small = [DivisionCluster(f"s{number:02}") for number in range(20)]
    large = DivisionCluster("large", weight=100)
    assert divide(DivisionDemand(66, (large, *small))).placed["large"] == 55


def test_no_clusters_place_nothing() -> None:
    assert divide(DivisionDemand(3, ())).unplaced == 3


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (lambda: DivisionCluster("a", weight=-1), "a: weight: got -1"),
        (lambda: DivisionCluster("a", minimum=-1), "a: minReplicas: got -1"),
        (lambda: DivisionCluster("a", minimum=3, maximum=2), "a: maxReplicas: got 2"),
        (lambda: DivisionDemand(-1, ()), "replicas: got -1"),
        (lambda: DivisionDemand(1, (), moves=-1), "moves: got -1"),
        (lambda: DivisionDemand(1, EQUAL + EQUAL), "clusters: got 'a'"),
    ],
)
def test_bad_input_is_named(bad: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        bad()  # type: ignore[operator]


@pytest.mark.parametrize("seed", range(40))
def test_the_walk_at_once_gives_what_the_walk_gives(seed: int) -> None:
    rng = Rng(seed)
    size, heaviest = rng.randint(1, 9), rng.choice([1, 10, 1000, 300_000])
    weights = [rng.randint(1, heaviest) for _ in range(size)]
    least = [rng.choice([0, 0, rng.randint(0, 6)]) for _ in range(size)]
    most = [each + rng.choice([UNBOUNDED, rng.randint(1, 60)]) for each in least]
    bounds = ShareBounds.of(weights, least, most)
    total = min(sum(least) + rng.randint(1, 60), sum(most))
    at_once = sequence_counts(bounds, total, LOOKAHEAD)
    assert at_once is not None
    assert at_once.tolist() == _Rounding(bounds, total).counts().tolist()

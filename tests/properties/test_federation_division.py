"""The default division of replicas over clusters, on random clusters and totals."""

from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from stretto.federation.planner.division.apportion import apportion
from stretto.federation.planner.division.demand import (
    DivisionCluster,
    DivisionDemand,
    DivisionPlan,
)
from stretto.federation.planner.division.plan import divide
from stretto.federation.planner.division.shares import UNBOUNDED, ShareBounds, Shares

NAMES = "abcdef"
WEIGHTS = st.one_of(st.integers(1, 10), st.integers(1, 10_000), st.sampled_from([1, 64, 999]))


@st.composite
def bounds(draw: st.DrawFn) -> ShareBounds:
    size = draw(st.integers(1, 6))
    weights = draw(st.lists(WEIGHTS, min_size=size, max_size=size))
    least = draw(st.lists(st.sampled_from([0, 0, 1, 5]), min_size=size, max_size=size))
    headroom = draw(st.lists(st.sampled_from([0, 2, 9, UNBOUNDED]), min_size=size, max_size=size))
    most = [min(a + b, UNBOUNDED) for a, b in zip(least, headroom, strict=True)]
    return ShareBounds.of(weights, least, most)


@st.composite
def clusters(draw: st.DrawFn, size: int = 5, most: int = 9) -> tuple[DivisionCluster, ...]:
    found = []
    for name in NAMES[: draw(st.integers(1, size))]:
        least = draw(st.sampled_from([0, 0, 0, 1, 2]))
        headroom = draw(st.none() | st.integers(0, most))
        maximum = None if headroom is None else least + headroom
        weight = draw(st.sampled_from([0, 1, 1, 2, 7]) | st.integers(1, 100))
        capacity = draw(st.none() | st.integers(0, most))
        found.append(DivisionCluster(name, weight, least, maximum, capacity))
    return tuple(found)


CURRENT = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9))


def rounded(total: int, limits: ShareBounds) -> list[int]:
    found: list[int] = apportion(total, limits).tolist()
    return found


def held(demand: DivisionDemand) -> dict[str, int]:
    """Present replicas that may stay, and minimums: where every plan starts."""
    return {
        each.name: max(
            min(demand.current.get(each.name, 0), each.fits()), min(each.minimum, each.fits())
        )
        for each in demand.clusters
    }


def apart(one: dict[str, int], other: dict[str, int]) -> int:
    return sum(abs(count - other[name]) for name, count in one.items())


def unlimited(demand: DivisionDemand) -> DivisionPlan:
    return divide(DivisionDemand(demand.replicas, demand.clusters, demand.current, moves=None))


@given(bounds(), st.integers(0, 120))
def test_no_cluster_loses_a_replica_when_the_total_grows(limits: ShareBounds, total: int) -> None:
    before, after = rounded(total, limits), rounded(total + 1, limits)
    assert all(a <= b for a, b in zip(before, after, strict=True))


@given(bounds(), st.integers(0, 120))
def test_every_cluster_gets_its_share_rounded_down_or_up(limits: ShareBounds, total: int) -> None:
    total = min(max(total, int(limits.least.sum())), int(limits.most.sum()))
    shares = Shares(limits).exact(total)
    assert sum(shares) == total
    assert all(abs(n - share) < 1 for n, share in zip(rounded(total, limits), shares, strict=True))


@given(st.lists(st.integers(1, 50), min_size=1, max_size=5), st.integers(0, 60))
def test_shares_without_bounds_are_proportional(weights: list[int], total: int) -> None:
    none, endless = (0,) * len(weights), (UNBOUNDED,) * len(weights)
    shares = Shares(ShareBounds.of(weights, none, endless)).exact(total)
    assert shares == [Fraction(total * weight, sum(weights)) for weight in weights]


@given(bounds(), st.integers(0, 120))
def test_bounds_hold_once_the_total_covers_the_minimums(limits: ShareBounds, total: int) -> None:
    counts = rounded(total, limits)
    assert sum(counts) == min(total, sum(limits.most))
    assert all(count <= most for count, most in zip(counts, limits.most, strict=True))
    if total >= sum(limits.least):
        assert all(count >= least for count, least in zip(counts, limits.least, strict=True))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(0, 40), st.integers(0, 9))
def test_counts_repeat_after_the_sum_of_the_weights(
    weights: list[int], total: int, rounds: int
) -> None:
    none, endless = (0,) * len(weights), (UNBOUNDED,) * len(weights)
    limits = ShareBounds.of(weights, none, endless)
    later = rounded(total + rounds * sum(weights), limits)
    more = [rounds * weight for weight in weights]
    assert later == [a + b for a, b in zip(rounded(total, limits), more, strict=True)]


@given(clusters(), CURRENT, st.integers(0, 40), st.sampled_from([0, 1, 3, None]))
def test_no_replica_is_lost(
    listed: tuple[DivisionCluster, ...], current: dict[str, int], total: int, moves: int | None
) -> None:
    plan = divide(DivisionDemand(total, listed, current, moves=moves))
    assert sum(plan.placed.values()) + sum(plan.pending.values()) + plan.unplaced == total
    for each in listed:
        assert plan.placed[each.name] <= each.fits()
        assert plan.total()[each.name] <= each.most()


@given(clusters(), CURRENT, st.integers(0, 40))
def test_a_larger_total_takes_no_replica_from_any_cluster(
    listed: tuple[DivisionCluster, ...], current: dict[str, int], total: int
) -> None:
    before, after = (divide(DivisionDemand(n, listed, current)) for n in (total, total + 1))
    assert all(before.total()[name] <= after.total()[name] for name in before.placed)


@given(clusters(), CURRENT, st.integers(0, 40), st.permutations(range(5)))
def test_the_order_of_the_clusters_does_not_matter(
    listed: tuple[DivisionCluster, ...], current: dict[str, int], total: int, order: list[int]
) -> None:
    shuffled = tuple(listed[at] for at in order if at < len(listed))
    one, other = (divide(DivisionDemand(total, each, current)) for each in (listed, shuffled))
    assert one == other


@given(clusters(), CURRENT, st.integers(0, 40))
def test_a_plan_changes_only_what_it_must(
    listed: tuple[DivisionCluster, ...], current: dict[str, int], total: int
) -> None:
    demand = DivisionDemand(total, listed, current)
    plan, start = divide(demand).placed, held(demand)
    assert apart(start, plan) == abs(sum(start.values()) - sum(plan.values()))


@given(clusters(), CURRENT, st.integers(0, 40))
def test_a_second_plan_changes_nothing(
    listed: tuple[DivisionCluster, ...], current: dict[str, int], total: int
) -> None:
    first = divide(DivisionDemand(total, listed, current)).placed
    assert divide(DivisionDemand(total, listed, first)).placed == first


@given(clusters(3, 4), CURRENT, st.integers(0, 8), st.integers(0, 4))
def test_every_distance_from_the_exact_division_is_reached_with_the_fewest_moves(
    listed: tuple[DivisionCluster, ...], current: dict[str, int], total: int, moves: int
) -> None:
    demand = DivisionDemand(total, listed, current, moves=moves)
    plan, exact, start = divide(demand).placed, unlimited(demand).placed, held(demand)
    spent = apart(start, plan)
    every = (range(min(each.fits(), total) + 1) for each in listed)
    for counts in product(*every):
        other = dict(zip(plan, counts, strict=True))
        if sum(counts) == sum(plan.values()) and apart(start, other) <= spent:
            assert apart(other, exact) >= apart(plan, exact)


@given(clusters(), CURRENT, st.integers(0, 40))
def test_kept_replicas_are_those_beyond_a_capacity(
    listed: tuple[DivisionCluster, ...], current: dict[str, int], total: int
) -> None:
    plan = divide(DivisionDemand(total, listed, current, keep_unschedulable=True))
    limited = {each.name for each in listed if each.capacity is not None}
    assert plan.kept.keys() <= limited
    assert divide(DivisionDemand(total, listed, current)).placed == plan.placed

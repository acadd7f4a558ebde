"""The default rollout: budget, order, gates, pause, failure, rollback, bad input."""

import pytest

from stretto.base.errors import InputError
from stretto.federation.planner.rollout.member import MemberSpec, PodCount, RolloutMember
from stretto.federation.planner.rollout.plan import plan
from stretto.federation.planner.rollout.policy import (
    RolloutDemand,
    RolloutPlan,
    RolloutPolicy,
    RolloutProgress,
    RolloutStage,
    RolloutVerdict,
)

OLD, NEW = "v1", "v2"
CANARY = (RolloutStage(("b",), soak_s=60, approval=True),)


def member(
    name: str, count: int, revision: str = OLD, desired: int | None = None, healthy: bool = True
) -> RolloutMember:
    """A member with ``count`` available pods of one revision."""
    spec = MemberSpec(count, revision)
    pods = {revision: PodCount(count, count)} if count else {}
    wanted = count if desired is None else desired
    return RolloutMember(name, wanted, spec, spec, pods, healthy=healthy)


def rolling(name: str, old: PodCount, new: PodCount, spec: MemberSpec) -> RolloutMember:
    """A member in its update."""
    return RolloutMember(name, spec.replicas, spec, spec, {OLD: old, NEW: new})


def planned(
    *members: RolloutMember, policy: RolloutPolicy, progress: RolloutProgress | None = None
) -> RolloutPlan:
    replicas = sum(each.desired for each in members)
    progress = progress or RolloutProgress()
    return plan(RolloutDemand(replicas, NEW, OLD, members, policy, progress))


def test_the_first_cluster_takes_the_whole_budget() -> None:
    found = planned(member("a", 10), member("b", 10), policy=RolloutPolicy(3, 2))
    assert found.specs == {"a": MemberSpec(10, NEW, max_surge=3, max_unavailable=2)}
    assert (found.surge_left, found.unavailable_left) == (0, 0)


def test_a_small_cluster_leaves_budget_to_the_next_one() -> None:
    found = planned(member("a", 1), member("b", 10), policy=RolloutPolicy(0, 3))
    downs = {name: each.max_unavailable for name, each in found.specs.items()}
    assert downs == {"a": 1, "b": 2}


def test_unavailable_pods_elsewhere_take_from_the_budget() -> None:
    ill = RolloutMember("b", 10, MemberSpec(10, OLD), MemberSpec(10, OLD), {OLD: PodCount(10, 8)})
    found = planned(member("a", 10), ill, policy=RolloutPolicy(0, 3))
    assert found.specs["a"].max_unavailable == 1


def test_an_exceeded_limit_lets_no_cluster_begin() -> None:
    ill = RolloutMember("b", 10, MemberSpec(10, OLD), MemberSpec(10, OLD), {OLD: PodCount(10, 5)})
    found = planned(member("a", 10), ill, policy=RolloutPolicy(0, 3))
    assert (found.specs, found.unavailable_left) == ({}, -2)


def test_an_update_without_budget_stands_still() -> None:
    spec = MemberSpec(10, NEW, max_unavailable=2)
    half = rolling("a", PodCount(6, 6), PodCount(4, 4), spec)
    ill = RolloutMember("b", 10, MemberSpec(10, OLD), MemberSpec(10, OLD), {OLD: PodCount(10, 4)})
    found = planned(half, ill, policy=RolloutPolicy(0, 2))
    assert found.specs["a"].paused


def test_a_migration_grows_before_it_shrinks_with_surge() -> None:
    found = planned(
        member("a", 10, NEW, desired=4), member("b", 2, NEW, desired=8), policy=RolloutPolicy(3, 0)
    )
    assert found.specs == {"b": MemberSpec(5, NEW)}


def test_a_migration_shrinks_before_it_grows_without_surge() -> None:
    found = planned(
        member("a", 10, NEW, desired=4), member("b", 2, NEW, desired=8), policy=RolloutPolicy(0, 3)
    )
    assert found.specs == {"a": MemberSpec(7, NEW)}


def test_a_cluster_that_the_workload_leaves_keeps_its_revision() -> None:
    leaving, policy = member("a", 10, OLD, desired=0), RolloutPolicy(0, 3)
    found = planned(leaving, member("b", 0, desired=10), policy=policy)
    assert found.specs["a"] == MemberSpec(7, OLD)


def test_a_member_that_has_not_observed_its_specification_is_left_alone() -> None:
    late = RolloutMember(
        "a", 10, MemberSpec(10, NEW, 2), MemberSpec(10, OLD), {OLD: PodCount(10, 10)}
    )
    found = planned(late, member("b", 10), policy=RolloutPolicy(3, 0))
    assert found.specs == {"b": MemberSpec(10, NEW, max_surge=1)}


def test_a_lost_member_counts_for_nothing() -> None:
    lost = RolloutMember("b", 0, MemberSpec(10, OLD), MemberSpec(10, OLD), reachable=False)
    found = planned(member("a", 10), lost, policy=RolloutPolicy(0, 1))
    assert set(found.specs) == {"a"}


def test_pods_of_a_lost_member_count_as_long_as_they_are_placed_there() -> None:
    lost = RolloutMember(
        "b", 10, MemberSpec(10, OLD), MemberSpec(10, OLD), {OLD: PodCount(10, 10)}, reachable=False
    )
    found = planned(member("a", 10), lost, policy=RolloutPolicy(2, 0))
    assert found.specs == {"a": MemberSpec(10, NEW, max_surge=2)}


def test_the_canary_updates_first() -> None:
    found = planned(member("a", 9), member("b", 1), policy=RolloutPolicy(5, 5, CANARY))
    assert set(found.specs) == {"b"}


def test_a_cluster_that_the_workload_leaves_holds_up_no_stage() -> None:
    stages = (RolloutStage(("a",)), RolloutStage(("b",)))
    leaving, staying = member("a", 1, desired=0), member("b", 9, desired=10)
    found = planned(leaving, staying, policy=RolloutPolicy(1, 0, stages))
    assert found.specs["b"].revision == NEW


@pytest.mark.parametrize(
    ("since", "approved", "goes_on"), [(59, {0}, False), (61, set(), False), (61, {0}, True)]
)
def test_a_gate_opens_after_soak_time_and_approval(
    since: float, approved: set[int], goes_on: bool
) -> None:
    progress = RolloutProgress(since_done_s=since, approved=frozenset(approved))
    policy = RolloutPolicy(5, 5, CANARY)
    found = planned(member("a", 9), member("b", 1, NEW), policy=policy, progress=progress)
    assert bool(found.specs) == goes_on
    assert (found.verdict is RolloutVerdict.WAITING) != goes_on


def test_an_operator_pauses_what_runs() -> None:
    half = rolling("a", PodCount(6, 6), PodCount(4, 4), MemberSpec(10, NEW, max_unavailable=2))
    progress = RolloutProgress(paused=True)
    found = planned(half, member("b", 9), policy=RolloutPolicy(0, 2), progress=progress)
    assert (found.verdict, set(found.specs)) == (RolloutVerdict.PAUSED, {"a"})
    assert found.specs["a"].paused


def test_a_failed_health_check_stops_the_rollout() -> None:
    ill = member("a", 5, NEW, healthy=False)
    found = planned(ill, member("b", 5), policy=RolloutPolicy(1, 1))
    assert (found.verdict, found.specs) == (RolloutVerdict.FAILED, {})


def test_a_failed_rollout_returns_to_the_previous_revision() -> None:
    ill = member("a", 5, NEW, healthy=False)
    found = planned(ill, member("b", 5), policy=RolloutPolicy(1, 1, rollback=True))
    assert found.verdict is RolloutVerdict.ROLLING_BACK
    assert found.specs["a"].revision == OLD


def test_a_rollback_ends_when_every_cluster_has_the_previous_revision() -> None:
    policy, progress = RolloutPolicy(1, 1, rollback=True), RolloutProgress(failed=True)
    found = planned(member("a", 5), member("b", 5), policy=policy, progress=progress)
    assert found.verdict is RolloutVerdict.ROLLED_BACK


@pytest.mark.parametrize(
    ("since", "verdict"), [(10, RolloutVerdict.PROGRESSING), (11, RolloutVerdict.FAILED)]
)
def test_a_rollout_fails_after_its_time_limit(since: float, verdict: RolloutVerdict) -> None:
    progress = RolloutProgress(since_progress_s=since)
    found = planned(member("a", 5), policy=RolloutPolicy(1, 1, limit_s=10), progress=progress)
    assert found.verdict is verdict


def test_a_rollout_is_done_when_every_pod_has_the_revision() -> None:
    progress = RolloutProgress(since_progress_s=1e9)
    policy = RolloutPolicy(1, 1, limit_s=10)
    found = planned(member("a", 5, NEW), member("b", 0), policy=policy, progress=progress)
    assert (found.verdict, found.specs) == (RolloutVerdict.DONE, {"b": MemberSpec(0, NEW, 0, 1)})


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (lambda: RolloutPolicy(-1, 1), "max_surge: got -1"),
        (lambda: RolloutPolicy(1, -1), "max_unavailable: got -1"),
        (lambda: RolloutPolicy(0, 0), "max_unavailable: got 0"),
        (lambda: RolloutPolicy(1, 1, CANARY + CANARY), "stages: got 'b'"),
    ],
)
def test_bad_policies_are_named(bad: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        bad()  # type: ignore[operator]


def test_a_member_that_was_paused_before_its_update_began_returns_at_no_cost() -> None:
    spec = MemberSpec(4, NEW, max_unavailable=1, paused=True)
    leaving = RolloutMember("a", 0, spec, spec, {OLD: PodCount(4, 4)})
    found = planned(
        leaving,
        member("b", 5, OLD, desired=9),
        policy=RolloutPolicy(0, 1, rollback=True),
        progress=RolloutProgress(failed=True),
    )
    assert found.specs["a"] == MemberSpec(4, OLD)

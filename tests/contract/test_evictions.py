"""Evictions: within disruption budgets, as Kubernetes counts them."""

from typing import Any

import pytest

from stretto.api.wire.kinds import POD_DISRUPTION_BUDGET
from stretto.stores.store import Eviction, Record, StatusReason, WriteOutcome
from tests.contract import bodies
from tests.contract.shorthand import CONFLICT, NOT_FOUND, SPACE, TOO_MANY, Desk, answer, written


@pytest.fixture
def counted(desk: Desk) -> Desk:
    """A store that counts disruptions itself and removes bound pods immediately."""
    desk.needs("counts_disruptions")
    desk.needs("removes_bound_pods")
    return desk


def _evicted(desk: Desk, pods: list[Record]) -> int:
    """Return the number of pods that can be evicted one after the other."""
    return sum(desk.evict(pod).outcome is WriteOutcome.OK for pod in pods)


def test_an_evicted_pod_goes_or_is_marked(desk: Desk) -> None:
    pod = desk.running("web")
    assert desk.evict(pod).outcome is WriteOutcome.OK
    found = desk.now(pod)
    assert found is None or found.deleting


def test_an_eviction_of_nothing_is_not_found(desk: Desk) -> None:
    assert answer(desk.store.evict([Eviction(SPACE, "web", "uid")])[0]) == NOT_FOUND


def test_an_eviction_meant_for_a_namesake_is_a_conflict(desk: Desk) -> None:
    first = desk.pod("web")
    written(desk.delete(first))
    second = desk.pod("web")
    assert answer(desk.evict(first)) == CONFLICT
    assert desk.now(second) == second


@pytest.mark.parametrize(
    ("spec", "may_go"),
    [
        ({"minAvailable": 3}, 1),
        ({"minAvailable": 0}, 4),
        ({"minAvailable": 9}, 0),
        ({"minAvailable": "50%"}, 2),
        ({"minAvailable": "51%"}, 1),
        ({"maxUnavailable": 1}, 1),
        ({"maxUnavailable": 0}, 0),
        ({"maxUnavailable": "50%"}, 2),
        ({"maxUnavailable": "26%"}, 2),
        ({}, 0),
    ],
)
def test_a_budget_bounds_how_many_go(counted: Desk, spec: dict[str, Any], may_go: int) -> None:
    pods = [counted.running(name) for name in "abcd"]
    counted.budget(**spec)
    assert _evicted(counted, pods) == may_go


def test_a_used_up_budget_answers_too_many_requests(counted: Desk) -> None:
    pod = counted.running("a")
    counted.budget(minAvailable=1)
    assert answer(counted.evict(pod)) == TOO_MANY
    assert counted.now(pod) is not None


def test_an_eviction_beyond_the_budget_is_done(counted: Desk) -> None:
    pod = counted.running("a")
    counted.budget(minAvailable=1)
    beyond = Eviction(SPACE, pod.name, pod.uid, beyond_budget=True)
    written(counted.store.evict([beyond])[0])


def test_a_batch_counts_its_own_evictions(counted: Desk) -> None:
    pods = [counted.running(name) for name in "abc"]
    counted.budget(minAvailable=2)
    replies = counted.store.evict([Eviction(SPACE, pod.name, pod.uid) for pod in pods])
    assert [reply.outcome for reply in replies].count(WriteOutcome.OK) == 1


def test_a_new_healthy_pod_permits_the_next_eviction(counted: Desk) -> None:
    a, b = counted.running("a"), counted.running("b")
    counted.budget(minAvailable=1)
    written(counted.evict(a))
    assert answer(counted.evict(b)) == TOO_MANY
    counted.running("c")
    written(counted.evict(b))


def test_a_budget_of_other_pods_or_another_namespace_does_not_matter(counted: Desk) -> None:
    pod = counted.running("a")
    counted.budget("others", minAvailable=9, selector={"matchLabels": {"app": "db"}})
    written(counted.evict(pod))


def test_an_absent_selector_covers_nothing_and_an_empty_one_all(counted: Desk) -> None:
    a, b = counted.running("a"), counted.running("b")
    keep = counted.budget("nothing", minAvailable=9, selector=None)
    written(counted.evict(a))
    written(counted.delete(keep))
    counted.budget("all", minAvailable=9, selector={})
    assert answer(counted.evict(b)) == TOO_MANY


def test_a_budget_without_a_spec_covers_nothing(counted: Desk) -> None:
    pod = counted.running("a")
    counted.create(POD_DISRUPTION_BUDGET, bodies.body(metadata={"name": "b", "namespace": SPACE}))
    written(counted.evict(pod))


def test_pods_that_do_not_serve_are_deleted_without_a_check(counted: Desk) -> None:
    waiting = counted.pod("a", labels={"app": "web"})
    over = [counted.running(name, phase=phase) for name, phase in (("b", "Failed"),)]
    counted.budget(minAvailable=9)
    assert _evicted(counted, [waiting, *over]) == 2


def test_pods_that_are_not_ready_do_not_count_as_healthy(counted: Desk) -> None:
    a = counted.running("a")
    counted.running("b", ready=False)
    counted.budget(minAvailable=1)
    assert answer(counted.evict(a)) == TOO_MANY


def test_pods_that_are_over_do_not_count_as_healthy(counted: Desk) -> None:
    a = counted.running("a")
    counted.running("b", phase="Succeeded")
    counted.budget(minAvailable=1)
    assert answer(counted.evict(a)) == TOO_MANY


def test_a_pod_that_is_not_ready_may_go_while_enough_are(counted: Desk) -> None:
    counted.running("a")
    sick = counted.running("b", ready=False)
    counted.budget(minAvailable=1)
    written(counted.evict(sick))


def test_a_pod_that_is_not_ready_stays_when_too_few_are_unless_allowed(counted: Desk) -> None:
    sick = counted.running("b", ready=False)
    keep = counted.budget(minAvailable=1)
    assert answer(counted.evict(sick)) == TOO_MANY
    written(counted.patch(keep, {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}))
    written(counted.evict(sick))


def test_a_pod_under_two_budgets_is_not_evicted(counted: Desk) -> None:
    pod = counted.running("a")
    counted.budget("one", minAvailable=0)
    counted.budget("two", minAvailable=0)
    assert answer(counted.evict(pod)) == (WriteOutcome.REFUSED, StatusReason.INTERNAL)


def test_a_changed_budget_is_counted_again(counted: Desk) -> None:
    pod = counted.running("a")
    keep = counted.budget(minAvailable=1)
    assert answer(counted.evict(pod)) == TOO_MANY
    written(counted.patch(keep, {"spec": {"minAvailable": 0}}))
    written(counted.evict(pod))


def test_an_eviction_of_a_held_pod_only_marks_it(counted: Desk) -> None:
    pod = counted.bound("a", finalizers=["stretto.dev/hold"])
    written(counted.evict(pod))
    found = counted.now(pod)
    assert found is not None
    assert found.deleting

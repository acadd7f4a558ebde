"""Situations with a decision behind them: an explanation states the decision."""

from stretto.explain.why.remedies.remedy import CureKind
from stretto.explain.words.reasons import ReasonCode
from stretto.testing import Harness, make_node, make_pod
from tests.support.explained import dominant, explained
from tests.support.recreating_harness import RecreatingHarness, queue_object, queue_pod


def at_limit(**group: int) -> Harness:
    """A queue whose limit of 2 cores is used, and a pod of it, or a gang of two."""
    queue = queue_object("q", limit={"cpu": "2"})
    harness = RecreatingHarness([make_node("n0", cpu="8")], queue)
    harness.submit(*[queue_pod(f"w{i}", "q") for i in range(2)])
    harness.settle(5)
    if group:
        harness.group("g", **group)
    more = {"group": "g"} if group else {"priority": 9}
    harness.submit(*[queue_pod(f"p{i}", "q", **more) for i in range(2 if group else 1)])
    harness.settle(5)
    return harness


def test_preemption_does_not_free_the_limit_of_a_queue() -> None:
    assert dominant(at_limit(), "p0").sentence == (
        "A queue limit is reached: queue q has reached its limit: cpu 2 of 2 used, 1 requested. "
        "Preemption does not free a limit: 2 pods of lower priority run under it."
    )


def test_a_gang_without_a_time_out_waits_behind_a_limit() -> None:
    sentence = dominant(at_limit(min_member=2), "p0").sentence
    assert sentence.endswith("Its PodGroup states no time-out, so it waits.")


def test_a_gang_with_a_time_out_fails_behind_a_limit() -> None:
    harness = at_limit(min_member=2, scheduleTimeoutSeconds=20)
    sentence = dominant(harness, "p0").sentence
    assert sentence.endswith("Its PodGroup states a time-out, after which it fails.")
    harness.settle(60)
    assert dominant(harness, "p0").code is ReasonCode.GANG_TIMED_OUT


def test_a_failed_gang_behind_a_limit_needs_a_new_group_and_a_higher_limit() -> None:
    harness = at_limit(min_member=2, scheduleTimeoutSeconds=20)
    harness.settle(60)
    cures = explained(harness, "p0").cures
    assert [each.kind for each in cures] == [CureKind.GROUP, CureKind.LIMIT]
    assert not any(each.alone for each in cures)


def test_gangs_that_lost_pods_and_block_each_other_are_named() -> None:
    harness = Harness([make_node("n0", cpu="4")], config={"tier": "numpy"})
    for group in "ab":
        harness.group(group, 2)
        harness.submit(*[make_pod(f"{group}-{i}", cpu="1", group=group) for i in range(2)])
    harness.settle(5)
    harness.delete("a-1")
    harness.delete("b-1")
    harness.submit(make_pod("other", cpu="2", priority=9))
    harness.settle(2)
    harness.submit(*[make_pod(f"{group}-2", cpu="1", group=group) for group in "ab"])
    harness.settle(5)
    sentences = [each.sentence for each in explained(harness, "a-2").reasons]
    assert any("PodGroupUnit/default/b (1 of 2 pods)" in each for each in sentences)

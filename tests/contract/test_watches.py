"""Watches: each later change once and in order, or the error "too old"."""

import pytest

from stretto.api.wire.kinds import NODE, POD
from stretto.base.errors import TooOldError
from stretto.stores.store import EventType
from tests.contract.shorthand import Desk, written

ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED


def test_a_watch_sees_each_later_change_once_and_in_order(desk: Desk) -> None:
    desk.pod("before")
    watch = desk.watch()
    pod = desk.pod("web")
    written(desk.patch(pod, {"metadata": {"labels": {"a": "1"}}}))
    written(desk.delete(pod))
    events = desk.news(watch, 3)
    assert [event.type for event in events] == [ADDED, MODIFIED, DELETED]
    versions = [event.record.version for event in events]
    assert versions == sorted(set(versions))
    assert desk.read(watch, 0) == []


def test_an_event_carries_the_new_record(desk: Desk) -> None:
    watch = desk.watch()
    added = desk.bound("web")
    events = desk.read(watch, 2)
    assert [event.record.node for event in events] == ["", "n1"]
    assert events[-1].record == added


def test_a_deletion_carries_the_last_state_with_its_own_version(desk: Desk) -> None:
    pod = desk.pod("web", labels={"a": "1"})
    watch = desk.watch()
    written(desk.delete(pod))
    gone = desk.news(watch, 1)[0].record
    assert (gone.uid, gone.name) == (pod.uid, "web")
    assert gone.version > pod.version


def test_a_watch_sees_its_kind_only(desk: Desk) -> None:
    watch = desk.watch(POD)
    desk.node("n1")
    pod = desk.pod("web")
    assert [event.record.uid for event in desk.read(watch, 1)] == [pod.uid]


def test_a_watch_resumes_from_the_version_of_an_event(desk: Desk) -> None:
    watch = desk.watch()
    pods = [desk.pod(name) for name in "abc"]
    first = desk.read(watch, 3)[0]
    resumed = desk.store.watch(POD, first.record.version)
    assert [each.record.uid for each in desk.read(resumed, 2)] == [pod.uid for pod in pods[1:]]


def test_two_watches_do_not_take_from_each_other(desk: Desk) -> None:
    one, two = desk.watch(), desk.watch()
    pod = desk.pod("web")
    assert desk.read(one, 1)[0].record.uid == desk.read(two, 1)[0].record.uid == pod.uid


def test_a_poll_gives_at_most_its_limit_and_drops_nothing(desk: Desk) -> None:
    watch = desk.watch()
    pods = [desk.pod(name) for name in "abc"]
    desk.read(desk.watch(), 0)
    seen: list[str] = []

    def more() -> bool:
        events = watch.poll(limit=2)
        assert len(events) <= 2
        seen.extend(e.record.uid for e in events if e.type is not EventType.BOOKMARK)
        return bool(events)

    while len(seen) < len(pods) and desk.subject.comes(more):
        pass
    assert seen == [pod.uid for pod in pods]
    assert desk.read(watch, 0) == []


def test_the_changes_of_a_batch_are_seen_one_by_one(desk: Desk) -> None:
    a, b = desk.pod("a"), desk.pod("b")
    watch = desk.watch()
    desk.delete(a)
    desk.delete(b)
    events = desk.news(watch, 2)
    assert [event.record.name for event in events] == ["a", "b"]
    assert events[0].record.version < events[1].record.version


def test_a_refused_write_is_not_seen(desk: Desk) -> None:
    pod = desk.pod("web")
    watch = desk.watch()
    desk.patch(pod, {"metadata": {"labels": {"a": "1"}}}, version=pod.version + 1000)
    assert desk.read(watch, 0) == []


def test_a_closed_watch_yields_nothing(desk: Desk) -> None:
    watch = desk.watch()
    desk.pod("web")
    watch.close()
    assert desk.read(watch, 0) == []


def test_a_watch_that_was_outrun_is_too_old_and_stays_so(desk: Desk) -> None:
    desk.needs("bounds_its_history")
    watch = desk.watch(NODE)
    for number in range(2 * desk.subject.history):
        desk.node(f"n{number}")
    for _ in range(2):
        with pytest.raises(TooOldError):
            watch.poll()


def test_a_watch_from_before_the_history_is_too_old(desk: Desk) -> None:
    desk.needs("bounds_its_history")
    first = desk.node("first")
    for number in range(2 * desk.subject.history):
        desk.node(f"n{number}")
    with pytest.raises(TooOldError):
        desk.store.watch(NODE, first.version).poll()


def test_a_watch_from_a_version_that_was_never_given_is_too_old(desk: Desk) -> None:
    desk.needs("knows_its_newest")
    desk.pod("web")
    watch = desk.store.watch(POD, desk.store.list(POD).version + 1_000_000)
    with pytest.raises(TooOldError):
        watch.poll()


def test_after_a_too_old_answer_a_fresh_list_goes_on_without_a_gap(desk: Desk) -> None:
    for number in range(2 * desk.subject.history):
        desk.node(f"n{number}")
    listing = desk.store.list(NODE)
    watch = desk.store.watch(NODE, listing.version)
    last = desk.node("last")
    assert [event.record for event in desk.read(watch, 1)] == [last]


def test_changes_of_other_kinds_do_not_make_a_watch_too_old(desk: Desk) -> None:
    watch = desk.watch(POD)
    for number in range(2 * desk.subject.history):
        desk.node(f"n{number}")
    pod = desk.pod("web")
    assert [event.record.uid for event in desk.read(watch, 1)] == [pod.uid]

"""Deletions: conditions, and finalizers that hold an object."""

from stretto.api.wire.kinds import POD
from stretto.stores.store import Deletion, EventType
from tests.contract.shorthand import CONFLICT, NOT_FOUND, SPACE, Desk, answer, written

OTHER = "00000000-0000-4000-8000-000000000000"
HELD = ["stretto.dev/hold"]


def test_a_deleted_object_is_gone(desk: Desk) -> None:
    pod = desk.pod("web")
    written(desk.delete(pod))
    assert desk.now(pod) is None
    assert desk.names() == []


def test_a_deletion_of_nothing_is_not_found(desk: Desk) -> None:
    assert answer(desk.store.delete(POD, [Deletion(SPACE, "web")])[0]) == NOT_FOUND


def test_a_second_deletion_in_a_batch_is_not_found(desk: Desk) -> None:
    desk.pod("web")
    replies = desk.store.delete(POD, [Deletion(SPACE, "web")] * 2)
    written(replies[0])
    assert answer(replies[1]) == NOT_FOUND


def test_a_deletion_meant_for_another_uid_is_a_conflict(desk: Desk) -> None:
    pod = desk.pod("web")
    assert answer(desk.delete(pod, uid=OTHER)) == CONFLICT
    assert desk.now(pod) == pod


def test_a_namesake_survives_the_deletion_of_its_forerunner(desk: Desk) -> None:
    first = desk.pod("web")
    written(desk.delete(first))
    second = desk.pod("web")
    assert answer(desk.delete(first, uid=first.uid)) == CONFLICT
    assert desk.now(second) == second


def test_a_deletion_under_an_older_version_is_a_conflict(desk: Desk) -> None:
    pod = desk.pod("web")
    written(desk.patch(pod, {"metadata": {"labels": {"a": "1"}}}))
    assert answer(desk.delete(pod, version=pod.version)) == CONFLICT


def test_a_finalizer_holds_an_object_that_is_only_marked(desk: Desk) -> None:
    pod = desk.pod("web", finalizers=HELD)
    watch = desk.watch()
    written(desk.delete(pod))
    marked = desk.now(pod)
    assert marked is not None
    assert marked.deleting
    assert [event.type for event in desk.read(watch, 1)] == [EventType.MODIFIED]


def test_a_second_deletion_of_a_held_object_changes_nothing(desk: Desk) -> None:
    pod = desk.pod("web", finalizers=HELD)
    marked = written(desk.delete(pod))
    again = written(desk.delete(pod))
    assert (again.uid, again.deleting) == (marked.uid, marked.deleting)
    assert desk.names() == ["web"]


def test_the_last_finalizer_lets_a_marked_object_go(desk: Desk) -> None:
    pod = desk.pod("web", finalizers=HELD)
    written(desk.delete(pod))
    watch = desk.watch()
    written(desk.patch(pod, {"metadata": {"finalizers": None}}))
    assert desk.now(pod) is None
    assert [event.type for event in desk.news(watch, 1)] == [EventType.DELETED]


def test_removing_a_finalizer_in_time_does_not_delete(desk: Desk) -> None:
    pod = desk.pod("web", finalizers=HELD)
    written(desk.patch(pod, {"metadata": {"finalizers": []}}))
    assert desk.names() == ["web"]
    written(desk.delete(pod))
    assert desk.names() == []


def test_a_marked_object_shows_when_it_was_to_go(desk: Desk) -> None:
    pod = desk.pod("web", finalizers=HELD)
    marked = written(desk.delete(pod))
    assert desk.shown(pod)["metadata"]["deletionTimestamp"] == marked.deleting

"""Events that controllers write."""

import json

import pytest

from stretto.api.wire.kinds import EVENT, POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.events import EventLevel, EventText
from stretto.reconcile.recorder import EventRecorder
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion
from stretto.testing import make_pod

SCALED = EventText(EventLevel.NORMAL, "Scaled", "from 1 to 2")


class Desk:
    """A store with one pod, and a recorder of events about it."""

    def __init__(self) -> None:
        self.clock = ManualClock(1_790_000_000.0)
        self.store = MemoryStore(self.clock, Rng(1))
        record = self.store.create(POD, [make_pod("web")])[0].record
        assert record is not None
        self.pod = StoredObject(record)
        self.recorder = EventRecorder(self.store, self.clock, "a-controller")

    def events(self) -> list[dict[str, object]]:
        return [json.loads(each.body) for each in self.store.list(EVENT).records]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_an_event_names_its_object_and_its_reporter(desk: Desk) -> None:
    desk.recorder.record(desk.pod, SCALED)
    (found,) = desk.events()
    assert found["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "default",
        "name": "web",
        "uid": desk.pod.record.uid,
    }
    assert found["source"] == {"component": "a-controller"}


def test_a_repetition_is_counted_in_the_same_event(desk: Desk) -> None:
    for _ in range(3):
        desk.clock.advance(10.0)
        desk.recorder.record(desk.pod, SCALED)
    (found,) = desk.events()
    assert (found["count"], found["firstTimestamp"] != found["lastTimestamp"]) == (3, True)


def test_another_message_is_another_event(desk: Desk) -> None:
    desk.recorder.record(desk.pod, SCALED)
    desk.recorder.record(desk.pod, EventText(EventLevel.NORMAL, "Scaled", "from 2 to 3"))
    assert len(desk.events()) == 2


def test_a_long_message_is_cut(desk: Desk) -> None:
    desk.recorder.record(desk.pod, EventText(EventLevel.WARNING, "Refused", "x" * 5000))
    assert len(str(desk.events()[0]["message"])) == 1024


def scaled(number: int) -> EventText:
    return EventText(EventLevel.NORMAL, "Scaled", f"to {number}")


def test_the_tenth_similar_event_is_a_combined_event(desk: Desk) -> None:
    for number in range(12):
        desk.recorder.record(desk.pod, scaled(number))
    last = desk.events()[-1]
    assert len(desk.events()) == 10
    assert (last["message"], last["count"]) == ("(combined from similar events): to 11", 3)


def test_events_with_long_pauses_are_not_combined(desk: Desk) -> None:
    for number in range(12):
        desk.clock.advance(601.0)
        desk.recorder.record(desk.pod, scaled(number))
    assert len(desk.events()) == 12


def test_an_object_has_at_most_25_events_at_once(desk: Desk) -> None:
    for number in range(30):
        desk.recorder.record(desk.pod, EventText(EventLevel.NORMAL, f"Reason{number}", "x"))
    assert len(desk.events()) == 25


def test_names_of_events_sort_by_time(desk: Desk) -> None:
    for number in range(5):
        desk.recorder.record(desk.pod, scaled(number))
    assert [each["message"] for each in desk.events()] == [f"to {n}" for n in range(5)]


def test_an_expired_event_is_written_again(desk: Desk) -> None:
    desk.recorder.record(desk.pod, SCALED)
    (record,) = desk.store.list(EVENT).records
    desk.store.delete(EVENT, [Deletion(record.namespace, record.name)])
    desk.recorder.record(desk.pod, SCALED)
    assert len(desk.events()) == 1

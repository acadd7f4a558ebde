"""Events that controllers write."""

import json

import pytest

from stretto.api.wire.kinds import EVENT, POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.events import EventLevel, EventRecorder, EventText
from stretto.stores.embedded.memory import MemoryStore
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

"""Events about many objects: their number is bounded, and nothing waits for them."""

from concurrent.futures import Future
from typing import Any

import msgspec

from stretto.api.wire.kinds import CONFIG_MAP, EVENT, NAMESPACE, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.event_queue import EVENTS, EventLimits, EventQueue, EventResult
from stretto.reconcile.events import EventLevel, EventText
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion, Record, Replies, Store, Write

SAID = EventText(EventLevel.WARNING, "NoRoom", "add nodes")
LIMITS = EventLimits(each=3, period=60.0, batch=4, queued=10)


class SilentStore(MemoryStore):
    """A store that does not answer writes."""

    def begin(self, write: Write) -> Future[Replies]:
        return Future()


class EventWorld:
    """A queue of events over a store, in virtual time."""

    def __init__(self, limits: EventLimits = LIMITS) -> None:
        self.clock = ManualClock(1_000.0)
        self.store = MemoryStore(self.clock, Rng(0))
        self.woken = 0
        self.queue = self.over(self.store, limits)

    def over(self, store: Store, limits: EventLimits = LIMITS) -> EventQueue:
        return EventQueue(store, self.clock, "test", self._wake, limits)

    def _wake(self) -> None:
        self.woken += 1

    def record(self, count: int, text: EventText = SAID, whole: StoredObject | None = None) -> None:
        for number in range(count):
            self.queue.record(item(f"conf-{number}"), text, whole)

    def run(self, seconds: float = 5.0) -> None:
        """Send what is due within some seconds."""
        end = self.clock.monotonic() + seconds
        while (after := self.queue.reconcile(EVENTS, self.clock.monotonic())) is not None:
            if self.clock.monotonic() + after > end:
                break
            self.clock.advance(after)

    def events(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(each.body) for each in self.store.list(EVENT).records]


def item(name: str, kind: Kind = CONFIG_MAP) -> StoredObject:
    space = "team" if kind.namespaced else ""
    return StoredObject(Record(kind, space, name, f"uid-{name}", 1, b"{}"))


def test_recording_an_event_writes_nothing() -> None:
    world = EventWorld()
    world.record(1)
    assert (world.events(), world.woken) == ([], 1)


def test_the_first_objects_of_a_reason_have_an_event_each() -> None:
    world = EventWorld()
    world.record(1000)
    world.run()
    assert [x["involvedObject"]["name"] for x in world.events()] == ["conf-0", "conf-1", "conf-2"]
    assert world.queue.counts[EventResult.COUNTED] == 997


def test_one_event_counts_the_others_at_the_end_of_the_period() -> None:
    world = EventWorld()
    world.record(1000, whole=item("all", NAMESPACE))
    world.run(61.0)
    (last,) = (x for x in world.events() if x["involvedObject"]["kind"] == "Namespace")
    assert last["message"] == "997 further objects, the last is team/conf-999: add nodes"


def test_another_reason_and_another_period_have_events_of_their_own() -> None:
    world = EventWorld()
    world.record(9)
    world.record(9, EventText(EventLevel.WARNING, "NoQuota", "raise it"))
    world.run(61.0)
    world.record(9, EventText(EventLevel.WARNING, "NoRoom", "add more nodes"))
    world.run()
    assert len(world.events()) == 9


def test_a_batch_is_bounded() -> None:
    world = EventWorld(EventLimits(each=100, batch=4))
    world.record(10)
    world.queue.reconcile(EVENTS, world.clock.monotonic())
    assert len(world.events()) == 4


def test_one_batch_is_sent_in_a_second() -> None:
    world = EventWorld(EventLimits(each=100, batch=4))
    world.record(10)
    for _ in range(3):
        world.queue.reconcile(EVENTS, world.clock.monotonic())
    assert len(world.events()) == 4


def test_a_store_that_does_not_answer_sheds_events_and_delays_nothing() -> None:
    world = EventWorld()
    world.queue = world.over(
        SilentStore(world.clock, Rng(0)), EventLimits(each=100, batch=4, queued=10)
    )
    for _ in range(5):
        world.record(40)
        assert world.queue.reconcile(EVENTS, world.clock.monotonic()) is not None
    counts = world.queue.counts
    assert (counts[EventResult.WRITTEN], counts[EventResult.SHED] > 0) == (0, True)


def test_a_repetition_is_counted_in_the_event() -> None:
    world = EventWorld()
    for _ in range(3):
        world.record(1)
        world.run()
    assert [each["count"] for each in world.events()] == [3]


def test_an_event_from_before_a_restart_is_counted_up() -> None:
    world = EventWorld()
    world.record(1)
    world.run()
    world.queue = world.over(world.store)
    world.record(1)
    world.run()
    assert [each["count"] for each in world.events()] == [2]


def test_an_event_that_has_expired_is_written_again() -> None:
    world = EventWorld()
    world.record(1)
    world.run()
    (event,) = world.store.list(EVENT).records
    world.store.delete(EVENT, [Deletion(event.namespace, event.name)])
    world.record(1)
    world.run()
    assert [each["count"] for each in world.events()] == [1]

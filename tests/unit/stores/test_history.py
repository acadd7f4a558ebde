import pytest

from stretto.api.wire.kinds import POD
from stretto.base.errors import TooOldError
from stretto.stores.embedded.history import EventHistory, HistoryWatch
from stretto.stores.store import EventType, Record, WatchEvent


def changes(first: int, count: int) -> list[WatchEvent]:
    records = [Record(POD, "", "a", "u", first + n, b"") for n in range(count)]
    return [WatchEvent(EventType.MODIFIED, record) for record in records]


def add(history: EventHistory, first: int, count: int) -> None:
    history.extend(changes(first, count), [None] * count)


def watch(history: EventHistory, since: int) -> HistoryWatch:
    return HistoryWatch(history, since, history.position(since))


def test_a_history_does_not_grow_without_bound() -> None:
    history = EventHistory(limit=80, floor=0)
    for version in range(1, 10_001):
        add(history, version, 1)
    assert 80 <= len(history.events) <= 92


def test_a_slow_watch_keeps_nothing_alive_and_is_notified() -> None:
    history = EventHistory(limit=8, floor=0)
    slow = watch(history, 0)
    for version in range(1, 100):
        add(history, version, 1)
    with pytest.raises(TooOldError, match="'0' is too old"):
        slow.poll()


def test_a_reader_after_each_batch_keeps_up_with_any_rate() -> None:
    history = EventHistory(limit=8, floor=0)
    reader, seen = watch(history, 0), 0
    for batch in range(5):
        add(history, 1 + 100 * batch, 100)
        seen += len(reader.poll())
    assert seen == 500


def test_a_watch_from_the_newest_version_starts_at_the_end() -> None:
    history = EventHistory(limit=8, floor=0)
    add(history, 1, 5)
    assert watch(history, 5).poll() == []
    assert [event.record.version for event in watch(history, 3).poll()] == [4, 5]


def test_a_watch_may_start_at_the_floor_and_not_before() -> None:
    history = EventHistory(limit=8, floor=7)
    assert watch(history, 7).poll() == []
    with pytest.raises(TooOldError):
        watch(history, 6).poll()


def test_a_forgotten_history_is_too_old_for_a_watch_that_had_read_it_all() -> None:
    history = EventHistory(limit=8, floor=0)
    add(history, 1, 3)
    idle = watch(history, 3)
    history.forget(10)
    with pytest.raises(TooOldError):
        idle.poll()
    assert watch(history, 10).poll() == []


def test_the_floor_is_the_last_dropped_version() -> None:
    history = EventHistory(limit=8, floor=0)
    add(history, 1, 20)
    add(history, 21, 1)
    assert history.floor == 12
    assert len(watch(history, 12).poll()) == 9
    with pytest.raises(TooOldError):
        watch(history, 11).poll()

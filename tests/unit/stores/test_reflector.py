"""The reflector: list, watch, comparison, restart; each change once."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import ManualClock
from stretto.base.errors import WentBackError
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.reflector import (
    RETRY_LIST_AFTER,
    Reflector,
    ReflectorSettings,
    follow,
)
from stretto.stores.store import Deletion, EventType, Listing, Record, WatchEvent
from stretto.testing import make_node, make_pod


class RecordMirror:
    """A target that keeps the last record of each object by uid and passes the changes on."""

    def __init__(self, apply: Callable[[Sequence[WatchEvent], float], None]) -> None:
        """Pass changes on to ``apply`` after the records are updated."""
        #: Uid to last record.
        self.records: dict[str, Record] = {}
        self._apply = apply

    def known(self) -> Mapping[str, Record]:
        """Uid to last record."""
        return self.records

    def apply(self, events: Sequence[WatchEvent], now: float) -> None:
        """Update the records and pass the changes on."""
        for event in events:
            if event.type is EventType.DELETED:
                self.records.pop(event.record.uid, None)
            else:
                self.records[event.record.uid] = event.record
        self._apply(events, now)

    def listed(self, listing: Listing) -> None:
        """Nothing to do: the differences were applied."""


class Desk:
    """A memory store and a reflector of its pods."""

    def __init__(self, history: int = 1 << 10, compare_every: float = float("inf")) -> None:
        self.store = MemoryStore(ManualClock(), Rng(0), history)
        self.seen: list[tuple[EventType, str]] = []
        self.mirror = RecordMirror(self.note)
        settings = ReflectorSettings(compare_every)
        self.reflector = Reflector(self.store, POD, self.mirror, settings)

    def note(self, events: Sequence[WatchEvent], _: float) -> None:
        self.seen += [(event.type, event.record.name) for event in events]

    def create(self, *names: str) -> None:
        self.store.create(POD, [make_pod(name) for name in names])

    def names(self) -> list[str]:
        return sorted(record.name for record in self.mirror.records.values())

    def followed(self) -> "Desk":
        """The same, marked by the store."""
        follow(self.store, [self.reflector])
        return self


ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED


def test_it_lists_first_and_watches_from_there() -> None:
    desk = Desk()
    desk.create("a")
    assert (desk.reflector.synced, desk.reflector.poll(0.0)) == (False, 1)
    desk.create("b")
    assert (desk.reflector.synced, desk.reflector.poll(0.0)) == (True, 1)
    assert desk.seen == [(ADDED, "a"), (ADDED, "b")]


def test_a_list_is_applied_by_age_and_not_by_name() -> None:
    desk = Desk()
    desk.create("z")
    desk.create("a")
    desk.reflector.poll(0.0)
    assert [name for _, name in desk.seen] == ["z", "a"]


def test_a_history_that_is_gone_is_made_good_by_a_list() -> None:
    desk = Desk(history=4)
    desk.create("a", "b")
    desk.reflector.poll(0.0)
    desk.store.delete(POD, [Deletion("default", "a")])
    for number in range(40):
        desk.create(f"p{number}")
    desk.reflector.poll(0.0)
    assert (len(desk.names()), desk.reflector.relists) == (41, 1)
    assert (DELETED, "a") in desk.seen


def test_a_comparison_repairs_what_was_lost_and_applies_nothing_else() -> None:
    desk = Desk(compare_every=60.0)
    desk.create("a", "b")
    desk.reflector.poll(0.0)
    lost = next(uid for uid, record in desk.mirror.records.items() if record.name == "a")
    del desk.mirror.records[lost]
    desk.seen.clear()
    assert (desk.reflector.poll(59.0), desk.reflector.poll(60.0)) == (0, 1)
    assert desk.seen == [(ADDED, "a")]


def test_an_older_list_is_rejected_and_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(compare_every=10.0)
    desk.create("a")
    desk.reflector.poll(0.0)
    monkeypatch.setattr(desk.store, "list", lambda *_: Listing([], 0))
    desk.reflector.poll(10.0)
    assert (desk.names(), desk.reflector.list_at) == (["a"], 10.0 + RETRY_LIST_AFTER)


def test_a_server_that_went_back_for_good_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(compare_every=10.0)
    desk.create("a")
    desk.reflector.poll(0.0)
    monkeypatch.setattr(desk.store, "list", lambda *_: Listing([], 0))
    for second in range(10, 24):
        desk.reflector.poll(float(second))
    with pytest.raises(WentBackError, match="pods: the server's versions went back from"):
        desk.reflector.poll(60.0)


def test_a_followed_reflector_is_due_only_after_a_change_of_its_kind() -> None:
    desk = Desk().followed()
    while desk.reflector.is_due(0.0):
        desk.reflector.poll(0.0)
    desk.store.create(NODE, [make_node("n")])
    assert not desk.reflector.is_due(0.0)
    desk.create("a")
    assert desk.reflector.is_due(0.0)
    desk.reflector.poll(0.0)
    assert desk.names() == ["a"]


def test_more_than_one_batch_keeps_it_due() -> None:
    desk = Desk().followed()
    desk.reflector.poll(0.0)
    desk.create(*(f"p{number}" for number in range(10)))
    reads = []
    while desk.reflector.is_due(0.0):
        reads.append(desk.reflector.poll(0.0, limit=4))
    assert reads == [4, 4, 2]


def test_a_closed_reflector_lists_again() -> None:
    desk = Desk().followed()
    desk.reflector.poll(0.0)
    desk.reflector.close()
    desk.create("a")
    assert (desk.reflector.synced, desk.reflector.is_due(0.0)) == (False, True)
    desk.reflector.poll(0.0)
    assert desk.names() == ["a"]


def test_failpoints_carry_its_name() -> None:
    desk, passed = Desk(), list[str]()
    settings = ReflectorSettings(name="pump", failpoint=passed.append)
    reflector = Reflector(desk.store, POD, desk.mirror, settings)
    reflector.poll(0.0)
    desk.create("a")
    reflector.poll(0.0)
    assert passed == ["pump.listed", "pump.polled"]

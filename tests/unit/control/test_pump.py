"""The pump over a scripted store: repeated, late, reordered and missing events."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import msgspec
import pytest

from stretto.api.wire.kinds import NODE, POD, POD_GROUP, PRIORITY_CLASS, Kind
from stretto.base.clock import ManualClock
from stretto.base.errors import StrettoError, TooOldError
from stretto.base.rng import Rng
from stretto.control.pump import KindFeed, Pump
from stretto.state.cluster.cluster import Cluster
from stretto.stores.capabilities import Capabilities
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.reflector import RETRY_LIST_AFTER
from stretto.stores.store import EVERYTHING, Deletion, Listing, ListOptions, Watch, WatchEvent
from stretto.testing import make_group, make_node, make_pod
from tests.support.hand_fed_cluster import portrait


class Wire:
    """A watch with events that the test may alter."""

    def __init__(self, inner: Watch, owner: "Line") -> None:
        self.inner, self.owner, self.closed = inner, owner, False

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        if self.owner.cut:
            raise TooOldError("1", "2")
        return self.owner.bend(self.inner.poll(limit))

    def close(self) -> None:
        self.closed = True
        self.inner.close()


class Line(MemoryStore):
    """A memory store behind a wire."""

    capabilities = Capabilities(notifies=False)

    def __init__(self) -> None:
        super().__init__(ManualClock(), Rng(0))
        self.cut = False
        self.lists = 0
        self.older: dict[Kind, Listing] = {}
        self.wires: list[Wire] = []
        self.bend = list[WatchEvent]

    def list(self, kind: Kind, *more: object) -> Listing:  # type: ignore[override]
        self.lists += 1
        return self.older.get(kind) or super().list(kind, *more)  # type: ignore[arg-type]

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        self.wires.append(Wire(super().watch(kind, since, selection), self))
        return self.wires[-1]


@pytest.fixture
def line() -> Line:
    return Line()


def pump_of(line: Line, compare_every: float = float("inf")) -> Pump:
    pump = Pump(line, Cluster(), compare_every=compare_every)
    pump.poll(0.0)
    return pump


def names(pump: Pump) -> list[str]:
    pods = pump._cluster.pods
    return sorted(pods.name[row] for row in pods.rows())


def create(line: Line, *pods: str) -> None:
    line.create(POD, [make_pod(name) for name in pods])


def doubled(events: Sequence[WatchEvent]) -> list[WatchEvent]:
    return [event for event in events for _ in range(2)]


def test_the_first_poll_lists_and_then_it_is_synced(line: Line) -> None:
    create(line, "a", "b")
    pump = Pump(line, Cluster())
    assert not pump.synced
    assert (pump.poll(0.0), pump.synced, names(pump)) == (2, True, ["a", "b"])


def test_what_comes_after_the_list_comes_by_watch(line: Line) -> None:
    pump = pump_of(line)
    create(line, "a")
    lists = line.lists
    assert (pump.poll(0.0), line.lists, names(pump)) == (1, lists, ["a"])


def test_every_kind_is_fed(line: Line) -> None:
    pump = pump_of(line)
    line.create(NODE, [make_node("n")])
    line.create(POD_GROUP, [make_group("g", 2)])
    high = msgspec.json.encode({"metadata": {"name": "high"}, "value": 7})
    line.create(PRIORITY_CLASS, [high])
    pump.poll(0.0)
    cluster = pump._cluster
    assert (len(cluster.nodes), len(cluster.groups), cluster.priorities) == (1, 1, {"high": 7})


def test_an_event_that_comes_twice_counts_once(line: Line) -> None:
    pump = pump_of(line)
    line.bend = doubled
    create(line, "a")
    pump.poll(0.0)
    assert pump.applied["Pod"] == 1


def test_an_event_from_the_past_is_dropped(line: Line) -> None:
    pump, kept = pump_of(line), list[WatchEvent]()
    line.bend = lambda events: [kept.append(event) or event for event in events]
    create(line, "a")
    pump.poll(0.0)
    line.delete(POD, [Deletion("default", "a")])
    line.bend = lambda events: [*events, *kept]
    pump.poll(0.0)
    assert names(pump) == []


def test_a_watch_that_is_too_old_lists_afresh(line: Line) -> None:
    pump = pump_of(line)
    create(line, "a")
    line.cut = True
    assert pump.poll(0.0) == 1
    assert (names(pump), pump.relists["Pod"]) == (["a"], 1)


def test_a_list_shows_which_objects_are_gone(line: Line) -> None:
    create(line, "a", "b")
    line.create(NODE, [make_node("n")])
    pump = pump_of(line)
    line.delete(POD, [Deletion("default", "a")])
    line.delete(NODE, [Deletion("", "n")])
    line.cut = True
    pump.poll(0.0)
    assert (names(pump), len(pump._cluster.nodes)) == (["b"], 0)


def test_a_list_clears_the_reports_of_malformed_objects_that_are_gone(line: Line) -> None:
    bad = [make_pod(name, gpus=1, gpu_milli="x") for name in ("a", "b")]
    line.create(POD, bad)
    line.create(NODE, [make_node("n", resources={"x.io/a": "9E"})])
    pump = pump_of(line)
    assert len(pump._cluster.abnormal) == 3
    line.delete(POD, [Deletion("default", "a")])
    line.delete(NODE, [Deletion("", "n")])
    line.cut = True
    pump.poll(0.0)
    assert list(pump._cluster.abnormal) == ["pod default/b"]


def test_after_a_list_the_old_watch_is_closed(line: Line) -> None:
    pump = pump_of(line)
    before = list(line.wires)
    line.cut = True
    pump.poll(0.0)
    assert all(wire.closed for wire in before)


def test_a_list_older_than_a_known_version_is_rejected(line: Line) -> None:
    pump = pump_of(line)
    stale = MemoryStore.list(line, POD)
    create(line, "a")
    pump.poll(0.0)
    line.older[POD], line.cut = stale, True
    pump.poll(5.0)
    assert (names(pump), pump.next_due()) == (["a"], 5.0 + RETRY_LIST_AFTER)


def test_a_rejected_list_is_not_read_again_at_once(line: Line) -> None:
    pump = pump_of(line)
    line.older[POD], line.cut = MemoryStore.list(line, POD), True
    pump._feeds = pump._feeds[-1:]
    pump._feeds[0].version += 1
    before = line.lists
    for step in range(100):
        pump.poll(step * RETRY_LIST_AFTER / 50)
    assert line.lists - before == 2


def test_a_server_that_has_gone_back_for_good_ends_it(line: Line) -> None:
    pump = pump_of(line)
    line.older[POD], line.cut = MemoryStore.list(line, POD), True
    create(line, "a")
    pump._feeds[-1].version += 1
    for second in range(14):
        pump.poll(float(second))
    with pytest.raises(StrettoError, match="pods: the server's versions went back"):
        pump.poll(60.0)


def test_a_list_that_is_older_once_in_a_while_ends_nothing(line: Line) -> None:
    pump = pump_of(line)
    stale = MemoryStore.list(line, POD)
    create(line, "a")
    pump.poll(0.0)
    line.cut = True
    for second in range(60):
        line.older = {POD: stale} if second % 5 else {}
        pump.poll(float(second))
    assert names(pump) == ["a"]


def test_a_lost_event_heals_at_the_next_comparison(line: Line) -> None:
    pump = pump_of(line, compare_every=60.0)
    line.bend = lambda _events: []
    create(line, "a")
    pump.poll(59.0)
    assert names(pump) == []
    pump.poll(60.0)
    assert names(pump) == ["a"]


def test_a_lost_deletion_heals_at_the_next_comparison(line: Line) -> None:
    create(line, "a")
    pump = pump_of(line, compare_every=60.0)
    line.bend = lambda _events: []
    line.delete(POD, [Deletion("default", "a")])
    pump.poll(30.0)
    pump.poll(61.0)
    assert names(pump) == []


def test_a_comparison_that_finds_nothing_applies_nothing(line: Line) -> None:
    create(line, "a")
    line.create(NODE, [make_node("n")])
    pump = pump_of(line, compare_every=60.0)
    before = portrait(pump._cluster)
    assert (pump.poll(60.0), portrait(pump._cluster) == before) == (0, True)


def test_the_next_comparison_is_announced(line: Line) -> None:
    assert pump_of(line, compare_every=60.0).next_due() == 60.0
    assert pump_of(Line()).next_due() == float("inf")


def test_a_long_list_is_applied_in_pieces(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.stores.reflector.LIST_BATCH", 2)
    create(line, *"abcde")
    pump = Pump(line, Cluster())
    sizes = list[int]()
    target = cast("KindFeed", pump._feeds[-1].target)
    target.apply = lambda events, _now: sizes.append(len(events))  # type: ignore[method-assign]
    pump.poll(0.0)
    assert sizes == [2, 2, 1]


def test_an_idle_pump_polls_no_watch_of_a_store_that_notifies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, polled = MemoryStore(ManualClock(), Rng(0)), list[str]()
    pump = Pump(store, Cluster())
    while pump.poll(0.0) or any(feed.is_dirty for feed in pump._feeds):
        pass
    for feed in pump._feeds:
        count = partial(_noted, polled, feed.kind.kind, feed.poll)
        monkeypatch.setattr(feed, "poll", count)
    pump.poll(0.0)
    assert polled == []
    store.create(NODE, [make_node("n")])
    pump.poll(0.0)
    assert (polled, len(pump._cluster.nodes)) == (["Node"], 1)


def _noted(polled: list[str], kind: str, poll: Callable[..., int], *given: float) -> int:
    polled.append(kind)
    return poll(*given)


def test_a_closed_pump_is_not_synced(line: Line) -> None:
    pump = pump_of(line)
    pump.close()
    assert not pump.synced
    assert all(wire.closed for wire in line.wires)


def test_a_namesake_in_the_same_batch_as_its_forerunners_end_is_kept(line: Line) -> None:
    create(line, "a")
    pump = pump_of(line)
    line.delete(POD, [Deletion("default", "a")])
    create(line, "a")
    pump.poll(0.0)
    assert names(pump) == ["a"]

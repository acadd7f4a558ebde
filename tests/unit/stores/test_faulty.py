from collections import Counter
from concurrent.futures import Future

import pytest

from stretto.api.wire.kinds import POD
from stretto.base.clock import ManualClock
from stretto.base.errors import TooOldError
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.faulty.odds import LONGEST_DELAY, LONGEST_LANDING, NO_FAULTS, FaultOdds
from stretto.stores.faulty.store import FaultyStore
from stretto.stores.store import (
    Deletion,
    EventType,
    Patch,
    Replies,
    Watch,
    WatchEvent,
    Write,
    WriteOutcome,
    WriteVerb,
)
from tests.contract import bodies
from tests.unit.stores.contents import SPACE, add_nodes, add_pods, memory, to

MODIFIED, DELETED = EventType.MODIFIED, EventType.DELETED


class Bench:
    """A faulty store, the store behind it, and the clock."""

    def __init__(self, seed: int = 1, **odds: float) -> None:
        self.clock = ManualClock()
        self.inner: MemoryStore = memory()
        self.store = FaultyStore(self.inner, Rng(seed), FaultOdds(**odds), self.clock)

    def watch(self) -> Watch:
        return self.store.watch(POD, self.inner.version)

    def label(self, value: str) -> None:
        self.inner.patch(POD, [Patch(SPACE, "web", {"metadata": {"labels": {"a": value}}})])

    def create(self, *names: str) -> list[WriteOutcome]:
        replies = self.store.create(POD, [bodies.pod(name) for name in names])
        return [reply.outcome for reply in replies]

    def node(self, name: str) -> str:
        record = self.store.get(POD, SPACE, name)
        assert record is not None
        return record.node

    def names(self) -> list[str]:
        return [record.name for record in self.inner.list(POD).records]


def shape(events: list[WatchEvent]) -> list[tuple[str, int]]:
    return [(event.type.name, event.record.version) for event in events]


# ---------------------------------------------------------------- watches


def test_a_dropped_event_is_a_gap_that_only_a_list_shows() -> None:
    bench = Bench(drop_event=1.0)
    watch = bench.watch()
    add_pods(bench.inner, "web")
    assert watch.poll() == watch.poll() == []
    assert [record.name for record in bench.store.list(POD).records] == ["web"]


def test_a_cut_event_is_lost_and_the_watch_then_reports_it() -> None:
    bench = Bench(cut_event=1.0)
    watch = bench.watch()
    add_pods(bench.inner, "web")
    assert watch.poll() == []
    for _ in range(2):
        with pytest.raises(TooOldError):
            watch.poll()


def test_a_doubled_event_comes_twice_in_a_row() -> None:
    bench = Bench(double_event=1.0)
    watch = bench.watch()
    add_pods(bench.inner, "a", "b")
    assert shape(watch.poll()) == [("ADDED", 1), ("ADDED", 1), ("ADDED", 2), ("ADDED", 2)]


def test_a_delayed_event_holds_back_what_follows_and_then_comes_in_order() -> None:
    bench = Bench(delay_event=1.0)
    watch = bench.watch()
    add_pods(bench.inner, "a", "b")
    assert watch.poll() == []
    bench.clock.advance(LONGEST_DELAY)
    assert shape(watch.poll()) == [("ADDED", 1), ("ADDED", 2)]


def test_a_stale_event_shows_the_state_before_and_catches_up() -> None:
    bench = Bench(stale_event=1.0)
    watch = bench.watch()
    add_pods(bench.inner, "web")
    bench.inner.delete(POD, [Deletion(SPACE, "web")])
    assert shape(watch.poll()) == [("ADDED", 1), ("DELETED", 2), ("MODIFIED", 1), ("DELETED", 2)]


def test_a_cut_watch_is_too_old_and_loses_nothing_else() -> None:
    bench = Bench(cut_watch=1.0)
    add_pods(bench.inner, "web")
    with pytest.raises(TooOldError):
        bench.watch().poll()
    assert bench.names() == ["web"]


def test_a_poll_of_a_faulty_watch_gives_at_most_its_limit() -> None:
    bench = Bench(double_event=1.0)
    watch = bench.watch()
    add_pods(bench.inner, "a", "b", "c")
    sizes = [len(watch.poll(limit=2)) for _ in range(4)]
    assert sizes == [2, 2, 2, 0]


def test_a_closed_watch_yields_nothing_even_after_healing() -> None:
    bench = Bench(double_event=1.0)
    watch = bench.watch()
    add_pods(bench.inner, "web")
    watch.close()
    bench.store.heal()
    assert watch.poll() == []


# ---------------------------------------------------------------- lists


def test_a_stale_list_is_an_earlier_answer_with_its_own_version() -> None:
    bench = Bench(stale_list=1.0)
    add_pods(bench.inner, "a")
    first = bench.store.list(POD)
    add_pods(bench.inner, "b")
    assert bench.store.list(POD) == first
    later = bench.store.watch(POD, first.version).poll()
    assert [event.record.name for event in later] == ["b"]


def test_a_list_is_not_stale_while_nothing_has_changed() -> None:
    bench = Bench(stale_list=1.0)
    add_pods(bench.inner, "a")
    assert bench.store.list(POD) == bench.store.list(POD)
    assert not bench.store.fired


def test_a_get_is_never_stale() -> None:
    bench = Bench(stale_list=1.0)
    add_pods(bench.inner, "web")
    bench.store.list(POD)
    bench.label("new")
    assert bench.store.get(POD, SPACE, "web") == bench.inner.get(POD, SPACE, "web")


# ---------------------------------------------------------------- writes


def test_a_lost_reply_is_unknown_and_the_write_is_done() -> None:
    bench = Bench(lost_reply=1.0)
    assert bench.create("a", "b") == [WriteOutcome.UNKNOWN] * 2
    assert bench.names() == ["a", "b"]


def test_a_lost_request_is_unknown_and_the_write_is_not_done() -> None:
    bench = Bench(lost_request=1.0)
    assert bench.create("a") == [WriteOutcome.UNKNOWN]
    assert bench.names() == []


def test_a_late_request_lands_within_its_limit() -> None:
    bench = Bench(late_request=1.0)
    assert bench.create("a") == [WriteOutcome.UNKNOWN]
    assert bench.names() == []
    bench.clock.advance(LONGEST_LANDING)
    bench.store.get(POD, SPACE, "a")
    assert bench.names() == ["a"]


def test_a_late_bind_lands_under_the_conditions_of_that_time() -> None:
    bench = Bench(late_request=1.0)
    add_nodes(bench.inner, "n1", "n2")
    pod = add_pods(bench.inner, "web")[0]
    bench.store.bind([to(pod, "n1")])
    bench.inner.bind([to(pod, "n2")])
    bench.clock.advance(LONGEST_LANDING)
    found = bench.store.get(POD, SPACE, "web")
    assert found is not None
    assert found.node == "n2"


def sent(bench: Bench) -> Future[Replies]:
    """The answer to the bind of a pod whose sender does not wait."""
    add_nodes(bench.inner, "n1")
    pod = add_pods(bench.inner, "web")[0]
    bench.store.delay_answers(bench.clock.set)
    return bench.store.begin(Write(WriteVerb.BIND, POD, [to(pod, "n1")]))


def test_a_bind_lands_and_is_answered_while_its_sender_goes_on() -> None:
    bench = Bench(late_answer=1.0)
    answer = sent(bench)
    assert (answer.done(), bench.node("web")) == (False, "")
    bench.clock.advance(LONGEST_LANDING)
    assert (bench.node("web"), answer.done()) == ("n1", True)
    assert [reply.outcome for reply in answer.result()] == [WriteOutcome.OK]


def test_waiting_for_an_answer_advances_the_time() -> None:
    bench = Bench(late_answer=1.0)
    assert [reply.outcome for reply in sent(bench).result()] == [WriteOutcome.OK]
    assert 0.0 < bench.clock.monotonic() <= LONGEST_LANDING


def test_an_answer_that_is_not_late_is_there_at_once() -> None:
    bench = Bench()
    answer = sent(bench)
    assert (answer.done(), bench.node("web"), bench.clock.monotonic()) == (True, "n1", 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_write_never_lands_after_the_limit(seed: int) -> None:
    bench = Bench(seed, late_answer=1.0, late_request=1.0)
    answer = sent(bench)
    bench.clock.advance(LONGEST_LANDING)
    assert (bench.node("web"), answer.done()) == ("n1", True)
    assert [reply.outcome for reply in answer.result()] == [WriteOutcome.UNKNOWN]


def test_a_late_write_is_seen_by_a_watch_that_only_polls() -> None:
    bench = Bench(late_request=1.0)
    watch = bench.watch()
    bench.create("a")
    bench.clock.advance(LONGEST_LANDING)
    assert len(watch.poll()) == 1


def test_a_refused_write_is_not_done_and_states_why() -> None:
    bench = Bench(refused_write=1.0)
    reply = bench.store.create(POD, [bodies.pod("a")])[0]
    assert reply.outcome is WriteOutcome.REFUSED
    assert "try again later" in reply.message
    assert bench.names() == []


def test_a_half_done_batch_has_its_first_part_done() -> None:
    bench = Bench(half_batch=1.0)
    outcomes = bench.create("a", "b", "c", "d")
    done = outcomes.count(WriteOutcome.OK)
    assert 1 <= done <= 3
    assert outcomes[:done] == [WriteOutcome.OK] * done
    assert bench.names() == ["a", "b", "c", "d"][:done]


def test_a_single_write_is_never_half_done() -> None:
    bench = Bench(half_batch=1.0)
    assert bench.create("a") == [WriteOutcome.OK]


def test_faults_hit_whole_units() -> None:
    bench = Bench(half_batch=1.0)
    add_nodes(bench.inner, "n1")
    pods = add_pods(bench.inner, *"abcdef")
    units = [[to(pod, "n1") for pod in pods[start : start + 2]] for start in (0, 2, 4)]
    answers = bench.store.bind_units(units)
    assert [len(answer) for answer in answers] == [2, 2, 2]
    assert all(len({reply.outcome for reply in answer}) == 1 for answer in answers)


def test_a_lost_reply_of_units_answers_every_pod() -> None:
    bench = Bench(lost_reply=1.0)
    add_nodes(bench.inner, "n1")
    a, b = add_pods(bench.inner, "a", "b")
    answers = bench.store.bind_units([[to(a, "n1"), to(b, "n1")]])
    assert [[reply.outcome for reply in unit] for unit in answers] == [[WriteOutcome.UNKNOWN] * 2]


# ---------------------------------------------------------------- all together


def _story(seed: int, odds: FaultOdds) -> tuple[list[object], Counter[str]]:
    """Results of a client that writes, lists and watches a faulty store for a while."""
    clock, seen = ManualClock(), list[object]()
    store = FaultyStore(memory(), Rng(seed), odds, clock)
    watch = store.watch(POD, 0)
    for number in range(60):
        seen += [reply.outcome for reply in store.create(POD, [bodies.pod(f"a{number}")] * 3)]
        change = Patch(SPACE, f"a{number // 2}", {"metadata": {"labels": {"n": str(number)}}})
        seen += [reply.outcome for reply in store.patch(POD, [change])]
        seen.append(store.list(POD).version)
        clock.advance(1.0)
        try:
            seen += shape(watch.poll())
        except TooOldError:
            watch = store.watch(POD, store.list(POD).version)
    return seen, store.fired


FAULTS = FaultOdds.__struct_fields__
SOME = FaultOdds(**dict.fromkeys(FAULTS, 0.1))


def test_the_same_seed_fails_in_the_same_way_and_another_otherwise() -> None:
    assert _story(7, SOME) == _story(7, SOME)
    assert _story(7, SOME) != _story(8, SOME)


def test_every_kind_of_fault_fires_and_is_counted() -> None:
    fired = sum((_story(seed, SOME)[1] for seed in range(5)), Counter[str]())
    assert set(fired) == set(FAULTS) - {"late_answer"}  # whose senders wait know none


def test_without_odds_nothing_fires() -> None:
    assert not _story(7, NO_FAULTS)[1]


def test_healing_lands_late_writes_and_makes_every_watch_list_afresh() -> None:
    bench = Bench(late_request=1.0, drop_event=1.0)
    watch = bench.watch()
    bench.create("a")
    bench.store.heal()
    assert bench.names() == ["a"]
    with pytest.raises(TooOldError):
        watch.poll()
    fresh = bench.watch()
    assert bench.create("b") == [WriteOutcome.OK]
    assert [event.record.name for event in fresh.poll()] == ["b"]

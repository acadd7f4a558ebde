"""The lane: queue with coalescing and shedding, window with late answers."""

from concurrent.futures import Future
from typing import cast

import pytest

from stretto.api.wire.kinds import POD
from stretto.base.clock import ManualClock
from stretto.base.errors import UnreachableError
from stretto.base.rng import Rng
from stretto.stores.capabilities import Capabilities
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.lane import Lane, LaneLimits, ShedPolicy
from stretto.stores.store import (
    Deletion,
    Replies,
    Reply,
    StatusReason,
    Store,
    Write,
    WriteOutcome,
    WriteVerb,
    is_temporary,
)

DONE = Reply(WriteOutcome.OK)


class LateStore:
    """Answers on command of the test."""

    capabilities = Capabilities(answers_later=True)

    def __init__(self) -> None:
        self.sent: list[tuple[Write, Future[Replies]]] = []

    def begin(self, write: Write) -> Future[Replies]:
        self.sent.append((write, Future()))
        return self.sent[-1][1]

    def answer(self, index: int) -> None:
        write, future = self.sent[index]
        future.set_result([DONE] * len(write.items))


@pytest.fixture
def late() -> LateStore:
    return LateStore()


def lane_of(store: object, **limits: object) -> Lane[str, str]:
    return Lane(cast("Store", store), LaneLimits(**({"window": 4} | limits)))  # type: ignore[arg-type]


def deletions(*names: str) -> Write:
    return Write(WriteVerb.DELETE, POD, [Deletion("default", name) for name in names])


def test_an_embedded_store_answers_what_is_sent_at_once() -> None:
    lane = lane_of(MemoryStore(ManualClock(), Rng(0)))
    lane.send(deletions("a", "b"), ["a", "b"])
    (batch,) = lane.answers()
    assert (list(batch.entries), lane.unanswered) == (["a", "b"], 0)
    assert [reply.code for reply in batch.replies] == [StatusReason.NOT_FOUND] * 2


def test_a_newer_entry_replaces_the_older_one_and_keeps_its_place() -> None:
    lane = lane_of(LateStore())
    lane.put("a", "old")
    lane.put("b", "other")
    lane.put("a", "new")
    assert list(lane.due(0.0)) == [("a", "new"), ("b", "other")]


def test_an_entry_waits_for_its_time() -> None:
    lane = lane_of(LateStore())
    lane.put("a", "a", not_before=5.0)
    lane.put("b", "b", not_before=3.0)
    assert (list(lane.due(3.0)), lane.next_due()) == ([("b", "b")], 3.0)
    assert lane.withdraw("b") == "b"
    assert (lane.next_due(), lane.queued("b"), lane.queued("a")) == (5.0, None, "a")


def test_an_empty_lane_has_no_time() -> None:
    assert lane_of(LateStore()).next_due() == float("inf")


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        (ShedPolicy.NONE, ["a", "b", "c"]),
        (ShedPolicy.OLDEST, ["b", "c"]),
        (ShedPolicy.NEWEST, ["a", "b"]),
    ],
)
def test_a_full_queue_sheds_by_its_policy(policy: ShedPolicy, kept: list[str]) -> None:
    lane = lane_of(LateStore(), queued=2, shed=policy)
    taken = [lane.put(name, name) for name in "abc"]
    assert [name for name, _ in lane.due(0.0)] == kept
    assert (taken[-1], lane.shed) == (policy is not ShedPolicy.NEWEST, 1)


def test_an_entry_that_replaces_another_is_never_shed() -> None:
    lane = lane_of(LateStore(), queued=1, shed=ShedPolicy.NEWEST)
    assert lane.put("a", "1")
    assert lane.put("a", "2")
    assert (lane.queued("a"), lane.shed) == ("2", 0)


def test_an_entry_that_comes_back_does_not_replace_a_newer_one() -> None:
    lane = lane_of(LateStore())
    lane.put("a", "new")
    lane.put_back("a", "old", 9.0)
    lane.put_back("b", "again", 9.0)
    assert list(lane.due(0.0)) == [("a", "new")]
    assert list(lane.due(9.0)) == [("a", "new"), ("b", "again")]


def test_the_window_counts_what_is_not_answered(late: LateStore) -> None:
    lane = lane_of(late)
    lane.send(deletions("a", "b"), ["a", "b"])
    lane.send(deletions("c"), ["c"])
    assert (lane.capacity, list(lane.in_flight()), list(lane.answers())) == (1, ["a", "b", "c"], [])
    late.answer(1)
    assert [list(batch.entries) for batch in lane.answers()] == [["c"]]
    late.answer(0)
    assert [list(batch.entries) for batch in lane.answers()] == [["a", "b"]]
    assert (lane.capacity, lane.unanswered) == (4, 0)


def test_a_large_batch_is_split_for_a_store_that_answers_later(late: LateStore) -> None:
    lane = lane_of(late, batch=2)
    lane.send(deletions(*"abc"), list("abc"))
    assert [len(write.items) for write, _ in late.sent] == [2, 1]
    late.answer(0)
    assert [list(batch.entries) for batch in lane.answers()] == [["a", "b"]]


def test_a_large_batch_stays_whole_for_a_store_that_answers_at_once() -> None:
    lane = lane_of(MemoryStore(ManualClock(), Rng(0)), batch=2)
    lane.send(deletions(*"abc"), list("abc"))
    assert [len(batch.entries) for batch in lane.answers()] == [3]


def test_answers_wait_for_the_oldest_while_too_many_are_under_way(late: LateStore) -> None:
    lane = lane_of(late)
    lane.send(deletions("a"), ["a"])
    lane.send(deletions("b"), ["b"])
    late.answer(0)
    late.answer(1)
    assert [list(batch.entries) for batch in lane.answers(0)] == [["a"], ["b"]]


def test_a_store_error_reaches_the_reader_of_the_answers(late: LateStore) -> None:
    lane = lane_of(late)
    lane.send(deletions("a"), ["a"])
    late.sent[0][1].set_exception(UnreachableError("the server", "gone"))
    with pytest.raises(UnreachableError):
        list(lane.answers())
    assert lane.unanswered == 0


@pytest.mark.parametrize(
    ("reply", "temporary"),
    [
        (Reply(WriteOutcome.UNKNOWN), True),
        (Reply(WriteOutcome.REFUSED, StatusReason.UNAVAILABLE), True),
        (Reply(WriteOutcome.REFUSED, StatusReason.TOO_MANY_REQUESTS, retry_after=1.0), True),
        (Reply(WriteOutcome.REFUSED, StatusReason.TOO_MANY_REQUESTS), False),
        (Reply(WriteOutcome.REFUSED, StatusReason.NOT_FOUND), False),
        (Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT), False),
        (DONE, False),
    ],
)
def test_a_temporary_answer_differs_from_a_final_one(reply: Reply, temporary: bool) -> None:
    assert is_temporary(reply) is temporary

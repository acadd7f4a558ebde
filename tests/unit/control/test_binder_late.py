"""The binder over a store that answers later: the plane continues, and the claims stay charged."""

from concurrent.futures import Future
from typing import cast

import pytest

from stretto.api.wire.kinds import POD
from stretto.control.binder.binder import READ_BACK_AFTER
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.claims import ConflictCause
from stretto.stores.capabilities import Capabilities
from stretto.stores.lane import LaneLimits
from stretto.stores.store import (
    Bind,
    Deletion,
    Replies,
    Reply,
    StatusReason,
    Write,
    WriteOutcome,
    WriteVerb,
)
from stretto.testing import make_pod
from tests.unit.control.test_binder import LOST, Desk

REFUSED = Reply(WriteOutcome.REFUSED, StatusReason.FORBIDDEN)


class NotAnsweredError(Exception):
    """A caller waits for an answer that this test does not give."""


class NotWaited(Future[Replies]):
    """An answer that must be present on request."""

    def result(self, timeout: float | None = None) -> Replies:
        if not self.done():
            raise NotAnsweredError
        return super().result(timeout)


class Late(Desk):
    """A desk with a store that answers a batch of binds on command of the test."""

    def __init__(self, *pods: bytes) -> None:
        super().__init__(*pods)
        self.way: list[tuple[list[Bind], Future[Replies]]] = []
        self.store.begin = self.begin  # type: ignore[method-assign]
        self.store.capabilities = Capabilities(binds_units=False, answers_later=True)

    def begin(self, write: Write) -> Future[Replies]:
        assert write.verb is WriteVerb.BIND
        self.way.append((cast("list[Bind]", list(write.items)), NotWaited()))
        return self.way[-1][1]

    def arrive(self, *answers: Reply) -> None:
        """Answer the first of the batches in flight."""
        binds, future = self.way.pop(0)
        self.answers = list(answers)
        future.set_result(self.answer(binds))

    def claimed(self, **claims: str) -> None:
        """Claims committed at 0, all by the binder that had the first."""
        first = getattr(self, "binder", None)
        plan = self.plan(claims)
        self.binder = first or self.binder
        verdict = self.binder.commit(plan, 0.0)
        assert (len(verdict.granted), verdict.refused) == (len(claims), [])


def test_a_claim_under_way_is_charged_and_waits() -> None:
    desk = Late(make_pod("p", cpu="1"))
    desk.claimed(p="n")
    assert (desk.used("n"), desk.state_of("p"), desk.binder.is_waiting) == (
        1000,
        PodState.ASSUMED,
        True,
    )
    assert desk.binder.resolve_unanswered(1.0) == []
    desk.arrive()
    assert (desk.binder.resolve_unanswered(2.0), desk.binder.is_waiting) == ([], False)
    assert desk.binder.counts["bound"] == 1


def test_a_no_that_comes_late_gives_the_claim_back() -> None:
    desk = Late(make_pod("p", cpu="1"), make_pod("q", cpu="1"))
    desk.claimed(p="n", q="n")
    desk.arrive(REFUSED)
    refused = desk.binder.resolve_unanswered(1.0)
    assert [(len(rows), cause) for _, rows, cause in refused] == [(1, ConflictCause.STORE_REFUSED)]
    assert (desk.used("n"), desk.state_of("p")) == (1000, PodState.PENDING)
    assert desk.binder.resolve_unanswered(1.0) == []


def test_an_answer_that_is_lost_is_read_back() -> None:
    desk = Late(make_pod("p", cpu="1"))
    desk.claimed(p="n")
    desk.arrive(LOST)
    assert desk.binder.resolve_unanswered(1.0) == []
    assert desk.binder.next_due() == 1.0 + READ_BACK_AFTER
    desk.binder.resolve_unanswered(1.0 + READ_BACK_AFTER)
    assert [bind.node for bind in desk.way[0][0]] == ["n"]


def test_an_echo_that_comes_before_the_answer_counts() -> None:
    desk = Late(make_pod("p", cpu="1"))
    desk.claimed(p="n")
    desk._bind(desk.way[0][0])
    desk.see()
    desk.arrive(REFUSED)
    assert desk.binder.resolve_unanswered(1.0) == []
    assert (desk.used("n"), desk.state_of("p")) == (1000, PodState.BOUND)


def test_a_pod_that_ends_under_way_is_not_given_back_twice() -> None:
    desk = Late(make_pod("p", cpu="1"))
    desk.claimed(p="n")
    desk.store.delete(POD, [Deletion("default", "p")])
    desk.see()
    desk.pod(make_pod("new", cpu="1"))
    desk.arrive(Reply(WriteOutcome.REFUSED, StatusReason.NOT_FOUND))
    assert desk.binder.resolve_unanswered(1.0) == []
    assert desk.used("n") == 0


def test_a_stop_waits_for_the_requests_in_flight() -> None:
    desk = Late(make_pod("p", cpu="1"))
    desk.claimed(p="n")
    desk.arrive(REFUSED)
    desk.binder.land(1.0)
    assert (desk.binder.is_waiting, desk.used("n")) == (False, 0)


def test_a_gang_is_not_waited_for_and_its_rows_are_open() -> None:
    desk = Late(make_pod("p", cpu="1"), make_pod("q", cpu="1"), make_pod("r", cpu="1"))
    plan = desk.plan({"p": "n", "q": "n"}, units=[2], at_least=2)
    assert desk.binder.commit(plan, 0.0).refused == []
    assert desk.binder.unanswered_rows() == set(plan.rows.tolist())
    desk.arrive(REFUSED)
    refused = desk.binder.resolve_unanswered(1.0)
    assert [(len(rows), cause) for _, rows, cause in refused] == [(1, ConflictCause.STORE_REFUSED)]
    assert desk.binder.unanswered_rows() == set()


def test_a_gang_lands_in_one_transaction_where_the_store_has_them_though_it_answers_late() -> None:
    desk = Late(make_pod("p", cpu="1"), make_pod("q", cpu="1"))
    desk.store.capabilities = Capabilities(answers_later=True)
    plan = desk.plan({"p": "n", "q": "n"}, units=[2], at_least=2)
    desk.store.delete(POD, [Deletion("default", "q")])
    assert len(desk.binder.commit(plan, 0.0).refused) == 2
    assert (desk.way, desk.binder.is_waiting, desk.used("n")) == ([], False, 0)


def test_more_is_sent_while_few_are_unanswered() -> None:
    desk = Late(make_pod("p", cpu="1"), make_pod("q", cpu="1"))
    desk.claimed(p="n")
    desk.claimed(q="n")
    assert len(desk.way) == 2
    desk.arrive(LOST)
    assert desk.binder.resolve_unanswered(1.0) == []
    assert (len(desk.binder.in_doubt), len(desk.binder.unanswered_rows())) == (1, 2)


def test_no_more_is_sent_while_many_are_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.control.binder.binder.LANE", LaneLimits(window=1))
    desk = Late(*(make_pod(name, cpu="1") for name in "pqr"))
    desk.claimed(p="n", q="n")
    with pytest.raises(NotAnsweredError):
        desk.claimed(r="n")


def test_the_first_of_a_large_batch_do_not_wait_for_its_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stretto.control.binder.binder.LANE", LaneLimits(window=9, batch=2))
    desk = Late(*(make_pod(name, cpu="1") for name in "pqr"))
    desk.claimed(p="n", q="n", r="n")
    assert [len(binds) for binds, _ in desk.way] == [2, 1]
    desk.arrive()
    desk.binder.resolve_unanswered(1.0)
    assert desk.binder.counts["bound"] == 2

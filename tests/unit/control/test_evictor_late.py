"""The lane of evictions over a store that answers later: the plane continues."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import cast

import pytest

from stretto.api.wire.kinds import POD
from stretto.base.errors import UnreachableError
from stretto.control.eviction import requests
from stretto.control.eviction.nominated_names import RETRY_AFTER
from stretto.state.rows.lifecycle import PodState
from stretto.stores.lane import LaneLimits
from stretto.stores.store import (
    Bind,
    Eviction,
    Patch,
    Replies,
    Reply,
    StatusReason,
    Write,
    WriteOutcome,
    WriteVerb,
)
from stretto.testing import make_pod
from tests.unit.control.test_evictor import BUDGET, BUSY, LOST, Desk

TAKEN = Reply(WriteOutcome.OK)
GONE = Reply(WriteOutcome.REFUSED, StatusReason.NOT_FOUND)


class Late(Desk):
    """A desk with a store that answers evictions on command of the test."""

    def __init__(self, *answers: Reply | None) -> None:
        super().__init__(*answers)
        self.way: list[tuple[list[Eviction], Future[Replies]]] = []
        self.reported: list[tuple[list[Patch], Future[Replies]]] = []
        self._begin, self.store.begin = self.store.begin, self.begin  # type: ignore[method-assign]
        self.settle()

    def begin(self, write: Write) -> Future[Replies]:
        if write.verb is WriteVerb.EVICT:
            self.way.append((cast("list[Eviction]", list(write.items)), Future()))
            return self.way[-1][1]
        if write.verb is WriteVerb.PATCH_STATUS:
            self.reported.append((cast("list[Patch]", list(write.items)), Future()))
            return self.reported[-1][1]
        return self._begin(write)

    def promises(self) -> list[list[tuple[str, str | None]]]:
        """Pods and their reported nodes, batch by batch."""
        return [
            [(each.name, each.patch["status"]["nominatedNodeName"]) for each in patches]
            for patches, _ in self.reported
        ]

    def heard(self, answer: Reply = TAKEN, seconds: float = 0) -> None:
        """Answer the newest nominations, and pass the answer to the plane."""
        patches, future = self.reported[-1]
        future.set_result([answer] * len(patches))
        self.settle(seconds)

    def arrive(self) -> None:
        """Answer the oldest eviction batch in flight, and pass the answer to the plane."""
        evictions, future = self.way.pop(0)
        future.set_result(self.answer(evictions))
        self.settle()

    def names(self) -> list[list[str]]:
        """The pods being evicted, batch by batch."""
        return [[each.name for each in evictions] for evictions, _ in self.way]


def test_an_eviction_is_not_sent_again_before_its_answer() -> None:
    desk = Late()
    desk.settle(5)
    assert (desk.names(), desk.state("high")) == ([["low"]], PodState.NOMINATED)
    desk.arrive()
    assert (desk.names(), desk.node_of("high")) == ([], "n")


def test_other_pods_are_placed_while_answers_are_on_their_way() -> None:
    desk = Late()
    desk.submit(make_pod("small", cpu="1", priority=9))
    desk.settle()
    assert (desk.node_of("small"), desk.names()) == ("n", [["low"]])
    desk.arrive()
    assert desk.node_of("high") == "n"


def test_a_second_batch_is_sent_before_the_first_was_answered() -> None:
    desk = Late()
    desk.submit(make_pod("one", cpu="100m", priority=9))
    desk.settle(1)
    desk.order("one")
    desk.settle()
    assert desk.names() == [["low"], ["one"]]


def test_no_more_evictions_are_in_flight_than_the_lane_permits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "LANE", LaneLimits(window=2))
    desk = Late()
    desk.submit(*[make_pod(f"p{i}", cpu="100m", priority=9) for i in range(3)])
    desk.settle(1)
    desk.order("p0", "p1", "p2")
    desk.settle()
    assert sum(map(len, desk.names())) == 2
    assert desk.plane.evictor.next_due() > desk.clock.monotonic()
    desk.arrive()
    assert sum(map(len, desk.names())) == 2


@pytest.mark.parametrize("answer", [LOST, BUDGET])
def test_an_answer_about_a_pod_that_is_gone_has_no_effect(answer: Reply) -> None:
    desk = Late(answer)
    desk.delete("low")
    desk.settle()
    desk.submit(make_pod("next", cpu="1"))  # which may have the row of the one that went
    desk.settle()
    desk.arrive()
    desk.settle(5)
    assert (desk.node_of("high"), desk.node_of("next"), desk.requested) == ("n", "n", ["low"])
    assert desk.breaches() == []


def test_a_refusal_that_comes_late_voids_the_claim() -> None:
    desk = Late(BUDGET)
    desk.arrive()
    assert (desk.state("high"), desk.node_of("low")) == (PodState.PENDING, "n")
    assert not desk.plane.cluster.evictions
    assert not desk.plane.cluster.nominations


def test_a_node_that_is_taken_back_does_not_overtake_the_one_that_was_given() -> None:
    desk = Late(BUDGET)
    desk.arrive()
    assert desk.state("high") == PodState.PENDING
    assert desk.promises() == [[("high", "n")]]
    desk.heard()
    assert desk.promises() == [[("high", "n")], [("high", None)]]


def test_a_claim_voided_before_its_report_is_not_reported() -> None:
    desk = Late()
    desk.submit(make_pod("small", cpu="1", priority=9))
    desk.settle(1)
    desk.submit(make_pod("next", cpu="1", priority=10))
    desk.settle(1)
    assert (desk.state("next"), desk.promises()) == (PodState.NOMINATED, [[("high", "n")]])
    desk.delete("next")
    desk.settle()
    desk.heard()
    assert "next" not in {name for batch in desk.promises() for name, _ in batch}


@pytest.mark.parametrize("answer", [LOST, BUSY])
def test_a_promise_that_the_store_did_not_take_is_made_again(answer: Reply) -> None:
    desk = Late()
    desk.heard(answer)
    assert desk.promises() == [[("high", "n")]]
    assert desk.plane.evictor.next_due() <= desk.clock.monotonic() + RETRY_AFTER
    desk.settle(2)
    assert desk.promises() == [[("high", "n")], [("high", "n")]]


def test_a_promise_that_is_refused_for_good_is_not_made_again() -> None:
    desk = Late()
    desk.heard(GONE)
    desk.settle(5)
    assert len(desk.promises()) == 1


def test_a_nomination_with_a_lost_answer_is_still_withdrawn() -> None:
    desk = Late(BUDGET)
    desk.arrive()
    desk.heard(LOST, seconds=2)
    assert desk.promises()[1] == [("high", None)]


def test_a_claim_renewed_while_writes_are_in_flight_is_the_one_reported() -> None:
    desk = Late(BUDGET)
    desk.arrive()  # the claim is void; the first nomination is still in flight
    desk.settle(5)
    assert desk.state("high") == PodState.NOMINATED
    desk.heard()
    assert desk.promises() == [[("high", "n")], [("high", "n")]]


def test_a_promise_is_taken_back_where_the_bind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Late()
    desk.heard()

    def refuse(binds: Sequence[Bind]) -> Replies:
        return [Reply(WriteOutcome.REFUSED, StatusReason.INVALID) for _ in binds]

    monkeypatch.setattr(desk.store, "bind", refuse)
    desk.arrive()
    assert desk.state("high") == PodState.PENDING
    assert desk.promises() == [[("high", "n")], [("high", None)]]


def test_promises_that_end_in_an_error_are_not_taken_for_kept() -> None:
    desk = Late()
    desk.reported[0][1].set_exception(UnreachableError("the server", "gone"))
    with pytest.raises(UnreachableError):
        desk.settle()


@pytest.mark.parametrize(("phase", "starting"), [("Pending", True), ("Running", False)])
def test_an_eviction_states_whether_its_pod_may_still_start(phase: str, starting: bool) -> None:
    desk = Late()
    desk.submit(make_pod("one", cpu="100m", priority=9))
    desk.settle(1)
    desk.store.patch_status(POD, [Patch("default", "one", {"status": {"phase": phase}})])
    desk.settle(1)
    desk.order("one")
    desk.settle()
    assert desk.way[-1][0][0].starting is starting

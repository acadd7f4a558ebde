"""The lane of evictions over a store whose answers the test chooses."""

from collections.abc import Sequence
from typing import Any

import pytest

from stretto.api.wire.kinds import NODE, POD
from stretto.control.eviction import requests
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.claims import ConflictCause
from stretto.state.work.evictions import EvictionCause, EvictionOrder, PlacedMembers, short_of
from stretto.stores.lane import LaneLimits
from stretto.stores.store import Deletion, Eviction, Reply, StatusReason, WriteOutcome
from stretto.testing import Harness, make_node, make_pod

LOST = Reply(WriteOutcome.UNKNOWN, StatusReason.TIMEOUT)
BUSY = Reply(WriteOutcome.REFUSED, StatusReason.UNAVAILABLE)
BUDGET = Reply(WriteOutcome.REFUSED, StatusReason.TOO_MANY_REQUESTS)


class Desk(Harness):
    """A full node, a preemptor, and answers to evictions: ``None`` for the store's own."""

    def __init__(self, *answers: Reply | None) -> None:
        super().__init__([make_node("n", cpu="4")], config={"tier": "numpy"})
        self.answers = list(answers)
        self.requested: list[str] = []
        self._evict, self.store.evict = self.store.evict, self.answer  # type: ignore[method-assign]
        self.submit(make_pod("low", cpu="3", priority=1))
        self.settle()
        self.submit(make_pod("high", cpu="3", priority=9))

    def answer(self, evictions: Sequence[Eviction]) -> list[Reply]:
        self.requested += [each.name for each in evictions]
        chosen = [self.answers.pop(0) if self.answers else None for _ in evictions]
        pairs = zip(chosen, evictions, strict=True)
        return [said or self._evict([eviction])[0] for said, eviction in pairs]

    def state(self, name: str) -> PodState:
        pods = self.plane.cluster.pods
        return next(PodState(int(pods.state[r])) for r in pods.rows() if pods.name[r] == name)

    def order(self, *names: str, **more: Any) -> tuple[int, ...]:
        pods = self.plane.cluster.pods
        rows = tuple(int(r) for r in pods.rows() if pods.name[r] in names)
        serials = tuple(int(pods.serial[r]) for r in rows)
        given = EvictionOrder(rows, serials, EvictionCause.RECLAIM, "its owner is back", **more)
        return self.plane.evictor.order(given, self.clock.monotonic())


@pytest.mark.parametrize("answer", [LOST, BUSY])
def test_a_victim_whose_eviction_failed_is_evicted_again(answer: Reply) -> None:
    desk = Desk(answer)
    desk.settle(5)
    assert (desk.requested, desk.node_of("high")) == (["low", "low"], "n")


def test_a_victim_that_is_gone_is_not_evicted_again() -> None:
    desk = Desk(LOST)
    desk.plane.run_until_idle(3)
    desk.delete("low")
    desk.settle(5)
    assert (desk.requested, desk.node_of("high")) == (["low"], "n")


def test_a_refusal_voids_the_claim_and_the_pod_waits_before_it_tries_again() -> None:
    desk = Desk(BUDGET)
    desk.settle()
    assert (desk.state("high"), desk.node_of("low")) == (PodState.PENDING, "n")
    assert not desk.plane.cluster.evictions
    assert not desk.plane.cluster.nominations
    assert desk.breaches() == []
    desk.settle(5)
    assert desk.node_of("high") == "n"


def test_a_preemption_that_is_refused_is_no_change_for_the_claims_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk()
    ledger = desk.plane.cluster.ledger
    version, head = ledger.version.tolist(), ledger.head
    monkeypatch.setattr(
        desk.plane.evictor._judge, "problem", lambda *_: ConflictCause.BUDGET_EXHAUSTED
    )
    desk.settle()
    assert desk.plane.evictor.counts[ConflictCause.BUDGET_EXHAUSTED.value] > 0
    assert (ledger.version.tolist(), ledger.head > head) == (version, True)


def test_a_nominated_claim_is_void_when_its_node_was_replaced() -> None:
    desk = Desk(*[LOST] * 5)
    desk.plane.run_until_idle(3)
    assert desk.state("high") is PodState.NOMINATED
    desk.store.delete(NODE, [Deletion("", "n")])
    desk.create_nodes(make_node("other", cpu="1"), make_node("n", cpu="4"))
    desk.plane.step()
    assert desk.plane.evictor.counts[ConflictCause.NODE_DELETED.value] == 1
    assert desk.breaches() == []


def test_no_more_evictions_are_sent_at_once_than_the_lane_permits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "LANE", LaneLimits(window=2))
    desk = Desk()
    desk.settle()
    desk.submit(*[make_pod(f"p{i}", cpu="100m") for i in range(5)])
    desk.settle()
    assert len(desk.order(*[f"p{i}" for i in range(5)])) == 5
    desk.requested.clear()
    assert desk.plane.evictor.send(desk.clock.monotonic())
    assert len(desk.requested) == 2


def test_an_order_omits_pods_whose_eviction_would_violate_a_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk()
    desk.settle()
    budgets = desk.plane.evictor._judge.budgets
    monkeypatch.setattr(budgets, "violating", set)
    assert desk.order("high") == ()
    row = next(int(r) for r in desk.plane.cluster.pods.rows())
    assert desk.order("high", beyond=frozenset({row})) == (row,)


def test_a_pod_evicted_for_another_reason_is_counted_once_it_is_gone() -> None:
    desk = Desk()
    desk.settle()
    desk.order("high")
    desk.settle(1)
    assert desk.store.get(POD, "default", "high") is None
    assert desk.plane.cluster.evictions.counts[EvictionCause.RECLAIM] == 1


class GangDesk(Desk):
    """Two placed members of a gang of two, and a third that waits for a victim."""

    def __init__(self) -> None:
        super().__init__(*[LOST] * 50)
        self.delete("high")
        self.create_nodes(make_node("a", cpu="4"), make_node("b", cpu="4"))
        self.group("gang", 2)
        for name in ("g0", "g1", "g2"):
            self.submit(make_pod(name, cpu="3", priority=5, group="gang"))
        self.plane.run_until_idle(6)


def test_a_nominated_member_is_void_when_the_rest_of_its_gang_is_evicted() -> None:
    desk = GangDesk()
    assert desk.state("g2") is PodState.NOMINATED
    desk.order("g0", "g1", beyond=frozenset(range(9)))
    desk.answers.clear()
    desk.delete("g0")
    desk.delete("g1")
    desk.delete("low")
    desk.plane.step()
    assert (desk.state("g2"), desk.node_of("g2")) == (PodState.PENDING, "")


def test_pods_that_have_the_rows_of_ended_members_do_not_count_for_the_gang() -> None:
    desk = GangDesk()
    desk.order("g0", "g1", beyond=frozenset(range(9)))
    desk.answers.clear()
    for name in ("low", "g0", "g1"):
        desk.delete(name)
    desk.submit(*[make_pod(f"other-{node}", node=node) for node in ("a", "b", "n")])
    desk.plane.step()
    assert (desk.state("g2"), desk.node_of("g2")) == (PodState.PENDING, "")


def test_members_that_leave_are_counted_apart() -> None:
    desk = GangDesk()
    desk.order("g0", beyond=frozenset(range(9)))
    unit = desk.plane.units.find("PodGroupUnit/default/gang")
    assert unit is not None
    assert PlacedMembers.of(unit, desk.plane.cluster.pods) == (1, 1, 1)
    assert short_of(unit, desk.plane.cluster.pods) == 0

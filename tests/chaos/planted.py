"""Bugs that the simulator must find: parts of the product that only these tests wrap.

Each is a real bug of some scheduler. A plant uses the monkeypatch fixture to break one part for one
test.
"""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from stretto.control.binder import binder as binder_module
from stretto.control.binder.binder import Binder, Refusals, SentBind
from stretto.control.binder.conflicts import PlanJudge
from stretto.control.controllers.move_plan import MovePlanner
from stretto.control.controllers.overcommit_eviction import OvercommitEviction
from stretto.control.dispatcher.answers import Answers
from stretto.control.dispatcher.waiting.timers import UnitTimers
from stretto.control.eviction.judge import PreemptionJudge
from stretto.framework.compiled.one_node import Preemptor
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.preemption import terms as terms_module
from stretto.framework.preemption.finder import VictimFinder
from stretto.framework.preemption.terms import PriorityTerms, ReclaimTerms
from stretto.framework.preemption.tiers import VictimSearchResult
from stretto.framework.profile.capacity.overcommit import OvercommitPool
from stretto.state.classes.preemption_attributes import PreemptionAttributeTable
from stretto.state.cluster.charges import PodCharges
from stretto.state.ingest.ingest import Ingest
from stretto.state.rows.devices import DeviceColumns
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.pods import NO_SLOT
from stretto.state.rows.promises import NodeRatio
from stretto.state.victims.rules import UNPROTECTED
from stretto.state.work.claims import ConflictCause
from stretto.stores.embedded.journal import SqliteJournal
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.lane import AnsweredBatch
from stretto.stores.reflector import Reflector
from stretto.stores.store import EventType, Reply, StatusReason, WriteOutcome

Plant = Callable[[pytest.MonkeyPatch], None]
PLANTS: dict[str, Plant] = {}
#: Fault odds that are high enough to trigger a plant within a few seeds.
HEAT: dict[str, dict[str, float]] = {
    "a_refused_second_try_frees_the_claim": {"late_request": 0.5, "refused_write": 0.5},
    "a_refusal_leaves_the_snapshot_as_it_is": {"late_plan": 0.9},
    "the_binder_does_not_check_rules": {"late_plan": 0.6},
    "a_stale_list_is_trusted": {"stale_list": 0.5, "cut_watch": 0.05},
    "the_store_binds_a_bound_pod_again": {
        "late_request": 0.5,
        "kill_binder": 0.1,
        "stale_list": 0.0,
    },
    "the_file_is_written_after_the_answer": {"store_crash": 0.05},
    "a_late_answer_is_applied_to_a_reused_row": {"late_answer": 0.9},
}
#: Seeds that are tried first, for plants that the first seeds do not trigger.
FOUND: dict[str, int] = {
    "an_unknown_bind_is_forgotten": 15,
    "a_new_binder_adopts_nothing": 15,
    "the_binder_does_not_check_rules": 33,
    "a_gang_is_granted_in_part": 17,
    "a_refusal_leaves_the_snapshot_as_it_is": 5,
    "device_masks_are_not_compared": 13,
    "node_deletions_are_missed": 12,
    "the_store_binds_a_bound_pod_again": 2,
    "preemption_ignores_the_guarantees_of_queues": 19,
    "gangs_are_bound_pod_by_pod": 5,
    "a_finished_pod_uses_capacity": 2,
    "the_binder_does_not_check_fit": 2,
    "a_crashed_shard_loses_its_units": 1,
    "a_late_answer_is_applied_to_a_reused_row": 2,
    "reclaim_ignores_priority_where_it_comes_first": 213,
    "an_over_committed_node_loses_its_most_important_pods": 97,
    "pods_are_moved_to_empty_nodes": 13,
    "exclusive_cores_are_promised_several_times": 429,
    "a_ratio_above_the_cap_is_applied": 156,
}


def plant(function: Plant) -> Plant:
    PLANTS[function.__name__] = function
    return function


def wrap(patch: pytest.MonkeyPatch, owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
    """Replace a method by ``wrapper(original, self, ...)``."""
    original = getattr(owner, name)
    patch.setattr(owner, name, lambda self, *a, **k: wrapper(original, self, *a, **k))


# ------------------------------------------------------------ binder


@plant
def an_unknown_bind_frees_its_claim(patch: pytest.MonkeyPatch) -> None:
    def take(original: Any, self: Binder, rows: Any, replies: Any, *more: Any) -> Any:
        no = Reply(WriteOutcome.REFUSED, StatusReason.TIMEOUT)
        replies = [no if r.outcome is WriteOutcome.UNKNOWN else r for r in replies]
        return original(self, rows, replies, *more)

    wrap(patch, Binder, "_take", take)


@plant
def an_unknown_bind_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Binder, "_doubt", lambda self, row, look_at, until: None)


@plant
def a_refused_second_try_frees_the_claim(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(binder_module, "LANDS_WITHIN", 0.0)


@plant
def a_new_binder_adopts_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Binder, "_adopt", lambda self: None)


@plant
def a_late_answer_is_applied_to_a_reused_row(
    patch: pytest.MonkeyPatch,
) -> None:
    def answered(_: Any, self: Binder, batch: AnsweredBatch[SentBind], now: float) -> Refusals:
        rows = [sent.row for sent in batch.entries]
        again = {sent.row: sent.until for sent in batch.entries if sent.until > now}
        return self._take(rows, batch.replies, now, again)

    wrap(patch, Binder, "_answered", answered)


@plant
def gangs_are_bound_pod_by_pod(patch: pytest.MonkeyPatch) -> None:
    def bind(original: Any, self: Binder, rows: Any, now: float, _: Any, *again: Any) -> Any:
        return original(self, rows, now, [], *again)

    wrap(patch, Binder, "_bind", bind)


@plant
def the_binder_does_not_check_fit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PlanJudge, "_grant_all", lambda self, plan: False)
    patch.setattr(Ledger, "fits", lambda self, slot, amounts, **_: bool(self.slots.live[slot]))


@plant
def exclusive_cores_are_promised_several_times(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PodCharges, "_hold", lambda self, row, slot, pod: None)
    patch.setattr(Ledger, "alloc_with", lambda self, slot, exclusive: self.alloc[slot])


@plant
def a_ratio_above_the_cap_is_applied(patch: pytest.MonkeyPatch) -> None:
    def choose(original: Any, self: OvercommitPool, *more: Any) -> NodeRatio:
        found: NodeRatio = original(self, *more)
        return found._replace(ratio=found.cap + 1.0)

    wrap(patch, OvercommitPool, "choose", choose)


@plant
def the_binder_does_not_check_rules(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CompiledProfile, "is_eligible", lambda self, class_id, slot: True)


@plant
def a_gang_is_granted_in_part(patch: pytest.MonkeyPatch) -> None:
    def as_needed(_: Any, self: PlanJudge, plan: Any) -> Any:
        units = [unit._replace(at_least=1) for unit in plan.units]
        return plan if units == plan.units else plan._replace(units=units)

    wrap(patch, PlanJudge, "with_needs", as_needed)


@plant
def a_refusal_leaves_the_snapshot_as_it_is(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PlanJudge, "touch", lambda self, plan, claims: None)


@plant
def device_masks_are_not_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DeviceColumns, "covers", lambda self, slot, mask, request: True)


# ------------------------------------------------------------ ledger


@plant
def a_claim_is_not_charged(patch: pytest.MonkeyPatch) -> None:
    def add(original: Any, self: PodCharges, rows: Any, slots: Any, sign: int) -> None:
        if sign < 0:
            original(self, rows, slots, sign)

    wrap(patch, PodCharges, "_add_amounts", add)


@plant
def a_refund_comes_twice(patch: pytest.MonkeyPatch) -> None:
    def refund(original: Any, self: PodCharges, row: int) -> None:
        slot = int(self._pods.slot[row])
        original(self, row)
        if slot != NO_SLOT:
            pod = self._classes[int(self._pods.class_id[row])]
            self._ledger.charge(slot, pod.requests, -1)

    wrap(patch, PodCharges, "refund", refund)


# ------------------------------------------------------------ pump and ingest


@plant
def a_cut_watch_is_read_without_a_relist(patch: pytest.MonkeyPatch) -> None:
    def relist(original: Any, self: Reflector, now: float) -> int:
        if self.watch is not None:
            self.list_at = now + 1.0
            return 0
        return original(self, now)

    wrap(patch, Reflector, "relist", relist)


@plant
def a_stale_list_is_trusted(patch: pytest.MonkeyPatch) -> None:
    def relist(original: Any, self: Reflector, now: float) -> int:
        self.version = 0
        return original(self, now)

    wrap(patch, Reflector, "relist", relist)


@plant
def a_finished_pod_uses_capacity(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("stretto.state.ingest.known_pods.ENDED", frozenset())


@plant
def node_deletions_are_missed(patch: pytest.MonkeyPatch) -> None:
    def nodes(original: Any, self: Ingest, events: Any) -> None:
        original(self, [event for event in events if event.type is not EventType.DELETED])

    wrap(patch, Ingest, "nodes", nodes)


# ------------------------------------------------------------ dispatcher


@plant
def a_crashed_shard_loses_its_units(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Answers, "lose_shard", lambda self, number, now: None)


@plant
def no_unit_is_woken(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(UnitTimers, "wake", lambda self, cures, probe, now: 0)


@plant
def refused_claims_are_not_queued_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Answers, "settle", lambda self, refused, now: None)


# ------------------------------------------------------------ stores


@plant
def the_store_binds_a_bound_pod_again(patch: pytest.MonkeyPatch) -> None:
    def bind(original: Any, self: MemoryStore, binds: Any) -> Any:
        for each in binds:
            space = self._table_of_pods().get(each.namespace, {})
            old = space.get(each.name)
            if old is not None and old.node:
                space[each.name] = msgspec.structs.replace(old, node="")
        return original(self, binds)

    from stretto.api.wire.kinds import POD

    patch.setattr(
        MemoryStore, "_table_of_pods", lambda self: self._table(POD).spaces, raising=False
    )
    wrap(patch, MemoryStore, "bind", bind)


@plant
def the_file_is_written_after_the_answer(patch: pytest.MonkeyPatch) -> None:
    """For SQLite stores: the last acknowledged write is lost when the store closes."""
    delayed: dict[int, list[Any]] = {}

    def write(original: Any, self: SqliteJournal, draft: Any) -> None:
        drafts = delayed.setdefault(id(self), [])
        drafts.append(draft)
        if len(drafts) > 1:
            original(self, drafts.pop(0))

    def close(original: Any, self: SqliteJournal) -> None:
        delayed.pop(id(self), None)
        original(self)

    wrap(patch, SqliteJournal, "write", write)
    wrap(patch, SqliteJournal, "close", close)


# ------------------------------------------------------------ preemption


@plant
def a_pod_evicts_its_equals(patch: pytest.MonkeyPatch) -> None:
    higher = lambda class_id, priority: Preemptor(class_id, priority + 1)
    patch.setattr(terms_module, "Preemptor", higher)
    patch.setattr(PreemptionJudge, "_victims_problem", lambda *_: None)


@plant
def preemptions_are_proposed_that_are_never_granted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PreemptionJudge, "problem", lambda *_: ConflictCause.BUDGET_EXHAUSTED)


@plant
def annotations_against_preemption_are_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PreemptionAttributeTable, "number_of", lambda *_: 0)


@plant
def preemption_ignores_the_guarantees_of_queues(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PriorityTerms, "balance", None)


@plant
def reclaim_ignores_priority_where_it_comes_first(patch: pytest.MonkeyPatch) -> None:
    def preemptor(original: Any, self: ReclaimTerms, row: int) -> Preemptor:
        return original(self, row)._replace(priority=UNPROTECTED)

    wrap(patch, ReclaimTerms, "preemptor", preemptor)


@plant
def an_over_committed_node_loses_its_most_important_pods(patch: pytest.MonkeyPatch) -> None:
    def candidates(original: Any, self: OvercommitEviction, slot: int) -> list[int]:
        return list(reversed(original(self, slot)))

    wrap(patch, OvercommitEviction, "_candidates", candidates)


@plant
def pods_are_moved_to_empty_nodes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MovePlanner, "_exclude_targets", lambda self, goal: {})


@plant
def victims_are_evicted_without_a_fit_check(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PreemptionJudge, "_capacity_problem", lambda *_: None)
    wrap(patch, VictimFinder, "find", _one_too_few)


def _one_too_few(
    find: Callable[..., VictimSearchResult], _: VictimFinder, row: int
) -> VictimSearchResult:
    found = find(_, row)
    if found.candidate is None or len(found.candidate.victims) < 2:
        return found
    return VictimSearchResult(found.candidate._replace(victims=found.candidate.victims[1:]))

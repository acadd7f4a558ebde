"""The lane of evictions, and the claims that wait for it.

Whoever wants pods to leave (preemption here, the reclaim of a queue's share, the rescheduler) hands
over an order; the pods are asked through the store, one way only, and every answer is taken for
what it says: *ok* and "gone already" are a promise kept once the pod has ended, *refused* voids
what waited for it, *unknown* is read back before the pod is asked again.

A preemptor's claim is charged at once, so that nothing else takes the room, and bound when its
victims have gone. It is void, and its pods are scheduled again, when a victim may not leave, does
not leave in time, or the node is no longer what it was.
"""

from collections import Counter
from collections.abc import Collection
from typing import Final, NamedTuple

import numpy as np

from stretto.api.wire.kinds import POD
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.control.eviction.in_flight import EvictionInFlight, EvictionsInFlight
from stretto.control.eviction.judge import PreemptionJudge
from stretto.control.eviction.nominated_names import NominatedNodeWriter
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.fit_after import (
    charge_after_eviction,
    fits_after_eviction,
    settle_numa_nodes,
)
from stretto.state.rows.lifecycle import PodEvent, PodState, step_pods
from stretto.state.rows.pods import NO_SLOT
from stretto.state.victims.rules import guard_of
from stretto.state.work.claims import ConflictCause, Plan, UnitPreemption, Verdict
from stretto.state.work.evictions import (
    EvictionCause,
    EvictionOrder,
    EvictionState,
    Nomination,
    PendingEviction,
)
from stretto.state.work.units import Unit, Units
from stretto.stores.store import Reply, StatusReason, Store, WriteOutcome

ASK_AGAIN_AFTER: Final = 1.0
"""Seconds between looks at a pod that was asked to leave without an answer."""

Refusals = list[tuple[Unit, tuple[int, ...], ConflictCause]]
"""Units with rows whose claims are void, and why."""

_LEAVES: Final = int(EvictionState.EVICTING)
_FOR_NOW: Final = frozenset({StatusReason.UNAVAILABLE, StatusReason.INTERNAL, StatusReason.TIMEOUT})


class SettledNominations(NamedTuple):
    """What became of nominations."""

    #: Claims whose victims have gone, unit by unit: they can be bound now.
    ripe: list[tuple[int, ...]]
    #: Claims that are void.
    refused: Refusals


class Evictor:
    """Asks pods to leave, and keeps the room of those who wait for it."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        store: Store,
        judge: PreemptionJudge,
        failpoint: Failpoint = no_failpoint,
    ) -> None:
        """A lane that takes over whoever is leaving on our word already."""
        #: Whether it asks pods to leave; else another process does, and it only keeps the room.
        self.asks = True
        #: Evictions so far by outcome: ``asked``, ``refused``, ``unknown``, and causes of refusals.
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._units = units
        self._store = store
        self._judge = judge
        self._failpoint = failpoint
        self._evictions = EvictionsInFlight(cluster, store)
        self._nominees = NominatedNodeWriter(cluster, store)
        self._registry = cluster.evictions
        #: Rows that must be asked, or asked again.
        self._open: dict[int, PendingEviction] = {}
        self._void: Refusals = []
        self._followed = -1
        self._adopt()

    # ------------------------------------------------------------ taking orders

    def commit(self, plan: Plan, verdict: Verdict, now: float) -> Verdict:
        """Judge the preemptions of a plan; the verdict on its plain claims with theirs added."""
        nominated: list[int] = []
        refused: Refusals = []
        self._judge.budgets.sync()  # what is granted from here on is taken off by ``spend``
        for wanted in plan.preemptions:
            claims = plan.units[wanted.claims]
            rows = tuple(plan.rows[claims.start : claims.stop].tolist())
            cause = self._judge.problem(plan, wanted, now)
            if cause is None:
                self._grant(plan, wanted, now)
                nominated.extend(rows)
            else:
                self.counts[cause.value] += len(rows)
                refused.append((claims.unit, rows, cause))
                slots = plan.slots[claims.start : claims.stop].astype(np.int64)
                self._cluster.ledger.mark_changed(slots)
        self._failpoint("evictor.granted")
        refused.extend(self._collect_void())
        return verdict._replace(
            refused=[*verdict.refused, *refused], nominated=np.array(nominated, np.int64)
        )

    def order(self, order: EvictionOrder, now: float) -> tuple[int, ...]:
        """Ask pods to leave for another reason than preemption; returns the rows that are asked.

        A pod that is protected, leaves already, or would break a budget (unless the order says
        that it may) is left out.
        """
        asked = []
        budgets = self._judge.budgets
        budgets.sync()
        for row, serial in zip(order.rows, order.serials, strict=True):
            if self._cluster.pods.serial[row] != serial:
                continue
            if guard_of(self._cluster, self._judge.rules, row, now) is not None:
                continue
            if row not in order.beyond and budgets.violating([row]):
                continue
            budgets.spend([row])
            self._ask(row, order.cause, order.reason, row in order.beyond)
            asked.append(row)
        return tuple(asked)

    def _grant(self, plan: Plan, wanted: UnitPreemption, now: float) -> None:
        """Charge the claims, and have the victims asked."""
        claims, pods = plan.units[wanted.claims], self._cluster.pods
        for row in wanted.displaced:
            nomination = self._registry.nominations.get(row)
            if nomination is not None:
                self._give_up(nomination, ConflictCause.DISPLACED)
        rows = plan.rows[claims.start : claims.stop]
        first = pods.key(int(rows[0]))
        for row in wanted.victims:
            self._ask(row, EvictionCause.PREEMPTION, f"preempted by {first}", row in wanted.beyond)
        if self._judge.budgets:
            self._judge.budgets.spend(wanted.victims)
        for i in range(claims.start, claims.stop):
            slot = int(plan.slots[i])
            going = self._registry.on_slot(slot)
            charge_after_eviction(
                self._cluster, int(plan.rows[i]), slot, int(plan.devices[i]), going
            )
        step_pods(pods.state, rows, PodEvent.NOMINATE)
        self.counts["nominated"] += len(rows)
        self.counts["victims"] += len(wanted.victims)
        nomination = Nomination(
            unit=claims.unit,
            rows=tuple(rows.tolist()),
            serials=tuple(pods.serial[rows].tolist()),
            slots=frozenset(pods.slot[rows].tolist()),
            victims=dict(zip(wanted.victims, wanted.serials, strict=True)),
            asked=wanted.serials,
            at_least=claims.at_least,
            since=now,
            until=now + self._judge.rules.patience,
            awaited=wanted.awaited,
        )
        self._registry.nominate(nomination)
        self._nominees.add(nomination)

    def _ask(self, row: int, cause: EvictionCause, reason: str, beyond: bool) -> None:
        pods = self._cluster.pods
        why = PendingEviction(int(pods.serial[row]), int(pods.slot[row]), cause, reason, beyond)
        self._registry.begin(row, why)
        self._open[row] = why
        pods.log.add(row)

    def would_fit(self, row: int, slot: int, gone: Collection[int]) -> bool:
        """Whether volumes and other pods would let a pod that waits onto a slot without some."""
        return self._judge.would_fit(row, slot, gone)

    # ------------------------------------------------------------ the lane

    def send(self, now: float) -> bool:
        """Ask whoever has not been asked, and take answers; whether anything moved."""
        if not self.asks:
            return False
        moved = self._collect_replies(now)
        due = self._due(now)
        if due:
            self._failpoint("evictor.before-write")
            # One that stays voids what waits for it, and that spares who has not been asked yet.
            self._evictions.send([EvictionInFlight(row, self._open.pop(row)) for row in due])
            self._collect_replies(now)
        return moved or bool(due)

    def _due(self, now: float) -> list[int]:
        """Rows to ask now, as many as may be under way; who needs no asking is struck off."""
        pods, room = self._cluster.pods, self._evictions.room
        due: list[int] = []
        settled: list[int] = []
        for row, why in self._open.items():
            if len(due) >= room:
                break
            if why.acknowledged or pods.serial[row] != why.serial:
                settled.append(row)
            elif why.retry_at > now:
                continue
            elif why.in_doubt and self._is_answered(row, why):
                settled.append(row)
            else:
                due.append(row)
        for row in settled:
            del self._open[row]
        return due

    def _collect_replies(self, now: float) -> bool:
        """Take the answers that have come; whether there were any."""
        answers = self._evictions.heard()
        if answers:
            self._failpoint("evictor.after-write")
        for (row, why), reply in answers:
            if self._cluster.pods.serial[row] == why.serial:  # else it has gone meanwhile
                self._take(row, why, reply, now)
        return bool(answers)

    def _is_answered(self, row: int, why: PendingEviction) -> bool:
        """Whether a pod that was asked without an answer has gone, or is going."""
        pods = self._cluster.pods
        record = self._store.get(POD, pods.namespace[row], pods.name[row])
        if record is None or record.uid != pods.uid[row] or record.deleting:
            why.acknowledged = True
            return True
        return False

    def _take(self, row: int, why: PendingEviction, reply: Reply, now: float) -> None:
        """Take one answer for what it says."""
        gone = reply.code is StatusReason.NOT_FOUND or reply.outcome is WriteOutcome.CONFLICT
        if reply.outcome is WriteOutcome.OK or gone:
            why.acknowledged = True
            self.counts["asked"] += 1
        elif reply.outcome is WriteOutcome.UNKNOWN or _is_for_now(reply):
            why.in_doubt = reply.outcome is WriteOutcome.UNKNOWN
            why.retry_at = now + (reply.retry_after or ASK_AGAIN_AFTER)
            self._open[row] = why
            self.counts["unknown"] += 1
        else:
            self.counts["refused"] += 1
            self._eviction_denied(row, ConflictCause.VICTIM_REFUSED)

    def _eviction_denied(self, row: int, cause: ConflictCause) -> None:
        """A pod may not leave: whoever waits for it waits in vain."""
        self._open.pop(row, None)
        self._registry.cancel(row)
        self._cluster.pods.log.add(row)
        nomination = self._registry.nomination_of(row)
        if nomination is not None:
            self._give_up(nomination, cause)

    # ------------------------------------------------------------ those who wait

    def settle(self, now: float) -> SettledNominations:
        """Look at the claims that wait: ripe, void, or still waiting.

        Those that wait for victims are looked at when a pod of theirs has changed.
        """
        changed = self._changed()
        self._registry.sweep(changed)
        ripe = []
        for nomination in self._registry.due(changed, now):
            cause = self._trouble(nomination, now)
            if cause is not None:
                self._give_up(nomination, cause)
            elif self._can_bind(nomination):
                ripe.append(self._bind_nomination(nomination))
        self._nominees.tell(now)
        return SettledNominations(ripe, self._collect_void())

    def next_due(self) -> float:
        """Clock time at which a pod is asked again, a claim stops waiting or is told of again."""
        due = min(self._registry.next_until(), self._nominees.next_due())
        if self.asks and self._open and self._evictions.room > 0:
            due = min(due, *(why.retry_at for why in self._open.values()))
        return due

    def _changed(self) -> list[int]:
        """Rows of the pods that have changed since the last look; all where nobody knows."""
        log, registry = self._cluster.pods.log, self._registry
        changed, self._followed = log.since(self._followed), log.head
        if not registry:
            return []
        return (
            [*registry.nominations, *registry.in_progress] if changed is None else changed.tolist()
        )

    def _trouble(self, nomination: Nomination, now: float) -> ConflictCause | None:
        """Why claims wait in vain, or ``None``."""
        pods = self._cluster.pods
        for row, serial in zip(nomination.rows, nomination.serials, strict=True):
            if pods.serial[row] != serial or int(pods.state[row]) != PodState.NOMINATED:
                return ConflictCause.GANG_SHORT
            if pods.slot[row] == NO_SLOT:
                return ConflictCause.NODE_DELETED
        for row, serial in list(nomination.victims.items()):
            if pods.serial[row] != serial:
                self._registry.record_victim_ended(nomination, row)
        if now >= nomination.until:
            for row, serial in (*nomination.victims.items(), *nomination.awaited):
                if pods.serial[row] == serial and pods.eviction_state[row] == _LEAVES:
                    self._registry.mark_stuck(row)
                    pods.log.add(row)
            return ConflictCause.VICTIM_STUCK
        if nomination.victims:
            return None
        return self._capacity_problem(nomination)

    def _capacity_problem(self, nomination: Nomination) -> ConflictCause | None:
        """Whether the node would take the claims once everybody who leaves has left."""
        pods = self._cluster.pods
        for row in nomination.rows:
            slot, class_id = int(pods.slot[row]), int(pods.class_id[row])
            if not self._judge.admits(row, slot):
                return ConflictCause.NOT_ELIGIBLE
            going = {*self._registry.on_slot(slot), row}
            if not fits_after_eviction(
                self._cluster, slot, [(class_id, int(pods.devices[row]))], going
            ):
                return ConflictCause.DOES_NOT_FIT
        return None

    def _can_bind(self, nomination: Nomination) -> bool:
        """Whether the claims fit as things are, other claims that wait left aside."""
        if nomination.victims:
            return False
        pods, aside = self._cluster.pods, set[int]()
        for row in nomination.rows:
            slot = int(pods.slot[row])
            others = set(self._registry.nominated_on(slot)).difference(nomination.rows)
            wanted = [(int(pods.class_id[row]), int(pods.devices[row]))]
            if not fits_after_eviction(self._cluster, slot, wanted, others | {row}):
                return False
            aside |= others
        return self._judge.are_ready(nomination.rows, aside)

    def _bind_nomination(self, nomination: Nomination) -> tuple[int, ...]:
        rows = np.array(nomination.rows, np.int64)
        for row in nomination.rows:
            settle_numa_nodes(self._cluster, row)
        step_pods(self._cluster.pods.state, rows, PodEvent.ASSUME)
        self._registry.end(nomination)
        self._nominees.claims_bound(nomination)
        self.counts["ripe"] += len(rows)
        return nomination.rows

    def _give_up(self, nomination: Nomination, cause: ConflictCause) -> None:
        """Claims are void: their room is free, and victims not asked yet stay."""
        pods = self._cluster.pods
        self._registry.end(nomination)
        alive = []
        for row, serial in zip(nomination.rows, nomination.serials, strict=True):
            if pods.serial[row] != serial or int(pods.state[row]) != PodState.NOMINATED:
                continue
            self._cluster.charges.refund(row)
            step_pods(pods.state, np.array([row], np.int64), PodEvent.REJECT)
            alive.append(row)
        self.counts[cause.value] += len(alive)
        if alive:
            self._void.append((nomination.unit, tuple(alive), cause))
        if nomination.node_written:
            self._nominees.withdraw(alive)
        for row, serial in nomination.victims.items():
            why = self._open.get(row)
            spared = why is not None and why.serial == serial and not why.in_doubt
            if spared and why is not None and why.retry_at == 0.0:
                del self._open[row]
                self._registry.cancel(row)
                pods.log.add(row)

    def _collect_void(self) -> Refusals:
        void, self._void = self._void, []
        return void

    def _adopt(self) -> None:
        """After a crash nobody knows who was asked: look before asking again."""
        pods = self._cluster.pods
        for row, why in self._registry.in_progress.items():
            if why.cause is not None and not why.acknowledged and pods.serial[row] == why.serial:
                why.in_doubt, why.retry_at = True, 0.0
                self._open[row] = why


def _is_for_now(reply: Reply) -> bool:
    """Whether a "no" speaks of the store and not of the pod."""
    return reply.code in _FOR_NOW or (
        reply.code is StatusReason.TOO_MANY_REQUESTS and reply.retry_after is not None
    )

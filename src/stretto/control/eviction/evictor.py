"""Evictions, and the claims that wait for them.

Preemption, reclaim and the rescheduler place orders; all evictions go through one lane
(``requests``). A preemptor's claim is charged immediately, so that no other pod gets the capacity,
and bound once its victims are gone. The claim is void, and its pods are scheduled again, if a
victim may not be evicted, does not end in time, or the node has changed.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.control.eviction.judge import PreemptionJudge
from stretto.control.eviction.nominated_names import NominatedNodeWriter
from stretto.control.eviction.requests import EvictionRequests
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.fit_after import (
    charge_after_eviction,
    fits_after_eviction,
    settle_numa_nodes,
)
from stretto.state.rows.lifecycle import ON_NODES, PodEvent, PodState, step_pods
from stretto.state.work.claims import ConflictCause, Plan, UnitPreemption, Verdict
from stretto.state.work.evictions import (
    EvictionCause,
    EvictionNews,
    EvictionOrder,
    EvictionState,
    PendingEviction,
    PlacedMembers,
    StartedEvictions,
    VictimFacts,
)
from stretto.state.work.nominations import Nomination
from stretto.state.work.units import NO_GROUP, Cure, Unit, Units
from stretto.stores.store import Store

Refusals = list[tuple[Unit, tuple[int, ...], ConflictCause]]
"""Units with rows whose claims are void, and the cause."""

_LEAVES: Final = int(EvictionState.EVICTING)


class SettledNominations(NamedTuple):
    """Outcome of nominations."""

    #: Claims whose victims are gone, unit by unit: they can be bound now.
    confirmed: list[tuple[int, ...]]
    #: Claims that are void.
    refused: Refusals


class EvictorOptions(NamedTuple):
    """Options of an evictor."""

    #: Failpoint of the fault simulator.
    failpoint: Failpoint = no_failpoint
    #: True if the evictor evicts pods; otherwise another process does, and this evictor only
    #: reserves their capacity.
    evicts: bool = True


DEFAULT_OPTIONS: Final = EvictorOptions()
"""No failpoints; the evictor evicts pods itself."""


class Evictor:
    """Evicts pods, and reserves the capacity for the claims that wait."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        store: Store,
        judge: PreemptionJudge,
        options: EvictorOptions = DEFAULT_OPTIONS,
    ) -> None:
        """Adopt the evictions that a predecessor has started."""
        #: Evictions so far by outcome: ``requested``, ``refused``, ``unknown``, and causes of
        #: refusals.
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._units = units
        self._judge = judge
        self._failpoint = options.failpoint
        self._evicts = options.evicts
        self._requests = EvictionRequests(
            cluster,
            store,
            self.counts,
            lambda row: self._eviction_denied(row, ConflictCause.VICTIM_REFUSED),
            options.failpoint,
        )
        self._nominees = NominatedNodeWriter(cluster, store)
        self._evictions, self._nominations = cluster.evictions, cluster.nominations
        self._void: Refusals = []
        self._followed = -1
        self._started: list[StartedEvictions] = []
        self._cancelled: list[int] = []
        self._adopt()

    # ------------------------------------------------------------ taking orders

    def deferring(self, plan: Plan) -> Plan:
        """Return the plan with waiting claims for gangs whose minimum is only nominated."""
        if not self._nominations.pending:
            return plan
        known = {each.claims for each in plan.preemptions}
        late = [
            UnitPreemption(i, (), ())
            for i, each in enumerate(plan.units)
            if i not in known and self._lacks_minimum(each.unit, each.stop - each.start)
        ]
        return plan._replace(preemptions=[*plan.preemptions, *late]) if late else plan

    def commit(self, plan: Plan, verdict: Verdict, now: float) -> Verdict:
        """Judge the preemptions of a plan; add their results to the verdict on its plain claims."""
        nominated: list[int] = []
        refused: Refusals = []
        self._judge.budgets.sync()  # later grants are subtracted by ``spend``
        for wanted in plan.preemptions:
            claims = plan.units[wanted.claims]
            rows = tuple(plan.rows[claims.start : claims.stop].tolist())
            cause = self._judge.problem(plan, wanted, now)
            if cause is None and self._is_left_alone(claims.unit, len(rows)):
                cause = ConflictCause.GANG_SHORT
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

    def permits(self, rows: Sequence[int], serials: Sequence[int], now: float) -> bool:
        """Return whether an order without exceptions would evict all these pods."""
        self._judge.budgets.sync()
        present = all(
            self._cluster.pods.serial[row] == serial and not self._judge.is_protected(row, now)
            for row, serial in zip(rows, serials, strict=True)
        )
        return present and not self._judge.budgets.violating(list(rows))

    def order(self, order: EvictionOrder, now: float) -> tuple[int, ...]:
        """Evict pods for another reason than preemption; returns the rows that are evicted.

        A pod is left out if it is protected, terminating, or would violate a budget (unless the
        order permits that).
        """
        evicted = []
        budgets = self._judge.budgets
        budgets.sync()
        for row, serial in zip(order.rows, order.serials, strict=True):
            if self._cluster.pods.serial[row] != serial:
                continue
            if self._judge.is_protected(row, now):
                continue
            if row not in order.beyond and budgets.violating([row]):
                continue
            budgets.spend([row])
            self._request(row, order)
            evicted.append(row)
        self._note(order.cause, order.reason, evicted, order.beneficiaries)
        return tuple(evicted)

    def take_news(self) -> EvictionNews:
        """The evictions that were started or cancelled since the last call."""
        news = EvictionNews(tuple(self._started), tuple(self._cancelled))
        self._started, self._cancelled = [], []
        return news

    def _note(
        self,
        cause: EvictionCause,
        reason: str,
        victims: Sequence[int],
        beneficiaries: Sequence[int],
    ) -> None:
        """Store the facts for reports about started evictions: the pods may be gone by then."""
        if not victims:
            return
        pods, cluster = self._cluster.pods, self._cluster
        facts = tuple(
            VictimFacts(
                int(pods.serial[row]),
                int(pods.slot[row]),
                cluster.node_of(row),
                pods.key(row),
                pods.uid[row],
                int(pods.priority[row]),
            )
            for row in victims
        )
        serials = tuple(int(pods.serial[row]) for row in beneficiaries)
        self._started.append(StartedEvictions(cause, reason, facts, serials))

    def is_protected(self, row: int, now: float) -> bool:
        """Return whether a rule forbids to evict a pod for another reason than preemption."""
        return self._judge.is_protected(row, now)

    def _grant(self, plan: Plan, wanted: UnitPreemption, now: float) -> None:
        """Charge the claims and queue the evictions of their victims."""
        claims, pods = plan.units[wanted.claims], self._cluster.pods
        for row in wanted.displaced:
            nomination = self._nominations.by_row.get(row)
            if nomination is not None:
                self._give_up(nomination, ConflictCause.DISPLACED)
        rows = plan.rows[claims.start : claims.stop]
        preemptor = int(rows[0])
        order = EvictionOrder(
            rows=wanted.victims,
            serials=wanted.serials,
            cause=EvictionCause.PREEMPTION,
            reason=(
                f"preempted by {pods.key(preemptor)} (priority {int(pods.priority[preemptor]):,})"
            ),
            beyond=wanted.beyond,
            beneficiaries=tuple(rows.tolist()),
        )
        for row in wanted.victims:
            self._request(row, order)
        self._note(order.cause, order.reason, order.rows, order.beneficiaries)
        if self._judge.budgets:
            self._judge.budgets.spend(wanted.victims)
        for i in range(claims.start, claims.stop):
            slot = int(plan.slots[i])
            going = self._evictions.on_slot(slot)
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
            at_least=claims.at_least,
            since=now,
            until=now + self._judge.rules.wait_timeout,
            awaited=wanted.awaited,
        )
        self._nominations.add(nomination)
        self._cluster.changes.add_cures(Cure.POD_EVICTABLE)  # another pod may now displace it
        self._nominees.add(nomination)

    def _request(self, row: int, order: EvictionOrder) -> None:
        pods = self._cluster.pods
        why = PendingEviction(
            serial=int(pods.serial[row]),
            slot=int(pods.slot[row]),
            cause=order.cause,
            reason=order.reason,
            beyond=row in order.beyond,
            beneficiaries=order.beneficiaries,
        )
        self._evictions.begin(row, why)
        self._requests.add(row, why)
        pods.log.add(row)

    # ------------------------------------------------------------ the lane

    def send(self, now: float) -> bool:
        """Send evictions that are due and process answers; returns whether anything happened."""
        return self._evicts and self._requests.send(now)

    def _eviction_denied(self, row: int, cause: ConflictCause) -> None:
        """Void the claims that wait for a pod that may not be evicted."""
        self._requests.withdraw(row)
        self._cancel(row)
        nomination = self._nominations.of_victim(row)
        if nomination is not None:
            self._give_up(nomination, cause)

    def _cancel(self, row: int) -> None:
        """Cancel an eviction: the pod stays and may be evicted later."""
        self._evictions.cancel(row)
        self._cancelled.append(int(self._cluster.pods.serial[row]))
        self._cluster.pods.log.add(row)
        self._cluster.changes.add_cures(Cure.POD_EVICTABLE)

    # ------------------------------------------------------------ those who wait

    def settle(self, now: float) -> SettledNominations:
        """Check the waiting claims: ready to bind, void, or still waiting.

        Claims that wait for victims are checked when one of their pods has changed.
        """
        changed, nominations = self._changed(), self._nominations
        if changed:
            self._evictions.sweep(changed)
        confirmed = []
        for nomination in nominations.due(changed, now) if nominations.pending else ():
            cause = self._trouble(nomination, now)
            if cause is not None:
                self._give_up(nomination, cause)
            elif self._can_bind(nomination):
                confirmed.append(self._bind_nomination(nomination))
        self._nominees.tell(now)
        return SettledNominations(confirmed, self._collect_void())

    def next_due(self) -> float:
        """Next deadline: eviction retry, nomination timeout, or write of a nominated node."""
        due = self._nominees.next_due()
        if self._nominations.pending:
            due = min(due, self._nominations.next_until())
        return min(due, self._requests.next_due()) if self._evicts else due

    def _changed(self) -> list[int]:
        """Rows of pods that have changed since the last call; all rows if the log is too short."""
        log, evictions = self._cluster.pods.log, self._evictions
        position, self._followed = self._followed, log.head
        if not (self._nominations or evictions):
            return []
        changed = log.since(position)
        if changed is None:
            return [*self._nominations.by_row, *evictions.in_progress]
        rows: list[int] = changed.tolist()
        return rows

    def _trouble(self, nomination: Nomination, now: float) -> ConflictCause | None:
        """Cause for which waiting claims are void, or ``None``."""
        pods = self._cluster.pods
        for row, serial in zip(nomination.rows, nomination.serials, strict=True):
            if pods.serial[row] != serial or int(pods.state[row]) != PodState.NOMINATED:
                return ConflictCause.GANG_SHORT
            if int(pods.slot[row]) not in nomination.slots:  # a node that returns has a new slot
                return ConflictCause.NODE_DELETED
        for row, serial in list(nomination.victims.items()):
            if pods.serial[row] != serial:
                self._nominations.record_victim_ended(nomination, row)
        if self._is_left_alone(nomination.unit, len(nomination.rows)):
            return ConflictCause.GANG_SHORT
        if now >= nomination.until:
            for row, serial in (*nomination.victims.items(), *nomination.awaited):
                if pods.serial[row] == serial and pods.eviction_state[row] == _LEAVES:
                    self._evictions.mark_stuck(row)
                    pods.log.add(row)
            return ConflictCause.VICTIM_STUCK
        if nomination.victims:
            return None
        return self._capacity_problem(nomination)

    def _capacity_problem(self, nomination: Nomination) -> ConflictCause | None:
        """Cause if a claim is refused even without the pods being evicted, or ``None``."""
        pods = self._cluster.pods
        for row in nomination.rows:
            slot, class_id = int(pods.slot[row]), int(pods.class_id[row])
            if not self._judge.admits(row, slot):
                return ConflictCause.NOT_ELIGIBLE
            going = {*self._evictions.on_slot(slot), row}
            if not fits_after_eviction(
                self._cluster, slot, [(class_id, int(pods.devices[row]))], going
            ):
                return ConflictCause.DOES_NOT_FIT
        return None

    def _can_bind(self, nomination: Nomination) -> bool:
        """Return whether the claims fit now, without other waiting claims."""
        if nomination.victims or self._lacks_minimum(nomination.unit, len(nomination.rows)):
            return False
        pods, aside = self._cluster.pods, set[int]()
        for row in nomination.rows:
            slot = int(pods.slot[row])
            others = set(self._nominations.on_slot(slot)).difference(nomination.rows)
            wanted = [(int(pods.class_id[row]), int(pods.devices[row]))]
            if not fits_after_eviction(self._cluster, slot, wanted, others | {row}):
                return False
            aside |= others
        return self._judge.are_ready(nomination.rows, aside)

    def _lacks_minimum(self, unit: Unit, claims: int) -> bool:
        """Return whether a gang with some more claims would have less than its minimum placed.

        Nominated members do not count: their claims may become void.
        """
        if not unit.is_gang or unit.scheduled or unit.min_member >= NO_GROUP:
            return False
        pods, serials = self._cluster.pods, self._units.serial
        placed = sum(
            int(pods.state[row]) in ON_NODES and int(pods.serial[row]) == int(serials[row])
            for row in unit.bound
        )
        return placed + claims < unit.min_member

    def _is_left_alone(self, unit: Unit, claims: int) -> bool:
        """Return whether a scheduled gang with some more claims is below its minimum.

        This is the case if members are being evicted, or ended after the last update of units.
        """
        if not unit.is_gang or not unit.scheduled:
            return False
        members = PlacedMembers.of(unit, self._cluster.pods, self._units.serial)
        return members.leaving > 0 and members.staying + claims < unit.min_member

    def _bind_nomination(self, nomination: Nomination) -> tuple[int, ...]:
        rows = np.array(nomination.rows, np.int64)
        for row in nomination.rows:
            settle_numa_nodes(self._cluster, row)
        step_pods(self._cluster.pods.state, rows, PodEvent.ASSUME)
        self._nominations.end(nomination)
        self._nominees.claims_bound(nomination)
        self.counts["confirmed"] += len(rows)
        return nomination.rows

    def _give_up(self, nomination: Nomination, cause: ConflictCause) -> None:
        """Void claims: release their capacity, and withdraw evictions that are still queued."""
        pods = self._cluster.pods
        self._nominations.end(nomination)
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
            why = self._requests.queued(row)
            spared = why is not None and why.serial == serial and not why.in_doubt
            if spared and why is not None and why.retry_at == 0.0:
                self._requests.withdraw(row)
                self._cancel(row)

    def _collect_void(self) -> Refusals:
        void, self._void = self._void, []
        return void

    def _adopt(self) -> None:
        """Adopt evictions after a crash: it is unknown which were sent, so read each pod first."""
        pods = self._cluster.pods
        for row, why in self._evictions.in_progress.items():
            if why.cause is not None and not why.acknowledged and pods.serial[row] == why.serial:
                why.in_doubt, why.retry_at = True, 0.0
                self._requests.add(row, why)

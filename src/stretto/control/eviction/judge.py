"""Judges preemptions: checks that the victims may be evicted and that the claims fit afterwards.

The first claim wins, as for plain claims: if two shards claim one victim, or the last disruption
that a budget allows, the binder grants the first claim.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stretto.control.binder.conflicts import AffinityConflicts
from stretto.framework.preemption.terms import PriorityTerms
from stretto.state.classes.table import STAGED
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.domain_caps import respects_caps
from stretto.state.queries.fit_after import fits_after_eviction
from stretto.state.rows.lifecycle import CHARGED, PodState
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.rules import EvictionGuard, guard_against, guard_of
from stretto.state.work.claims import ConflictCause, Plan, UnitPreemption
from stretto.state.work.units import Units

Eligible = Callable[[int, int], bool]
"""Predicate (class id, slot): the static filters admit the class to the slot."""

_DISPATCHED: Final = int(PodState.DISPATCHED)
_NOMINATED: Final = int(PodState.NOMINATED)
_CAUSES: Final = {
    EvictionGuard.NOT_RUNNING: ConflictCause.VICTIM_DELETED,
    EvictionGuard.EVICTING: ConflictCause.VICTIM_TAKEN,
}


class PodVolumes(Protocol):
    """Checks the nodes that the volumes of pods admit."""

    def lets(self, row: int, slot: int, gone: Collection[int] = ()) -> bool:
        """True if a pod's volumes admit it to a slot now, without its own claims and some pods."""


class EvictionChecks(NamedTuple):
    """Checks of a preemptor's claims after the victims are gone, besides amounts."""

    #: Predicate (class id, slot): the static filters admit the class to the slot.
    eligible: Eligible
    #: Inter-pod rules; ``None`` if the profile has none.
    between: AffinityConflicts | None = None
    #: Volume rules; ``None`` if the profile has none.
    volumes: PodVolumes | None = None


class PreemptionJudge:
    """Judges preemptions on the current cluster."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        checks: EvictionChecks,
        terms: PriorityTerms,
        budgets: BudgetLedger,
    ) -> None:
        """Use the terms of a profile."""
        #: Rules that the claims must pass.
        self.rules = terms.rules
        #: Remaining disruptions of budgets.
        self.budgets = budgets
        self._terms = terms
        self._cluster = cluster
        self._units = units
        self._eligible = checks.eligible
        self._between = checks.between
        self._volumes = checks.volumes

    def is_protected(self, row: int, now: float) -> bool:
        """Return whether a rule forbids to evict a pod for another reason than preemption."""
        return guard_of(self._cluster, self.rules, row, now) is not None

    def admits(self, row: int, slot: int) -> bool:
        """True if the rules admit a pod to a slot once all pods being evicted from it are gone."""
        pods = self._cluster.pods
        going = self._victim_rows(slot, int(pods.priority[row]))
        if not self._has_volumes(row, slot, going):
            return False
        return self._eligible(int(pods.class_id[row]), slot) and self._stand([row], going)

    def are_ready(self, rows: Sequence[int], aside: Collection[int]) -> bool:
        """True if the rules admit fitting pods to their nodes now, without some other pods."""
        slots = self._cluster.pods.slot
        has_volumes = (self._has_volumes(row, int(slots[row]), {*aside, row}) for row in rows)
        return all(has_volumes) and self._stand(rows, aside)

    def _has_volumes(self, row: int, slot: int, gone: Collection[int]) -> bool:
        """True if a pod's volumes admit it to a slot, without its own claims and some pods."""
        if self._volumes is None or not self._cluster.pods.volumes[row]:
            return True
        return self._volumes.lets(row, slot, gone)

    def _stand(self, rows: Sequence[int], gone: Collection[int]) -> bool:
        """True if inter-pod rules admit claimed pods on their nodes, without some other pods."""
        pods, index = self._cluster.pods, np.array(rows, np.int64)
        return self._inter_pod_rules_allow(pods.class_id[index], pods.slot[index], {*rows, *gone})

    def _inter_pod_rules_allow(
        self,
        class_ids: npt.NDArray[np.int32],
        slots: npt.NDArray[np.int32],
        gone: Collection[int],
    ) -> bool:
        """True if inter-pod rules admit pods of these classes to these slots, without some pods."""
        if self._between is None or not self._is_strict(class_ids):
            return True
        return self._between.hold(class_ids, slots, gone)

    def _is_strict(self, class_ids: npt.NDArray[np.int32]) -> bool:
        """Return whether inter-pod rules may exclude pods of any of these classes from nodes."""
        classes = self._cluster.classes
        judged = class_ids[classes.judged[class_ids] > 0]
        return any(classes[class_id].terms.strict for class_id in set(judged.tolist()))

    def _victim_rows(self, slot: int, priority: int) -> list[int]:
        """Rows of lower priority that are being evicted from a slot, which a finder ignores."""
        priorities = self._cluster.pods.priority
        return [r for r in self._cluster.evictions.on_slot(slot) if priorities[r] < priority]

    def problem(self, plan: Plan, wanted: UnitPreemption, now: float) -> ConflictCause | None:
        """Cause for which a preemption is void, or ``None``."""
        unit = plan.units[wanted.claims]
        pods = self._cluster.pods
        claims = range(unit.start, unit.stop)
        rows = plan.rows[unit.start : unit.stop]
        serials = plan.serials[unit.start : unit.stop]
        if (pods.serial[rows] != serials).any() or (pods.state[rows] != _DISPATCHED).any():
            return ConflictCause.POD_DELETED
        priority = int(pods.priority[rows].min())
        return (
            self._victims_problem(wanted, priority, now)
            or self._displaced_problem(wanted, priority)
            or self._guarantee_problem(wanted, int(rows[0]))
            or self._gangs_problem(wanted.victims)
            or self._budget_problem(wanted.victims, wanted.beyond)
            or self._capacity_problem(plan, claims, wanted)
            or self._caps_problem(plan, wanted)
        )

    def _victims_problem(
        self, wanted: UnitPreemption, priority: int, now: float
    ) -> ConflictCause | None:
        """Cause if a victim no longer runs, has no lower priority or is protected, or ``None``."""
        pods = self._cluster.pods
        for row, serial in zip(wanted.victims, wanted.serials, strict=True):
            if pods.serial[row] != serial:
                return ConflictCause.VICTIM_DELETED
            guard = guard_against(self._cluster, self.rules, row, priority, now)
            if guard is not None:
                return _CAUSES.get(guard, ConflictCause.VICTIM_PROTECTED)
        return None

    def _displaced_problem(self, wanted: UnitPreemption, priority: int) -> ConflictCause | None:
        pods = self._cluster.pods
        for row in wanted.displaced:
            if pods.state[row] != _NOMINATED or pods.priority[row] >= priority:
                return ConflictCause.VICTIM_DELETED
        return None

    def _guarantee_problem(self, wanted: UnitPreemption, row: int) -> ConflictCause | None:
        """Cause if a queue's guarantee protects a victim or a displaced claim, or ``None``."""
        self._terms.begin()
        gone = (*wanted.victims, *wanted.displaced)
        return None if self._terms.keeps_guarantees(row, gone) else ConflictCause.VICTIM_GUARANTEED

    def _gangs_problem(self, victims: Sequence[int]) -> ConflictCause | None:
        """Cause if a gang is neither evicted as a whole nor stays large enough, or ``None``."""
        leaving, states = self._cluster.evictions, self._cluster.pods.state
        for unit in {self._units.of_row(row) for row in victims}:
            if unit is None or not unit.is_gang:
                continue
            gone = set(victims)
            members = {*unit.bound, *(r for r in unit.pending if int(states[r]) in CHARGED)}
            left = [r for r in members if r not in gone and not leaving.is_being_evicted(r)]
            if 0 < len(left) < unit.min_member:
                return ConflictCause.GANG_SHORT
        return None

    def _budget_problem(
        self, victims: Sequence[int], beyond: Iterable[int]
    ) -> ConflictCause | None:
        """Cause if more budgets would be violated than the plan states, or ``None``."""
        if not self.budgets:
            return None
        violating = self.budgets.violating(victims)
        if self.rules.hard_budgets and violating:
            return ConflictCause.BUDGET_EXHAUSTED
        return None if len(violating) <= len(set(beyond)) else ConflictCause.BUDGET_EXHAUSTED

    def _caps_problem(self, plan: Plan, wanted: UnitPreemption) -> ConflictCause | None:
        """Cause if the claims violate the spread limits of their unit, or ``None``."""
        unit, classes = plan.units[wanted.claims], self._cluster.classes
        class_ids = self._cluster.pods.class_id[plan.rows[unit.start : unit.stop]]
        if not self._cluster.directed and not (classes.special[class_ids] & STAGED).any():
            return None
        kept = respects_caps(self._cluster, plan._replace(units=[unit]))
        return None if kept else ConflictCause.DOMAIN_FULL

    def _capacity_problem(
        self, plan: Plan, claims: range, wanted: UnitPreemption
    ) -> ConflictCause | None:
        """Cause if a claim does not fit its node without all pods being evicted, or ``None``."""
        by_slot: dict[int, list[int]] = {}
        for i in claims:
            by_slot.setdefault(int(plan.slots[i]), []).append(i)
        cluster = self._cluster
        for slot, here in by_slot.items():
            live = cluster.ledger.slots.live[slot]
            if not live or cluster.ledger.slots.generation[slot] != plan.generations[here[0]]:
                return ConflictCause.NODE_DELETED
            pods = [(int(cluster.pods.class_id[plan.rows[i]]), int(plan.devices[i])) for i in here]
            if not all(self._eligible(class_id, slot) for class_id, _ in pods):
                return ConflictCause.NOT_ELIGIBLE
            going = {r for r in wanted.victims if cluster.pods.slot[r] == slot}
            going.update(cluster.evictions.on_slot(slot))
            going.update(r for r in wanted.displaced if cluster.pods.slot[r] == slot)
            if not fits_after_eviction(cluster, slot, pods, going):
                return ConflictCause.DOES_NOT_FIT
        return self._rules_problem(plan, claims, wanted)

    def _rules_problem(
        self, plan: Plan, claims: range, wanted: UnitPreemption
    ) -> ConflictCause | None:
        """Cause if inter-pod or volume rules refuse the claims without the victims, or ``None``."""
        pods, rows, slots = self._cluster.pods, plan.rows[claims], plan.slots[claims]
        priority = int(pods.priority[rows].min())
        gone = {*wanted.victims, *wanted.displaced}
        for slot in set(slots.tolist()):
            gone.update(self._victim_rows(slot, priority))
        for row, slot in zip(rows.tolist(), slots.tolist(), strict=True):
            if not self._has_volumes(row, slot, gone):
                return ConflictCause.VOLUME_TAKEN
        keeps = self._inter_pod_rules_allow(pods.class_id[rows], slots, gone)
        return None if keeps else ConflictCause.INTER_POD_RULE_BROKEN

"""Judging preemptions: may these pods be asked to leave, and do the claims fit once they have gone?

First claim wins, here as for plain claims: of two shards that want one victim, or the last that a
disruption budget allows, the binder grants the first.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from stretto.control.binder.conflicts import AffinityConflicts
from stretto.state.classes.table import STAGED
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.domain_caps import respects_caps
from stretto.state.queries.fit_after import fits_after_eviction
from stretto.state.rows.lifecycle import PodState
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.rules import EvictionGuard, PreemptionRules, guard_against
from stretto.state.work.claims import ConflictCause, Plan, UnitPreemption
from stretto.state.work.units import Units

Eligible = Callable[[int, int], bool]
"""(class id, slot) to whether the static filters let the class onto the slot."""

_DISPATCHED: Final = int(PodState.DISPATCHED)
_NOMINATED: Final = int(PodState.NOMINATED)
_HELD: Final = frozenset(int(s) for s in (PodState.NOMINATED, PodState.ASSUMED, PodState.BOUND))
_CAUSES: Final = {
    EvictionGuard.NOT_RUNNING: ConflictCause.VICTIM_DELETED,
    EvictionGuard.EVICTING: ConflictCause.VICTIM_TAKEN,
}


class PodVolumes(Protocol):
    """What the volumes of pods say of nodes."""

    def lets(self, row: int, slot: int, gone: Collection[int] = ()) -> bool:
        """Whether a pod's volumes let it onto a slot now, its own claims and some pods aside."""


class PreemptionJudge:
    """Judges preemptions on the cluster as it is now."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        eligible: Eligible,
        rules: PreemptionRules,
        budgets: BudgetLedger,
    ) -> None:
        """A judge by a profile's rules."""
        #: The rules.
        self.rules = rules
        #: What is left of the disruption budgets.
        self.budgets = budgets
        self._cluster = cluster
        self._units = units
        self._eligible = eligible
        #: Rules between pods; ``None`` where none has a say.
        self.between: AffinityConflicts | None = None
        #: What the volumes of pods say of nodes; ``None`` where no rule looks at them.
        self.volumes: PodVolumes | None = None

    def admits(self, row: int, slot: int) -> bool:
        """Whether the rules let a pod onto a slot once everybody who leaves it has left."""
        pods = self._cluster.pods
        going = self._victim_rows(slot, int(pods.priority[row]))
        if not self._has_volumes(row, slot, going):
            return False
        return self._eligible(int(pods.class_id[row]), slot) and self._stand([row], going)

    def would_fit(self, row: int, slot: int, gone: Collection[int]) -> bool:
        """Whether volumes and other pods would let a pod that waits onto a slot without some."""
        class_ids, slots = self._cluster.pods.class_id[[row]], np.array([slot], np.int32)
        return self._has_volumes(row, slot, gone) and self._inter_pod_rules_allow(
            class_ids, slots, gone
        )

    def are_ready(self, rows: Sequence[int], aside: Collection[int]) -> bool:
        """Whether the rules let pods that fit onto their nodes as these are, some others aside."""
        slots = self._cluster.pods.slot
        has_volumes = (self._has_volumes(row, int(slots[row]), {*aside, row}) for row in rows)
        return all(has_volumes) and self._stand(rows, aside)

    def _has_volumes(self, row: int, slot: int, gone: Collection[int]) -> bool:
        """Whether a pod's volumes let it onto a slot, its own claims and some pods aside."""
        if self.volumes is None or not self._cluster.pods.volumes[row]:
            return True
        return self.volumes.lets(row, slot, gone)

    def _stand(self, rows: Sequence[int], gone: Collection[int]) -> bool:
        """Whether other pods let claimed pods be where they are, some of the others aside."""
        pods, index = self._cluster.pods, np.array(rows, np.int64)
        return self._inter_pod_rules_allow(pods.class_id[index], pods.slot[index], {*rows, *gone})

    def _inter_pod_rules_allow(
        self,
        class_ids: npt.NDArray[np.int32],
        slots: npt.NDArray[np.int32],
        gone: Collection[int],
    ) -> bool:
        """Whether rules between pods let pods of these classes onto these slots, without some."""
        if self.between is None or not self._is_strict(class_ids):
            return True
        return self.between.hold(class_ids, slots, gone)

    def _is_strict(self, class_ids: npt.NDArray[np.int32]) -> bool:
        """Whether other pods may keep pods of any of these classes from nodes."""
        classes = self._cluster.classes
        judged = class_ids[classes.judged[class_ids] > 0]
        return any(classes[class_id].terms.strict for class_id in set(judged.tolist()))

    def _victim_rows(self, slot: int, priority: int) -> list[int]:
        """Rows of lower priority that leave a slot: whom a finder counts as gone."""
        priorities = self._cluster.pods.priority
        return [r for r in self._cluster.evictions.on_slot(slot) if priorities[r] < priority]

    def problem(self, plan: Plan, wanted: UnitPreemption, now: float) -> ConflictCause | None:
        """Why a preemption does not hold, or ``None``."""
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
            or self._gangs_problem(wanted.victims)
            or self._budget_problem(wanted.victims, wanted.beyond)
            or self._room_problem(plan, claims, wanted)
            or self._caps_problem(plan, wanted)
        )

    def _victims_problem(
        self, wanted: UnitPreemption, priority: int, now: float
    ) -> ConflictCause | None:
        """Whether each victim still runs, has a lower priority and is not protected."""
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

    def _gangs_problem(self, victims: Sequence[int]) -> ConflictCause | None:
        """A gang leaves whole, or stays large enough."""
        leaving, states = self._cluster.evictions, self._cluster.pods.state
        for unit in {self._units.of_row(row) for row in victims}:
            if unit is None or not unit.is_gang:
                continue
            gone = set(victims)
            members = {*unit.bound, *(r for r in unit.pending if int(states[r]) in _HELD)}
            left = [r for r in members if r not in gone and not leaving.is_being_evicted(r)]
            if 0 < len(left) < unit.min_member:
                return ConflictCause.GANG_SHORT
        return None

    def _budget_problem(
        self, victims: Sequence[int], beyond: Iterable[int]
    ) -> ConflictCause | None:
        """Whether more budgets would break than the plan says."""
        if not self.budgets:
            return None
        violating = self.budgets.violating(victims)
        if self.rules.hard_budgets and violating:
            return ConflictCause.BUDGET_EXHAUSTED
        return None if len(violating) <= len(set(beyond)) else ConflictCause.BUDGET_EXHAUSTED

    def _caps_problem(self, plan: Plan, wanted: UnitPreemption) -> ConflictCause | None:
        """Whether the claims keep what their unit says of how it is spread."""
        unit, classes = plan.units[wanted.claims], self._cluster.classes
        class_ids = self._cluster.pods.class_id[plan.rows[unit.start : unit.stop]]
        if not self._cluster.directed and not (classes.special[class_ids] & STAGED).any():
            return None
        kept = respects_caps(self._cluster, plan._replace(units=[unit]))
        return None if kept else ConflictCause.DOMAIN_FULL

    def _room_problem(
        self, plan: Plan, claims: range, wanted: UnitPreemption
    ) -> ConflictCause | None:
        """Whether all claims fit their nodes once everybody who leaves has left."""
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
        """Whether other pods and volumes let the claims be there once those have left."""
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

"""Judge of profiles that decide pod by pod: a claim holds while every rule of the profile holds.

If nothing has changed since the snapshot, its plan holds. Otherwise each claim is checked again on
the current cluster, in order, so that two shards together cannot violate a rule that each of them
satisfied (anti-affinity, spreading, a PVC for one pod).
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from stretto.control.binder.conflicts import ClaimChecks, PlanJudge
from stretto.control.binder.volumes import are_free
from stretto.control.eviction.judge import EvictionChecks, PreemptionJudge
from stretto.framework.preemption.terms import PriorityTerms
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.work.claims import CommitMode, ConflictCause, ConflictMode, Plan, UnitPreemption
from stretto.state.work.units import Units


class ParityProfileRules(Protocol):
    """The rules of a profile that decides pod by pod."""

    def hold(self, claims: Iterable[tuple[int, int]], going: Collection[int] = ()) -> bool:
        """Return whether every rule admits pods (row, slot) together once some others are gone."""
        ...

    def sync(self) -> None:
        """Read the current cluster."""

    def hold_after_eviction(
        self, claims: Sequence[tuple[int, int]], evicted: Collection[int]
    ) -> bool:
        """Return whether every rule admits claims (row, slot) together once their victims are gone.

        Pods whose eviction from these slots is already in progress count as gone, too.
        """
        ...


class ParityJudge(PlanJudge):
    """Judges plans with the rules by which they were made."""

    def __init__(self, cluster: Cluster, law: ParityProfileRules, commit: CommitMode) -> None:
        """Check claims again if the cluster has changed."""
        super().__init__(cluster, ClaimChecks(anywhere), ConflictMode.FIT, commit)
        self._law = law

    def _grant_all(self, plan: Plan) -> bool:
        """Grant all claims at once if the cluster equals the snapshot."""
        cluster, pods = self._cluster, self._cluster.pods
        if plan.basis != cluster.basis:
            return False
        sound = (pods.serial[plan.rows] == plan.serials).all() and (
            pods.state[plan.rows] == int(PodState.DISPATCHED)
        ).all()
        if not sound:
            return False
        special = cluster.classes.special[pods.class_id[plan.rows]] > 0
        cluster.charges.charge_plain(plan.rows[~special], plan.slots[~special])
        for i in np.flatnonzero(special).tolist():
            cluster.charges.charge(int(plan.rows[i]), int(plan.slots[i]))
        return True

    def _problem(
        self, plan: Plan, i: int, versions: npt.NDArray[np.int64] | None
    ) -> ConflictCause | None:
        """Cause for which one claim is void, or ``None``."""
        cluster = self._cluster
        row, slot = int(plan.rows[i]), int(plan.slots[i])
        pods, slots = cluster.pods, cluster.ledger.slots
        if pods.serial[row] != plan.serials[i] or pods.state[row] != int(PodState.DISPATCHED):
            return ConflictCause.POD_DELETED
        if not slots.live[slot] or slots.generation[slot] != plan.generations[i]:
            return ConflictCause.NODE_DELETED
        if not self._law.hold([(row, slot)]):
            return ConflictCause.DOES_NOT_FIT
        chosen = plan.volumes.get(i)
        if chosen is not None and not are_free(chosen, cluster.objects, cluster.nodes.names[slot]):
            return ConflictCause.VOLUME_TAKEN
        return None


class ParityPreemptionJudge(PreemptionJudge):
    """Judges preemptions by all rules of the profile, not only by resources."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        law: ParityProfileRules,
        terms: PriorityTerms,
        budgets: BudgetLedger,
    ) -> None:
        """Use the rules of a profile."""
        super().__init__(cluster, units, EvictionChecks(anywhere), terms, budgets)
        self._law = law

    def admits(self, row: int, slot: int) -> bool:
        """Return whether every rule admits a pod to a slot once all pods being evicted are gone."""
        self._law.sync()
        return self._law.hold_after_eviction([(row, slot)], ())

    def are_ready(self, rows: Sequence[int], aside: Collection[int]) -> bool:
        """Return whether every rule admits pods to their nodes now, without some others."""
        slots = self._cluster.pods.slot
        return self._law.hold([(row, int(slots[row])) for row in rows], aside)

    def _budget_problem(
        self, victims: Sequence[int], beyond: Iterable[int]
    ) -> ConflictCause | None:
        """Cause if a hard budget is exceeded; as in kube-scheduler, other budgets do not count."""
        return super()._budget_problem(victims, beyond) if self.rules.hard_budgets else None

    def _capacity_problem(
        self, plan: Plan, claims: Iterable[int], wanted: UnitPreemption
    ) -> ConflictCause | None:
        """Cause if a node was deleted or a rule refuses a pod after the evictions, or ``None``."""
        slots, claimed = self._cluster.ledger.slots, list[tuple[int, int]]()
        for i in claims:
            row, slot = int(plan.rows[i]), int(plan.slots[i])
            if not slots.live[slot] or slots.generation[slot] != plan.generations[i]:
                return ConflictCause.NODE_DELETED
            claimed.append((row, slot))
        self._law.sync()
        holds = self._law.hold_after_eviction(claimed, {*wanted.victims, *wanted.displaced})
        return None if holds else ConflictCause.DOES_NOT_FIT


def anywhere(_class: int, _slot: int) -> bool:
    """Always true: the static filters are part of the rules here."""
    return True

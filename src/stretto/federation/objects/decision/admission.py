"""Queues and gangs before the division: how many replicas may run, and whether a gang starts.

A gang runs in one cluster, or in several if ``maxClusters`` of its policy is at least 2. It gets
replicas only if at least its minimum fits at once. Held replicas are reported as unplaced, with the
reason; running replicas stay.
"""

from dataclasses import replace

import numpy as np

from stretto.federation.planner.supply.generations import PerformanceMatrix
from stretto.federation.scheduling.replicas.contract import ReplicaDivider, ReplicaDivision
from stretto.federation.scheduling.replicas.default import default_division
from stretto.federation.scheduling.supply import Positions, SupplyTable
from stretto.federation.scheduling.workload import FederatedWorkload, GangRule, HeldReplicas


def admitting_division(matrix: PerformanceMatrix | None) -> ReplicaDivider:
    """The default division, limited by queues and gangs; ``matrix`` is that of the default."""
    return with_admission(default_division(matrix))


def with_admission(divide: ReplicaDivider) -> ReplicaDivider:
    """A division of the replicas that the queue of a workload admits; gangs start as a whole."""

    def division(
        workload: FederatedWorkload, supply: SupplyTable, at: Positions
    ) -> ReplicaDivision:
        held, gang, admitted = workload.held, workload.gang, workload
        if held is not None:
            admitted = replace(workload, replicas=workload.replicas - held.count)
        if gang is None or not len(at):
            made = divide(admitted, supply, at)
        elif admitted.replicas < gang.least:
            made = ReplicaDivision({})
            held = _refused(workload, gang, held)
        else:
            made = _whole(admitted, gang, divide, (supply, at))
            held = _short(admitted, gang) if not made.replicas else held
        if held is None:
            return made
        return replace(made, unplaced=workload.replicas - _total(made), held=held)

    return division


def _whole(
    workload: FederatedWorkload,
    gang: GangRule,
    divide: ReplicaDivider,
    where: tuple[SupplyTable, Positions],
) -> ReplicaDivision:
    """A division in which at least the minimum of a gang fits; empty if none exists."""
    supply, at = where
    if gang.spreads:
        made = divide(workload, supply, at)
        return made if _running(made) >= gang.least else ReplicaDivision({})
    found: ReplicaDivision | None = None
    for each in _present_first(workload, supply, at):
        made = divide(workload, supply, np.array([each], np.int64))
        if _running(made) >= workload.replicas:
            return made
        if _running(made) >= gang.least and (found is None or _running(made) > _running(found)):
            found = made
    return found or ReplicaDivision({})


def _present_first(workload: FederatedWorkload, supply: SupplyTable, at: Positions) -> list[int]:
    """Positions of clusters: first the cluster that runs the gang, then the others by rank."""
    names = {each: supply.members[each].name for each in at.tolist()}
    return sorted(names, key=lambda each: not workload.current.get(names[each]))


def _running(made: ReplicaDivision) -> int:
    """Number of replicas that fit."""
    return _total(made) - sum(made.waiting.values())


def _total(made: ReplicaDivision) -> int:
    return sum(count or 0 for count in made.replicas.values())


def _refused(
    workload: FederatedWorkload, gang: GangRule, held: HeldReplicas | None
) -> HeldReplicas:
    """The reason why a gang with too few admitted replicas does not start."""
    why = held.message if held is not None else f"it has {workload.replicas} replicas"
    text = f"the gang {gang.name} needs {gang.least} pods at once, and {why}"
    return HeldReplicas(workload.replicas, "GangTooSmall", text)


def _short(workload: FederatedWorkload, gang: GangRule) -> HeldReplicas:
    """The reason why a gang that fits in no cluster does not start."""
    where = "the clusters together have" if gang.spreads else "no cluster has"
    hint = "" if gang.spreads else "; maxClusters of 2 or more lets it run in several"
    text = f"{where} no capacity for the {gang.least} pods that the gang {gang.name} needs at once"
    if not gang.spreads:
        text = f"{where} capacity for the {gang.least} pods that the gang {gang.name} needs at once"
    return HeldReplicas(workload.replicas, "GangDoesNotFit", f"{text}{hint}")

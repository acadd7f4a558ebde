"""The default division of a workload over the selected clusters.

It combines the planners: weights of the policy or of the free capacity, capacities without promised
amounts, equal work on different CPUs, and few moves. Replicas that fit nowhere stay pending in
clusters that may run them, and are reported.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from stretto.api.types.federation.policies import ReplicasStrategy, SchedulingMode
from stretto.federation.planner.division.columns import DivisionColumns, column
from stretto.federation.planner.division.demand import DivisionDemand, DivisionRules
from stretto.federation.planner.division.packing import pack
from stretto.federation.planner.division.plan import divide, divide_columns
from stretto.federation.planner.division.shares import UNBOUNDED, Counts
from stretto.federation.planner.supply.generations import (
    PerformanceMatrix,
    in_replicas,
    in_work,
)
from stretto.federation.planner.supply.weights import weighed_request, weights_of
from stretto.federation.scheduling.replicas.contract import ReplicaDivider, ReplicaDivision
from stretto.federation.scheduling.supply import Positions, SupplyTable
from stretto.federation.scheduling.workload import FederatedWorkload


def default_division(matrix: PerformanceMatrix | None = None) -> ReplicaDivider:
    """The default division.

    Args:
        matrix: work of one CPU by service and model; ``None`` treats all CPUs equally.
    """

    def division(
        workload: FederatedWorkload, supply: SupplyTable, at: Positions
    ) -> ReplicaDivision:
        names = [supply.members[each].name for each in at.tolist()]
        if workload.mode is SchedulingMode.DUPLICATE:
            return ReplicaDivision(dict.fromkeys(names))
        if not names or workload.replicas <= 0:
            return ReplicaDivision({name: 0 for name in names if name in workload.current})
        columns = _columns(workload, supply, at, names)
        binpacks = workload.strategy is ReplicasStrategy.BINPACK
        work = _work(workload, supply, at, matrix)
        if work or binpacks:
            return _divided_one_by_one(workload, names, columns, work)
        hashes = supply.hashes(at, workload.key)
        order = np.lexsort((supply.order[at], hashes, -columns.current))
        plan = divide_columns(_rules(workload), columns, order)
        total = (plan.placed + plan.pending + plan.kept).tolist()
        return ReplicaDivision(
            _positive(names, total), _positive(names, plan.pending.tolist()), plan.unplaced
        )

    return division


def _positive(names: Sequence[str], counts: Sequence[int]) -> dict[str, int]:
    return {name: count for name, count in zip(names, counts, strict=True) if count}


def _rules(workload: FederatedWorkload) -> DivisionRules:
    limits = workload.limits
    moves = 0 if limits.avoid_disruption else None
    return DivisionRules(workload.replicas, moves, limits.keep_unschedulable)


def _columns(
    workload: FederatedWorkload, supply: SupplyTable, at: Positions, names: Sequence[str]
) -> DivisionColumns:
    """The clusters with all limits of the workload.

    A cluster with an untolerated taint, or that is unready or leaving, does not grow.
    """
    limits, whole = workload.limits, workload.replicas
    present = {name: whole if count is None else count for name, count in workload.current.items()}
    current = _each(present, names, 0)
    own = current if workload.running is None else _each(workload.running, names, 0)
    most = _each(limits.maximum, names, UNBOUNDED)
    if limits.limited:
        most = np.minimum(most, _each(limits.limited, names, UNBOUNDED))
    if supply.tainted or supply.resting:
        resting = [each in supply.resting for each in at.tolist()]
        closed = supply.closed(at, workload.tolerations) | np.array(resting, np.bool_)
        most = np.where(closed, np.minimum(most, current), most)
    least = np.minimum(_each(limits.minimum, names, 0), most)
    fits = most
    if limits.estimated:
        fits = np.minimum(fits, np.maximum(_each(limits.estimated, names, UNBOUNDED), 0))
    more = supply.in_nodes(at, workload.request)
    if more is not None:
        more += own
        fits = np.minimum(fits, np.where(supply.reports[at], more, UNBOUNDED))
    weights = _weights(workload, supply, at, names, own)
    columns = DivisionColumns(weights, least, most, fits, current)
    if limits.weights or limits.minimum:
        columns.check(names)
    return columns


def _each(values: Mapping[str, int], names: Sequence[str], absent: int) -> Counts:
    """The number of each cluster."""
    if not values:
        return np.full(len(names), absent)
    return column([values.get(name, absent) for name in names])


def _weights(
    workload: FederatedWorkload,
    supply: SupplyTable,
    at: Positions,
    names: Sequence[str],
    own: Counts,
) -> Counts:
    """Weights of the policy, or the capacity that the workload uses or may use; equal to pack.

    Without the capacity that its own pods use, a cluster that the workload fills would have no
    weight, and would lose its replicas if the other clusters cannot run all of them.
    """
    if workload.strategy is ReplicasStrategy.BINPACK:
        return np.zeros(len(names), np.int64)
    if workload.limits.weights:
        return _each(workload.limits.weights, names, 0)
    request = weighed_request(workload.request)
    free, total = supply.in_free(at, request), supply.in_total(at, request)
    assert free is not None
    assert total is not None
    if request is workload.request:
        free = free + own
    return column(weights_of(free.tolist(), total.tolist()))


def _work(
    workload: FederatedWorkload,
    supply: SupplyTable,
    at: Positions,
    matrix: PerformanceMatrix | None,
) -> dict[str, Fraction | None]:
    """Work of one CPU of each cluster; empty if all CPUs count equally."""
    if matrix is None or workload.service not in matrix.rows:
        return {}
    members = [supply.members[each] for each in at.tolist()]
    return {
        each.name: matrix.performance(workload.service, each.cpu_models)
        if each.cpu_models
        else Fraction(1)
        for each in members
    }


def _divided_one_by_one(
    workload: FederatedWorkload,
    names: Sequence[str],
    columns: DivisionColumns,
    work: Mapping[str, Fraction | None],
) -> ReplicaDivision:
    """A division that fills the clusters in order, or that is in units of work."""
    clusters = columns.clusters(names)
    if work:
        clusters = tuple(in_work(each, work[each.name]) for each in clusters)
    current = {
        name: _as_work(workload.replicas if count is None else count, work.get(name))
        for name, count in workload.current.items()
    }
    rules = _rules(workload)
    demand = DivisionDemand(
        rules.replicas, clusters, current, workload.key, rules.moves, rules.keep_unschedulable
    )
    plan = pack(demand) if workload.strategy is ReplicasStrategy.BINPACK else divide(demand)
    plan = in_replicas(plan, work) if work else plan
    replicas = {name: count for name, count in plan.total().items() if count}
    return ReplicaDivision(replicas, plan.pending, plan.unplaced)


def _as_work(count: int, work: Fraction | None) -> int:
    """Replicas in units of work, rounded down."""
    return count if work is None else int(count * work)

"""The default division one cluster after the other."""

from collections.abc import Sequence

from stretto.federation.planner.division.demand import (
    DivisionCluster,
    DivisionDemand,
    DivisionPlan,
)
from stretto.federation.planner.division.plan import divide
from stretto.federation.planner.supply.capacity import fitting
from stretto.federation.planner.supply.weights import weighed_request, weights_of
from stretto.federation.scheduling.fleet import Amounts, MemberCluster
from stretto.federation.scheduling.workload import FederatedWorkload
from stretto.state.nodes.taints import NO_SCHEDULE, untolerated


def plain_division(
    workload: FederatedWorkload, clusters: Sequence[MemberCluster], promised: dict[str, Amounts]
) -> DivisionPlan:
    """Reference of the default division for replicas that are spread."""
    free = {
        each.name: {x: n - promised[each.name].get(x, 0) for x, n in each.available.items()}
        for each in clusters
    }
    limits, whole = workload.limits, workload.replicas
    current = {name: whole if n is None else n for name, n in workload.current.items()}
    running = current if workload.running is None else workload.running
    needed, own = weighed_request(workload.request), running if workload.request else {}
    usable = [(fitting(free[x.name], needed) or 0) + own.get(x.name, 0) for x in clusters]
    total = [fitting(each.allocatable, needed) or 0 for each in clusters]
    dynamic = dict(zip(free, weights_of(usable, total), strict=True))
    weights = limits.weights or dynamic
    listed = []
    for each in clusters:
        name, present = each.name, current.get(each.name, 0)
        most = [limits.maximum.get(name), limits.limited.get(name)]
        if untolerated(each.taints, workload.tolerations, (NO_SCHEDULE,)):
            most.append(present)
        maximum = min((x for x in most if x is not None), default=None)
        least = limits.minimum.get(name, 0)
        more = fitting(free[name], workload.request)
        fits = [limits.estimated.get(name)]
        if each.allocatable and more is not None:
            fits.append(more + running.get(name, 0))
        capacity = min((x for x in fits if x is not None), default=None)
        listed.append(
            DivisionCluster(
                name,
                weights.get(name, 0),
                least if maximum is None else min(least, maximum),
                maximum,
                capacity,
            )
        )
    moves = 0 if limits.avoid_disruption else None
    return divide(
        DivisionDemand(
            whole, tuple(listed), current, workload.key, moves, limits.keep_unschedulable
        )
    )

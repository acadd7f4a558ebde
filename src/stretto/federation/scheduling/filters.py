"""Filters: masks of the clusters that may run a workload, under KubeAdmiral's names."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import numpy as np

from stretto.api.wire import selectors
from stretto.base.errors import InputError
from stretto.federation.scheduling.fleet import ClusterMask, MemberCluster, MemberFleet
from stretto.federation.scheduling.resources import CPU, EPHEMERAL, MEMORY, is_scalar
from stretto.federation.scheduling.workload import ClusterTerm, FederatedWorkload
from stretto.state.nodes.taints import NO_EXECUTE, NO_SCHEDULE, untolerated

ClusterFilter: TypeAlias = Callable[[FederatedWorkload, MemberFleet], ClusterMask]
"""Function from a workload and the clusters to the feasible clusters."""

_KATALYST: Final = frozenset(
    f"resource.katalyst.kubewharf.io/{name}"
    for name in ("reclaimed_millicpu", "reclaimed_memory", "net_bandwidth")
)
"""Resources that Katalyst reports."""


def serves_kind(_workload: FederatedWorkload, fleet: MemberFleet) -> ClusterMask:
    """Clusters that serve the kind of the workload."""
    return fleet.serving


def tolerated(workload: FederatedWorkload, fleet: MemberFleet) -> ClusterMask:
    """Clusters without untolerated taints; in present clusters only NoExecute counts."""
    found = ~fleet.tainted
    for at in np.flatnonzero(fleet.tainted).tolist():
        each = fleet.members[at]
        runs = each.name in workload.current
        effects = (NO_EXECUTE,) if runs else (NO_SCHEDULE, NO_EXECUTE)
        found[at] = not untolerated(each.taints, workload.tolerations, effects)
    return found


def placed(workload: FederatedWorkload, fleet: MemberFleet) -> ClusterMask:
    """Clusters of the placement list, or all if it is empty."""
    return fleet.named(workload.placement) if workload.placement else fleet.all(True)


def affine(workload: FederatedWorkload, fleet: MemberFleet) -> ClusterMask:
    """Clusters with the selected labels that match one of the required terms."""
    wanted = workload.cluster_selector.items()
    if not wanted and workload.required is None:
        return fleet.all(True)
    return fleet.mask(
        wanted <= each.labels.items() and matches_one(workload.required, each)
        for each in fleet.members
    )


def matches_one(terms: tuple[ClusterTerm, ...] | None, member: MemberCluster) -> bool:
    """True if a term matches; terms after an invalid term are ignored."""
    if terms is None:
        return True
    try:
        return any(matches(each, member) for each in terms)
    except InputError:
        return False


def matches(term: ClusterTerm, member: MemberCluster) -> bool:
    """True if ``member`` meets every requirement of ``term``; an empty term matches none.

    Requirements on the name are evaluated only if those on labels match.

    Raises:
        InputError: a requirement is invalid.
    """
    on_labels = selectors.node_term(term.match_expressions, (), "affinity")
    if term.match_expressions and not on_labels.matches(member.name, member.labels):
        return False
    if not term.match_fields:
        return bool(term.match_expressions)
    on_name = selectors.node_term((), term.match_fields, "affinity")
    return on_name.matches(member.name, member.labels)


def ready(workload: FederatedWorkload, fleet: MemberFleet) -> ClusterMask:
    """Ready clusters, and those that run the workload already."""
    return fleet.ready | fleet.named(workload.current)


def staying(_workload: FederatedWorkload, fleet: MemberFleet) -> ClusterMask:
    """Clusters that are not leaving the federation."""
    return fleet.staying


def not_evicted(workload: FederatedWorkload, fleet: MemberFleet) -> ClusterMask:
    """Clusters that no migration excludes."""
    return ~fleet.named(workload.evicted)


def fits(workload: FederatedWorkload, fleet: MemberFleet) -> ClusterMask:
    """Clusters with headroom for one replica, and those that run the workload already."""
    runs = fleet.named(workload.current)
    request = workload.request
    scalars = [name for name in request if is_scalar(name)]
    if not scalars and not any(request.get(name) for name in (CPU, MEMORY, EPHEMERAL)):
        return fleet.all(True)
    headroom = fleet.all(True)
    for name in (CPU, MEMORY, *(each for each in scalars if request[each] > 0)):
        headroom &= fleet.allocatable(name) >= request.get(name, 0) + fleet.used(name)
    return runs | headroom


def has_katalyst(workload: FederatedWorkload, fleet: MemberFleet) -> ClusterMask:
    """Clusters with Katalyst resources, if the workload requests some, and its present clusters."""
    needs = bool(_KATALYST & workload.request.keys())
    return fleet.mask(
        not needs or each.name in workload.current or bool(_KATALYST & each.allocatable.keys())
        for each in fleet.members
    )


FILTERS: Final[Mapping[str, ClusterFilter]] = {
    "APIResources": serves_kind,
    "TaintToleration": tolerated,
    "PlacementFilter": placed,
    "ClusterAffinity": affine,
    "ClusterReady": ready,
    "ClusterTerminating": staying,
    "ClusterEvicted": not_evicted,
    "ClusterResourcesFit": fits,
    "KatalystResourcesExist": has_katalyst,
}
"""Filters by name."""

BY_AMOUNTS: Final = frozenset({"ClusterResourcesFit", "KatalystResourcesExist"})
"""Filters that read amounts of clusters, or the requests of the workload."""

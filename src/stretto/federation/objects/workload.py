"""From a federated object, its rules and the clusters to what the scheduling stages read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from stretto.api.types.federation.policies import SchedulingMode
from stretto.api.wire.meta import NodeSelectorTerm
from stretto.federation import names
from stretto.federation.objects.clusters import OfferedSupply, member_cluster
from stretto.federation.objects.current import current_replicas
from stretto.federation.objects.demand import replicas_of, request_of
from stretto.federation.objects.rules.steering import Steering
from stretto.federation.scheduling.fleet import MemberFleet
from stretto.federation.scheduling.kubeadmiral import (
    ClusterProfile,
    FederatedPlacement,
    ReplicaDivider,
    schedule,
)
from stretto.federation.scheduling.workload import ClusterTerm, FederatedWorkload, ReplicaLimits
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import StoredObject

NO_SUPPLY: Final = OfferedSupply()


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a decision depends on besides the object and its rules."""

    #: The clusters that have joined.
    clusters: Iterable[StoredObject]
    #: Seconds since the epoch; migrations end by it.
    wall_time: float
    #: The plugins.
    profile: ClusterProfile
    #: The division; ``None`` is KubeAdmiral's.
    divide: ReplicaDivider | None = None
    #: What clusters offer besides their reports, by cluster.
    supply: Mapping[str, OfferedSupply] = field(default_factory=dict)
    #: Replicas of this object that its clusters do not report yet.
    starting: Mapping[str, int] = field(default_factory=dict)


def placed(
    federated: StoredObject, type_: FederatedType, rules: Steering, found: Circumstances
) -> FederatedPlacement:
    """Where the scheduling stages place an object."""
    members = tuple(
        member_cluster(each, type_, found.supply.get(each.record.name, NO_SUPPLY))
        for each in found.clusters
    )
    subject = federated_workload(federated, type_, rules, found.wall_time)
    subject = replace(subject, starting=found.starting)
    return schedule(subject, MemberFleet(members), found.profile, found.divide)


def federated_workload(
    federated: StoredObject, type_: FederatedType, rules: Steering, wall_time: float
) -> FederatedWorkload:
    """The workload as the scheduling stages read it.

    Args:
        federated: the federated object.
        type_: its kind.
        rules: its effective rules.
        wall_time: seconds since the epoch; migrations end by it.
    """
    template = federated.spec["template"]
    metadata = template["metadata"]
    namespace = federated.record.namespace
    mode = rules.mode if type_.paths.replicas_spec else SchedulingMode.DUPLICATE
    preferences = {each.cluster: each.preferences for each in rules.placements}
    migration = rules.auto_migration
    observed = rules.observed if migration is not None else None
    limits = ReplicaLimits(
        minimum={
            name: each.min_replicas for name, each in preferences.items() if each.min_replicas
        },
        maximum={
            name: each.max_replicas
            for name, each in preferences.items()
            if each.max_replicas is not None
        },
        weights={
            name: each.weight for name, each in preferences.items() if each.weight is not None
        },
        limited=rules.limited,
        estimated=(observed.estimated_capacity or {}) if observed else {},
        scheduled=(observed.scheduled_replicas or {}) if observed else {},
        keep_unschedulable=migration is not None and migration.keep_unschedulable_replicas,
        avoid_disruption=rules.avoid_disruption,
    )
    return FederatedWorkload(
        key=f"{namespace}/{metadata['name']}" if namespace else metadata["name"],
        replicas=replicas_of(template, type_),
        mode=mode,
        strategy=rules.strategy,
        request=request_of(template),
        current=current_replicas(federated, type_),
        sticky=rules.sticky,
        cluster_selector=rules.cluster_selector,
        placement=frozenset(preferences),
        required=_terms(rules.required),
        preferred=tuple(
            ClusterTerm(
                each.preference.match_expressions, each.preference.match_fields, each.weight
            )
            for each in rules.preferred
        ),
        tolerations=rules.tolerations,
        evicted=frozenset(name for name, end in rules.left_until.items() if end > wall_time),
        max_clusters=rules.max_clusters,
        service=str((metadata.get("labels") or {}).get(names.SERVICE) or metadata["name"]),
        priorities=_given({name: each.priority for name, each in preferences.items()}),
        limits=limits,
    )


def _given(values: Mapping[str, int | None]) -> dict[str, int]:
    """The values that are set."""
    return {name: value for name, value in values.items() if value is not None}


def _terms(terms: Iterable[NodeSelectorTerm] | None) -> tuple[ClusterTerm, ...] | None:
    if terms is None:
        return None
    return tuple(ClusterTerm(each.match_expressions, each.match_fields) for each in terms)

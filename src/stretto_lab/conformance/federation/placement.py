"""Adapter from recorded inputs of KubeAdmiral's cluster scheduling to the scheduling."""

from typing import Any

import msgspec
import numpy as np

from stretto.api.types.core import Taint
from stretto.api.types.federation.policies import ReplicasStrategy, SchedulingMode
from stretto.api.types.pod import Toleration
from stretto.api.wire import quantity
from stretto.api.wire.meta import SelectorRequirement
from stretto.base.errors import InputError
from stretto.federation.scheduling import kubeadmiral
from stretto.federation.scheduling.filters import FILTERS
from stretto.federation.scheduling.fleet import MemberCluster, MemberFleet
from stretto.federation.scheduling.kubeadmiral import PlacementVerdict
from stretto.federation.scheduling.plugins import DEFAULT, ClusterProfile
from stretto.federation.scheduling.scores import SCORES, Scale
from stretto.federation.scheduling.workload import (
    ClusterTerm,
    FederatedWorkload,
    ReplicaLimits,
)

Fields = dict[str, Any]
"""The members of an input or of a result."""


class RequestInput(msgspec.Struct, frozen=True):
    """Requests of one replica."""

    #: CPU in thousandths.
    millicpu: int = 0
    #: Memory in bytes.
    memory: int = 0
    #: Ephemeral storage in bytes.
    ephemeral_storage: int = 0
    #: Scalar resources.
    scalar: dict[str, int] = {}

    def amounts(self) -> dict[str, int]:
        """Amounts by resource."""
        plain = {
            "cpu": self.millicpu,
            "memory": self.memory,
            "ephemeral-storage": self.ephemeral_storage,
        }
        return {name: count for name, count in plain.items() if count} | self.scalar


class TermInput(msgspec.Struct, frozen=True):
    """One term of an affinity."""

    #: Requirements on labels.
    match_expressions: tuple[SelectorRequirement, ...] = ()
    #: Requirements on the name.
    match_fields: tuple[SelectorRequirement, ...] = ()
    #: Points.
    weight: int = 0

    def term(self) -> ClusterTerm:
        """The term as input of the scheduling."""
        return ClusterTerm(self.match_expressions, self.match_fields, self.weight)


class UnitInput(msgspec.Struct, frozen=True):
    """The workload."""

    #: Namespace and name.
    key: str
    #: Scheduling mode.
    mode: SchedulingMode
    #: Replicas strategy.
    strategy: ReplicasStrategy
    #: Replicas.
    replicas: int = 0
    #: Requests.
    request: RequestInput = RequestInput()
    #: Present replicas.
    current: dict[str, int | None] = {}
    #: True if it is never moved.
    sticky: bool = False
    #: Labels of clusters.
    cluster_selector: dict[str, str] = {}
    #: Placement list.
    placement: frozenset[str] = frozenset()
    #: Required terms.
    required_terms: tuple[TermInput, ...] | None = None
    #: Preferred terms.
    preferred_terms: tuple[TermInput, ...] = ()
    #: Tolerations.
    tolerations: tuple[Toleration, ...] = ()
    #: Clusters that a migration excludes.
    evicted: frozenset[str] = frozenset()
    #: Maximum number of clusters.
    max_clusters: int | None = None
    #: Priorities.
    priorities: dict[str, int] = {}
    #: Minimum replicas.
    min: dict[str, int] = {}
    #: Maximum replicas.
    max: dict[str, int] = {}
    #: Weights.
    weights: dict[str, int] = {}
    #: Hard limits.
    limited_capacity: dict[str, int] = {}
    #: Estimates; negative ones are ignored.
    estimated_capacity: dict[str, int] = {}
    #: Running replicas.
    scheduled: dict[str, int] = {}
    #: True if estimates are used.
    auto_migration: bool = False
    #: True if rejected replicas are kept.
    keep_unschedulable: bool = False
    #: True if present replicas are kept.
    avoid_disruption: bool = False

    def workload(self) -> FederatedWorkload:
        """The workload as input of the scheduling."""
        required = self.required_terms
        return FederatedWorkload(
            self.key,
            self.replicas,
            self.mode,
            self.strategy,
            self.request.amounts(),
            self.current,
            self.sticky,
            self.cluster_selector,
            self.placement,
            None if required is None else tuple(each.term() for each in required),
            tuple(each.term() for each in self.preferred_terms),
            self.tolerations,
            self.evicted,
            self.max_clusters,
            self.priorities,
            self._limits(),
        )

    def _limits(self) -> ReplicaLimits:
        migrates = self.auto_migration
        estimates = {name: n for name, n in self.estimated_capacity.items() if n >= 0}
        return ReplicaLimits(
            self.min,
            self.max,
            self.weights,
            self.limited_capacity,
            estimates if migrates else {},
            self.scheduled if migrates else {},
            migrates and self.keep_unschedulable,
            self.avoid_disruption,
        )


class MemberInput(msgspec.Struct, frozen=True):
    """A cluster."""

    #: Name.
    name: str
    #: Labels.
    labels: dict[str, str] = {}
    #: Taints.
    taints: tuple[Taint, ...] = ()
    #: Quantities that pods can request.
    allocatable: dict[str, str] = {}
    #: Quantities that are free.
    available: dict[str, str] = {}
    #: True if it is being removed.
    deleting: bool = False
    #: True if it is not ready.
    not_ready: bool = False
    #: True if it does not serve the kind.
    api_missing: bool = False

    def member(self) -> MemberCluster:
        """The cluster as input of the scheduling."""
        return MemberCluster(
            self.name,
            self.labels,
            self.taints,
            not self.not_ready,
            self.deleting,
            not self.api_missing,
            quantity.amounts(self.allocatable, f"{self.name}.allocatable"),
            quantity.amounts(self.available, f"{self.name}.available"),
        )


class ScheduleInput(msgspec.Struct, frozen=True):
    """The input of the families ``ka_cluster_plugins`` and ``ka_schedule``."""

    #: The workload.
    unit: UnitInput
    #: The clusters.
    clusters: tuple[MemberInput, ...]
    #: Filters instead of the default ones.
    filters: tuple[str, ...] = DEFAULT.filters
    #: Scores instead of the default ones.
    scores: tuple[str, ...] = DEFAULT.scores

    def fleet(self) -> MemberFleet:
        """The clusters as input of the scheduling."""
        return MemberFleet(tuple(each.member() for each in self.clusters))


def cluster_plugins(given: Fields) -> Fields:
    """``ka_cluster_plugins``: every plugin separately."""
    fields = msgspec.convert(given, ScheduleInput)
    workload, fleet = fields.unit.workload(), fields.fleet()
    rejected = {
        name: [fleet.names[at] for at in np.flatnonzero(~plugin(workload, fleet)).tolist()]
        for name, plugin in FILTERS.items()
    }
    raw = {name: each.raw(workload, fleet) for name, each in SCORES.items()}
    scaled = {
        name: dict(zip(fleet.names, SCORES[name].points(each).tolist(), strict=True))
        for name, each in raw.items()
        if SCORES[name].scale is not Scale.POINTS
    }
    return {
        "rejected": rejected,
        "raw_scores": {
            name: dict(zip(fleet.names, each.tolist(), strict=True)) for name, each in raw.items()
        },
        "normalized_scores": scaled,
    }


def schedule(given: Fields) -> Fields:
    """``ka_schedule``: all stages; an invalid preferred term ends the scheduling with an error."""
    fields = msgspec.convert(given, ScheduleInput)
    workload, fleet = fields.unit.workload(), fields.fleet()
    profile = ClusterProfile(fields.filters, fields.scores)
    try:
        found = kubeadmiral.schedule(workload, fleet, profile)
    except InputError as error:
        rejected = kubeadmiral.rejections(workload, fleet, profile)
        return ({"filtered_by": rejected} if rejected else {}) | {"error": str(error)}
    shown = {
        "filtered_by": found.filtered_by,
        "scores": found.scores,
        "selected": list(found.selected),
    }
    result = {name: each for name, each in shown.items() if each} | {"result": found.replicas}
    if found.verdict in (PlacementVerdict.NO_CLUSTER_FITS, PlacementVerdict.INVALID_LIMIT):
        result["error"] = found.verdict.value
    return result

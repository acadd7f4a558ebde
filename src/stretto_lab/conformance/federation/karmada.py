"""Adapter from recorded inputs of Karmada's scheduler to ``models.karmada``."""

from typing import Any

import msgspec

from stretto.api.types.core import Taint
from stretto.api.types.pod import Toleration
from stretto.api.wire import quantity
from stretto_lab.models.karmada import assignment, estimate, scheduling, spreading, webster
from stretto_lab.models.karmada.assignment import (
    AssignmentDemand,
    AssignmentError,
    DivisionStrategy,
    ReplicaCandidate,
)
from stretto_lab.models.karmada.estimate import ClusterSummary, NodeModel
from stretto_lab.models.karmada.scheduling import ClusterRule, KarmadaCluster, KarmadaWorkload
from stretto_lab.models.karmada.spreading import (
    ClusterSpread,
    SelectionError,
    SpreadDemand,
    SpreadField,
)

Fields = dict[str, Any]
"""The members of an input or of a result."""


class DivideInput(msgspec.Struct, frozen=True):
    """The input of the family ``km_divide``."""

    #: Replicas to add.
    replicas: int
    #: Votes.
    weights: dict[str, int]
    #: Present replicas.
    initial: dict[str, int] = {}
    #: Identifier.
    uid: str = ""


class TargetInput(msgspec.Struct, frozen=True):
    """Replicas in one cluster."""

    #: Name.
    name: str
    #: Replicas.
    replicas: int = 0


class RuleInput(msgspec.Struct, frozen=True):
    """Conditions on a cluster."""

    #: Names.
    names: tuple[str, ...] = ()
    #: Labels.
    labels: dict[str, str] = {}
    #: Excluded names.
    exclude: tuple[str, ...] = ()
    #: Weight.
    weight: int = 0

    def rule(self) -> ClusterRule:
        """The rule as input of the scheduling."""
        return ClusterRule(self.names, self.labels, self.exclude, self.weight)


class SpreadInput(msgspec.Struct, frozen=True):
    """A spread constraint."""

    #: Field whose values are the groups.
    by: SpreadField
    #: Minimum number of groups.
    min: int = 0
    #: Maximum number of groups.
    max: int = 0

    def constraint(self) -> ClusterSpread:
        """The constraint as input of the selection."""
        return ClusterSpread(self.by, self.min, self.max)


class ModelInput(msgspec.Struct, frozen=True):
    """A grade of nodes."""

    #: Grade.
    grade: int
    #: Lower bounds.
    min: dict[str, str] = {}


class ListedMember(msgspec.Struct, frozen=True):
    """A cluster of any family; each family uses some of the fields."""

    #: Name.
    name: str
    #: Labels.
    labels: dict[str, str] = {}
    #: Taints.
    taints: tuple[Taint, ...] = ()
    #: Provider.
    provider: str = ""
    #: Region.
    region: str = ""
    #: Zones.
    zones: tuple[str, ...] = ()
    #: Points.
    score: int = 0
    #: Tier of an overflow.
    tier: int = 0
    #: Free replicas, or quantities that pods can request.
    allocatable: int | dict[str, str] = 0
    #: Quantities requested by placed pods.
    allocated: dict[str, str] = {}
    #: Quantities requested by waiting pods.
    allocating: dict[str, str] = {}
    #: True if it has no report.
    no_summary: bool = False
    #: Grades.
    models: tuple[ModelInput, ...] = ()
    #: Nodes by grade.
    model_counts: dict[int, int] = {}

    def free(self) -> int:
        """Free replicas."""
        assert isinstance(self.allocatable, int)
        return self.allocatable

    def summary(self) -> ClusterSummary | None:
        """Its report."""
        if self.no_summary:
            return None
        allocatable = self.allocatable if isinstance(self.allocatable, dict) else {}
        models = {each.grade: each.min for each in self.models}
        return ClusterSummary(
            _nano(allocatable),
            _nano(self.allocated),
            _nano(self.allocating),
            [
                NodeModel(self.model_counts.get(grade, 0), quantity.amounts(least, self.name))
                for grade, least in models.items()
            ]
            if self.model_counts
            else None,
        )

    def cluster(self) -> KarmadaCluster:
        """The cluster as input of the scheduling."""
        return KarmadaCluster(
            self.name,
            self.labels,
            self.taints,
            self.provider,
            self.region,
            self.zones,
            self.summary(),
        )


class BindingInput(msgspec.Struct, frozen=True):
    """The input of the families ``km_assign``, ``km_select``, ``km_estimate``, ``km_schedule``."""

    #: Strategy; an empty one duplicates.
    strategy: str = ""
    #: Replicas.
    replicas: int = 0
    #: Clusters to select from.
    clusters: tuple[ListedMember, ...] = ()
    #: Clusters to assign to.
    candidates: tuple[ListedMember, ...] = ()
    #: Present replicas.
    previous: tuple[TargetInput, ...] = ()
    #: Requests.
    request: dict[str, str] = {}
    #: True if it has no request, not even an empty one.
    no_requirements: bool = False
    #: Identifier.
    uid: str = ""
    #: True if replicas are divided from scratch.
    fresh: bool = False
    #: True if tiers are used.
    overflow: bool = False
    #: Clusters from which it is being evicted.
    evicting: frozenset[str] = frozenset()
    #: Conditions on clusters.
    cluster_affinity: RuleInput | None = None
    #: Tolerations.
    tolerations: tuple[Toleration, ...] = ()
    #: Spread constraints.
    spread: tuple[SpreadInput, ...] = ()
    #: Static weights.
    static_weights: tuple[RuleInput, ...] = ()

    def division(self) -> DivisionStrategy:
        """The strategy."""
        return DivisionStrategy(self.strategy or DivisionStrategy.DUPLICATED)

    def present(self) -> dict[str, int]:
        """Present replicas."""
        return {each.name: each.replicas for each in self.previous}

    def rules(self) -> tuple[ClusterRule, ...] | None:
        """Static weights; ``None`` if there are none."""
        return tuple(each.rule() for each in self.static_weights) or None

    def constraints(self) -> tuple[ClusterSpread, ...]:
        """Spread constraints."""
        return tuple(each.constraint() for each in self.spread)


def divide(given: Fields) -> Fields:
    """``km_divide``: Webster's method."""
    fields = msgspec.convert(given, DivideInput)
    found = webster.divide(fields.replicas, fields.weights, fields.initial, fields.uid)
    return {"result": found}


def assign(given: Fields) -> Fields:
    """``km_assign``: replicas for selected clusters."""
    fields = msgspec.convert(given, BindingInput, str_keys=True)
    labels = {each.name: each.labels for each in fields.candidates}
    if not fields.candidates:
        return {"result": {}, "error": "no clusters available to schedule"}
    if not fields.replicas and fields.no_requirements:
        return {"result": dict.fromkeys(labels, 0)}
    demand = AssignmentDemand(
        fields.division(),
        fields.replicas,
        tuple(ReplicaCandidate(each.name, each.free(), each.tier) for each in fields.candidates),
        fields.present(),
        scheduling.static_weights(fields.rules(), labels),
        fields.uid,
        fields.fresh,
        fields.overflow,
    )
    try:
        return {"result": assignment.assign(demand)}
    except AssignmentError as error:
        return {"result": {}, "error": str(error)}


def select(given: Fields) -> Fields:
    """``km_select``: grouping and selection."""
    fields = msgspec.convert(given, BindingInput, str_keys=True)
    strategy, present = fields.division(), fields.present()
    scored = [
        each.cluster().scored(each.score, each.free() + present.get(each.name, 0))
        for each in fields.clusters
    ]
    demand = SpreadDemand(
        fields.replicas,
        strategy is DivisionStrategy.DUPLICATED,
        fields.constraints(),
        strategy is DivisionStrategy.STATIC_WEIGHT,
    )
    ranked = spreading.rank(scored, demand)
    result: Fields = {"order": [each.name for each in ranked.order]}
    result |= {f"{by}_scores": dict(each) for by, each in ranked.scores.items() if each}
    try:
        chosen = spreading.select(ranked, demand)
    except SelectionError as error:
        return result | {"selected": [], "error": str(error)}
    return result | {"selected": [each.name for each in chosen]}


def estimate_replicas(given: Fields) -> Fields:
    """``km_estimate``: replicas that fit."""
    fields = msgspec.convert(given, BindingInput, str_keys=True)
    request = None if fields.no_requirements else _nano(fields.request)
    fitting = {each.name: estimate.fitting(each.summary(), request) for each in fields.clusters}
    return {"result": fitting}


def schedule(given: Fields) -> Fields:
    """``km_schedule``: all stages."""
    fields = msgspec.convert(given, BindingInput, str_keys=True)
    rule = fields.cluster_affinity
    workload = KarmadaWorkload(
        fields.division(),
        fields.replicas,
        _nano(fields.request),
        fields.present(),
        fields.uid,
        fields.fresh,
        fields.evicting,
        rule.rule() if rule else None,
        fields.tolerations,
        fields.constraints(),
        fields.rules(),
    )
    found = scheduling.schedule(workload, tuple(each.cluster() for each in fields.clusters))
    result: Fields = {
        "feasible": list(found.feasible),
        "selected": list(found.selected),
        "result": dict(found.replicas),
    }
    available = {name: found.available[name] for name in found.selected}
    shown = {"scores": found.scores, "available": available, "error": found.error}
    return result | {name: each for name, each in shown.items() if each}


def _nano(amounts: dict[str, str]) -> dict[str, int]:
    return {name: quantity.nano(text, name) for name, text in amounts.items()}

"""Effective placement rules of one object, from its policy and its annotations.

An annotation replaces the field of the policy. A malformed value is reported, and the field of the
policy applies.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Final, TypeVar

import msgspec

from stretto.api.types.federation.policies import (
    AutoMigration,
    ClusterAffinityGroup,
    ClusterSpreadConstraint,
    DesiredPlacement,
    PropagationPolicySpec,
    ReplicasStrategy,
    SchedulingMode,
)
from stretto.api.types.federation.steering import (
    AffinityAnnotation,
    AutoMigrationInfo,
    MigrationConfiguration,
    PreferredClusterTerm,
)
from stretto.api.types.pod import Toleration
from stretto.api.wire.meta import NodeSelectorTerm
from stretto.base.clock import parse_timestamp
from stretto.base.errors import InputError
from stretto.federation import names
from stretto.federation.objects.rules.checks import of_cluster

_T = TypeVar("_T")
_SWITCH: Final = {"true": True, "false": False}

NOTHING_OBSERVED: Final = AutoMigrationInfo()
"""No pods have been counted yet."""


class FollowerName(msgspec.Struct, frozen=True):
    """One entry of the annotation ``kubeadmiral.io/followers``."""

    #: Kind.
    kind: str
    #: Name.
    name: str
    #: API group; empty for the core.
    group: str = ""


class AdoptionRule(msgspec.Struct, frozen=True):
    """The annotation ``kubeadmiral.io/clusters-to-adopt``."""

    #: Clusters by name.
    clusters: tuple[str, ...] = ()
    #: Regular expression that is searched in the names of clusters; empty for none.
    regexp: str = ""


class FailoverNote(msgspec.Struct, frozen=True):
    """The annotation ``stretto.dev/failover``."""

    #: Lost clusters that the object has left.
    left: tuple[str, ...] = ()
    #: True if the object returns to clusters that are ready again.
    returning: bool = False


@dataclass(frozen=True, slots=True)
class Steering:
    """The effective rules of one object."""

    #: Mode: the replicas are divided or duplicated.
    mode: SchedulingMode
    #: Strategy of the division.
    strategy: ReplicasStrategy
    #: True if the placement never changes after the first decision.
    sticky: bool
    #: Labels that clusters must have.
    cluster_selector: Mapping[str, str]
    #: Terms; at least one of them must match. ``None`` matches every cluster.
    required: tuple[NodeSelectorTerm, ...] | None
    #: Terms that add to the score.
    preferred: tuple[PreferredClusterTerm, ...]
    #: Tolerated taints of clusters.
    tolerations: tuple[Toleration, ...]
    #: Maximum number of clusters; ``None`` for no limit.
    max_clusters: int | None
    #: Clusters by name, with minimum, maximum and weight of their replicas.
    placements: tuple[DesiredPlacement, ...]
    #: True if running replicas are kept where possible.
    avoid_disruption: bool
    #: Migration of unschedulable pods; ``None`` for none.
    auto_migration: AutoMigration | None
    #: Name of the scheduling profile; empty for the default plugins.
    profile: str
    #: Alternatives of the affinity, in order.
    alternatives: tuple[ClusterAffinityGroup, ...] = ()
    #: Spread constraints over values of labels.
    spread: tuple[ClusterSpreadConstraint, ...] = ()
    #: Maximum replicas by cluster.
    limited: Mapping[str, int] = field(default_factory=dict)
    #: Clusters to leave, with the end of the migration in seconds since the epoch.
    left_until: Mapping[str, float] = field(default_factory=dict)
    #: Observations of the auto-migration.
    observed: AutoMigrationInfo = NOTHING_OBSERVED
    #: Malformed annotations, with the reason.
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def divides(self) -> bool:
        """True if replicas are divided."""
        return self.mode is SchedulingMode.DIVIDE


def of_policy(spec: PropagationPolicySpec) -> Steering:
    """The rules of a policy without annotations."""
    rescheduling = spec.reschedule_policy
    replicas = rescheduling.replica_rescheduling if rescheduling is not None else None
    return Steering(
        mode=spec.scheduling_mode,
        strategy=spec.replicas_strategy,
        sticky=rescheduling is not None and rescheduling.disable_rescheduling,
        cluster_selector=spec.cluster_selector,
        required=spec.cluster_affinity or None,
        preferred=(),
        tolerations=spec.tolerations,
        max_clusters=spec.max_clusters,
        placements=spec.placement,
        avoid_disruption=replicas is None or replicas.avoid_disruption,
        auto_migration=spec.auto_migration,
        profile=spec.scheduling_profile,
        alternatives=spec.cluster_affinities,
        spread=spec.spread_constraints,
    )


def leaving(base: Steering, until: Mapping[str, float]) -> Steering:
    """The rules of an object that leaves clusters, each until seconds since the epoch."""
    return replace(base, left_until={**base.left_until, **until})


def steered(base: Steering, annotations: Mapping[str, str]) -> Steering:
    """The rules of a policy with the annotations of an object applied."""
    if annotations.keys().isdisjoint(_RULES):
        return base
    problems: dict[str, str] = {}
    made = base
    for key, apply in _RULES.items():
        text = annotations.get(key)
        if text is None:
            continue
        try:
            made = apply(made, text)
        except (InputError, msgspec.DecodeError, ValueError) as error:
            problems[key] = str(error)
    return replace(made, problems=problems)


def _json(text: str, type_: type[_T]) -> _T:
    return msgspec.json.decode(text.encode(), type=type_)


def _mode(base: Steering, text: str) -> Steering:
    known = [each.value for each in SchedulingMode]
    if text not in known:
        raise InputError(names.SCHEDULING_MODE, text, " or ".join(known))
    return replace(base, mode=SchedulingMode(text))


def _sticky(base: Steering, text: str) -> Steering:
    if text not in _SWITCH:
        raise InputError(names.STICKY, text, " or ".join(_SWITCH))
    return replace(base, sticky=_SWITCH[text])


def _selector(base: Steering, text: str) -> Steering:
    return replace(base, cluster_selector=_json(text, dict[str, str]))


def _affinity(base: Steering, text: str) -> Steering:
    rules = _json(text, AffinityAnnotation).cluster_affinity
    if rules is None:
        return replace(base, required=None, preferred=())
    required = rules.required.cluster_selector_terms if rules.required is not None else None
    return replace(base, required=required, preferred=rules.preferred)


def _tolerations(base: Steering, text: str) -> Steering:
    return replace(base, tolerations=_json(text, tuple[Toleration, ...]))


def _max_clusters(base: Steering, text: str) -> Steering:
    number = text.removeprefix("+")
    if not (number.isascii() and number.isdecimal()):
        raise InputError(names.MAX_CLUSTERS, text, "a whole number of 0 or more")
    return replace(base, max_clusters=int(number))


def _placements(base: Steering, text: str) -> Steering:
    found = _json(text, tuple[DesiredPlacement, ...])
    if problems := [text for each in found for text in of_cluster(each)]:
        raise ValueError("; ".join(problems))
    return replace(base, placements=found)


def _followers(base: Steering, text: str) -> Steering:
    """Check the list of followers; it changes no rule of the object itself."""
    _json(text, list[FollowerName])
    return base


def _adoption(base: Steering, text: str) -> Steering:
    """Check the annotation of an adoption; it changes no rule."""
    found = _json(text, AdoptionRule)
    try:
        re.compile(found.regexp)
    except re.error as error:
        place = f"{names.ADOPT_FROM}: regexp"
        raise InputError(place, found.regexp, "a regular expression", str(error)) from error
    return base


def _one_of(key: str, *known: str) -> Callable[[Steering, str], Steering]:
    """A check of an annotation with a fixed set of values, which other controllers read."""

    def checked(base: Steering, text: str) -> Steering:
        if text not in known:
            raise InputError(key, text, " or ".join(known))
        return base

    return checked


def _migration(base: Steering, text: str) -> Steering:
    found = _json(text, MigrationConfiguration)
    limited = {
        each.cluster: _bound(each.limited_capacity)
        for each in found.replicas_migrations
        if each.limited_capacity is not None
    }
    left = {
        each.cluster: parse_timestamp(each.valid_until, f"{names.MIGRATION}: validUntil")
        for each in found.workload_migrations
    }
    return replace(base, limited=limited, left_until=left)


def _failover(base: Steering, text: str) -> Steering:
    """Exclude lost clusters while the annotation lists them; a return may move replicas."""
    found = _json(text, FailoverNote)
    left = {**base.left_until, **dict.fromkeys(found.left, inf)}
    return replace(
        base, left_until=left, avoid_disruption=base.avoid_disruption and not found.returning
    )


def _bound(number: int) -> int:
    if number < 0:
        raise InputError(f"{names.MIGRATION}: limitedCapacity", number, "0 or more")
    return number


def _observed(base: Steering, text: str) -> Steering:
    return replace(base, observed=_json(text, AutoMigrationInfo))


_RULES: Final[dict[str, Callable[[Steering, Any], Steering]]] = {
    names.SCHEDULING_MODE: _mode,
    names.STICKY: _sticky,
    names.CLUSTER_SELECTOR: _selector,
    names.AFFINITY: _affinity,
    names.TOLERATIONS: _tolerations,
    names.MAX_CLUSTERS: _max_clusters,
    names.PLACEMENTS: _placements,
    names.MIGRATION: _migration,
    names.AUTO_MIGRATION: _observed,
    names.FAILOVER: _failover,
    names.FOLLOWER_LIST: _followers,
    names.ADOPT_FROM: _adoption,
    names.CONFLICT: _one_of(names.CONFLICT, "adopt"),
    names.ORPHAN: _one_of(names.ORPHAN, "all", "adopted"),
    names.DRY_RUN: _one_of(names.DRY_RUN, "true", "false"),
    names.NO_SCHEDULING: _one_of(names.NO_SCHEDULING, "true", "false"),
    names.NO_FOLLOWING: _one_of(names.NO_FOLLOWING, "true", "false"),
    names.RETAIN_REPLICAS: _one_of(names.RETAIN_REPLICAS, "true", "false"),
}
"""Functions that apply an annotation to the rules."""

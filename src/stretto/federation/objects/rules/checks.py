"""Checks of a policy: contradictions that block it, and settings without an effect."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from stretto.api.types.federation.policies import (
    DesiredPlacement,
    PropagationPolicySpec,
    SchedulingMode,
)
from stretto.api.types.pod import Toleration
from stretto.api.wire.durations import seconds_of
from stretto.api.wire.meta import NodeSelectorTerm
from stretto.api.wire.selectors import Operator, label_rule
from stretto.base.errors import InputError
from stretto.federation.objects.demand import replicas_of
from stretto.federation.scheduling.filters import matches_one
from stretto.federation.scheduling.fleet import MemberCluster
from stretto.federation.scheduling.workload import ClusterTerm
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields

_OPERATORS: Final = ("Exists", "Equal")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NAME: Final = "metadata.name"
"""The only field of a cluster that terms can match."""
MOST: Final = (1 << 31) - 1
"""Maximum replicas and weight of a cluster; sums and products of such values fit in 64 bits."""


def contradictions(spec: PropagationPolicySpec, *, orders_bounds: bool = True) -> Iterator[str]:
    """Reasons why a policy cannot be used, each with a remedy.

    Args:
        spec: the policy.
        orders_bounds: true if minimums above maximums are an error; KubeAdmiral accepts them.
    """
    if spec.max_clusters is not None and spec.max_clusters < 0:
        yield f"maxClusters is {spec.max_clusters}: set it to 0 or more"
    for each in spec.placement:
        yield from _of_numbers(each)
        if orders_bounds:
            yield from _of_bounds(each)
    yield from _of_terms("clusterAffinity", spec.cluster_affinity or ())
    for at, group in enumerate(spec.cluster_affinities):
        if not group.terms:
            yield f"clusterAffinities[{at}].terms is empty and matches no cluster: add a term"
        yield from _of_terms(f"clusterAffinities[{at}].terms", group.terms)
    yield from _of_tolerations(spec.tolerations)
    if spec.auto_migration is not None:
        text = spec.auto_migration.when.pod_unschedulable_for
        yield from _said(partial(seconds_of, text, "autoMigration.when.podUnschedulableFor"))
    for rule in spec.spread_constraints:
        least, most = rule.min_groups, rule.max_groups
        if least < 1 or (most is not None and most < least):
            text = f"minGroups {least}, maxGroups {most}: set 1 ≤ minGroups ≤ maxGroups"
            yield f"spreadConstraints of {rule.label}: {text}"


def _of_terms(where: str, terms: Iterable[NodeSelectorTerm]) -> Iterator[str]:
    """Errors in expressions of terms."""
    for index, term in enumerate(terms):
        for at, each in enumerate(term.match_expressions):
            place = f"{where}[{index}].matchExpressions[{at}]"
            yield from _said(partial(label_rule, each, place, tuple(Operator)))


def _of_tolerations(tolerations: Iterable[Toleration]) -> Iterator[str]:
    """Errors in tolerations, which then tolerate nothing."""
    for index, each in enumerate(tolerations):
        values = {"operator": (each.operator, _OPERATORS), "effect": (each.effect, _EFFECTS)}
        for name, (value, known) in values.items():
            if value and value not in known:
                yield f"tolerations[{index}].{name} is {value}: set one of {', '.join(known)}"


def _said(read: Callable[[], object]) -> Iterator[str]:
    """The error that a reader raises for a value, as text."""
    try:
        read()
    except InputError as error:
        yield str(error)


def of_cluster(placement: DesiredPlacement) -> Iterator[str]:
    """The contradictions of one cluster of a placement."""
    yield from _of_numbers(placement)
    yield from _of_bounds(placement)


def _of_numbers(placement: DesiredPlacement) -> Iterator[str]:
    """Errors about numbers that are negative or too large."""
    where, found = f"placement of {placement.cluster}", placement.preferences
    values = {
        "weight": found.weight,
        "minReplicas": found.min_replicas,
        "maxReplicas": found.max_replicas,
        "priority": found.priority,
    }
    for name, value in values.items():
        if value is not None and not 0 <= value <= MOST:
            yield f"{where}: {name} is {value}: set it from 0 to {MOST}"


def _of_bounds(placement: DesiredPlacement) -> Iterator[str]:
    """Error about a minimum above its maximum."""
    where, found = f"placement of {placement.cluster}", placement.preferences
    if found.max_replicas is not None and found.min_replicas > found.max_replicas:
        yield (
            f"{where}: minReplicas {found.min_replicas} is above maxReplicas"
            f" {found.max_replicas}: lower the first or raise the second"
        )


def oddities(
    spec: PropagationPolicySpec, clusters: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    """Settings of a usable policy that have no effect, each with a remedy.

    Args:
        spec: the policy.
        clusters: labels of all clusters, by name.
    """
    divides = spec.scheduling_mode is SchedulingMode.DIVIDE
    for text in of_placements(spec.placement, clusters, divides=divides):
        yield f"placement {text}"
    excluded = sorted(
        {
            each.cluster
            for each in spec.placement
            if (labels := clusters.get(each.cluster)) is not None
            and not _selects(spec, MemberCluster(each.cluster, labels))
        }
    )
    if excluded:
        text = f"clusterSelector and clusterAffinity exclude {', '.join(excluded)} of the placement"
        yield f"{text}: change them, or remove the clusters"
    groups = [each.name for each in spec.cluster_affinities if each.name]
    if twice := _repeated(groups):
        yield f"clusterAffinities has several groups {', '.join(twice)}: rename all but one"
    yield from _of_fields("clusterAffinity", spec.cluster_affinity or ())
    for at, group in enumerate(spec.cluster_affinities):
        yield from _of_fields(f"clusterAffinities[{at}].terms", group.terms)


def _selects(spec: PropagationPolicySpec, cluster: MemberCluster) -> bool:
    """True if the labels and terms of a valid policy allow a cluster."""
    if not spec.cluster_selector.items() <= cluster.labels.items():
        return False
    terms = [ClusterTerm(x.match_expressions, x.match_fields) for x in spec.cluster_affinity or ()]
    return matches_one(tuple(terms) or None, cluster)


def _of_fields(where: str, terms: Iterable[NodeSelectorTerm]) -> Iterator[str]:
    """Messages about fields that clusters do not have, so that no cluster matches."""
    for index, term in enumerate(terms):
        for at, each in enumerate(term.match_fields):
            if each.key != _NAME:
                place = f"{where}[{index}].matchFields[{at}].key"
                yield f"{place} is {each.key}, so its term matches no cluster: write {_NAME}"


def of_placements(
    placements: Sequence[DesiredPlacement], clusters: Collection[str], *, divides: bool
) -> Iterator[str]:
    """Settings of a placement that have no effect, as predicates of a sentence.

    Args:
        placements: the clusters with bounds and shares.
        clusters: names of all clusters.
        divides: true if replicas are divided.
    """
    yield from of_names([each.cluster for each in placements], clusters)
    weights = [each.preferences.weight for each in placements]
    given = [each for each in weights if each is not None]
    bounds = [x.preferences.min_replicas or x.preferences.max_replicas for x in placements]
    if (
        divides
        and given
        and not any(given)
        and not any(x.preferences.min_replicas for x in placements)
    ):
        yield "gives every cluster the weight 0, so none gets replicas: set a weight above 0"
    if not divides and any(bounds):
        yield "bounds replicas, which the mode Duplicate ignores: use the mode Divide"


def of_names(named: Iterable[str], clusters: Collection[str]) -> Iterator[str]:
    """Messages about unknown or repeated clusters in a list, as predicates of a sentence."""
    listed = list(named)
    if unknown := sorted(set(listed) - set(clusters)):
        yield f"names unknown clusters: {', '.join(unknown)}: correct or remove them"
    if twice := _repeated(listed):
        yield f"names clusters twice: {', '.join(twice)}: keep one entry of each"


def _repeated(listed: Sequence[str]) -> list[str]:
    """Repeated items of a list, sorted."""
    return sorted(each for each, count in Counter(listed).items() if count > 1)


def unmet_minimums(
    placements: Iterable[DesiredPlacement], template: Fields, type_: FederatedType
) -> Iterator[str]:
    """Messages about minimums that the replicas of a template do not reach, with remedies."""
    least = sum(each.preferences.min_replicas for each in placements)
    replicas = replicas_of(template, type_)
    if type_.paths.replicas_spec and least > replicas:
        yield (
            f"minReplicas add up to {least}, above the {replicas} replicas, so some clusters get"
            " fewer: lower minReplicas or raise the replicas"
        )

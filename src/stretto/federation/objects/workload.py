"""Conversion of a federated object, its rules and the clusters to the input of scheduling."""

from collections.abc import Iterable

from stretto.api.types.federation.policies import SchedulingMode
from stretto.api.wire.meta import NodeSelectorTerm
from stretto.federation import names
from stretto.federation.objects.current import current_replicas
from stretto.federation.objects.decision.circumstances import Circumstances
from stretto.federation.objects.decision.limits import given, limits_of
from stretto.federation.objects.demand import request_of, stated_replicas
from stretto.federation.objects.rules.steering import Steering
from stretto.federation.scheduling.workload import ClusterTerm, FederatedWorkload, LabelSpread
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import StoredObject


def federated_workload(
    federated: StoredObject, type_: FederatedType, rules: Steering, found: Circumstances
) -> FederatedWorkload:
    """The workload as input of scheduling.

    Args:
        federated: the federated object.
        type_: its kind.
        rules: its effective rules.
        found: further input of the decision.

    Raises:
        InputError: its replicas or requests are malformed.
    """
    template = federated.spec["template"]
    metadata = template["metadata"]
    namespace = federated.record.namespace
    mode = rules.mode if type_.paths.replicas_spec else SchedulingMode.DUPLICATE
    preferences = {each.cluster: each.preferences for each in rules.placements}
    return FederatedWorkload(
        key=f"{namespace}/{metadata['name']}" if namespace else metadata["name"],
        replicas=stated_replicas(template, type_),
        mode=mode,
        strategy=rules.strategy,
        request=request_of(template, counts_all=found.counts_requests),
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
        alternatives=tuple(_terms(each.terms) or () for each in rules.alternatives),
        spread=tuple(LabelSpread(x.label, x.min_groups, x.max_groups) for x in rules.spread),
        tolerations=rules.tolerations,
        evicted=frozenset(name for name, end in rules.left_until.items() if end > found.wall_time),
        max_clusters=rules.max_clusters,
        running=found.running,
        service=str((metadata.get("labels") or {}).get(names.SERVICE) or metadata["name"]),
        priorities=given({name: each.priority for name, each in preferences.items()}),
        limits=limits_of(rules),
    )


def _terms(terms: Iterable[NodeSelectorTerm] | None) -> tuple[ClusterTerm, ...] | None:
    if terms is None:
        return None
    return tuple(ClusterTerm(each.match_expressions, each.match_fields) for each in terms)

"""From a federated object, its rules and the clusters to what the scheduling stages read."""

from collections.abc import Iterable, Mapping

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.core import Taint
from stretto.api.types.effective_requests import requests
from stretto.api.types.federation import FederatedCluster, SchedulingMode
from stretto.api.types.pod import PodSpec
from stretto.api.wire.meta import NodeSelectorTerm
from stretto.api.wire.quantity import amounts
from stretto.federation import names
from stretto.federation.fleet import is_ready
from stretto.federation.objects.paths import field_at, pointer
from stretto.federation.objects.placements import overrides_by, placed_by
from stretto.federation.objects.steering import Steering
from stretto.federation.scheduling.fleet import MemberCluster
from stretto.federation.scheduling.workload import ClusterTerm, FederatedWorkload, ReplicaLimits
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields, StoredObject

_POD_TEMPLATES = ("spec.template.spec", "spec.jobTemplate.spec.template.spec")


def replicas_of(template: Fields, type_: FederatedType) -> int:
    """Wanted replicas of a template; 0 where its kind has none."""
    path = type_.paths.replicas_spec
    if not path:
        return 0
    found = field_at(template, path)
    return found if isinstance(found, int) else 1


def request_of(template: Fields) -> dict[str, int]:
    """Requests of one replica: CPU in thousandths, other resources in units; empty if unknown.

    Raises:
        InputError: a quantity is malformed.
    """
    spec = pod_spec(template)
    if spec is None:
        return {}
    text = msgspec.json.encode(
        {
            "containers": spec.get("containers") or (),
            **{
                key: spec[key] for key in ("initContainers", "overhead", "resources") if key in spec
            },
        }
    )
    return dict(requests(decode_as(PodSpec, text, "template")))


def pod_spec(template: Fields) -> Fields | None:
    """The spec of the pods of a workload; of the pod itself for a pod."""
    if template.get("kind") == "Pod":
        return template.get("spec")
    for path in _POD_TEMPLATES:
        found = field_at(template, path)
        if isinstance(found, dict):
            return found
    return None


def member_cluster(cluster: StoredObject, type_: FederatedType) -> MemberCluster:
    """A cluster as the scheduling reads it."""
    read = cluster.read(FederatedCluster)
    kind = (type_.kind.group, type_.kind.version, type_.kind.kind)
    served = ((each.group, each.version, each.kind) for each in read.status.api_resource_types)
    resources = read.status.resources
    return MemberCluster(
        name=cluster.record.name,
        labels=read.metadata.labels,
        taints=tuple(Taint(each.key, each.effect, each.value) for each in read.spec.taints),
        ready=is_ready(cluster),
        terminating=cluster.is_terminating,
        serves_kind=kind in served,
        allocatable=amounts(resources.allocatable, "allocatable"),
        available=amounts(resources.available, "available"),
    )


def current_replicas(federated: StoredObject, type_: FederatedType) -> dict[str, int | None]:
    """Clusters that the scheduler has placed an object in, with their replicas."""
    path = pointer(type_.paths.replicas_spec) if type_.paths.replicas_spec else ""
    patches = overrides_by(federated.spec, names.SCHEDULER)
    found: dict[str, int | None] = {}
    for name in placed_by(federated.spec, names.SCHEDULER) or ():
        values = [each.get("value") for each in patches.get(name, ()) if each.get("path") == path]
        found[name] = values[-1] if values and isinstance(values[-1], int) else None
    return found


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

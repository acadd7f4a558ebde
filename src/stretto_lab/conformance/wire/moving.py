"""Which workloads of a replay follow the free capacity of clusters."""

from collections.abc import Iterator

from stretto.api.kinds.federation import (
    CLUSTER_PROPAGATION_POLICY,
    FEDERATED_OBJECT,
    PROPAGATION_POLICY,
)
from stretto.api.types.federation.policies import (
    PropagationPolicy,
    PropagationPolicySpec,
    ReplicasStrategy,
    SchedulingMode,
)
from stretto.base.errors import InputError
from stretto.federation import names
from stretto.reconcile.cache import StoredObject
from stretto.stores.store import Store

_POLICIES = (
    (PROPAGATION_POLICY.kind, names.POLICY),
    (CLUSTER_PROPAGATION_POLICY.kind, names.CLUSTER_POLICY),
)


def by_capacity(host: Store) -> frozenset[str]:
    """Names of workloads whose policy selects clusters or divides replicas by free capacity."""
    moving = dict(_moving(host))
    return frozenset(
        str(each.spec["template"]["metadata"]["name"])
        for each in map(StoredObject, host.list(FEDERATED_OBJECT.kind).records)
        if any(moving.get((label, each.labels.get(label, ""))) for _, label in _POLICIES)
    )


def _moving(host: Store) -> Iterator[tuple[tuple[str, str], bool]]:
    """Whether each policy follows the free capacity, by label and name."""
    for kind, label in _POLICIES:
        for each in map(StoredObject, host.list(kind).records):
            try:
                spec = each.read(PropagationPolicy).spec
            except InputError:
                continue
            yield (label, each.record.name), _follows_capacity(spec)


def _follows_capacity(spec: PropagationPolicySpec) -> bool:
    """Whether scores select clusters, or free capacity gives the weights."""
    if spec.max_clusters is not None or spec.scheduling_profile:
        return True
    if spec.scheduling_mode is SchedulingMode.DUPLICATE:
        return False
    given = [each.preferences for each in spec.placement]
    if spec.replicas_strategy is ReplicasStrategy.BINPACK:
        return all(each.priority is None for each in given)
    return all(each.weight is None for each in given)

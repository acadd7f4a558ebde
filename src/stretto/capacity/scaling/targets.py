"""The workloads that scaling groups scale, and the state of their pods."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from stretto.api.types.capacity.scaling import ScalingTarget
from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import DEPLOYMENT, POD, REPLICA_SET, STATEFUL_SET, Kind
from stretto.api.wire.meta import LabelSelector
from stretto.api.wire.selectors import label_selector
from stretto.base.errors import InputError
from stretto.reconcile.cache import StoreCache, StoredObject
from stretto.reconcile.pods import unschedulable_for

TARGETS: Final[Mapping[str, Kind]] = {
    kind.kind: kind for kind in (DEPLOYMENT, STATEFUL_SET, REPLICA_SET)
}
"""Kinds of workloads that a group may scale, by name."""
STUCK_S: Final = 30.0
"""Seconds for which a pod must be unschedulable to count: a tidal pool may switch nodes before."""


class TargetPods(NamedTuple):
    """The pods of a workload."""

    #: Pods that have a node.
    placed: int
    #: Number of pods that are scheduled or may be scheduled.
    scheduled: int
    #: Number of pods that fit on no node.
    stuck: int
    #: Seconds until a further pod counts as stuck; ``None`` if no pod is about to.
    next_look: float | None


def target_of(cache: StoreCache, namespace: str, target: ScalingTarget) -> StoredObject | None:
    """Workload of a group; ``None`` if it does not exist."""
    kind = TARGETS.get(target.kind)
    return None if kind is None else cache.follow(kind).get(namespace, target.name)


def active_pods(cache: StoreCache, workload: StoredObject) -> list[StoredObject]:
    """The pods of a workload that count as replicas.

    Raises:
        InputError: its selector is malformed.
    """
    where, found = f"{workload.record.name}: spec.selector", workload.spec.get("selector") or {}
    try:
        selector = label_selector(msgspec.convert(found, LabelSelector), where)
    except msgspec.ValidationError as error:
        raise InputError(where, found, f"a label selector: {error}") from error
    return [
        pod
        for pod in cache.follow(POD).in_namespace(workload.record.namespace)
        if selector.matches(pod.labels)
        and not pod.is_terminating
        and pod.status.get("phase") not in ENDED
    ]


def pods_of(cache: StoreCache, workload: StoredObject, now: float) -> TargetPods:
    """State of the pods of a workload, at ``now`` in seconds since the epoch.

    Raises:
        InputError: its selector is malformed.
    """
    pods = active_pods(cache, workload)
    ages = [age for pod in pods if (age := unschedulable_for(pod, now)) is not None]
    stuck = sum(age >= STUCK_S for age in ages)
    waits = [STUCK_S - age for age in ages if age < STUCK_S]
    placed = sum(bool(pod.record.node) for pod in pods)
    return TargetPods(placed, len(pods) - stuck, stuck, min(waits, default=None))

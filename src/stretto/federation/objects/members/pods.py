"""The replicas of a workload in one member: running and unschedulable ones."""

from collections.abc import Iterable, Sized
from typing import Final, NamedTuple

from stretto.api.types.federation.objects import PathDefinition
from stretto.api.wire.durations import seconds_of
from stretto.api.wire.kinds import DEPLOYMENT, POD, REPLICA_SET
from stretto.federation.objects.paths import field_at
from stretto.reconcile.cache import StoreCache, StoredObject
from stretto.reconcile.pods import unschedulable_for

UNBOUND: Final = "unbound"
"""Index of the pods of a member without a node, by the key of their workload."""
_HASH: Final = "pod-template-hash"
"""Label with the hash at the end of the name of a Deployment's ReplicaSet."""


def unbound_keys(pod: StoredObject) -> Iterable[str]:
    """The keys of ``UNBOUND``; empty for a pod with a node, and for one that is being deleted."""
    if pod.record.node or pod.is_terminating:
        return ()
    references = pod.metadata.get("ownerReferences") or ()
    owner = next((each for each in references if each.get("controller")), None)
    if owner is None:
        return ()
    kind, name, revision = owner["kind"], owner["name"], pod.labels.get(_HASH)
    if kind == REPLICA_SET.kind and revision:
        kind, name = DEPLOYMENT.kind, name.removesuffix(f"-{revision}")
    return (workload_key(kind, pod.record.namespace, name),)


def workload_key(kind: str, namespace: str, name: str) -> str:
    """The key of a workload in the index of its pods."""
    return f"{kind}/{namespace}/{name}"


class PodLook:
    """Parameters for counting pods."""

    def __init__(self, threshold: str, now: float) -> None:
        """Initialize with a duration text and the wall time in seconds since the epoch.

        Raises:
            InputError: the duration is malformed.
        """
        #: Seconds for which a pod must be unschedulable to count.
        self.least = seconds_of(threshold, "autoMigration.when.podUnschedulableFor")
        #: Seconds since the epoch.
        self.now = now


class ClusterPods(NamedTuple):
    """The replicas of a workload in one cluster."""

    #: Replicas that run or are expected to run.
    scheduled: int
    #: Replicas that the cluster has capacity for; ``None`` if it has capacity for all.
    capacity: int | None = None
    #: Seconds until the next pod counts as unschedulable; ``None`` without such a pod.
    next_look: float | None = None


def count(
    paths: PathDefinition, member: StoreCache, workload: StoredObject, look: PodLook
) -> ClusterPods:
    """The replicas in one cluster."""
    wanted = int(field_at(workload.fields, paths.replicas_spec) or 0)
    ready = int(field_at(workload.fields, paths.ready_replicas_status) or 0)
    if wanted == ready:
        return ClusterPods(wanted)
    newest = _newest_set(member, workload)
    pods = _pods_of(member, newest) if newest is not None else []
    ages = [age for pod in pods if (age := unschedulable_for(pod, look.now)) is not None]
    late = sum(age >= look.least for age in ages)
    waits = [look.least - age for age in ages if age < look.least]
    absent = _absent(newest, pods) if late else 0
    capacity = len(pods) - late if len(pods) >= wanted else max(0, wanted - late - absent)
    return ClusterPods(
        len(pods) - len(ages),
        capacity if capacity < wanted else None,
        min(waits, default=None),
    )


def _absent(newest: StoredObject | None, pods: Sized) -> int:
    """Number of replicas of a ReplicaSet without a pod.

    A member may create only some of the pods that no node takes. The others have the same template,
    so no node takes them either.
    """
    return max(0, int(newest.spec.get("replicas") or 0) - len(pods)) if newest is not None else 0


def _newest_set(member: StoreCache, workload: StoredObject) -> StoredObject | None:
    """The newest ReplicaSet of a Deployment."""
    sets = member.follow_synced(REPLICA_SET).in_namespace(workload.record.namespace)
    owned = [each for each in sets if _owner_uid(each) == workload.record.uid]
    return max(owned, key=lambda each: each.record.created, default=None)


def _pods_of(member: StoreCache, owner: StoredObject) -> list[StoredObject]:
    """The pods of a ReplicaSet that are not being deleted."""
    pods = member.follow_synced(POD).in_namespace(owner.record.namespace)
    return [pod for pod in pods if _owner_uid(pod) == owner.record.uid and not pod.is_terminating]


def first_owner(item: StoredObject) -> str:
    """Name of the first owner; empty if there is none."""
    references = item.metadata.get("ownerReferences") or ()
    return str(references[0]["name"]) if references else ""


def _owner_uid(item: StoredObject) -> str:
    references = item.metadata.get("ownerReferences") or ()
    return str(references[0]["uid"]) if references else ""

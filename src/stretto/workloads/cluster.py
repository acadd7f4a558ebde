"""One cluster as seen by the controllers of its workloads."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    NODE,
    POD,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    Kind,
)
from stretto.base.clock import Clock, parse_timestamp, timestamp
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, Name, ObjectCache, StoreCache, StoredObject
from stretto.reconcile.conditions import true_condition
from stretto.reconcile.events import NO_ORIGIN, EventOrigin, EventText
from stretto.reconcile.reconciler import accepted
from stretto.reconcile.recorder import EventRecorder
from stretto.stores.store import Deletion, Store

OWNER: Final = "owner"
"""Index of objects by the uid of their controller."""
DEPLOYMENTS: Final = "deployment-controller"
"""Reporter of events about Deployments."""
STATEFUL_SETS: Final = "statefulset-controller"
"""Reporter of events about StatefulSets."""
DAEMON_SETS: Final = "daemonset-controller"
"""Reporter of events about DaemonSets."""
JOBS: Final = "job-controller"
"""Reporter of events about Jobs."""
CRON_JOBS: Final = "cronjob-controller"
"""Reporter of events about CronJobs."""
NODES: Final = "node-controller"
"""Reporter of events about nodes."""
TAINTS: Final = "taint-eviction-controller"
"""Reporter of events about pods that taints evict."""
VOLUMES: Final = "persistentvolume-controller"
"""Reporter of events about PVCs and volumes."""
KUBELET: Final = "kubelet"
"""Reporter of events about containers."""
REPORTERS: Final = {
    REPLICA_SET: "replicaset-controller",
    REPLICATION_CONTROLLER: "replication-controller",
}
"""Reporters of events, by kind of replicas."""
_ALL: Final = (
    DEPLOYMENTS,
    STATEFUL_SETS,
    DAEMON_SETS,
    JOBS,
    CRON_JOBS,
    NODES,
    TAINTS,
    VOLUMES,
    *REPORTERS.values(),
)
BURST: Final = 500
"""Number of pods that a controller creates for one workload at a time, as in Kubernetes.

The new pods make the workload due again, so a large workload delays no other one.
"""
NO_RECORDERS: Final[Mapping[str, EventRecorder]] = MappingProxyType({})
"""Recorders of controllers that write no events."""
CONTROLLER_REVISION: Final = Kind("apps", "v1", "ControllerRevision", "controllerrevisions")
WORKLOADS: Final = (
    POD,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    DEPLOYMENT,
    STATEFUL_SET,
    DAEMON_SET,
    JOB,
    CONTROLLER_REVISION,
)
"""Pods, their revisions, and the kinds of their direct and indirect owners."""


def event_recorders(
    store: Store, clock: Clock, *, kubelets: bool = False
) -> Mapping[str, EventRecorder]:
    """Recorders of all controllers that write events, optionally also of kubelets."""
    names = (*_ALL, KUBELET) if kubelets else _ALL
    return {name: EventRecorder(store, clock, name) for name in names}


def owner_of(item: StoredObject) -> Fields | None:
    """The owner reference of an object's controller; ``None`` if there is none."""
    references: Iterable[Fields] = item.metadata.get("ownerReferences") or ()
    return next((each for each in references if each.get("controller")), None)


def _owner_uid(item: StoredObject) -> Iterable[str]:
    owner = owner_of(item)
    return [str(owner["uid"])] if owner is not None else ()


class LocalCluster:
    """Reads (from caches) and writes of one cluster."""

    def __init__(
        self,
        cache: StoreCache,
        clock: Clock,
        recorders: Mapping[str, EventRecorder] = NO_RECORDERS,
        most_waiting: int | None = None,
    ) -> None:
        """Follow the kinds of workloads.

        Args:
            cache: caches of the cluster's store.
            clock: wall time of statuses.
            recorders: writers of events by controller; controllers without a writer write no
                events.
            most_waiting: number of pods of a workload that may wait for a node; no further pods are
                created meanwhile. ``None`` for no limit, as in Kubernetes.
        """
        #: Number of pods of a workload that may wait for a node; ``None`` for no limit.
        self.most_waiting = most_waiting
        #: Name of the cluster in changes.
        self.name = cache.name
        self._cache = cache
        self._clock = clock
        self._recorders = recorders
        for kind in (NODE, *WORKLOADS):
            cache.follow(kind).add_index(OWNER, _owner_uid)

    # ---------------------------------------------------------------- reads

    def objects(self, kind: Kind) -> ObjectCache:
        """The objects of a kind."""
        return self._cache.follow(kind)

    def owned(self, kind: Kind, owner: StoredObject) -> list[StoredObject]:
        """The objects of a kind that a controller owns, by creation time."""
        found = self.objects(kind).indexed(OWNER, owner.record.uid)
        return sorted(found, key=lambda each: (each.record.created, each.record.name))

    def creatable(self, missing: int, pods: Collection[StoredObject]) -> int:
        """Number of pods that a controller creates for a workload now.

        Args:
            missing: number of pods that the workload lacks; negative if it has too many.
            pods: its pods.
        """
        if self.most_waiting is not None:
            waiting = sum(not each.record.node for each in pods)
            missing = min(missing, self.most_waiting - waiting)
        return max(0, min(missing, BURST))

    def keys(self, change: Change, kind: Kind) -> Iterable[Name]:
        """Keys of a kind that a change affects: the object itself, or the owner of its pod."""
        if change.source != self.name:
            return
        if change.kind == kind:
            yield change.object.name
            return
        owner = owner_of(change.object)
        if owner is not None and owner.get("kind") == kind.kind:
            yield change.object.record.namespace, owner["name"]

    def now_text(self) -> str:
        """The current time in the format of statuses."""
        return timestamp(int(self._clock.now()))

    def age(self, text: str) -> float:
        """Seconds since an RFC 3339 time."""
        return self._clock.now() - parse_timestamp(text)

    # ---------------------------------------------------------------- writes

    def create(self, kind: Kind, fields: Fields) -> str:
        """Create an object; return its name, which the store may have generated.

        Raises:
            RetryError: the store refused the object.
        """
        reply = self._cache.store.create(kind, [msgspec.json.encode(fields)])[0]
        if reply.code.value != "AlreadyExists":
            accepted(reply, f"create {kind.kind}")
        given = reply.record.name if reply.record is not None else fields["metadata"].get("name")
        return str(given)

    def patch(self, item: StoredObject, change: Mapping[str, Any]) -> None:
        """Merge a patch into an object.

        Raises:
            RetryError: the store refused the patch.
        """
        writes.patch(self._cache.store, item, change)

    def set_status(self, item: StoredObject, status: Fields) -> None:
        """Write the changed fields of a status; ``None`` removes a field.

        Raises:
            RetryError: the store refused the change.
        """
        changed = {key: value for key, value in status.items() if item.status.get(key) != value}
        if changed:
            writes.patch_status(self._cache.store, item, changed)

    def annotate(self, item: StoredObject, annotations: Mapping[str, str]) -> None:
        """Set annotations through the status of an object, without a new generation.

        Raises:
            RetryError: the store refused the change.
        """
        writes.annotate_status(self._cache.store, item, annotations)

    def note(
        self,
        controller: str,
        item: StoredObject,
        *texts: EventText,
        origin: EventOrigin = NO_ORIGIN,
    ) -> None:
        """Write events of a controller about an object."""
        recorder = self._recorders.get(controller)
        if recorder is not None:
            recorder.record(item, *texts, origin=origin)

    def delete(self, items: Iterable[StoredObject]) -> None:
        """Delete objects; objects that do not exist count as deleted."""
        for item in items:
            record = item.record
            deletion = Deletion(record.namespace, record.name, record.uid)
            self._cache.store.delete(record.kind, [deletion])


def controller_reference(owner: StoredObject) -> Fields:
    """A reference to the controller of an object."""
    record = owner.record
    return {
        "apiVersion": record.kind.api_version,
        "kind": record.kind.kind,
        "name": record.name,
        "uid": record.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owned_metadata(owner: StoredObject, **fields: Any) -> Fields:
    """Metadata of an object that a controller creates."""
    references = [controller_reference(owner)]
    return {"namespace": owner.record.namespace, "ownerReferences": references, **fields}


def is_active(pod: StoredObject) -> bool:
    """Return whether a pod counts as a replica: it has not ended and is not being deleted."""
    return pod.status.get("phase") not in ENDED and not pod.is_terminating


def ready_since(pod: StoredObject) -> str | None:
    """RFC 3339 time since which a pod is ready; ``None`` if it is not ready."""
    ready = true_condition(pod.status.get("conditions"), "Ready")
    return None if ready is None else str(ready.get("lastTransitionTime") or pod.record.created)


def available(cluster: LocalCluster, pod: StoredObject, min_ready: float) -> bool:
    """Return whether a pod has been ready for ``min_ready`` seconds."""
    since = ready_since(pod)
    return since is not None and cluster.age(since) >= min_ready

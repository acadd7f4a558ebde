"""ReplicaSets and ReplicationControllers: as many pods as desired replicas."""

from collections.abc import Hashable, Iterable
from typing import Final

from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import POD, REPLICA_SET, Kind
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.conditions import condition_of
from stretto.reconcile.events import EventText
from stretto.reconcile.reconciler import RetryError
from stretto.workloads.adoption import Claims
from stretto.workloads.cluster import OWNER, REPORTERS, LocalCluster, available, ready_since
from stretto.workloads.notices import create_failed, created, deleted
from stretto.workloads.pods import pod_of, removed_first

_FAILURE: Final = "ReplicaFailure"


class ReplicaController:
    """Controller that creates the pods of a kind of replicas."""

    def __init__(self, cluster: LocalCluster, kind: Kind) -> None:
        """Control the ReplicaSets or the ReplicationControllers of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/{kind.plural}"
        self._cluster = cluster
        self._kind = kind
        self._claims = Claims(cluster)
        self._reporter = REPORTERS[kind]

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed object, that of a changed pod, and those that may adopt a pod."""
        return self._claims.affected(change, self._kind)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Create and delete pods of one object, and write its status."""
        item = self._cluster.objects(self._kind).active(key)
        if item is None:
            return None
        pods = self._claims.pods_of(item)
        missing = int(item.spec.get("replicas", 1)) - len(pods)
        failure = self._create(item, self._cluster.creatable(missing, pods))
        if missing < 0:
            self._delete(item, removed_first(self._cluster, pods, -missing))
        due = self._count(item, pods, failure)
        if failure is not None:
            raise failure
        return due

    def _create(self, item: StoredObject, count: int) -> RetryError | None:
        """Create pods until one is refused; write an event about each."""
        texts: list[EventText] = []
        failure: RetryError | None = None
        for _ in range(count):
            made = pod_of(item, item.spec["template"], generateName=f"{item.record.name}-")
            try:
                texts.append(created(self._cluster.create(POD, made)))
            except RetryError as error:
                texts.append(create_failed(error))
                failure = error
                break
        self._cluster.note(self._reporter, item, *texts)
        return failure

    def _delete(self, item: StoredObject, pods: list[StoredObject]) -> None:
        """Delete pods, and write an event about each."""
        self._cluster.delete(pods)
        self._cluster.note(self._reporter, item, *(deleted(pod.record.name) for pod in pods))

    def _count(
        self, item: StoredObject, pods: list[StoredObject], failure: RetryError | None
    ) -> float | None:
        """Write the status; return the seconds until a ready pod becomes available."""
        wait = float(item.spec.get("minReadySeconds") or 0)
        ready = [pod for pod in pods if ready_since(pod) is not None]
        usable = [pod for pod in ready if available(self._cluster, pod, wait)]
        status: Fields = {
            "observedGeneration": item.metadata.get("generation", 1),
            "replicas": len(pods),
            "fullyLabeledReplicas": len(pods),
            "readyReplicas": len(ready) or None,
            "availableReplicas": len(usable) or None,
            "conditions": self._conditions(item, failure),
        }
        if self._kind == REPLICA_SET:
            status["terminatingReplicas"] = sum(
                pod.is_terminating and pod.status.get("phase") not in ENDED
                for pod in self._cluster.objects(POD).indexed(OWNER, item.record.uid)
            )
        self._cluster.set_status(item, status)
        return wait if len(usable) < len(ready) else None

    def _conditions(self, item: StoredObject, failure: RetryError | None) -> list[Fields] | None:
        """The conditions of an object: the first refusal of a pod, until no pod is refused.

        The message contains the name of a pod. If it changed at each attempt, the object would
        become due at once.
        """
        before: list[Fields] = item.status.get("conditions") or []
        kept = [each for each in before if failure is not None or each.get("type") != _FAILURE]
        if failure is not None and condition_of(kept, _FAILURE) is None:
            made = {"type": _FAILURE, "status": "True", "reason": "FailedCreate"}
            since = self._cluster.now_text()
            kept.append({**made, "lastTransitionTime": since, "message": failure.cause})
        return kept or None

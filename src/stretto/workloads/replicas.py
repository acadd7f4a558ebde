"""ReplicaSets: as many pods as replicas."""

from collections.abc import Hashable, Iterable

from stretto.api.wire.kinds import POD, REPLICA_SET
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.events import EventLevel, EventText
from stretto.reconcile.reconciler import RetryError
from stretto.workloads.cluster import REPLICA_SETS, LocalCluster, available, is_active, ready_since
from stretto.workloads.pods import pod_of, removed_first


class ReplicaSetController:
    """From ReplicaSets to pods."""

    def __init__(self, cluster: LocalCluster) -> None:
        """For the ReplicaSets of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/replicasets"
        self._cluster = cluster

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The ReplicaSet, also that of a pod."""
        return self._cluster.keys(change, REPLICA_SET)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Create and delete pods of one ReplicaSet, and count them."""
        assert isinstance(key, tuple)
        item = self._cluster.objects(REPLICA_SET).get(*key)
        if item is None or item.is_terminating:
            return None
        pods = [pod for pod in self._cluster.owned(POD, item) if is_active(pod)]
        missing = int(item.spec.get("replicas", 1)) - len(pods)
        for _ in range(missing):
            made = pod_of(item, item.spec["template"], generateName=f"{item.record.name}-")
            self._create(item, made)
        if missing < 0:
            self._cluster.delete(removed_first(self._cluster, pods, -missing))
        return self._count(item, pods)

    def _create(self, item: StoredObject, pod: Fields) -> None:
        """Create a pod; a refusal is an event.

        Raises:
            RetryError: it was refused.
        """
        try:
            self._cluster.create(POD, pod)
        except RetryError as error:
            text = EventText(EventLevel.WARNING, "FailedCreate", f"Error creating: {error}")
            self._cluster.note(REPLICA_SETS, item, text)
            raise

    def _count(self, item: StoredObject, pods: list[StoredObject]) -> float | None:
        """Write the status; seconds until a ready pod becomes available."""
        wait = float(item.spec.get("minReadySeconds") or 0)
        ready = [pod for pod in pods if ready_since(pod) is not None]
        usable = [pod for pod in ready if available(self._cluster, pod, wait)]
        status: Fields = {
            "observedGeneration": item.metadata.get("generation", 1),
            "replicas": len(pods),
            "fullyLabeledReplicas": len(pods),
            "readyReplicas": len(ready) or None,
            "availableReplicas": len(usable) or None,
        }
        self._cluster.set_status(item, status)
        return wait if len(usable) < len(ready) else None

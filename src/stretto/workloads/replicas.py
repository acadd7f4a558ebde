"""ReplicaSets and ReplicationControllers: as many pods as replicas."""

from collections.abc import Hashable, Iterable

from stretto.api.wire.kinds import POD, Kind
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.events import EventLevel, EventText
from stretto.reconcile.reconciler import RetryError
from stretto.workloads.adoption import PodClaims, selector_of
from stretto.workloads.cluster import REPORTERS, LocalCluster, available, owner_of, ready_since
from stretto.workloads.pods import pod_of, removed_first


class ReplicaController:
    """From the objects of a kind to pods."""

    def __init__(self, cluster: LocalCluster, kind: Kind) -> None:
        """For the ReplicaSets or the ReplicationControllers of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/{kind.plural}"
        self._cluster = cluster
        self._kind = kind
        self._claims = PodClaims(cluster)
        self._reporter = REPORTERS[kind]

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The object, also that of a pod, and those that select a pod without controller."""
        yield from self._cluster.keys(change, self._kind)
        if change.kind == POD and change.source == self._cluster.name:
            pod = change.new
            if pod is not None and owner_of(pod) is None:
                for item in self._cluster.objects(self._kind).in_namespace(pod.record.namespace):
                    if selector_of(item).matches(pod.labels):
                        yield item.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Create and delete pods of one object, and count them."""
        assert isinstance(key, tuple)
        item = self._cluster.objects(self._kind).get(*key)
        if item is None or item.is_terminating:
            return None
        pods = self._claims.pods_of(item)
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
            self._cluster.note(self._reporter, item, text)
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

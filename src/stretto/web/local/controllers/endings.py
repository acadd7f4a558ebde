"""Ends of pods and namespaces that are being deleted, as kubelets and controllers complete them."""

from collections.abc import Hashable, Iterable
from contextlib import suppress

from stretto.api.wire.kinds import NAMESPACE, POD, Kind
from stretto.reconcile.cache import Change
from stretto.web.api.failures import ApiError
from stretto.web.api.internal import ApiClient
from stretto.web.api.state import ApiState
from stretto.workloads.cluster import LocalCluster


class PodEndController:
    """Removes bound pods that are being deleted: the simulated containers stop at once."""

    def __init__(self, cluster: LocalCluster, client: ApiClient) -> None:
        """For the pods of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/pod-end"
        self._cluster = cluster
        self._client = client

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The pod."""
        if change.kind == POD and change.new is not None and change.new.is_terminating:
            yield change.object.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Remove one pod."""
        assert isinstance(key, tuple)
        namespace, name = key
        pod = self._cluster.objects(POD).get(namespace, name)
        if pod is not None and pod.is_terminating and not pod.metadata.get("finalizers"):
            with suppress(ApiError):
                self._client.delete(POD, namespace, name, grace=0)
        return None


class NamespaceEndController:
    """Removes the content of namespaces that are being deleted, and then the namespaces."""

    def __init__(self, name: str, state: ApiState, client: ApiClient) -> None:
        """For the namespaces of a server."""
        #: Name in logs and messages.
        self.name = f"{name}/namespace-end"
        self._state = state
        self._client = client

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The namespace."""
        if change.kind == NAMESPACE and change.new is not None and change.new.is_terminating:
            yield change.object.record.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Delete what a namespace contains; the next attempt follows until nothing is left."""
        name = str(key)
        storage = self._state.storage
        found = storage.find(NAMESPACE, "", name)
        if found is None or not found.record.deleting:
            return None
        left = 0
        for resource in self._state.resources.all():
            if resource.kind.namespaced and "delete" in resource.facts.verbs:
                left += self._emptied(resource.stored, name)
        if left:
            return 0.1
        served = self._state.resources.find("", "v1", "namespaces")
        if served is not None:
            storage.remove(served, found.record)
        return None

    def _emptied(self, kind: Kind, namespace: str) -> int:
        """Delete the objects of a kind; returns how many there were."""
        records = self._state.storage.listing(kind, namespace).records
        for record in records:
            with suppress(ApiError):
                self._client.delete(kind, namespace, record.name, grace=0)
        return len(records)

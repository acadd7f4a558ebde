"""Removal of pods that are being deleted, as by kubelets."""

from collections.abc import Hashable, Iterable
from typing import Final

from stretto.api.wire.kinds import POD
from stretto.reconcile.cache import Change
from stretto.web.api.failures import ApiError
from stretto.web.api.internal import AT_ONCE, ApiClient
from stretto.workloads.cluster import LocalCluster
from stretto.workloads.kubelet.events import PodEvents

_SOON: Final = 0.5
"""Seconds until the next attempt of a deletion that waits for webhooks."""


class PodEndController:
    """Controller that removes bound pods being deleted; simulated containers stop at once."""

    def __init__(self, cluster: LocalCluster, client: ApiClient) -> None:
        """Control the pods of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/pod-end"
        self._cluster = cluster
        self._client = client
        self._events = PodEvents(cluster)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed pod."""
        if change.kind == POD and change.new is not None and change.new.is_terminating:
            yield change.object.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Remove one pod."""
        assert isinstance(key, tuple)
        namespace, name = key
        pod = self._cluster.objects(POD).get(namespace, name)
        if pod is not None and pod.is_terminating and not pod.metadata.get("finalizers"):
            self._events.stopped(pod)
            try:
                self._client.delete(POD, namespace, name, AT_ONCE)
            except ApiError as error:
                return _SOON if error.reason == "ServiceUnavailable" else None
        return None

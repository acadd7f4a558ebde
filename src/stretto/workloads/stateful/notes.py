"""The events of StatefulSets, with the texts of Kubernetes."""

from collections.abc import Iterator
from contextlib import contextmanager

from stretto.reconcile.cache import StoredObject
from stretto.reconcile.events import EventLevel, EventText
from stretto.reconcile.reconciler import RetryError
from stretto.workloads.cluster import STATEFUL_SETS, LocalCluster


class MemberNotes:
    """Writer of events about the pods and PVCs of StatefulSets."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Write for the StatefulSets of a cluster."""
        self._cluster = cluster

    @contextmanager
    def creation(self, item: StoredObject, what: str, result: str = "successful") -> Iterator[None]:
        """Write an event about the creation of an object, or about its refusal.

        Args:
            item: the StatefulSet.
            what: kind and name of the object and a preposition, such as ``Pod db-0 in``.
            result: last word of the event about a created object.

        Raises:
            RetryError: the store refused the object.
        """
        text = f"{what} StatefulSet {item.record.name}"
        try:
            yield
        except RetryError as error:
            failed = f"Create {text} failed error: {error.cause}"
            self._note(item, EventLevel.WARNING, "FailedCreate", failed)
            raise
        self._note(item, EventLevel.NORMAL, "SuccessfulCreate", f"Create {text} {result}")

    def deleted(self, item: StoredObject, pod: str) -> None:
        """Write an event about a deleted pod, given its name."""
        text = f"Delete Pod {pod} in StatefulSet {item.record.name} successful"
        self._note(item, EventLevel.NORMAL, "SuccessfulDelete", text)

    def recreated(self, item: StoredObject, pod: StoredObject) -> None:
        """Write an event about an ended pod that is replaced."""
        whole = f"StatefulSet {item.record.namespace}/{item.record.name} is recreating"
        if pod.status.get("phase") == "Failed":
            text = f"{whole} failed Pod {pod.record.name}"
            self._note(item, EventLevel.WARNING, "RecreatingFailedPod", text)
        else:
            text = f"{whole} terminated Pod {pod.record.name}"
            self._note(item, EventLevel.NORMAL, "RecreatingTerminatedPod", text)

    def _note(self, item: StoredObject, level: EventLevel, reason: str, text: str) -> None:
        self._cluster.note(STATEFUL_SETS, item, EventText(level, reason, text))

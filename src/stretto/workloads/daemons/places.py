"""The pods of one node of a DaemonSet, and the selection of those that stay.

As in the DaemonSet controller of Kubernetes: a node that the template no longer tolerates keeps its
running pod, unless a taint evicts it; a pod that is being deleted blocks its successor; of several
pods, the oldest one with a node stays.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stretto.api.types.heads import ENDED
from stretto.reconcile.cache import StoredObject
from stretto.workloads.daemons.eligible import NodeFit


@dataclass(frozen=True, slots=True)
class DaemonPlace:
    """One node of a DaemonSet and its pods."""

    #: Name of the node.
    node: str
    #: Result of the check of the node: whether it gets a pod, and whether it keeps one.
    fit: NodeFit
    #: All its pods, including ended pods and those being deleted; the oldest first.
    pods: Sequence[StoredObject]
    #: Uids of the pods of the current revision.
    current: frozenset[str]
    #: Uids of the pods that are available.
    available: frozenset[str]

    @property
    def running(self) -> list[StoredObject]:
        """The pods that have not ended and are not being deleted, the oldest first."""
        return [pod for pod in self.pods if not pod.is_terminating and not has_ended(pod)]

    @property
    def ended(self) -> list[StoredObject]:
        """The pods that have ended and are not being deleted yet."""
        return [pod for pod in self.pods if not pod.is_terminating and has_ended(pod)]

    @property
    def new(self) -> StoredObject | None:
        """The running pod of the current revision."""
        return next((pod for pod in self.running if pod.record.uid in self.current), None)

    @property
    def old(self) -> StoredObject | None:
        """The running pod of an earlier revision."""
        return next((pod for pod in self.running if pod.record.uid not in self.current), None)

    def is_available(self, pod: StoredObject | None) -> bool:
        """Return whether a pod exists and is available."""
        return pod is not None and pod.record.uid in self.available


@dataclass(frozen=True, slots=True)
class DaemonStep:
    """Pods to delete and to create in one step."""

    #: Pods to delete.
    deleted: list[StoredObject]
    #: Names of the nodes that get a pod.
    created: list[str]

    @property
    def is_empty(self) -> bool:
        """Return whether the step changes nothing."""
        return not self.deleted and not self.created


def repaired(places: Iterable[DaemonPlace], *, surges: bool) -> DaemonStep:
    """Return the step to one pod per node, without updates; ended pods are excluded.

    Args:
        places: the nodes with their pods.
        surges: whether an update may add a second pod to a node.
    """
    deleted: list[StoredObject] = []
    created: list[str] = []
    for place in places:
        if not place.fit.keeps:
            deleted += [pod for pod in place.pods if not pod.is_terminating]
            continue
        running = place.running
        is_free = not running and not place.ended if surges else not place.pods
        if place.fit.runs and is_free:
            created.append(place.node)
        elif len(running) > 1:
            kept = _kept_pair(place) if surges else running[:1]
            deleted += [pod for pod in running if pod not in kept]
    return DaemonStep(deleted, created)


def has_ended(pod: StoredObject) -> bool:
    """Return whether a pod has ended."""
    return pod.status.get("phase") in ENDED


def _kept_pair(place: DaemonPlace) -> list[StoredObject]:
    """The pods that stay during a surge: the new one, and the old one until the new one is ready.

    An old pod that is not available is deleted, because it does not help next to its successor.
    """
    new, old = place.new, place.old
    if new is None or old is None:
        return place.running[:1]
    is_needed = place.is_available(old) and not place.is_available(new)
    return [new, old] if is_needed else [new]

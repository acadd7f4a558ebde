"""The pods that are relevant for tidal pools: pending online pods, and the pods of single nodes."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from stretto.api.types.core import Taint
from stretto.api.types.effective_requests import requests
from stretto.api.types.heads import ENDED
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import POD
from stretto.api.wire.quantity import CPU
from stretto.capacity.tides.pool import POD_TYPE
from stretto.capacity.tides.switching import Candidate, PodName
from stretto.reconcile.cache import StoreCache, StoredObject
from stretto.reconcile.pods import unschedulable_for
from stretto.state.classes.preemption_attributes import CAN_BE_PREEMPTED
from stretto.state.nodes.taints import NO_EXECUTE, tolerates

ONLINE: Final = "online"
"""Value of the label ``POD_TYPE`` of online pods."""
STUCK_S: Final = 10.0
"""Seconds for which a pod must be unschedulable to count."""
_BY_NODE: Final = "tide pods by node"
_PENDING: Final = ""
_OF_NODE: Final = frozenset({"DaemonSet", "Node"})
"""Kinds of owners whose pods belong to the node itself."""


class PendingOnline(NamedTuple):
    """Online pods without a node."""

    #: Priority of each pod that has been unschedulable for long enough.
    stuck: Mapping[PodName, int]
    #: Number of all such pods.
    total: int


class TidePods:
    """The pods of a cluster by node."""

    def __init__(self, cache: StoreCache) -> None:
        """Follow the pods of a cluster."""
        self._pods = cache.follow(POD)
        self._pods.add_index(_BY_NODE, lambda pod: (pod.record.node or _PENDING,))

    def pending(self, now: float) -> PendingOnline:
        """Online pods without a node, at ``now`` in seconds since the epoch."""
        found = [each for each in self._active(_PENDING) if is_online(each)]
        stuck = {}
        for each in found:
            age = unschedulable_for(each, now)
            if age is not None and age >= STUCK_S:
                stuck[each.name] = int(each.spec.get("priority") or 0)
        return PendingOnline(stuck, len(found))

    def online(self, node: str) -> int:
        """Number of online pods on a node; terminating pods count until they are deleted."""
        return sum(map(is_online, self._pods.indexed(_BY_NODE, node)))

    def victims(self, node: str, taint: Taint) -> list[StoredObject]:
        """Offline pods of a node that do not tolerate a taint and that it evicts."""
        if taint.effect != NO_EXECUTE:
            return []
        found = [each for each in self._active(node) if not is_online(each)]
        return [each for each in found if not (_belongs(each) or _tolerates(each, taint))]

    def candidate(self, node: str, taint: Taint) -> Candidate | None:
        """Convert an offline node to a candidate.

        ``None`` if one of its pods must not be evicted.
        """
        victims = self.victims(node, taint)
        if any(each.annotations.get(CAN_BE_PREEMPTED) == "false" for each in victims):
            return None
        names = tuple(sorted(each.name for each in victims))
        highest = max((int(each.spec.get("priority") or 0) for each in victims), default=None)
        cost = sum(requests(each.read(Pod).spec).get(CPU, 0) for each in victims)
        return Candidate(node, names, highest, cost)

    def _active(self, node: str) -> Iterable[StoredObject]:
        return (
            each
            for each in self._pods.indexed(_BY_NODE, node)
            if not each.is_terminating and each.status.get("phase") not in ENDED
        )


def is_online(pod: StoredObject) -> bool:
    """Return whether a pod is online."""
    return pod.labels.get(POD_TYPE) == ONLINE


def _belongs(pod: StoredObject) -> bool:
    """Return whether a pod belongs to its node."""
    owners = pod.metadata.get("ownerReferences") or ()
    return any(each.get("controller") and each.get("kind") in _OF_NODE for each in owners)


def _tolerates(pod: StoredObject, taint: Taint) -> bool:
    return any(tolerates(each, taint) for each in pod.read(Pod).spec.tolerations)

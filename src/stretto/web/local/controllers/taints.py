"""Evictions by taints: pods leave a node if they do not tolerate its NoExecute taints."""

from collections.abc import Hashable, Iterable
from math import inf
from typing import Final

import msgspec

from stretto.api.types.core import Taint
from stretto.api.types.pod import Toleration
from stretto.api.wire.kinds import NODE, POD
from stretto.reconcile.cache import Change, StoredObject
from stretto.reconcile.events import EventLevel, EventText
from stretto.state.nodes.taints import NO_EXECUTE, tolerates
from stretto.workloads.cluster import TAINTS, LocalCluster, is_active

_BY_NODE: Final = "node"
"""Index of pods by their node."""


class TaintEvictionController:
    """Controller that deletes pods once the toleration time of a taint of their node is over."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Control the nodes of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/taint-eviction"
        self._cluster = cluster
        self._pods = cluster.objects(POD)
        self._pods.add_index(_BY_NODE, _node_of)
        #: Monotonic time at which each taint was first read, by node and key.
        self._seen: dict[str, dict[str, float]] = {}

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed node, or the node of a changed pod."""
        if change.new is None:
            return
        if change.kind == NODE:
            yield change.object.record.name
        elif change.kind == POD and change.object.record.node:
            yield change.object.record.node

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Evict the due pods of one node; return the seconds until the next one is due."""
        name = str(key)
        node = self._cluster.objects(NODE).get("", name)
        taints = [] if node is None else _evicting(node)
        if not taints:
            self._seen.pop(name, None)
            return None
        known = self._seen.get(name, {})
        self._seen[name] = {each.key: known.get(each.key, now) for each in taints}
        waits = [self._settle(pod, taints, now) for pod in self._pods.indexed(_BY_NODE, name)]
        least = min(waits, default=inf)
        return None if least == inf else least

    def _settle(self, pod: StoredObject, taints: list[Taint], now: float) -> float:
        """Evict a pod if it is due; return the seconds until it is due, infinity if never."""
        if not is_active(pod):
            return inf
        tolerations = msgspec.convert(pod.spec.get("tolerations") or [], list[Toleration])
        since = self._seen[pod.record.node]
        left = min(since[each.key] + _tolerated(each, tolerations) - now for each in taints)
        if left > 0:
            return left
        text = f"Marking for deletion Pod {pod.record.namespace}/{pod.record.name}"
        event = EventText(EventLevel.NORMAL, "TaintManagerEviction", text)
        self._cluster.note(TAINTS, pod, event)
        self._cluster.delete([pod])
        return inf


def _node_of(pod: StoredObject) -> Iterable[str]:
    return [pod.record.node] if pod.record.node else ()


def _evicting(node: StoredObject) -> list[Taint]:
    """Return the NoExecute taints of a node."""
    taints = msgspec.convert(node.spec.get("taints") or [], list[Taint])
    return [each for each in taints if each.effect == NO_EXECUTE]


def _tolerated(taint: Taint, tolerations: list[Toleration]) -> float:
    """Seconds for which a taint is tolerated; 0: not tolerated, infinity: without limit."""
    matching = [each for each in tolerations if tolerates(each, taint)]
    limits = [each.toleration_seconds for each in matching if each.toleration_seconds is not None]
    if not matching:
        return 0.0
    return float(max(0, min(limits))) if limits else inf

"""Marks of nodes that kube-controller-manager sets, and its events about nodes."""

from collections.abc import Hashable, Iterable
from typing import Any, Final

from stretto.api.wire.kinds import NODE
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.events import EventLevel, EventText
from stretto.workloads.cluster import NODES, LocalCluster

MOST: Final = 1000
"""Maximum number of nodes that get annotations and events: each costs a write at the start."""
_CORDON: Final = "node.kubernetes.io/unschedulable"
_LABELS: Final = {
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
}
"""Older labels and the labels whose values they repeat."""
_TTL: Final = "node.alpha.kubernetes.io/ttl"
"""Annotation with the seconds for which a kubelet may cache Secrets and ConfigMaps."""
_SECONDS: Final = ((100, 0), (500, 15), (1000, 30))
"""Seconds of the annotation, by the maximum number of nodes."""


class NodeRegistrationController:
    """Controller that labels, annotates and taints nodes, and writes events about them."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Control the nodes of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/node-registration"
        self._cluster = cluster
        self._nodes = cluster.objects(NODE)
        self._known: dict[str, StoredObject] = {}

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed node."""
        if change.kind == NODE:
            yield change.object.record.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Mark one node, or write the event about its removal."""
        name = str(key)
        node, known = self._nodes.get("", name), self._known.get(name)
        if known is not None and (node is None or node.record.uid != known.record.uid):
            del self._known[name]
            self._note(known, "RemovingNode", "Removing Node {} from Controller")
        if node is None or node.is_terminating:
            return None
        if name not in self._known and len(self._known) < MOST:
            self._note(node, "RegisteredNode", "Registered Node {} in Controller")
            self._known[name] = node
        change = {**self._metadata(node), **self._taints(node)}
        if change:
            self._cluster.patch(node, change)
        return None

    def _note(self, node: StoredObject, reason: str, text: str) -> None:
        name = node.record.name
        message = f"Node {name} event: {text.format(name)}"
        self._cluster.note(NODES, node, EventText(EventLevel.NORMAL, reason, message))

    def _metadata(self, node: StoredObject) -> dict[str, Any]:
        """The missing labels and the missing annotation of a node, as a part of a patch."""
        wanted = {old: node.labels[new] for old, new in _LABELS.items() if new in node.labels}
        labels = {key: x for key, x in wanted.items() if node.labels.get(key) != x}
        seconds = next((s for most, s in _SECONDS if len(self._known) <= most), 0)
        is_marked = node.record.name not in self._known or _TTL in node.annotations
        notes = {} if is_marked else {_TTL: str(seconds)}
        found = {key: x for key, x in (("labels", labels), ("annotations", notes)) if x}
        return {"metadata": found} if found else {}

    def _taints(self, node: StoredObject) -> dict[str, Any]:
        """The taint of a cordoned node, as a part of a patch; empty if nothing changes."""
        taints: list[Fields] = node.spec.get("taints") or []
        others = [each for each in taints if each.get("key") != _CORDON]
        is_cordoned = bool(node.spec.get("unschedulable"))
        if is_cordoned == (len(others) < len(taints)):
            return {}
        since = self._cluster.now_text()
        taint = {"effect": "NoSchedule", "key": _CORDON, "timeAdded": since}
        wanted = [*others, taint] if is_cordoned else others
        return {"spec": {"taints": wanted or None}}

"""Heartbeats of simulated nodes: renewed leases, and the state of a silent node."""

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, Final

from stretto.api.wire.kinds import LEASE, NODE
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.conditions import condition_of
from stretto.workloads.cluster import LocalCluster

HEARTBEAT: Final = "stretto.dev/heartbeat"
"""Annotation of a node; ``stopped`` stops its heartbeats until the annotation is removed."""
NAMESPACE: Final = "kube-node-lease"
_STOPPED: Final = "stopped"
_MISSED: Final = 4
"""Number of missed heartbeats after which a node is unreachable: 40 s, as in Kubernetes."""
_TAINT: Final = "node.kubernetes.io/unreachable"
_EFFECTS: Final = ("NoSchedule", "NoExecute")


def is_silent(node: StoredObject) -> bool:
    """Return whether the heartbeats of a node are stopped."""
    return (node.metadata.get("annotations") or {}).get(HEARTBEAT) == _STOPPED


class HeartbeatController:
    """Controller that renews the leases of nodes, and marks silent nodes as unreachable."""

    def __init__(
        self, cluster: LocalCluster, nodes: Collection[str], interval: float, *, monitors: bool
    ) -> None:
        """Control the given nodes of a cluster.

        Args:
            cluster: the cluster.
            nodes: names of the simulated nodes.
            interval: seconds between two heartbeats.
            monitors: whether silent nodes are marked here; otherwise a kube-controller-manager does
                it.
        """
        #: Name in logs and messages.
        self.name = f"{cluster.name}/heartbeats"
        self._cluster = cluster
        self._nodes = frozenset(nodes)
        self._leases = cluster.objects(LEASE)
        self._interval = interval
        self._monitors = monitors

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed node."""
        if change.kind == NODE and change.object.record.name in self._nodes:
            yield change.object.record.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Renew or check the lease of one node; return the seconds until the next time."""
        node = self._cluster.objects(NODE).get("", str(key))
        if node is None or node.is_terminating:
            return None
        lease = self._leases.get(NAMESPACE, str(key))
        if is_silent(node):
            return self._missed(node, lease)
        age = self._age(lease)
        if age < self._interval:
            self._restore(node)
            return self._interval - age
        self._renew(node, lease)
        self._restore(node)
        return self._interval

    def _age(self, lease: StoredObject | None) -> float:
        """Seconds since the last heartbeat."""
        renewed = lease.spec.get("renewTime") if lease is not None else None
        return float("inf") if renewed is None else self._cluster.age(str(renewed))

    def _renew(self, node: StoredObject, lease: StoredObject | None) -> None:
        renewed = self._cluster.now_text().replace("Z", ".000000Z")
        if lease is not None:
            self._cluster.patch(lease, {"spec": {"renewTime": renewed}})
            return
        name = node.record.name
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.record.uid}
        metadata = {"name": name, "namespace": NAMESPACE, "ownerReferences": [owner]}
        spec = {
            "holderIdentity": name,
            "leaseDurationSeconds": round(_MISSED * self._interval),
            "renewTime": renewed,
        }
        version = LEASE.api_version
        fields = {"apiVersion": version, "kind": "Lease", "metadata": metadata, "spec": spec}
        self._cluster.create(LEASE, fields)

    def _missed(self, node: StoredObject, lease: StoredObject | None) -> float | None:
        """Mark a silent node once it has missed its heartbeats."""
        left = _MISSED * self._interval - self._age(lease)
        if left > 0:
            return left
        if self._monitors and _status_of(node, "Ready") != "Unknown":
            text = "Kubelet stopped posting node status."
            self._report(node, lambda _: "Unknown", ("NodeStatusUnknown", text))
            taints = [*_others(node), *({"key": _TAINT, "effect": each} for each in _EFFECTS)]
            self._cluster.patch(node, {"spec": {"taints": taints}})
        return None

    def _restore(self, node: StoredObject) -> None:
        """Report a node as ready again."""
        if _status_of(node, "Ready") != "Unknown":
            return
        reason = ("KubeletReady", "the simulated kubelet is ready")
        self._report(node, lambda kind: "True" if kind == "Ready" else "False", reason)
        if self._monitors:
            self._cluster.patch(node, {"spec": {"taints": _others(node) or None}})

    def _report(
        self, node: StoredObject, status_of: Callable[[Any], str], reason: tuple[str, str]
    ) -> None:
        """Write the conditions of a node with new statuses."""
        moment = self._cluster.now_text()
        conditions = [
            {
                **each,
                "status": status_of(each.get("type")),
                "reason": reason[0],
                "message": reason[1],
                "lastTransitionTime": moment,
            }
            for each in node.status.get("conditions") or ()
        ]
        self._cluster.set_status(node, {"conditions": conditions})


def _status_of(node: StoredObject, kind: str) -> str:
    """Return the status of a condition; empty if it is missing."""
    found = condition_of(node.status.get("conditions") or (), kind)
    return "" if found is None else str(found.get("status"))


def _others(node: StoredObject) -> list[Fields]:
    """Return the taints of a node that have other causes."""
    return [each for each in node.spec.get("taints") or () if each.get("key") != _TAINT]

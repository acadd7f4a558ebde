"""Simulated kubelets of nodes that users create: the nodes become ready."""

from collections.abc import Hashable, Iterable
from typing import Final

from stretto.api.wire.kinds import NODE
from stretto.reconcile.cache import Change
from stretto.web.api.state import ApiState
from stretto.workloads.cluster import LocalCluster

_NOT_READY: Final = "node.kubernetes.io/not-ready"


class NodeReadyController:
    """Controller that reports nodes as ready and removes their not-ready taint."""

    def __init__(self, cluster: LocalCluster, state: ApiState) -> None:
        """Control the nodes of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/node-ready"
        self._cluster = cluster
        self._state = state

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed node."""
        if change.kind == NODE and change.new is not None:
            yield change.object.record.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Make one node ready."""
        found = self._state.storage.find(NODE, "", str(key))
        resource = self._state.resources.find("", "v1", "nodes")
        if found is None or resource is None or found.record.deleting:
            return None
        item = found.item
        spec, status = dict(item.get("spec") or {}), dict(item.get("status") or {})
        conditions = list(status.get("conditions") or ())
        taints = [each for each in spec.get("taints") or () if each.get("key") != _NOT_READY]
        is_known = any(each.get("type") == "Ready" for each in conditions)
        if is_known and len(taints) == len(spec.get("taints") or ()):
            return None
        if not is_known:
            moment = self._state.now
            ready = {
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "the simulated kubelet is ready",
                "lastHeartbeatTime": moment,
                "lastTransitionTime": moment,
            }
            status["conditions"] = [*conditions, ready]
        spec.pop("taints", None)
        if taints:
            spec["taints"] = taints
        self._state.storage.replace(
            resource, found.record, {**item, "spec": spec, "status": status}
        )
        return None

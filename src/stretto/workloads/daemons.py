"""DaemonSets: one pod for each eligible node."""

from collections.abc import Hashable, Iterable

import msgspec

from stretto.api.admission.tolerations import daemon_tolerations
from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.types.pod import PodSpec, Toleration
from stretto.api.wire.generated_names import hash_label
from stretto.api.wire.kinds import DAEMON_SET, NODE, POD
from stretto.api.wire.selectors import node_terms
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.state.nodes.taints import NO_EXECUTE, NO_SCHEDULE, untolerated
from stretto.workloads.cluster import LocalCluster, is_active, ready_since
from stretto.workloads.pods import pod_of


class DaemonSetController:
    """From DaemonSets to pods."""

    def __init__(self, cluster: LocalCluster) -> None:
        """For the DaemonSets of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/daemonsets"
        self._cluster = cluster

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The DaemonSet, also that of a pod; all of them after a change of a node."""
        if change.source == self._cluster.name and change.kind == NODE:
            return [each.name for each in self._cluster.objects(DAEMON_SET)]
        return self._cluster.keys(change, DAEMON_SET)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Create the missing pods of one DaemonSet, delete the others, and count them."""
        assert isinstance(key, tuple)
        item = self._cluster.objects(DAEMON_SET).get(*key)
        if item is None or item.is_terminating:
            return None
        spec = {**item.spec["template"]["spec"]}
        spec["tolerations"] = daemon_tolerations(spec)
        nodes = {each.record.name for each in self._eligible(spec)}
        revision = hash_label(item.spec["template"], item.record.name)
        placed: dict[str, StoredObject] = {}
        for pod in self._cluster.owned(POD, item):
            node = _target(pod)
            outdated = pod.labels.get("controller-revision-hash") != revision
            if node in nodes and node not in placed and is_active(pod) and not outdated:
                placed[node] = pod
            elif not pod.is_terminating:
                self._cluster.delete([pod])
        for node in sorted(nodes - placed.keys()):
            self._create(item, spec, node, revision)
        self._count(item, len(nodes), list(placed.values()))
        return None

    def _eligible(self, spec: Fields) -> Iterable[StoredObject]:
        """Nodes that the pods may run on."""
        pod = decode_as(PodSpec, msgspec.json.encode(spec), "template")
        tolerations: tuple[Toleration, ...] = pod.tolerations
        affinity = pod.affinity.node_affinity if pod.affinity is not None else None
        terms = affinity.required if affinity is not None else None
        selected = node_terms(terms, "affinity")
        for item in self._cluster.objects(NODE):
            node = item.read(Node)
            if untolerated(node.spec.taints, tolerations, (NO_SCHEDULE, NO_EXECUTE)):
                continue
            if not pod.node_selector.items() <= node.metadata.labels.items():
                continue
            labels = node.metadata.labels
            if terms is None or any(each.matches(node.metadata.name, labels) for each in selected):
                yield item

    def _create(self, item: StoredObject, spec: Fields, node: str, revision: str) -> None:
        """Create the pod of one node, with an affinity that names it."""
        affinity = dict(spec.get("affinity") or {})
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        required = {"nodeSelectorTerms": [term]}
        affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": required}
        template = {**item.spec["template"], "spec": {**spec, "affinity": affinity}}
        labels = {"controller-revision-hash": revision}
        made = pod_of(item, template, generateName=f"{item.record.name}-", labels=labels)
        self._cluster.create(POD, made)

    def _count(self, item: StoredObject, wanted: int, pods: list[StoredObject]) -> None:
        """Write the status."""
        ready = sum(ready_since(pod) is not None for pod in pods)
        status: Fields = {
            "observedGeneration": item.metadata.get("generation", 1),
            "currentNumberScheduled": len(pods),
            "desiredNumberScheduled": wanted,
            "numberMisscheduled": 0,
            "numberReady": ready,
            "numberAvailable": ready or None,
            "numberUnavailable": (wanted - ready) or None,
            "updatedNumberScheduled": len(pods) or None,
        }
        self._cluster.set_status(item, status)


def _target(pod: StoredObject) -> str:
    """The node of a pod: where it runs, or where its affinity sends it."""
    if pod.record.node:
        return pod.record.node
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            return str(field["values"][0])
    return ""

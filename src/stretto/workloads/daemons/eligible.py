"""The nodes of a DaemonSet, and the node of each of its pods."""

from collections.abc import Iterable

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.types.pod import PodSpec
from stretto.api.wire.selectors import node_terms
from stretto.reconcile.cache import Fields, StoredObject
from stretto.state.nodes.taints import NO_EXECUTE, NO_SCHEDULE, untolerated


def eligible(nodes: Iterable[StoredObject], spec: Fields) -> Iterable[StoredObject]:
    """Nodes that the pods of a spec may run on: by taints, node selector and affinity."""
    pod = decode_as(PodSpec, msgspec.json.encode(spec), "template")
    affinity = pod.affinity.node_affinity if pod.affinity is not None else None
    terms = affinity.required if affinity is not None else None
    selected = node_terms(terms, "affinity")
    for item in nodes:
        node = item.read(Node)
        if untolerated(node.spec.taints, pod.tolerations, (NO_SCHEDULE, NO_EXECUTE)):
            continue
        if not pod.node_selector.items() <= node.metadata.labels.items():
            continue
        labels = node.metadata.labels
        if terms is None or any(each.matches(node.metadata.name, labels) for each in selected):
            yield item


def target_of(pod: StoredObject) -> str:
    """The node of a pod: where it runs, or where its affinity sends it; empty without one."""
    if pod.record.node:
        return pod.record.node
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            return str(field["values"][0])
    return ""

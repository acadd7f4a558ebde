"""The nodes of a DaemonSet, and the node of each of its pods."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from stretto.api.admission.tolerations import daemon_tolerations
from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.types.pod import PodSpec
from stretto.api.wire.selectors import node_terms
from stretto.reconcile.cache import Fields, StoredObject
from stretto.state.nodes.taints import NO_EXECUTE, NO_SCHEDULE, untolerated


@dataclass(frozen=True, slots=True)
class NodeFit:
    """Result of the check of a node against a DaemonSet."""

    #: True if the node gets a pod.
    runs: bool
    #: True if the node keeps its existing pod; a NoSchedule taint evicts no pod.
    keeps: bool


NO_FIT = NodeFit(False, False)
"""Result for a node that does not match or does not exist."""


def daemon_spec(spec: Fields) -> Fields:
    """The spec of a template with the tolerations of every pod of a DaemonSet."""
    return {**spec, "tolerations": daemon_tolerations(spec)}


def fit_of(spec: Fields) -> Callable[[StoredObject], NodeFit]:
    """Return a check of nodes against the pods of a spec: node selector, affinity and taints."""
    pod = decode_as(PodSpec, msgspec.json.encode(spec), "template")
    affinity = pod.affinity.node_affinity if pod.affinity is not None else None
    terms = affinity.required if affinity is not None else None
    selected = node_terms(terms, "affinity")

    def fit(item: StoredObject) -> NodeFit:
        node = item.read(Node)
        name, labels, taints = node.metadata.name, node.metadata.labels, node.spec.taints
        if not pod.node_selector.items() <= labels.items():
            return NO_FIT
        if terms is not None and not any(each.matches(name, labels) for each in selected):
            return NO_FIT
        is_tolerated = not untolerated(taints, pod.tolerations, (NO_SCHEDULE, NO_EXECUTE))
        return NodeFit(is_tolerated, not untolerated(taints, pod.tolerations, (NO_EXECUTE,)))

    return fit


def target_of(pod: StoredObject) -> str:
    """The node of a pod: its current node, or the node of its affinity; empty without either."""
    if pod.record.node:
        return pod.record.node
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            return str(field["values"][0])
    return ""

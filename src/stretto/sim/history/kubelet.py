"""Pods that set ``spec.nodeName`` themselves and that the node would not run.

The scheduler does not see them: no kubelet starts a pod of a node that does not exist, and a
kubelet rejects a pod that its node does not match, that does not tolerate its taints or that
exceeds its capacity. The reasons and messages are those of the kubelet's admission (Kubernetes
1.36).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from stretto.api.codec import decode_as, parse_object
from stretto.api.types.core import Node
from stretto.api.types.effective_requests import HostPort, host_ports, requests
from stretto.api.types.heads import ENDED, decode_pod_head
from stretto.api.types.pod import Pod, PodSpec
from stretto.api.wire import quantity
from stretto.api.wire.kinds import NODE, POD
from stretto.api.wire.resources import HUGE_PAGES
from stretto.api.wire.selectors import node_terms
from stretto.inputs.objects.relations import InputObject
from stretto.plane.copy import PlaneCopy
from stretto.state.nodes.taints import NO_EXECUTE, untolerated

NO_NODE: Final = "NoSuchNode"
"""Reason of a pod whose node does not exist."""
_PODS: Final = "pods"
_OS: Final = "kubernetes.io/os"
_NATIVE: Final = ("cpu", "memory", "ephemeral-storage", _PODS)

Amounts = dict[str, int]
"""Amounts by resource."""


class KubeletRefusal(msgspec.Struct, frozen=True):
    """A pod that its own node would not run."""

    #: ``namespace/name``.
    pod: str
    #: The node of the pod.
    node: str
    #: Reason: ``NoSuchNode``, or that of the kubelet, such as ``OutOfcpu`` or ``NodeAffinity``.
    reason: str
    #: The reason as a sentence.
    message: str


class _Named(msgspec.Struct, frozen=True):
    """A pod with a node name."""

    #: ``namespace/name``.
    key: str
    #: The pod.
    pod: Pod
    #: Its operating system; empty for any.
    system: str
    #: Its requests, and one unit of ``pods``.
    requested: Amounts


class _NodeUse(msgspec.Struct, frozen=True):
    """A node with the usage of its pods, which changes while pods are admitted."""

    #: The node.
    node: Node
    #: Allocatable amounts.
    offered: Amounts
    #: Amounts of the admitted pods.
    used: Amounts
    #: Host ports of the admitted pods.
    ports: list[HostPort]

    def add(self, named: _Named) -> None:
        """Count an admitted pod."""
        for name, amount in named.requested.items():
            self.used[name] = self.used.get(name, 0) + amount
        self.ports.extend(host_ports(named.pod.spec))


def kubelet_refusals(copy: PlaneCopy, objects: Sequence[InputObject]) -> Iterator[KubeletRefusal]:
    """The submitted pods whose node does not exist or rejects them, by node.

    The other pods of the node are counted first, then the submitted pods that the kubelet admits,
    in their order.
    """
    named: dict[str, list[_Named]] = {}
    for each in objects:
        node = decode_pod_head(each.body).spec.node_name if each.kind == POD else ""
        if node:
            named.setdefault(node, []).append(_named(each))
    for node, pods in named.items():
        record = copy.store.get(NODE, "", node)
        if record is None:
            for pod in pods:
                message = f"no such node: {node!r}; no kubelet starts the pod"
                yield KubeletRefusal(pod.key, node, NO_NODE, message)
            continue
        use = _use_of(copy, decode_as(Node, record.body), pods)
        for pod in pods:
            reason, message = _rejection(pod, use)
            if reason:
                yield KubeletRefusal(pod.key, node, reason, message)
            else:
                use.add(pod)


def _named(item: InputObject) -> _Named:
    """A submitted pod."""
    pod = decode_as(Pod, item.body)
    system = (parse_object(item.body, item.title)["spec"].get("os") or {}).get("name") or ""
    requested = {_PODS: 1, **requests(pod.spec)}
    return _Named(f"{item.namespace}/{item.name}", pod, system, requested)


def _use_of(copy: PlaneCopy, node: Node, submitted: Sequence[_Named]) -> _NodeUse:
    """A node with the usage of its pods, without the submitted ones."""
    slot = copy.plane.cluster.nodes.by_name[node.metadata.name]
    ledger = copy.plane.cluster.ledger
    offered = dict(zip(ledger.resources.names, ledger.alloc[slot].tolist(), strict=False))
    used = dict(zip(ledger.resources.names, ledger.used[slot].tolist(), strict=False))
    for each in submitted:
        for name in used.keys() & each.requested.keys():
            used[name] -= each.requested[name]
    ports: list[HostPort] = []
    devices = _devices(node, offered, submitted)
    offered |= devices
    used |= dict.fromkeys(devices, 0)
    if devices or any(host_ports(each.pod.spec) for each in submitted):
        keys = {each.key for each in submitted}
        for spec in _running(copy, node.metadata.name, keys):
            ports.extend(host_ports(spec))
            for name, amount in requests(spec).items():
                if name in devices:
                    used[name] = used.get(name, 0) + amount
    return _NodeUse(node, offered, used, ports)


def _devices(node: Node, counted: Amounts, submitted: Sequence[_Named]) -> Amounts:
    """Allocatable devices that submitted pods request; columns of amounts have no devices."""
    wanted = {name for each in submitted for name in each.requested if not counted.get(name)}
    offered = node.status.allocatable
    return {name: quantity.amount(name, offered[name], name) for name in wanted if name in offered}


def _running(copy: PlaneCopy, node: str, without: Collection[str]) -> Iterator[PodSpec]:
    """The specs of the pods of a node, except some."""
    for record in copy.store.list(POD).records:
        if record.node == node and f"{record.namespace}/{record.name}" not in without:
            pod = decode_as(Pod, record.body)
            if pod.status.phase not in ENDED:
                yield pod.spec


def _rejection(named: _Named, use: _NodeUse) -> tuple[str, str]:
    """The kubelet's reason and message for rejecting a pod; empty if it admits the pod.

    The order is that of the kubelet: operating system, resources, node affinity, ports, taints.
    """
    spec, labels = named.pod.spec, named.pod.metadata.labels
    system = use.node.metadata.labels.get(_OS, "linux")
    if labels.get(_OS, system) != system:
        text = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
        return "PodOSSelectorNodeLabelDoesNotMatch", text
    if named.system not in ("", system):
        return "PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"
    short = _short(named.requested, use)
    if short:
        message = (
            f"Node didn't have enough resource: {short}, requested: {named.requested[short]}, "
            f"used: {use.used.get(short, 0)}, capacity: {use.offered.get(short, 0)}"
        )
        return f"OutOf{short}", message
    if not _matches(spec, use.node):
        return _failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
    if any(port.conflicts(other) for port in host_ports(spec) for other in use.ports):
        return _failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    if untolerated(use.node.spec.taints, spec.tolerations, {NO_EXECUTE}):
        return _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
    return "", ""


def _failed(predicate: str, why: str) -> tuple[str, str]:
    """Reason and message of a predicate."""
    return predicate, f"Predicate {predicate} failed: {why}"


def _short(amounts: Mapping[str, int], use: _NodeUse) -> str:
    """The first insufficient resource; empty if all suffice.

    A kubelet ignores extended resources that its node does not have.
    """
    for name, amount in amounts.items():
        extended = name not in _NATIVE and not name.startswith(HUGE_PAGES)
        if extended and not use.offered.get(name):
            continue
        if amount and use.used.get(name, 0) + amount > use.offered.get(name, 0):
            return name
    return ""


def _matches(spec: PodSpec, node: Node) -> bool:
    """True if a node has the labels of the selector and matches the required affinity."""
    name, labels = node.metadata.name, node.metadata.labels
    if not spec.node_selector.items() <= labels.items():
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is None or affinity.required is None:
        return True
    return any(each.matches(name, labels) for each in node_terms(affinity.required, "affinity"))

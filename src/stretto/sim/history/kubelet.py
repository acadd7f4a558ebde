"""Pods that name their node themselves and that the node would not run.

The scheduler does not see them: no kubelet starts a pod of a node that does not exist, and a
kubelet rejects a pod beyond the allocatable amounts of its node.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.effective_requests import requests
from stretto.api.types.heads import decode_pod_head
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import POD
from stretto.inputs.objects.relations import InputObject
from stretto.plane.plane import Plane

NO_NODE: Final = "NoSuchNode"
"""Reason of a pod whose node does not exist."""
_PODS: Final = "pods"


class KubeletRefusal(msgspec.Struct, frozen=True):
    """A pod that its own node would not run."""

    #: ``namespace/name``.
    pod: str
    #: The node that the pod names.
    node: str
    #: Reason: ``NoSuchNode``, or that of the kubelet, such as ``OutOfcpu``.
    reason: str
    #: The reason as a sentence.
    message: str


def kubelet_refusals(plane: Plane, objects: Sequence[InputObject]) -> Iterator[KubeletRefusal]:
    """The submitted pods that name a node which does not exist or is too full, in their order.

    The other pods of the node count first, then the submitted ones until one does not fit.
    """
    named: dict[str, list[InputObject]] = {}
    for each in objects:
        node = decode_pod_head(each.body).spec.node_name if each.kind == POD else ""
        if node:
            named.setdefault(node, []).append(each)
    for node, pods in named.items():
        slot = plane.cluster.nodes.by_name.get(node)
        if slot is None:
            for each in pods:
                message = f"no such node: {node!r}; no kubelet starts the pod"
                yield KubeletRefusal(f"{each.namespace}/{each.name}", node, NO_NODE, message)
        else:
            yield from _too_many(plane, slot, node, pods)


def _too_many(
    plane: Plane, slot: int, node: str, pods: Sequence[InputObject]
) -> Iterator[KubeletRefusal]:
    """The pods of one node that its kubelet would reject."""
    ledger = plane.cluster.ledger
    offered = dict(zip(ledger.resources.names, ledger.alloc[slot].tolist(), strict=False))
    used = dict(zip(ledger.resources.names, ledger.used[slot].tolist(), strict=False))
    requested = [{**requests(decode_as(Pod, each.body).spec), _PODS: 1} for each in pods]
    for amounts in requested:
        for name, amount in amounts.items():
            used[name] = used.get(name, 0) - amount
    for each, amounts in zip(pods, requested, strict=True):
        short = _short(amounts, used, offered)
        if short:
            message = (
                f"Node didn't have enough resource: {short}, requested: {amounts[short]}, "
                f"used: {used[short]}, capacity: {offered.get(short, 0)}"
            )
            key = f"{each.namespace}/{each.name}"
            yield KubeletRefusal(key, node, f"OutOf{short}", message)
            continue
        for name, amount in amounts.items():
            used[name] += amount


def _short(amounts: Mapping[str, int], used: Mapping[str, int], offered: Mapping[str, int]) -> str:
    """The first resource that does not suffice; empty if all do."""
    return next(
        (n for n, amount in amounts.items() if amount and used[n] + amount > offered.get(n, 0)), ""
    )

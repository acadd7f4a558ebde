"""Pods and resources of a node, and the reasons why pending pods do not fit on it."""

from typing import Final

import msgspec
import numpy as np

from stretto.explain.inventory.causes import pending_rows
from stretto.explain.inventory.nodes import NodeRow
from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.scene import Scene

NODE_SCHEMA: Final = "stretto.explain.node/v1"
"""Version of the JSON form of ``NodeOverview``."""


class NodeRefusal(msgspec.Struct, frozen=True):
    """Pending pods that a node refuses for one reason."""

    #: Reason in kube-scheduler's wording.
    reason: str
    #: Number of pods.
    pods: int
    #: One of these pods, as ``namespace/name``.
    example: str


class NodeOverview(msgspec.Struct, frozen=True):
    """Pods and resources of a node, and the reasons why pending pods do not fit on it."""

    #: Use and labels of the node.
    node: NodeRow
    #: Pods on the node, as ``namespace/name``.
    pods: tuple[str, ...]
    #: Number of pending pods.
    pending: int
    #: Pending pods that fit on this node if placed alone, as ``namespace/name``.
    fitting: tuple[str, ...]
    #: Reasons for refusing the other pods; a pod counts under each of its reasons.
    refusals: tuple[NodeRefusal, ...]


def explain_node(scene: Scene, node: NodeRow) -> NodeOverview:
    """Describe a node and the reasons why pending pods do not fit on it.

    Args:
        scene: the state.
        node: row of the node in a list of nodes.
    """
    slot = scene.slot_of(node.name)
    pods, view, slots = scene.cluster.pods, scene.view(), np.array([slot], np.int64)
    waiting = pending_rows(scene)
    verdicts: dict[int, tuple[str, ...]] = {}
    counts: dict[str, list[str]] = {}
    fitting = []
    for row in waiting:
        number = int(pods.class_id[row])
        if number not in verdicts:
            filters = scene.rules(row)[0]
            inquiry = Inquiry(filters, scene.cluster.classes[number], view, slots)
            verdicts[number] = tuple(each.reason for each in inquiry.reasons())
        for reason in verdicts[number]:
            counts.setdefault(reason, []).append(pods.key(row))
        if not verdicts[number]:
            fitting.append(pods.key(row))
    refusals = [NodeRefusal(reason, len(keys), keys[0]) for reason, keys in counts.items()]
    return NodeOverview(
        node=node,
        pods=tuple(pods.key(row) for row in pods.rows().tolist() if pods.slot[row] == slot),
        pending=len(waiting),
        fitting=tuple(fitting),
        refusals=tuple(sorted(refusals, key=lambda each: -each.pods)),
    )

"""One node with its use, its pods, and why pending pods are not on it."""

from collections.abc import Sequence
from typing import NamedTuple

from stretto.api.wire.kinds import NODE, POD
from stretto.base.errors import NotFoundError
from stretto.explain.inventory.node_overview import NodeOverview, explain_node
from stretto.explain.inventory.nodes import NodeRow, node_rows
from stretto.explain.inventory.pods import PodRow, pod_rows
from stretto.web.views.state import ViewedState


class NodeDetails(NamedTuple):
    """One node."""

    #: Its use, taints and labels.
    row: NodeRow
    #: Why pending pods are not on it; ``None`` if the scheduler does not have the node.
    overview: NodeOverview | None
    #: The pods on it, by namespace and name.
    pods: Sequence[PodRow]


def node_details(state: ViewedState, name: str) -> NodeDetails:
    """Return a node.

    Raises:
        NotFoundError: the state has no node of that name.
    """
    records = [each for each in state.records(NODE) if each.name == name]
    if not records:
        raise NotFoundError(f"node {name}", "no node of that name", "choose one of the table")
    state.complete()
    row = node_rows(state.scene, records)[0]
    known = name in state.scene.cluster.nodes.by_name
    pods = [each for each in state.records(POD) if each.node == name]
    return NodeDetails(
        row,
        explain_node(state.scene, row) if known else None,
        pod_rows(state.scene, pods, state.at),
    )

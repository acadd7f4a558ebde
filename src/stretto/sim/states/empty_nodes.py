"""The state of a cluster that is defined only by the shapes of its nodes."""

from stretto.api.wire.kinds import NODE
from stretto.inputs.neutral.shapes import nodes_like
from stretto.inputs.objects.objects import node_body
from stretto.plane.copy import StoreState
from stretto.stores.store import Record


def empty_nodes(shapes: str, where: str) -> StoreState:
    """Nodes without pods.

    Args:
        shapes: shapes and counts such as ``64cpu-256gib-8gpu:4``, joined by commas.
        where: the option or field with the text, for messages.

    Raises:
        InputError: a shape is invalid, or there is no node.
    """
    records = [
        Record(NODE, "", node.name, f"node-{number}", number, node_body(node))
        for number, node in enumerate(nodes_like(shapes, where=where), 1)
    ]
    return StoreState(f"nodes {shapes}", records)

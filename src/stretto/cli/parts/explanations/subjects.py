"""Answers of ``stretto explain`` about units, queues, nodes and all pending pods."""

from typing import TYPE_CHECKING, Any

import msgspec

from stretto.cli.console import Console
from stretto.cli.views.overviews import show_node, show_pending, show_queue, show_unit

if TYPE_CHECKING:
    from stretto.cli.sources.scenes import OpenedScene
    from stretto.explain.inventory.subjects import ExplainedObject

Answer = tuple[str, dict[str, Any]]
"""Schema and JSON form of an answer."""


def pending_overview(console: Console, opened: "OpenedScene", namespace: str) -> Answer:
    """Write all pending pods by cause, of one namespace or of all namespaces."""
    from stretto.explain.inventory.overviews import PENDING_SCHEMA, explain_pending_pods

    found = explain_pending_pods(
        opened.scene, opened.records, lambda key: key.startswith(f"{namespace}/" * bool(namespace))
    )
    show_pending(console, opened.title, found)
    return PENDING_SCHEMA, msgspec.to_builtins(found)


def overview(console: Console, opened: "OpenedScene", subject: "ExplainedObject") -> Answer:
    """Write the answer about a unit, a queue or a node."""
    from stretto.explain.inventory import overviews
    from stretto.explain.inventory.node_overview import NODE_SCHEMA, explain_node
    from stretto.explain.inventory.nodes import node_rows
    from stretto.explain.inventory.subjects import ExplainedKind

    scene, name = opened.scene, subject.name
    if subject.kind is ExplainedKind.UNIT:
        unit = overviews.explain_unit(scene, opened.records, name)
        show_unit(console, unit)
        return overviews.UNIT_SCHEMA, msgspec.to_builtins(unit)
    if subject.kind is ExplainedKind.QUEUE:
        queue = overviews.explain_queue(scene, name)
        show_queue(console, queue)
        return overviews.QUEUE_SCHEMA, msgspec.to_builtins(queue)
    (row,) = node_rows(
        scene, [e for e in opened.records if (e.kind.kind, e.name) == ("Node", name)]
    )
    node = explain_node(scene, row)
    show_node(console, node)
    return NODE_SCHEMA, msgspec.to_builtins(node)

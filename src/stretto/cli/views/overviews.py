"""Layout of explanations of several pods: of a unit, a queue, a node, or all pending pods."""

from typing import TYPE_CHECKING, Final

from stretto.cli.console import Console
from stretto.cli.views.explanation import show_explanation
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.explain.inventory.causes import PendingCause
    from stretto.explain.inventory.node_overview import NodeOverview
    from stretto.explain.inventory.overviews import (
        PendingOverview,
        QueueOverview,
        UnitOverview,
    )

SHOWN: Final = 20
"""Maximum number of causes and pods listed without ``-v``."""


def show_pending(console: Console, title: str, answer: "PendingOverview") -> None:
    """Write all pending pods by cause."""
    if not answer.pending:
        console.data(f"{title}: none of {format_count(answer.pods, 'pod')} is pending.")
        return
    console.data(f"{title}: {answer.pending:,} of {format_count(answer.pods, 'pod')} pending")
    _show_causes(console, answer.causes)


def _show_causes(console: Console, causes: "Sequence[PendingCause]") -> None:
    """Write causes as a table, then one sentence for each."""
    if not causes:
        return
    rows = [(each.pods, each.code, each.tier or "-", each.names[0]) for each in causes]
    console.table(["pods", "cause", "tier", "for example"], rows)
    console.data()
    shown = causes if console.verbose else causes[:SHOWN]
    for each in shown:
        console.data(f"{each.code}: {each.sentence or 'not explained: too many distinct pods'}")
    if len(shown) < len(causes):
        console.note(f"and {len(causes) - len(shown):,} more causes; -v lists them")


def show_unit(console: Console, answer: "UnitOverview") -> None:
    """Write why a unit is pending, or the nodes of its pods."""
    placed = format_count(len(answer.placed), "pod")
    console.data(f"{answer.unit}: {placed} on nodes, {answer.pending:,} pending")
    if not answer.placed and not answer.pending:
        console.data("It has no pods; it is scheduled after pods reference it.")
        return
    if answer.example is not None:
        if len(answer.causes) > 1:
            _show_causes(console, answer.causes)
        console.data(f"\nOne of the pending pods, {answer.example.pod}:\n")
        show_explanation(console, answer.example)
    elif answer.placed:
        rows = list(answer.placed.items())
        console.table(["pod", "node"], rows if console.verbose else rows[:SHOWN])
        if len(rows) > SHOWN and not console.verbose:
            console.note(f"and {len(rows) - SHOWN:,} more; -v lists every pod")


def show_queue(console: Console, answer: "QueueOverview") -> None:
    """Write the state of a queue, and why its pods are pending."""
    queue = answer.queue
    console.data(
        f"queue {queue.name} · {queue.policy} · {format_count(queue.pending, 'unit')} pending, "
        f"{queue.running:,} running"
    )
    if answer.share is not None:
        console.data(f"\n{answer.share.sentence}")
    for fault in queue.faults:
        console.data(f"queue {queue.name}: {fault}")
    if answer.causes:
        console.data(f"\n{format_count(answer.pending, 'pod')} pending:")
        _show_causes(console, answer.causes)
    else:
        console.data("\nNone of its pods is pending.")


def show_node(console: Console, answer: "NodeOverview") -> None:
    """Write the pods of a node, and why pending pods are not on it."""
    node = answer.node
    zone = f" · zone {node.zone}" if node.zone else ""
    count = format_count(len(answer.pods), "pod")
    console.data(f"node {node.name} · {node.status}{zone} · {count}")
    rows = [
        (name, use.allocatable, use.requested, f"{use.pct:.0f}%")
        for name, use in node.resources.items()
    ]
    console.table(["resource", "allocatable", "requested", "of all"], rows)
    if answer.pods:
        shown = answer.pods if console.verbose else answer.pods[:SHOWN]
        more = len(answer.pods) - len(shown)
        console.data(f"\nOn it: {', '.join(shown)}{f' and {more:,} more' if more else ''}")
    if not answer.pending:
        console.data("\nNo pod is pending.")
        return
    console.data(f"\n{format_count(answer.pending, 'pending pod')}:")
    if answer.fitting:
        console.data(f"  {len(answer.fitting):,} fit on it, for example {answer.fitting[0]}")
    refused = [(each.pods, each.reason, each.example) for each in answer.refusals]
    if refused:
        console.table(["pods", "refused because", "for example"], refused)

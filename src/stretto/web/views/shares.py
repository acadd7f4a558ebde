"""Use of each resource of the cluster by queue: which team has the GPUs."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.explain.words.amounts import bare_amount
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.devices import WHOLE
from stretto.web.views.queue_tree import QueueNode, queue_tree, units_in
from stretto.web.views.state import ViewedState

_SHOWN: Final = ("cpu", "memory")
"""Resources that are shown besides devices, in this order."""


class SharePart(NamedTuple):
    """The part of a resource that one queue uses."""

    #: Name of the queue.
    queue: str
    #: Place of the queue among those shown, the same for all resources.
    number: int
    #: Amount, as text.
    text: str
    #: Start of the part, in percent of all nodes.
    start: float
    #: Part of all nodes, in percent.
    pct: float


class ResourceShare(NamedTuple):
    """The use of one resource by queue."""

    #: Name of the resource.
    resource: str
    #: Amount of all nodes, as text.
    total: str
    #: Amount that no queue uses, as text.
    rest: str
    #: Queues that use it, the largest part first.
    parts: tuple[SharePart, ...]


class QueueBoard(NamedTuple):
    """The queues of a state, and what they use."""

    #: The queues in tree order, each parent before its children.
    queues: Sequence[QueueNode]
    #: The use of each resource by queue; empty if no policy counts use.
    shares: Sequence[ResourceShare]


def queue_board(state: ViewedState) -> QueueBoard:
    """Return the queues of a state, and what they use."""
    queues = state.scene.queues
    return QueueBoard(queue_tree(queues), resource_shares(queues, state.scene.cluster))


def resource_shares(queues: Sequence[QueueFacts], cluster: Cluster) -> list[ResourceShare]:
    """Return the use of devices, CPU and memory by the queues without children.

    Empty if no policy counts use. A queue with children counts only through them.
    """
    parents = {each.parent for each in queues}
    leaves = [each for each in queues if each.is_counted and each.name not in parents]
    if not leaves:
        return []
    return [_share(name, total, leaves) for name, total in _totals(cluster)]


def _totals(cluster: Cluster) -> Iterator[tuple[str, int]]:
    """Yield the resources of all nodes with their amounts; devices first."""
    ledger, slots = cluster.ledger, np.asarray(cluster.nodes.live_slots(), np.int64)
    for kind in ledger.devices.kinds:
        total = int(ledger.devices.use(slots, kind)[0].sum()) // WHOLE
        if total:
            yield kind, total
    for name in _SHOWN:
        column = ledger.resources.known(name)
        if column is not None and len(slots):
            yield name, int(ledger.alloc[slots, column].sum())


def _share(resource: str, total: int, leaves: Sequence[QueueFacts]) -> ResourceShare:
    used = [units_in(each.used, resource) for each in leaves]
    parts, start = [], 0.0
    for number in sorted(range(len(leaves)), key=lambda each: -used[each]):
        if used[number]:
            pct = round(100 * used[number] / (total or 1), 1)
            text = bare_amount(resource, used[number])
            parts.append(SharePart(leaves[number].name, number, text, start, pct))
            start = round(start + pct, 1)
    rest = max(0, total - sum(used))
    return ResourceShare(
        resource, bare_amount(resource, total), bare_amount(resource, rest), tuple(parts)
    )

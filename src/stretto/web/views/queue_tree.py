"""Queues as a tree, with bars for guarantee, use and limit."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from stretto.api.wire.quantity import amount
from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.state.queues.shape import ROOT

_SHOWN: Final[tuple[str, ...]] = ("nvidia.com/gpu", "cpu", "memory")
"""Resources shown first."""


class QueueBar(NamedTuple):
    """One resource of a queue, as parts of its scale."""

    #: Name of the resource.
    resource: str
    #: The amounts as text: used of guarantee, up to the limit.
    text: str
    #: Used part in percent of the scale.
    used_pct: float
    #: Position of the guarantee in percent of the scale; ``None`` without a guarantee.
    guarantee_pct: float | None
    #: Position of the limit in percent of the scale; ``None`` without a limit.
    limit_pct: float | None

    @property
    def is_bounded(self) -> bool:
        """Whether use can be compared with a guarantee or a limit."""
        return self.guarantee_pct is not None or self.limit_pct is not None


class QueueNode(NamedTuple):
    """A queue and its depth in the tree."""

    #: Its facts.
    facts: QueueFacts
    #: 0 for a top-level queue.
    depth: int
    #: Its bars, the most important resources first.
    bars: tuple[QueueBar, ...]
    #: Sibling queues that use more than their guarantee while it uses less than its own.
    borrowers: tuple[str, ...]


def queue_tree(queues: Sequence[QueueFacts]) -> list[QueueNode]:
    """The queues in tree order, each parent before its children."""
    known = {each.name for each in queues}
    children: dict[str, list[QueueFacts]] = {}
    for each in queues:
        parent = each.parent or (ROOT if ROOT in known and each.name != ROOT else "")
        children.setdefault(parent if parent in known else "", []).append(each)
    found: list[QueueNode] = []
    pending = [(each, 0) for each in reversed(children.get("", []))]
    while pending:
        queue, depth = pending.pop()
        siblings = children.get(queue.parent if queue.parent in known else "", [])
        found.append(QueueNode(queue, depth, _bars(queue), _borrowers(queue, siblings)))
        pending += [(each, depth + 1) for each in reversed(children.get(queue.name, []))]
    return found


def _bars(queue: QueueFacts) -> tuple[QueueBar, ...]:
    given = {**queue.limit, **queue.counted, **queue.used}
    names = [name for name in _SHOWN if name in given]
    names += sorted(name for name in given if name not in _SHOWN and name != "pods")
    return tuple(_bar(queue, name) for name in names)


def _bar(queue: QueueFacts, name: str) -> QueueBar:
    used, guarantee, limit = (
        amount(name, each[name], name) if name in each else None
        for each in (queue.used, queue.counted, queue.limit)
    )
    scale = max(used or 0, guarantee or 0, limit or 0) or 1

    def part(units: int | None) -> float | None:
        return None if units is None else round(100 * units / scale, 1)

    text = f"{queue.used.get(name, '0')} used"
    text += f", {queue.counted[name]} guaranteed" if name in queue.counted else ""
    text += f", limit {queue.limit[name]}" if name in queue.limit else ""
    return QueueBar(name, text, part(used) or 0.0, part(guarantee), part(limit))


def _borrowers(queue: QueueFacts, siblings: Sequence[QueueFacts]) -> tuple[str, ...]:
    """Who uses what the queue has not taken of its guarantee; empty if it has no pending units."""
    if not queue.pending or not queue.counted or queue.borrowed:
        return ()
    return tuple(each.name for each in siblings if each.borrowed and each is not queue)

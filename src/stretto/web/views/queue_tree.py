"""Queues as a tree, with bars for guarantee, use and limit, and lenders of capacity."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from stretto.api.wire.quantity import amount
from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.explain.words.amounts import bare_amount
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
    #: Its use above its guarantee, with the queue whose guarantee it borrows; empty for none.
    borrowed: str

    @property
    def is_bounded(self) -> bool:
        """Return whether use can be compared with a guarantee or a limit."""
        return self.guarantee_pct is not None or self.limit_pct is not None


class QueueNode(NamedTuple):
    """A queue and its depth in the tree."""

    #: Its facts.
    facts: QueueFacts
    #: 0 for a top-level queue.
    depth: int
    #: Its bars, the most important resources first.
    bars: tuple[QueueBar, ...]
    #: Siblings that use more than their guarantee while this queue uses less than its own.
    borrowers: tuple[str, ...]


class _Family(NamedTuple):
    """The relations of queues."""

    #: Queues by name.
    known: Mapping[str, QueueFacts]
    #: Queues by parent name; top-level queues are under the empty name.
    children: Mapping[str, Sequence[QueueFacts]]

    def parent_of(self, queue: QueueFacts) -> str:
        """Return the parent of a queue; empty for a top-level queue."""
        parent = queue.parent or (ROOT if ROOT in self.known and queue.name != ROOT else "")
        return parent if parent in self.known else ""

    def siblings_of(self, queue: QueueFacts) -> list[QueueFacts]:
        """The other queues below its parent."""
        return [each for each in self.children[self.parent_of(queue)] if each is not queue]

    def lenders_of(self, queue: QueueFacts, resource: str) -> Iterator[QueueFacts]:
        """Yield queues that leave a part of their guarantee unused while a queue borrows.

        A queue borrows from its siblings, and beyond them if its parent borrows too.
        """
        while True:
            for each in self.siblings_of(queue):
                if _unused(each, resource) > 0:
                    yield each
            parent = self.known.get(self.parent_of(queue))
            if parent is None or resource not in parent.borrowed:
                return
            queue = parent


def queue_tree(queues: Sequence[QueueFacts]) -> list[QueueNode]:
    """Return the queues in tree order, each parent before its children."""
    children: dict[str, list[QueueFacts]] = {}
    family = _Family({each.name: each for each in queues}, children)
    for each in queues:
        children.setdefault(family.parent_of(each), []).append(each)
    found: list[QueueNode] = []
    pending = [(each, 0) for each in reversed(children.get("", []))]
    while pending:
        queue, depth = pending.pop()
        borrowers = _borrowers(queue, family.siblings_of(queue))
        found.append(QueueNode(queue, depth, _bars(queue, family), borrowers))
        pending += [(each, depth + 1) for each in reversed(children.get(queue.name, []))]
    return found


def units_in(amounts: Mapping[str, str], resource: str) -> int:
    """Return an amount of a resource in units of the engine; 0 if absent."""
    return amount(resource, amounts.get(resource, "0"), resource)


def _unused(queue: QueueFacts, resource: str) -> int:
    """Return the part of a guarantee that its queue does not use."""
    return units_in(queue.counted, resource) - units_in(queue.used, resource)


def _bars(queue: QueueFacts, family: _Family) -> tuple[QueueBar, ...]:
    given = {**queue.limit, **queue.counted, **queue.used}
    names = [name for name in _SHOWN if name in given]
    names += sorted(name for name in given if name not in _SHOWN and name != "pods")
    return tuple(_bar(queue, name, family) for name in names)


def _bar(queue: QueueFacts, name: str, family: _Family) -> QueueBar:
    used, guarantee, limit = (
        units_in(each, name) if name in each else None
        for each in (queue.used, queue.counted, queue.limit)
    )
    scale = max(used or 0, guarantee or 0, limit or 0) or 1

    def part(units: int | None) -> float | None:
        return None if units is None else round(100 * units / scale, 1)

    text = f"{bare_amount(name, used or 0)} used"
    text += f", {bare_amount(name, guarantee)} guaranteed" if guarantee is not None else ""
    text += f", limit {bare_amount(name, limit)}" if limit is not None else ""
    borrowed = _borrowed(queue, name, family) if name in queue.borrowed else ""
    return QueueBar(name, text, part(used) or 0.0, part(guarantee), part(limit), borrowed)


def _borrowed(queue: QueueFacts, name: str, family: _Family) -> str:
    """Return the amount that a queue borrows of a resource, and the lending queues, as text."""
    text = f"{bare_amount(name, units_in(queue.borrowed, name))} borrowed"
    lenders = [
        f"{each.name} ({bare_amount(name, _unused(each, name))})"
        for each in family.lenders_of(queue, name)
    ]
    return f"{text}; unused guarantees: {', '.join(lenders)}" if lenders else text


def _borrowers(queue: QueueFacts, siblings: Sequence[QueueFacts]) -> tuple[str, ...]:
    """Return the queues that use the rest of a guarantee; empty without pending units."""
    if not queue.pending or not queue.counted or queue.borrowed:
        return ()
    return tuple(each.name for each in siblings if each.borrowed)

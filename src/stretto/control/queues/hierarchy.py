"""The tree that queues ask for, made sound: who is part of whom, and what each is guaranteed.

What contradicts itself is no reason to stop: every queue gets a place and a guarantee that can be
kept, and a sentence on the queue says what was not taken as written. A queue that is part of
itself, or of one that does not exist, stands beside the others; a guarantee above the parent's is
cut to it; guarantees that add up to more than the parent's are each cut in proportion.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from stretto.api.wire.quantity import format_amount
from stretto.control.queues.config import ROOT, QueueConfig

DEEPEST: Final = 32
"""Levels of the tree: no organisation has more, and each costs a step of every decision."""

Guarantee = Mapping[str, int]
"""Amounts as the engine counts them, by resource."""


class QueueHierarchy(NamedTuple):
    """A sound tree."""

    #: Parent by queue, parents before their queues; the root has none and is left out.
    parents: dict[str, str]
    #: What each queue is guaranteed, the root left out.
    guarantees: dict[str, dict[str, int]]
    #: What was not taken as written, by queue.
    faults: dict[str, tuple[str, ...]]


def build_hierarchy(queues: Iterable[QueueConfig]) -> QueueHierarchy:
    """The tree of these queues; of two with one name the later counts."""
    return _HierarchyDraft({queue.name: queue for queue in queues}).layout()


class _HierarchyDraft:
    """One laying-out."""

    def __init__(self, queues: Mapping[str, QueueConfig]) -> None:
        self._queues = queues
        self._faults: dict[str, list[str]] = {}
        self._children: dict[str, list[str]] = {}

    def layout(self) -> QueueHierarchy:
        parents = self._parents()
        order = self._top_down(parents)
        wanted = self._wanted(order, parents)
        granted: dict[str, dict[str, int]] = {ROOT: {}}
        for name in (ROOT, *order):
            self._grant_guarantees(name, granted, wanted)
        granted.pop(ROOT)
        faults = {name: tuple(texts) for name, texts in self._faults.items()}
        return QueueHierarchy({name: parents[name] for name in order}, granted, faults)

    def _fault(self, name: str, text: str) -> None:
        self._faults.setdefault(name, []).append(text)

    # ------------------------------------------------------------ who is part of whom

    def _parents(self) -> dict[str, str]:
        """The parent of every queue but the root; none is part of itself."""
        found = {name: self._parent(queue) for name, queue in self._queues.items() if name != ROOT}
        root = self._queues.get(ROOT)
        if root is not None and root.parent:
            text = f"spec.parent: got {root.parent!r}, expected none: all queues are part of {ROOT}"
            self._fault(ROOT, text)
        sound: set[str] = {ROOT}
        for name in found:
            path = list(_upwards(name, found, sound))
            if path and path[-1] in path[:-1]:
                circle = path[path.index(path[-1]) : -1]
                self._break_cycles(circle, found)
            sound.update(path)
        return found

    def _parent(self, queue: QueueConfig) -> str:
        if not queue.parent or queue.parent in self._queues:
            return queue.parent or ROOT
        if queue.parent != ROOT:
            self._fault(
                queue.name,
                f"spec.parent: got {queue.parent!r}, but there is no such queue; "
                "it stands beside the others until there is",
            )
        return ROOT

    def _break_cycles(self, circle: list[str], parents: dict[str, str]) -> None:
        """Queues that are part of one another stand beside the others."""
        for name in circle:
            at = circle.index(name)
            way = " -> ".join([*circle[at:], *circle[:at], name])
            self._fault(
                name,
                f"spec.parent: {way} is a circle; each of them stands beside the others until "
                "one names another parent",
            )
            parents[name] = ROOT

    def _top_down(self, parents: dict[str, str]) -> list[str]:
        """Queues, each after its parent; what lies too deep is moved up."""
        below: dict[str, list[str]] = {}
        for name, parent in parents.items():
            below.setdefault(parent, []).append(name)
        order: list[str] = []
        depth, line = {ROOT: 0}, [ROOT]
        for above in line:
            for name in below.get(above, ()):
                parent = above
                if depth[parent] >= DEEPEST:
                    parent = parents[name] = parents[above]
                    text = f"spec.parent: {above} is {DEEPEST} levels deep, as deep as it goes"
                    self._fault(name, f"{text}; it is part of {parent} instead")
                depth[name] = depth[parent] + 1
                self._children.setdefault(parent, []).append(name)
                order.append(name)
                line.append(name)
        return order

    # ------------------------------------------------------------ what each is guaranteed

    def _wanted(self, order: list[str], parents: Mapping[str, str]) -> dict[str, dict[str, int]]:
        """What each asks to be guaranteed; who says nothing of a resource, what its queues ask."""
        wanted: dict[str, dict[str, int]] = {name: {} for name in order}
        for name in reversed(order):
            queue, mine = self._queues[name], wanted[name]
            for resource, amount in queue.guarantee.items():
                most = queue.limit.get(resource, amount)
                mine[resource] = min(amount, most)
                if amount > most:
                    text = _above(resource, amount, f"its own limit is {_text(resource, most)}")
                    self._fault(name, text)
            above = wanted.get(parents[name])
            stated = self._queues[parents[name]].guarantee if above is not None else {}
            for resource, amount in mine.items():
                if above is not None and resource not in stated:
                    above[resource] = above.get(resource, 0) + amount
        return wanted

    def _grant_guarantees(
        self,
        name: str,
        granted: dict[str, dict[str, int]],
        wanted: Mapping[str, dict[str, int]],
    ) -> None:
        """Grant the queues of one what they ask, within what it has itself."""
        children = self._children.get(name, [])
        for child in children:
            granted[child] = dict(wanted[child])
        queue = self._queues.get(name)
        limit = queue.limit if queue is not None else {}
        for resource in dict.fromkeys(r for child in children for r in wanted[child]):
            most = granted[name].get(resource) if name != ROOT else None
            if resource in limit:
                most = limit[resource] if most is None else min(most, limit[resource])
            if most is not None:
                self._cut(name, resource, most, {child: granted[child] for child in children})

    def _cut(
        self, name: str, resource: str, most: int, granted: Mapping[str, dict[str, int]]
    ) -> None:
        """Cut what the queues of one are guaranteed to what it has; amounts change in place."""
        for child, amounts in granted.items():
            if amounts.get(resource, 0) > most:
                whose = f"its parent {name} has {_text(resource, most)}"
                if resource in self._queues[child].guarantee:
                    self._fault(child, _above(resource, amounts[resource], whose))
                amounts[resource] = most
        total = sum(amounts.get(resource, 0) for amounts in granted.values())
        if total <= most:
            return
        self._fault(
            name,
            f"spec.guarantee.{resource}: its queues are guaranteed {_text(resource, total)} "
            f"together, it has {_text(resource, most)}; each is counted in proportion until they "
            "add up",
        )
        for amounts in granted.values():
            if resource in amounts:
                amounts[resource] = amounts[resource] * most // total


def _upwards(name: str, parents: Mapping[str, str], sound: set[str]) -> Iterator[str]:
    """A queue and those above it, up to what is sound or to the first that comes twice."""
    seen: set[str] = set()
    while name not in sound:
        yield name
        if name in seen:
            return
        seen.add(name)
        name = parents[name]


def _above(resource: str, amount: int, than: str) -> str:
    got = _text(resource, amount)
    return f"spec.guarantee.{resource}: got {got}, but {than}; so much is counted"


def _text(resource: str, amount: int) -> str:
    return format_amount(resource, amount)

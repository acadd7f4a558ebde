"""Validation of the tree of queues: consistent parents and guarantees.

Contradictory settings do not stop scheduling: every queue gets a valid parent and a guarantee that
can be met, and a message on the queue names each changed setting. A queue in a cycle, or with an
unknown parent, becomes a top-level queue; a guarantee above the parent's is reduced to it;
guarantees that exceed the parent's together are reduced in proportion.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from stretto.api.wire.quantity import format_amount
from stretto.state.queues.shape import ROOT, QueueShape

DEEPEST: Final = 32
"""Maximum depth of the tree: more than any organisation has; each level costs time."""


class QueueHierarchy(NamedTuple):
    """A valid tree."""

    #: Parent by queue, parents before children; without the root.
    parents: dict[str, str]
    #: Guarantee of each queue; without the root.
    guarantees: dict[str, dict[str, int]]
    #: Changed settings as messages, by queue.
    faults: dict[str, tuple[str, ...]]


def build_hierarchy(queues: Iterable[QueueShape]) -> QueueHierarchy:
    """Return the valid tree of these queues; of several with one name, the last counts."""
    return _HierarchyDraft({queue.name: queue for queue in queues}).build()


class _HierarchyDraft:
    """Work state of one validation."""

    def __init__(self, queues: Mapping[str, QueueShape]) -> None:
        self._queues = queues
        self._faults: dict[str, list[str]] = {}
        self._children: dict[str, list[str]] = {}

    def build(self) -> QueueHierarchy:
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

    # ------------------------------------------------------------ parents

    def _parents(self) -> dict[str, str]:
        """The parent of every queue but the root, without cycles."""
        found = {name: self._parent(queue) for name, queue in self._queues.items() if name != ROOT}
        root = self._queues.get(ROOT)
        if root is not None and root.parent:
            text = f"spec.parent: got {root.parent!r}, expected none: {ROOT} is the top of the tree"
            self._fault(ROOT, text)
        valid: set[str] = {ROOT}
        for name in found:
            path = list(_upwards(name, found, valid))
            if path and path[-1] in path[:-1]:
                cycle = path[path.index(path[-1]) : -1]
                self._break_cycle(cycle, found)
            valid.update(path)
        return found

    def _parent(self, queue: QueueShape) -> str:
        if not queue.parent or queue.parent in self._queues:
            return queue.parent or ROOT
        if queue.parent != ROOT:
            self._fault(
                queue.name,
                f"spec.parent: got {queue.parent!r}, but this queue does not exist; "
                "the queue is a top-level queue until it exists",
            )
        return ROOT

    def _break_cycle(self, cycle: list[str], parents: dict[str, str]) -> None:
        """Make the queues of a cycle top-level queues."""
        for name in cycle:
            at = cycle.index(name)
            path = " -> ".join([*cycle[at:], *cycle[:at], name])
            self._fault(
                name,
                f"spec.parent: {path} is a cycle; each of them is a top-level queue until one of "
                "them names another parent",
            )
            parents[name] = ROOT

    def _top_down(self, parents: dict[str, str]) -> list[str]:
        """Queues, each after its parent; a queue below the maximum depth is moved up."""
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
                    text = f"spec.parent: {above} is {DEEPEST} levels deep, the maximum"
                    self._fault(name, f"{text}; the parent is {parent} instead")
                depth[name] = depth[parent] + 1
                self._children.setdefault(parent, []).append(name)
                order.append(name)
                line.append(name)
        return order

    # ------------------------------------------------------------ guarantees

    def _wanted(self, order: list[str], parents: Mapping[str, str]) -> dict[str, dict[str, int]]:
        """Guarantee of each queue.

        For a resource that it does not name, the sum of its children.
        """
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
        """Grant the children of a queue their guarantees, within its own."""
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
        """Reduce the children's guarantees, in place, to what their parent has."""
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
            f"spec.guarantee.{resource}: its child queues are guaranteed {_text(resource, total)} "
            f"together, but it has {_text(resource, most)}; each guarantee is reduced in "
            "proportion",
        )
        for amounts in granted.values():
            if resource in amounts:
                amounts[resource] = amounts[resource] * most // total


def _upwards(name: str, parents: Mapping[str, str], valid: set[str]) -> Iterator[str]:
    """A queue and its ancestors, up to a valid one or to the first repetition."""
    seen: set[str] = set()
    while name not in valid:
        yield name
        if name in seen:
            return
        seen.add(name)
        name = parents[name]


def _above(resource: str, amount: int, than: str) -> str:
    got = _text(resource, amount)
    return f"spec.guarantee.{resource}: got {got}, but {than}, which is used instead"


def _text(resource: str, amount: int) -> str:
    return format_amount(resource, amount)

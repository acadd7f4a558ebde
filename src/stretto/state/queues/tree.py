"""The tree of queues: usage of each subtree, and the capacity that remains under its limits.

A charge is added to a queue and to all its ancestors, so a limit or a share is a lookup and never a
sum. Claims and promises (pods at a shard) count in the same way, so no order of grants and ends
exceeds a limit.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from math import inf
from typing import Final, NamedTuple

from stretto.base.amounts import add_amounts
from stretto.state.queries.pool import Amounts, PoolView
from stretto.state.queues.hierarchy import QueueHierarchy, build_hierarchy
from stretto.state.queues.shape import ROOT, QueueShape
from stretto.state.queues.siblings import (
    BY_WEIGHT,
    SIBLING_POLICIES,
    WEIGHTED,
    SiblingMeasure,
)

NO_WEIGHTS: Final[Mapping[int, float]] = {}
NO_AMOUNTS: Final[Mapping[int, int]] = {}


class QueueState(Enum):
    """State of a queue: units start, or it drains."""

    #: Units start.
    OPEN = "Open"
    #: The Queue object is deleted: running pods continue, pending pods wait for a new object.
    DRAINING = "Draining"


class Headroom(NamedTuple):
    """Capacity that remains under the limits on the path of a queue."""

    #: Remaining amounts by column; an absent column has no limit.
    left: Mapping[int, int]
    #: Number of further units that may start; infinity for no limit.
    units: float
    #: True if no unit may start, regardless of its size.
    closed: bool = False

    def admits(self, least: Amounts, fresh: bool) -> bool:
        """Return whether these amounts may start, as a new unit (``fresh``) or in a running one."""
        if self.closed or (fresh and self.units < 1):
            return False
        left = self.left
        return all(left.get(column, inf) >= amount for column, amount in least)


class QueueBranch:
    """One queue in the tree, with the usage of its subtree."""

    __slots__ = (
        "between",
        "children",
        "freed",
        "guarantee",
        "is_limited",
        "limit",
        "most_units",
        "name",
        "number",
        "own",
        "parent",
        "path",
        "position",
        "reclaims",
        "resource",
        "running",
        "state",
        "used",
        "weight",
        "weights",
    )

    def __init__(self, name: str, number: int, parent: "QueueBranch | None") -> None:
        """Start with no usage, no guarantee and no limit."""
        #: Name of the queue.
        self.name: str = name
        #: Creation order; breaks ties.
        self.number: int = number
        #: Parent queue; ``None`` for the root.
        self.parent: QueueBranch | None = parent
        #: The queue and its ancestors, the root last.
        self.path: tuple[QueueBranch, ...] = (self,) if parent is None else (self, *parent.path)
        #: Child queues.
        self.children: list[QueueBranch] = []
        #: Leaf for its own units, created when a queue with children has some; otherwise ``None``.
        self.own: QueueBranch | None = None
        #: Weight relative to its siblings.
        self.weight: float = 1.0
        #: Weight for single resources, by column, where it differs from ``weight``.
        self.weights: Mapping[int, float] = NO_WEIGHTS
        #: Policy between its children.
        self.between: SiblingMeasure = WEIGHTED
        #: Column of the resource that this policy measures; -1 for none.
        self.resource: int = -1
        #: Guarantee: reclaimable amounts by column, without zeros.
        self.guarantee: Mapping[int, int] = NO_AMOUNTS
        #: Limit: maximum amounts by column.
        self.limit: Mapping[int, int] = NO_AMOUNTS
        #: Maximum number of running units.
        self.most_units: float = inf
        #: Claims and promises in its subtree, by column.
        self.used: dict[int, int] = {}
        #: True if the queue can refuse a unit.
        self.is_limited: bool = False
        #: Number of units with a claim or promise in its subtree.
        self.running: int = 0
        #: Number of reclaims that evict its pods: until they end, it starts only guaranteed work.
        self.reclaims: int = 0
        #: Number of refunds while it is limited; after a change, refused units are retried.
        self.freed: int = 0
        #: State: whether its units start.
        self.state: QueueState = QueueState.OPEN
        #: Position in the turns; owned by the turns.
        self.position: object = None

    @property
    def is_closed(self) -> bool:
        """True if none of its own units may start; its children are judged separately."""
        if self.reclaims and not self.is_below_guarantee:
            return True
        return self.state is QueueState.DRAINING and not self.children

    @property
    def is_below_guarantee(self) -> bool:
        """True if its usage is below its guarantee in every guaranteed resource."""
        guarantee = self.guarantee
        if not guarantee:
            return False
        used = self.used
        return all(used.get(column, 0) < amount for column, amount in guarantee.items())

    def note_limits(self) -> bool:
        """Recompute ``is_limited``."""
        drains = self.state is QueueState.DRAINING and not self.children
        counts = bool(self.limit) or self.most_units < inf
        self.is_limited = counts or drains or self.reclaims > 0
        return self.is_limited

    def narrow(self, headroom: Headroom | None) -> Headroom | None:
        """Headroom of this queue, from the headroom of its ancestors (``None`` for no limit)."""
        if not self.is_limited:
            return headroom
        used = self.used
        left = dict(headroom.left) if headroom is not None else {}
        most = (self.limit, self.guarantee) if self.reclaims else (self.limit,)
        for amounts in most:
            for column, amount in amounts.items():
                mine = amount - used.get(column, 0)
                left[column] = min(left.get(column, mine), mine)
        units, closed = self.most_units - self.running, self.is_closed
        if headroom is None:
            return Headroom(left, units, closed)
        return Headroom(left, min(units, headroom.units), closed or headroom.closed)


class QueueTree:
    """All queues with their usage."""

    def __init__(self, pool: PoolView, queues: Iterable[QueueShape] = ()) -> None:
        """Build a tree of these queues without usage; ``pool`` maps names to columns."""
        #: The root: the sum of all queues.
        self.root: QueueBranch = QueueBranch(ROOT, 0, None)
        self._made = 0
        #: Queues whose usage has changed; the turns clear it.
        self.changed: set[QueueBranch] = set()
        #: Queues with a refund or a changed limit; the turns clear it.
        self.freed: set[QueueBranch] = set()
        #: Rejected settings and faults of policies as messages, by queue.
        self.faults: Mapping[str, tuple[str, ...]] = {}
        #: True if any queue is limited.
        self.any_limits: bool = False
        #: True if any queue has a guarantee.
        self.any_guarantees: bool = False
        #: Number of rebuilds.
        self.epoch: int = 0
        self._pool = pool
        self._branches: dict[str, QueueBranch] = {ROOT: self.root}
        self._leaves: dict[str, QueueBranch] = {}
        #: Number of claims and promises, by queue and unit.
        self._pieces: dict[str, dict[str, int]] = {}
        #: Claims and promises by queue; a rebuilt tree starts from them.
        self._held: dict[str, dict[int, int]] = {}
        self._reclaims: dict[str, int] = {}
        #: Number of limited queues.
        self._limiting = 0
        self.arrange(queues)

    # ------------------------------------------------------------ structure

    def arrange(
        self,
        queues: Iterable[QueueShape],
        between: str = BY_WEIGHT,
        resource: str = "cpu",
    ) -> None:
        """Rebuild the tree from new settings; usage is preserved.

        Args:
            queues: settings of all configured queues.
            between: name of the policy between the top-level queues.
            resource: the resource that this policy measures, if it measures one.
        """
        by_name = {queue.name: queue for queue in queues}
        layout = build_hierarchy(by_name.values())
        self.root = QueueBranch(ROOT, 0, None)
        self._made = 0
        self._set_policy(self.root, between, resource)
        self._branches, self._leaves = {ROOT: self.root}, {}
        self._limiting = 0
        self.faults = layout.faults
        for name, parent in layout.parents.items():
            self._branches[name] = branch = self._make(name, self._branches[parent])
            self._branches[parent].children.append(branch)
        for name, branch in self._branches.items():
            if name in by_name:
                self._configure(branch, by_name[name], layout)
        for name, count in self._reclaims.items():
            self.leaf(name).reclaims = count
        self._note_limits()
        self.any_guarantees = any(branch.guarantee for branch in self._branches.values())
        self.changed, self.freed = set(), set()
        self.epoch += 1
        for name, amounts in self._held.items():
            self._add(self.leaf(name), tuple(amounts.items()), 1)
        for name, units in self._pieces.items():
            for branch in self.leaf(name).path:
                branch.running += len(units)

    def _configure(self, branch: QueueBranch, config: QueueShape, layout: QueueHierarchy) -> None:
        """Apply settings to a branch."""
        branch.weight = config.weight
        if config.weights:
            branch.weights = {self._pool.column(n): w for n, w in config.weights.items()}
        if branch is not self.root or config.siblings != BY_WEIGHT:
            self._set_policy(branch, config.siblings, config.resource)
        branch.limit = self._columns(config.limit)
        guarantee = layout.guarantees.get(config.name, {})
        branch.guarantee = {c: n for c, n in self._columns(guarantee).items() if n}
        if config.max_running_units is not None:
            branch.most_units = config.max_running_units
        if config.draining:
            branch.state = QueueState.DRAINING

    def _set_policy(self, branch: QueueBranch, between: str, resource: str) -> None:
        """Set the policy between the children of a branch."""
        branch.between = SIBLING_POLICIES.get(between)
        branch.resource = self._pool.column(resource) if branch.between.uses_resource else -1

    def note_fault(self, queue: str, message: str) -> None:
        """Record a fault of a queue once; a rebuild of the tree clears it."""
        known = self.faults.get(queue, ())
        if message not in known:
            self.faults = {**self.faults, queue: (*known, message)}

    def _columns(self, amounts: Mapping[str, int]) -> dict[int, int]:
        return dict(self._pool.count(name, amount) for name, amount in amounts.items())

    def leaf(self, name: str) -> QueueBranch:
        """The branch of a queue's own units; an unknown queue becomes a top-level queue."""
        found = self._leaves.get(name)
        if found is None:
            found = self._leaves[name] = self._find_leaf(name)
        return found

    def _find_leaf(self, name: str) -> QueueBranch:
        branch = self._branches.get(name)
        if branch is None:
            branch = self._branches[name] = self._make(name, self.root)
            self.root.children.append(branch)
        if not branch.children and branch is not self.root:
            return branch
        if branch.own is None:
            branch.own = self._make(name, branch)
            branch.own.state = branch.state
            self._limiting += branch.own.note_limits()
            self.any_limits = self._limiting > 0
        return branch.own

    def count_reclaim(self, queue: str, sign: int) -> None:
        """Record the start (+1) or end (-1) of a reclaim that evicts pods of a queue."""
        leaf = self.leaf(queue)
        was = leaf.is_limited
        leaf.reclaims += sign
        self._reclaims[queue] = leaf.reclaims
        leaf.note_limits()
        self._limiting += leaf.is_limited - was
        self.any_limits = self._limiting > 0
        self.freed.add(leaf)

    def _note_limits(self) -> None:
        self._limiting = sum(branch.note_limits() for branch in self._every())
        self.any_limits = self._limiting > 0

    def _every(self) -> Iterator[QueueBranch]:
        """All branches, including leaves for own units."""
        for branch in self._branches.values():
            yield branch
            if branch.own is not None:
                yield branch.own

    def _make(self, name: str, parent: QueueBranch) -> QueueBranch:
        self._made += 1
        return QueueBranch(name, self._made, parent)

    def find(self, name: str) -> QueueBranch | None:
        """The branch of a queue, or ``None``."""
        return self._branches.get(name)

    def __iter__(self) -> Iterator[QueueBranch]:
        """All known queues, the root first, parents before children."""
        return iter(self._branches.values())

    # ------------------------------------------------------------ usage

    def charge(self, queue: str, unit: str, amounts: Amounts) -> None:
        """Add a claim or promise of a unit to its queue and all ancestors."""
        held = self._held.setdefault(queue, {})
        add_amounts(held, amounts)
        leaf = self.leaf(queue)
        self._add(leaf, amounts, 1)
        pieces = self._pieces.setdefault(queue, {})
        pieces[unit] = before = pieces.get(unit, 0) + 1
        if before == 1:
            for branch in leaf.path:
                branch.running += 1
            self.freed.add(leaf)

    def refund(self, queue: str, unit: str, amounts: Amounts) -> None:
        """Remove a claim or promise with the amounts of its charge."""
        held = self._held[queue]
        for column, amount in amounts:
            held[column] -= amount
        leaf = self.leaf(queue)
        self._add(leaf, amounts, -1)
        pieces = self._pieces[queue]
        pieces[unit] -= 1
        if not pieces[unit]:
            del pieces[unit]
            for branch in leaf.path:
                branch.running -= 1
        if self.any_limits:
            self._note_freed(leaf)

    def add_offered(self, queue: str, amounts: Amounts, sign: int) -> None:
        """Add (+1) or remove (-1) capacity that frameworks hold of a queue besides pods.

        No unit runs.
        """
        held = self._held.setdefault(queue, {})
        add_amounts(held, amounts, sign)
        leaf = self.leaf(queue)
        self._add(leaf, amounts, sign)
        if sign < 0 and self.any_limits:
            self._note_freed(leaf)

    def _note_freed(self, leaf: QueueBranch) -> None:
        """Let refused units on the path of a queue retry."""
        for branch in leaf.path:
            if branch.is_limited:
                branch.freed += 1
            self.freed.add(branch)

    def _add(self, leaf: QueueBranch, amounts: Amounts, sign: int) -> None:
        path = leaf.path
        self.changed.update(path)
        for column, amount in amounts:
            more = sign * amount
            for branch in path:
                used = branch.used
                used[column] = used.get(column, 0) + more

    # ------------------------------------------------------------ reading

    def runs(self, queue: str, unit: str) -> bool:
        """Return whether a unit has a claim or promise."""
        return unit in self._pieces.get(queue, ())

    def runs_any(self, queue: str) -> bool:
        """Return whether a unit of the queue itself has a claim or promise."""
        return bool(self._pieces.get(queue))

    def held(self, queue: str) -> Mapping[int, int]:
        """Claims and promises of the queue's own units, by column."""
        return self._held.get(queue, NO_AMOUNTS)

    def headroom(self, queue: str) -> Headroom | None:
        """Capacity that remains under the limits on a queue's path; ``None`` without limits."""
        if not self.any_limits:
            return None
        found: Headroom | None = None
        for branch in self.leaf(queue).path:
            found = branch.narrow(found)
        return found

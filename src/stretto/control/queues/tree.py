"""The tree of queues: what each holds with all that are part of it, and what it may still take.

A charge goes up from a queue to the root, so that every limit and every share is one number that is
read, never a sum that is made. Claims and promises count alike: what is at a shard is as good as
held, and so no order of grants and endings can take a queue above its limit.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from math import inf
from typing import Final, NamedTuple

from stretto.control.queues.config import ROOT, QueueConfig, SiblingPolicy, between_of
from stretto.control.queues.hierarchy import QueueHierarchy, build_hierarchy
from stretto.state.queries.pool import Amounts, PoolView

NO_WEIGHTS: Final[Mapping[int, float]] = {}
NO_AMOUNTS: Final[Mapping[int, int]] = {}


class QueueState(Enum):
    """Whether a queue gives anything out."""

    #: It does.
    OPEN = "Open"
    #: Its object is gone; what runs goes on, what waits waits for another object of that name.
    DRAINING = "Draining"


class Headroom(NamedTuple):
    """What may still start in a queue."""

    #: By column; a column that is not named has no limit.
    left: Mapping[int, int]
    #: Units that may start, above those that run; infinity for any number.
    units: float
    #: Nothing may start, however little.
    closed: bool = False

    def admits(self, least: Amounts, fresh: bool) -> bool:
        """Whether so much may start, as one more unit or as part of one that runs."""
        if self.closed or (fresh and self.units < 1):
            return False
        left = self.left
        return all(left.get(column, inf) >= amount for column, amount in least)


class QueueBranch:
    """One queue in the tree, with all that are part of it."""

    __slots__ = (
        "between",
        "children",
        "freed",
        "guarantee",
        "holds",
        "is_limited",
        "limit",
        "most_units",
        "name",
        "number",
        "own",
        "parent",
        "path",
        "resource",
        "running",
        "seat",
        "state",
        "used",
        "weight",
        "weights",
    )

    def __init__(self, name: str, number: int, parent: "QueueBranch | None") -> None:
        """Start with nothing held, no guarantee and no limit."""
        #: Name of the queue.
        self.name: str = name
        #: Order of making; breaks ties.
        self.number: int = number
        #: What it is part of; ``None`` for the root.
        self.parent: QueueBranch | None = parent
        #: It and all that it is part of, the root last.
        self.path: tuple[QueueBranch, ...] = (self,) if parent is None else (self, *parent.path)
        #: What is part of it.
        self.children: list[QueueBranch] = []
        #: Where units of its own wait, once it has children; ``None`` before.
        self.own: QueueBranch | None = None
        #: Its share among its siblings.
        self.weight: float = 1.0
        #: Its share of single resources, by column, where that is another.
        self.weights: Mapping[int, float] = NO_WEIGHTS
        #: Whose turn it is between its children.
        self.between: SiblingPolicy = SiblingPolicy.WEIGHT
        #: Column that ``SiblingPolicy.FAIR_SHARE`` counts; -1 for none.
        self.resource: int = -1
        #: What it gets back, by column; zeros are left out.
        self.guarantee: Mapping[int, int] = NO_AMOUNTS
        #: What it never exceeds, by column.
        self.limit: Mapping[int, int] = NO_AMOUNTS
        #: Units that may run at once.
        self.most_units: float = inf
        #: What claims and promises hold below it, by column.
        self.used: dict[int, int] = {}
        #: Whether anything is refused because of it.
        self.is_limited: bool = False
        #: Units of which something is held or promised.
        self.running: int = 0
        #: Reclaims for which its pods leave: it starts nothing that it is not owed itself.
        self.holds: int = 0
        #: Counts what was given back, where it has a limit: who was refused may try again.
        self.freed: int = 0
        #: Whether it gives anything out.
        self.state: QueueState = QueueState.OPEN
        #: Where it stands in the turns; theirs to use.
        self.seat: object = None

    @property
    def is_closed(self) -> bool:
        """Whether nothing more starts in it; queues that are part of it go on by themselves."""
        if self.holds and not self.is_below_guarantee:
            return True
        return self.state is QueueState.DRAINING and not self.children

    @property
    def is_below_guarantee(self) -> bool:
        """Whether it holds less of everything that it is guaranteed than that."""
        guarantee = self.guarantee
        if not guarantee:
            return False
        used = self.used
        return all(used.get(column, 0) < amount for column, amount in guarantee.items())

    def note_limits(self) -> bool:
        """Look again whether anything is refused because of it."""
        drains = self.state is QueueState.DRAINING and not self.children
        counts = bool(self.limit) or self.most_units < inf
        self.is_limited = counts or drains or self.holds > 0
        return self.is_limited

    def narrow(self, room: Headroom | None) -> Headroom | None:
        """What may still start here, where so much may start above."""
        if not self.is_limited:
            return room
        used = self.used
        left = dict(room.left) if room is not None else {}
        for column, amount in self.limit.items():
            mine = amount - used.get(column, 0)
            left[column] = min(left.get(column, mine), mine)
        units, closed = self.most_units - self.running, self.is_closed
        if room is None:
            return Headroom(left, units, closed)
        return Headroom(left, min(units, room.units), closed or room.closed)


class QueueTree:
    """Every queue in its place, with what is held."""

    def __init__(self, pool: PoolView, queues: Iterable[QueueConfig] = ()) -> None:
        """A tree of these queues, of which none holds anything."""
        #: All queues together.
        self.root: QueueBranch = QueueBranch(ROOT, 0, None)
        self._made = 0
        #: Queues whose usage has changed since somebody last looked.
        self.changed: set[QueueBranch] = set()
        #: Queues that have given something back, or whose limits have changed, since then.
        self.freed: set[QueueBranch] = set()
        #: What was not taken as written, by queue.
        self.faults: Mapping[str, tuple[str, ...]] = {}
        #: Whether any queue limits what may start.
        self.any_limits: bool = False
        #: Whether any queue is guaranteed anything.
        self.any_guarantees: bool = False
        #: Counts how often it was laid out anew.
        self.epoch: int = 0
        self._pool = pool
        self._branches: dict[str, QueueBranch] = {ROOT: self.root}
        self._leaves: dict[str, QueueBranch] = {}
        #: Pieces of claims and promises, by queue and unit.
        self._pieces: dict[str, dict[str, int]] = {}
        #: What is held or promised, by queue: what a new tree starts from.
        self._held: dict[str, dict[int, int]] = {}
        self._holds: dict[str, int] = {}
        #: How many queues refuse anything.
        self._limiting = 0
        self.arrange(queues)

    # ------------------------------------------------------------ its shape

    def arrange(
        self,
        queues: Iterable[QueueConfig],
        between: SiblingPolicy = SiblingPolicy.WEIGHT,
        resource: str = "cpu",
    ) -> None:
        """Lay the tree out anew; what is held stays held.

        Args:
            queues: all queues that have settings.
            between: whose turn it is between queues that stand beside one another.
            resource: what fair share counts there.
        """
        by_name = {queue.name: queue for queue in queues}
        layout = build_hierarchy(by_name.values())
        self.root = QueueBranch(ROOT, 0, None)
        self._made = 0
        self.root.between = between
        self.root.resource = (
            self._pool.column(resource) if between is SiblingPolicy.FAIR_SHARE else -1
        )
        self._branches, self._leaves = {ROOT: self.root}, {}
        self._limiting = 0
        self.faults = layout.faults
        for name, parent in layout.parents.items():
            self._branches[name] = branch = self._make(name, self._branches[parent])
            self._branches[parent].children.append(branch)
        for name, branch in self._branches.items():
            if name in by_name:
                self._settle(branch, by_name[name], layout)
        for name, count in self._holds.items():
            self.leaf(name).holds = count
        self._note_limits()
        self.any_guarantees = any(branch.guarantee for branch in self._branches.values())
        self.changed, self.freed = set(), set()
        self.epoch += 1
        for name, amounts in self._held.items():
            self._add(self.leaf(name), tuple(amounts.items()), 1)
        for name, units in self._pieces.items():
            for branch in self.leaf(name).path:
                branch.running += len(units)

    def _settle(self, branch: QueueBranch, config: QueueConfig, layout: QueueHierarchy) -> None:
        """Give a branch its settings."""
        branch.weight = config.weight
        if config.weights:
            branch.weights = {self._pool.column(n): w for n, w in config.weights.items()}
        if branch is not self.root or between_of(config.policy) is not SiblingPolicy.WEIGHT:
            branch.between = between_of(config.policy)
            counts = branch.between is SiblingPolicy.FAIR_SHARE
            branch.resource = self._pool.column(config.resource) if counts else -1
        branch.limit = self._columns(config.limit)
        guarantee = layout.guarantees.get(config.name, {})
        branch.guarantee = {c: n for c, n in self._columns(guarantee).items() if n}
        if config.max_running_units is not None:
            branch.most_units = config.max_running_units
        if config.draining:
            branch.state = QueueState.DRAINING

    def _columns(self, amounts: Mapping[str, int]) -> dict[int, int]:
        return dict(self._pool.count(name, amount) for name, amount in amounts.items())

    def leaf(self, name: str) -> QueueBranch:
        """Where units of a queue wait; a queue without settings stands beside the others."""
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

    def hold(self, queue: str, sign: int) -> None:
        """A reclaim that takes pods of a queue begins, or is over."""
        leaf = self.leaf(queue)
        was = leaf.is_limited
        leaf.holds += sign
        self._holds[queue] = leaf.holds
        leaf.note_limits()
        self._limiting += leaf.is_limited - was
        self.any_limits = self._limiting > 0
        self.freed.add(leaf)

    def _note_limits(self) -> None:
        self._limiting = sum(branch.note_limits() for branch in self._every())
        self.any_limits = self._limiting > 0

    def _every(self) -> Iterator[QueueBranch]:
        """Every queue, with the places of own units."""
        for branch in self._branches.values():
            yield branch
            if branch.own is not None:
                yield branch.own

    def _make(self, name: str, parent: QueueBranch) -> QueueBranch:
        self._made += 1
        return QueueBranch(name, self._made, parent)

    def find(self, name: str) -> QueueBranch | None:
        """A queue with all that are part of it, or ``None``."""
        return self._branches.get(name)

    def __iter__(self) -> Iterator[QueueBranch]:
        """Every queue that is known, the root first, parents before their queues."""
        return iter(self._branches.values())

    # ------------------------------------------------------------ what is held

    def charge(self, queue: str, unit: str, amounts: Amounts) -> None:
        """A unit of a queue got a claim, or a promise."""
        held = self._held.setdefault(queue, {})
        for column, amount in amounts:
            held[column] = held.get(column, 0) + amount
        leaf = self.leaf(queue)
        self._add(leaf, amounts, 1)
        pieces = self._pieces.setdefault(queue, {})
        pieces[unit] = before = pieces.get(unit, 0) + 1
        if before == 1:
            for branch in leaf.path:
                branch.running += 1
            self.freed.add(leaf)

    def refund(self, queue: str, unit: str, amounts: Amounts) -> None:
        """A claim or a promise has ended; with the amounts with which it was charged."""
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
        """Whether something of a unit is held or promised."""
        return unit in self._pieces.get(queue, ())

    def runs_any(self, queue: str) -> bool:
        """Whether anything of a queue's own units is held or promised."""
        return bool(self._pieces.get(queue))

    def held(self, queue: str) -> Mapping[int, int]:
        """What the units of a queue itself hold or were promised, by column."""
        return self._held.get(queue, NO_AMOUNTS)

    def room(self, queue: str) -> Headroom | None:
        """What may still start in a queue; ``None`` where nothing limits it."""
        if not self.any_limits:
            return None
        found: Headroom | None = None
        for branch in self.leaf(queue).path:
            found = branch.narrow(found)
        return found

    def over(self) -> dict[str, dict[int, int]]:
        """How far queues are above their limits, by column: a limit was lowered, others bound."""
        found: dict[str, dict[int, int]] = {}
        for name, branch in self._branches.items():
            over = {c: branch.used.get(c, 0) - most for c, most in branch.limit.items()}
            above = {column: amount for column, amount in over.items() if amount > 0}
            if above:
                found[name] = above
        return found

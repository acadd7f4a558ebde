"""Reclaim: who leaves so that a queue gets back what it is guaranteed.

A unit may have others leave while its queue stays within its guarantee with it; and so outside of
its parent only while that does, too. Whoever leaves is in a queue that holds more than its own
guarantee, and in none, at any level, that would be pushed under its guarantee: not in the resource
that is asked, and not in any other that the pod takes. Members of a gang leave one by one down to
its minimum, and then all together.

Two things can be in the way: a limit above, under which others have borrowed, or that no node has
room. The one is a sum; for the other nodes are compared by what would have to leave there. In both
whoever turns out not to be needed stays. A pure decision: nothing changes here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

from stretto.control.queues.tree import QueueBranch, QueueTree
from stretto.state.queries.pool import Amounts
from stretto.state.rows.resources import PODS
from stretto.state.rows.shares import dominant

MOST_PODS: Final = 4096
"""Pods looked at for one decision: those of the queues that have borrowed most."""
CLOSE_LOOKS: Final = 64
"""Nodes compared pod by pod; more would find a victim of little less worth."""


class ReclaimablePod(NamedTuple):
    """A pod on a node that may be asked to leave."""

    #: Its row.
    row: int
    #: The slot of its node.
    slot: int
    #: Its queue.
    queue: str
    #: Its unit.
    unit: str
    #: What it takes.
    amounts: Amounts
    #: Its priority.
    priority: int
    #: Clock time of its start.
    start: float


class RunningGang(NamedTuple):
    """A gang on nodes."""

    #: As few pods may be left, unless none is.
    least: int
    #: Those on nodes, those that may not be asked among them.
    rows: frozenset[int]
    #: None of it is on the way to a node, so that all of it can leave together.
    settled: bool = True


class ReclaimRequest(NamedTuple):
    """What waits."""

    #: Its queue.
    queue: str
    #: Key of its unit.
    unit: str
    #: Classes of the pods that find no place and must.
    classes: tuple[int, ...]
    #: What all pods that must start take together.
    amounts: Amounts


class ReclaimFacts(Protocol):
    """What must be known of pods and nodes."""

    def running(self, queue: str) -> Iterable[ReclaimablePod]:
        """Pods of a queue's own units that may be asked to leave."""

    def team(self, unit: str) -> RunningGang | None:
        """The gang of a unit; ``None`` where its pods are useful one by one."""

    def pending(self) -> Iterable[tuple[str, Amounts, int]]:
        """(queue, amounts, sign): what is to come to queues, and what is to leave them, already."""

    def fits(self, slot: int, classes: Sequence[int], going: Iterable[int]) -> bool:
        """Whether pods of these classes fit a slot once these rows have gone."""


def choose_victims(
    tree: QueueTree, asked: ReclaimRequest, ground: ReclaimFacts
) -> tuple[ReclaimablePod, ...]:
    """Who is to leave so that what is asked can start; empty when nobody is, or nothing helps."""
    books = _QueueBalances(tree, ground.pending())
    path = _guaranteed_ancestors(tree.leaf(asked.queue), asked.amounts, books)
    if not path:
        return ()
    short = _shortfall(tree.leaf(asked.queue), asked, books)
    if any(branch not in path[1:] for branch in short):
        return ()  # a limit from above the reach of its guarantee is in the way
    search = _ReclaimSearch(tree, asked, ground, books)
    search.gather(path)
    return search.within_limits(short) if short else search.on_nodes()


class _QueueBalances:
    """What queues hold, with what is on its way to them and from them."""

    def __init__(self, tree: QueueTree, pending: Iterable[tuple[str, Amounts, int]]) -> None:
        self._tree = tree
        #: What is added to what a queue in the tree holds, by column.
        self.moved: dict[QueueBranch, dict[int, int]] = {}
        for queue, amounts, sign in pending:
            self.move(queue, amounts, sign)

    def move(self, queue: str, amounts: Amounts, sign: int) -> None:
        """So much comes to a queue, or leaves it."""
        for branch in self._tree.leaf(queue).path:
            moved = self.moved.setdefault(branch, {})
            for column, amount in amounts:
                moved[column] = moved.get(column, 0) + sign * amount

    def used(self, branch: QueueBranch, column: int) -> int:
        """How much a queue will hold then."""
        moved = self.moved.get(branch)
        return branch.used.get(column, 0) + (moved.get(column, 0) if moved is not None else 0)


def _guaranteed_ancestors(
    leaf: QueueBranch, amounts: Amounts, books: _QueueBalances
) -> list[QueueBranch]:
    """The queue that asks and those above it, as far as its guarantees reach; empty for none."""
    path = [leaf]
    for branch in leaf.path:
        guarantee = branch.guarantee
        named = [(column, amount) for column, amount in amounts if column in guarantee]
        within = all(books.used(branch, c) + amount <= guarantee[c] for c, amount in named)
        if branch.parent is None or not named or not within:
            break
        path.append(branch.parent)
    return path if len(path) > 1 else []


def _shortfall(
    leaf: QueueBranch, asked: ReclaimRequest, books: _QueueBalances
) -> dict[QueueBranch, dict[int, int]]:
    """By how much limits are in the way, by queue and column."""
    found: dict[QueueBranch, dict[int, int]] = {}
    for branch in leaf.path:
        lacks = {}
        for column, amount in asked.amounts:
            limit = branch.limit.get(column)
            if limit is not None and books.used(branch, column) + amount > limit:
                lacks[column] = books.used(branch, column) + amount - limit
        if lacks:
            found[branch] = lacks
    return found


class _ReclaimSearch:
    """One decision."""

    def __init__(
        self, tree: QueueTree, asked: ReclaimRequest, ground: ReclaimFacts, books: _QueueBalances
    ) -> None:
        self._tree = tree
        self._books = books
        self._asked = asked
        self._facts = ground
        named = tree.leaf(asked.queue).guarantee
        self._columns = frozenset(c for c, _ in asked.amounts if c != PODS or c in named)
        #: Whom one may take, the best to take first.
        self._line: list[ReclaimablePod] = []
        self._by_unit: dict[str, list[ReclaimablePod]] = {}
        #: Rows that are taken.
        self._taken: dict[int, ReclaimablePod] = {}
        #: What they free, by queue in the tree.
        self._freed: dict[QueueBranch, dict[int, int]] = {}

    # ------------------------------------------------------------ whom one may take

    def gather(self, path: Sequence[QueueBranch]) -> None:
        """Pods of queues beside the path that hold more than they are guaranteed."""
        lenders = [
            (-self._borrowed_share(leaf), leaf.number, leaf)
            for child, branch in pairwise(path)
            for other in (*branch.children, *([branch.own] if branch.own else ()))
            if other is not child
            for leaf in self._lending_queues(other)
        ]
        for _, _, leaf in sorted(lenders, key=lambda each: each[:2]):
            mine = [each for each in self._facts.running(leaf.name) if self._helps(each)]
            self._line += sorted(mine, key=_eviction_order)
            if len(self._line) >= MOST_PODS:
                break
        for each in self._line:
            self._by_unit.setdefault(each.unit, []).append(each)

    def _lending_queues(self, top: QueueBranch) -> Iterator[QueueBranch]:
        """Queues at or below one that could give something of what is asked."""
        stack = [top]
        while stack:
            branch = stack.pop()
            guarantee, used = branch.guarantee, branch.used
            if not any(used.get(c, 0) > guarantee.get(c, 0) for c in self._columns):
                continue
            if branch.children:
                stack.extend(branch.children)
                if branch.own is not None:
                    stack.append(branch.own)
            else:
                yield branch

    def _borrowed_share(self, leaf: QueueBranch) -> float:
        """How much a queue has borrowed, for its weight: the share of what it has too much."""
        guarantee = leaf.guarantee
        over = ((c, n - guarantee.get(c, 0)) for c, n in leaf.used.items() if c in self._columns)
        whole = self._tree.root.used
        return dominant(((c, n) for c, n in over if n > 0), whole).share / leaf.weight

    def _helps(self, running: ReclaimablePod) -> bool:
        return any(column in self._columns for column, _ in running.amounts)

    # ------------------------------------------------------------ taking

    def _take(self, running: ReclaimablePod) -> list[ReclaimablePod]:
        """Take a pod, with the rest of its gang where that falls; empty where one may not."""
        if running.row in self._taken:
            return []
        going = self._evicted_with(running)
        taken: list[ReclaimablePod] = []
        for each in going:
            if not self._may_go(each):
                self._give_back(taken)
                return []
            self._count(each, 1)
            self._taken[each.row] = each
            taken.append(each)
        return taken

    def _evicted_with(self, running: ReclaimablePod) -> list[ReclaimablePod]:
        """Who goes when one goes: it alone, or what is left of its gang."""
        team = self._facts.team(running.unit)
        if team is None or team.least <= 1:
            return [running]
        left = team.rows - self._taken.keys()
        if len(left) - 1 >= team.least or running.row not in left:
            return [running]
        rest = [each for each in self._by_unit[running.unit] if each.row in left]
        return rest if team.settled and len(rest) == len(left) else []

    def _may_go(self, running: ReclaimablePod) -> bool:
        """Whether no queue falls under its guarantee without a pod."""
        for branch in self._tree.leaf(running.queue).path:
            if branch.parent is None:
                return True
            guarantee, freed = branch.guarantee, self._freed.get(branch, {})
            for column, amount in running.amounts:
                least = guarantee.get(column)
                if least is not None and amount:
                    left = self._books.used(branch, column) - freed.get(column, 0) - amount
                    if left < least and not self._is_own(branch):
                        return False
        return True

    def _is_own(self, branch: QueueBranch) -> bool:
        """Whether a queue is above the one that asks: what leaves there comes back to it."""
        return branch in self._tree.leaf(self._asked.queue).path

    def _count(self, running: ReclaimablePod, sign: int) -> None:
        for branch in self._tree.leaf(running.queue).path:
            freed = self._freed.setdefault(branch, {})
            for column, amount in running.amounts:
                freed[column] = freed.get(column, 0) + sign * amount

    def _give_back(self, rows: Iterable[ReclaimablePod]) -> None:
        for each in rows:
            self._count(each, -1)
            del self._taken[each.row]

    # ------------------------------------------------------------ a limit is in the way

    def within_limits(
        self, short: Mapping[QueueBranch, Mapping[int, int]]
    ) -> tuple[ReclaimablePod, ...]:
        """Take what others have borrowed under the limits, until what is asked may start."""
        parts: list[list[ReclaimablePod]] = []
        for branch, lacks in short.items():
            for each in self._line:
                if self._covers(branch, lacks):
                    break
                if self._is_below(each, branch):
                    parts.append(self._take(each))
            if not self._covers(branch, lacks):
                return ()
        for part in reversed(parts):
            self._spare(part, lambda: all(self._covers(b, lacks) for b, lacks in short.items()))
        return tuple(self._taken.values())

    def _covers(self, branch: QueueBranch, lacks: Mapping[int, int]) -> bool:
        freed = self._freed.get(branch, {})
        return all(freed.get(column, 0) >= amount for column, amount in lacks.items())

    def _is_below(self, running: ReclaimablePod, top: QueueBranch) -> bool:
        return any(branch is top for branch in self._tree.leaf(running.queue).path)

    def _spare(self, part: list[ReclaimablePod], is_enough: Callable[[], bool]) -> None:
        """Let those stay that are not needed: a whole part, as it was taken."""
        if part and all(each.row in self._taken for each in part):
            self._give_back(part)
            if is_enough() and self._is_whole(part[0].unit):
                part.clear()
                return
            for each in part:
                self._count(each, 1)
                self._taken[each.row] = each

    def _is_whole(self, unit: str) -> bool:
        """Whether a gang keeps its minimum, or nobody of it stays."""
        team = self._facts.team(unit)
        if team is None:
            return True
        left = len(team.rows - self._taken.keys())
        return not left or left == len(team.rows) or left >= team.least

    # ------------------------------------------------------------ no node has room

    def on_nodes(self) -> tuple[ReclaimablePod, ...]:
        """Take whoever must leave the nodes where that costs least, pod by pod of what is asked."""
        here: dict[int, list[ReclaimablePod]] = {}
        for each in self._line:
            here.setdefault(each.slot, []).append(each)
        placed: dict[int, list[int]] = {}
        for class_id in self._asked.classes:
            slot = self._cheapest(class_id, here, placed)
            if slot is None:
                return ()
            placed[slot].append(class_id)
        return tuple(self._taken.values())

    def _cheapest(
        self, class_id: int, here: Mapping[int, list[ReclaimablePod]], placed: dict[int, list[int]]
    ) -> int | None:
        """Make room for one pod on the node where it costs least; its slot."""
        best: tuple[tuple[int, int, int, float], int, list[list[ReclaimablePod]]] | None = None
        looks = 0
        for slot, running in here.items():
            there = placed.get(slot)
            if there is None:
                there = placed[slot] = self._fit_now(slot, class_id)
            parts = self._make_room(slot, [*there, class_id], running)
            if parts is None:
                continue
            cost = self._cost(parts)
            if best is None or cost < best[0]:
                best = cost, slot, parts
            for part in parts:
                self._give_back(part)
            looks += 1
            if looks >= CLOSE_LOOKS or not cost[2]:
                break
        if best is None:
            return None
        for part in best[2]:
            for each in part:
                self._count(each, 1)
                self._taken[each.row] = each
        return best[1]

    def _fit_now(self, slot: int, class_id: int) -> list[int]:
        """Pods that fit there anyway: their room is counted on already."""
        there: list[int] = []
        while len(there) < len(self._asked.classes):
            if not self._facts.fits(slot, [*there, class_id], ()):
                break
            there.append(class_id)
        return there

    def _make_room(
        self, slot: int, classes: Sequence[int], running: Iterable[ReclaimablePod]
    ) -> list[list[ReclaimablePod]] | None:
        """Take pods there until these fit; ``None``, and nothing taken, where that is in vain."""
        parts: list[list[ReclaimablePod]] = []
        line = iter(running)
        while not self._fits(slot, classes):
            each = next(line, None)
            if each is None:
                for part in parts:
                    self._give_back(part)
                return None
            part = self._take(each)
            if part:
                parts.append(part)
        for part in reversed(parts):
            self._spare(part, lambda: self._fits(slot, classes))
        return [part for part in parts if part]

    def _fits(self, slot: int, classes: Sequence[int]) -> bool:
        going = [row for row, each in self._taken.items() if each.slot == slot]
        return self._facts.fits(slot, classes, going)

    def _cost(self, parts: Iterable[list[ReclaimablePod]]) -> tuple[int, int, int, float]:
        """Highest priority, gangs that fall, pods, and how long the longest has run."""
        rows = [each for part in parts for each in part]
        fallen = sum(len(part) > 1 for part in parts)
        priority = max((each.priority for each in rows), default=-(1 << 31))
        return priority, fallen, len(rows), -min((each.start for each in rows), default=0.0)


def _eviction_order(running: ReclaimablePod) -> tuple[int, float, int]:
    """Who is taken first: the lowest priority, then who has run the shortest time."""
    return running.priority, -running.start, running.row

"""Reclaim: the pods to evict so that a queue gets its guarantee back.

A unit may reclaim while its queue, including the unit, stays within its guarantee; outside its
parent only while the parent does too. Victims are in queues above their guarantee, and no eviction
takes any queue, at any level, below its guarantee in any resource. A gang loses single pods down
to its minimum, and then all remaining pods together.

Two obstacles are possible: a limit of an ancestor under which siblings have borrowed (a sum), or
no node with enough capacity (nodes are compared by the victims they need). In both cases pods that
turn out not to be needed are spared. This is a pure decision; no state changes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise, permutations
from typing import Final, NamedTuple, Protocol

from stretto.state.queries.pool import Amounts
from stretto.state.queues.shares import dominant
from stretto.state.queues.tree import QueueBranch, QueueTree
from stretto.state.rows.resources import PODS

MOST_PODS: Final = 4096
"""Maximum number of candidate pods per decision, from the queues that borrow most."""
CLOSE_LOOKS: Final = 64
"""Maximum number of nodes compared in detail; more would improve the choice little."""

MOST_ORDERS: Final = 24
"""Maximum number of orders of classes that are tried: every order of up to four classes."""


class ReclaimablePod(NamedTuple):
    """A running pod that may be evicted."""

    #: Its row.
    row: int
    #: The slot of its node.
    slot: int
    #: Its queue.
    queue: str
    #: Its unit.
    unit: str
    #: Its requests.
    amounts: Amounts
    #: Its priority.
    priority: int
    #: Clock time of its start.
    start: float


class RunningGang(NamedTuple):
    """A gang with running pods."""

    #: Minimum number of running pods, unless none remains.
    least: int
    #: Rows on nodes, including pods that may not be evicted.
    rows: frozenset[int]
    #: No pod of it is in flight to a node, so the whole gang can be evicted.
    settled: bool = True


class ReclaimRequest(NamedTuple):
    """A pending demand."""

    #: Its queue.
    queue: str
    #: Key of its unit.
    unit: str
    #: Classes of the required pods that fit no node.
    classes: tuple[int, ...]
    #: Sum of the requests of all required pods.
    amounts: Amounts


class ReclaimFacts(Protocol):
    """Facts about pods and nodes."""

    def running(self, queue: str) -> Iterable[ReclaimablePod]:
        """Pods of a queue's own units that may be evicted."""

    def team(self, unit: str) -> RunningGang | None:
        """The gang of a unit; ``None`` if its pods are independent."""

    def pending(self) -> Iterable[tuple[str, Amounts, int]]:
        """(queue, amounts, sign) of claims (+1) and evictions (-1) that are under way."""

    def fits(self, slot: int, classes: Sequence[int], going: Iterable[int]) -> bool:
        """Whether pods of these classes fit a slot after eviction of these rows."""


def choose_victims(
    tree: QueueTree, asked: ReclaimRequest, ground: ReclaimFacts
) -> tuple[ReclaimablePod, ...]:
    """The pods to evict so that the demand can start; empty if no eviction helps."""
    books = _QueueBalances(tree, ground.pending())
    path = _guaranteed_ancestors(tree.leaf(asked.queue), asked.amounts, books)
    if not path:
        return ()
    short = _shortfall(tree.leaf(asked.queue), asked, books)
    if any(branch not in path[1:] for branch in short):
        return ()  # a limit outside the reach of its guarantee refuses it
    search = _ReclaimSearch(tree, asked, ground, books)
    search.gather(path)
    return search.within_limits(short) if short else search.on_nodes()


class _QueueBalances:
    """Usage of queues, including claims and evictions that are under way."""

    def __init__(self, tree: QueueTree, pending: Iterable[tuple[str, Amounts, int]]) -> None:
        self._tree = tree
        #: Change of the usage by queue and column.
        self.moved: dict[QueueBranch, dict[int, int]] = {}
        for queue, amounts, sign in pending:
            self.move(queue, amounts, sign)

    def move(self, queue: str, amounts: Amounts, sign: int) -> None:
        """Add (+1) or remove (-1) amounts of a queue."""
        for branch in self._tree.leaf(queue).path:
            moved = self.moved.setdefault(branch, {})
            for column, amount in amounts:
                moved[column] = moved.get(column, 0) + sign * amount

    def used(self, branch: QueueBranch, column: int) -> int:
        """Usage of a queue after these changes."""
        moved = self.moved.get(branch)
        return branch.used.get(column, 0) + (moved.get(column, 0) if moved is not None else 0)


def _guaranteed_ancestors(
    leaf: QueueBranch, amounts: Amounts, books: _QueueBalances
) -> list[QueueBranch]:
    """The queue and its ancestors as far as guarantees cover the demand; empty for none."""
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
    """Amounts by which the demand exceeds limits, by queue and column."""
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
    """State of one decision."""

    def __init__(
        self, tree: QueueTree, asked: ReclaimRequest, ground: ReclaimFacts, books: _QueueBalances
    ) -> None:
        self._tree = tree
        self._books = books
        self._asked = asked
        self._facts = ground
        named = tree.leaf(asked.queue).guarantee
        self._columns = frozenset(c for c, _ in asked.amounts if c != PODS or c in named)
        #: Candidates, the cheapest first.
        self._line: list[ReclaimablePod] = []
        self._by_unit: dict[str, list[ReclaimablePod]] = {}
        #: Chosen rows.
        self._taken: dict[int, ReclaimablePod] = {}
        #: Amounts that they free, by queue.
        self._freed: dict[QueueBranch, dict[int, int]] = {}

    # ------------------------------------------------------------ candidates

    def gather(self, path: Sequence[QueueBranch]) -> None:
        """Collect pods of queues outside the path that are above their guarantee."""
        borrowers = [
            (-self._borrowed_share(leaf), leaf.number, leaf)
            for child, branch in pairwise(path)
            for other in (*branch.children, *([branch.own] if branch.own else ()))
            if other is not child
            for leaf in self._borrowing_queues(other)
        ]
        for _, _, leaf in sorted(borrowers, key=lambda each: each[:2]):
            mine = [each for each in self._facts.running(leaf.name) if self._helps(each)]
            self._line += sorted(mine, key=_eviction_order)
            if len(self._line) >= MOST_PODS:
                break
        for each in self._line:
            self._by_unit.setdefault(each.unit, []).append(each)

    def _borrowing_queues(self, top: QueueBranch) -> Iterator[QueueBranch]:
        """Leaf queues of a subtree that borrow a demanded resource."""
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
        """Dominant share of the borrowed amounts of a queue, divided by its weight."""
        guarantee = leaf.guarantee
        over = ((c, n - guarantee.get(c, 0)) for c, n in leaf.used.items() if c in self._columns)
        whole = self._tree.root.used
        return dominant(((c, n) for c, n in over if n > 0), whole).share / leaf.weight

    def _helps(self, running: ReclaimablePod) -> bool:
        return any(column in self._columns for column, _ in running.amounts)

    # ------------------------------------------------------------ selection

    def _choose(self, running: ReclaimablePod) -> list[ReclaimablePod]:
        """Choose a pod, with the rest of its gang if that breaks; empty if not allowed."""
        if running.row in self._taken:
            return []
        going = self._evicted_with(running)
        taken: list[ReclaimablePod] = []
        for each in going:
            if not self._may_go(each):
                self._unchoose(taken)
                return []
            self._count(each, 1)
            self._taken[each.row] = each
            taken.append(each)
        return taken

    def _evicted_with(self, running: ReclaimablePod) -> list[ReclaimablePod]:
        """The pods evicted with a pod: only itself, or the rest of its gang."""
        team = self._facts.team(running.unit)
        if team is None or team.least <= 1:
            return [running]
        left = team.rows - self._taken.keys()
        if len(left) - 1 >= team.least or running.row not in left:
            return [running]
        rest = [each for each in self._by_unit[running.unit] if each.row in left]
        return rest if team.settled and len(rest) == len(left) else []

    def _may_go(self, running: ReclaimablePod) -> bool:
        """Whether no queue falls below its guarantee without a pod."""
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
        """Whether a queue is an ancestor of the demanding queue, which gets the capacity back."""
        return branch in self._tree.leaf(self._asked.queue).path

    def _count(self, running: ReclaimablePod, sign: int) -> None:
        for branch in self._tree.leaf(running.queue).path:
            freed = self._freed.setdefault(branch, {})
            for column, amount in running.amounts:
                freed[column] = freed.get(column, 0) + sign * amount

    def _unchoose(self, rows: Iterable[ReclaimablePod]) -> None:
        for each in rows:
            self._count(each, -1)
            del self._taken[each.row]

    # ------------------------------------------------------------ limits

    def within_limits(
        self, short: Mapping[QueueBranch, Mapping[int, int]]
    ) -> tuple[ReclaimablePod, ...]:
        """Choose pods that borrow under the limits until the demand may start."""
        parts: list[list[ReclaimablePod]] = []
        for branch, lacks in short.items():
            for each in self._line:
                if self._covers(branch, lacks):
                    break
                if self._is_below(each, branch):
                    parts.append(self._choose(each))
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
        """Spare a part, as a whole, if it is not needed."""
        if part and all(each.row in self._taken for each in part):
            self._unchoose(part)
            if is_enough() and self._is_whole(part[0].unit):
                part.clear()
                return
            for each in part:
                self._count(each, 1)
                self._taken[each.row] = each

    def _is_whole(self, unit: str) -> bool:
        """Whether a gang keeps its minimum or loses all its pods."""
        team = self._facts.team(unit)
        if team is None:
            return True
        left = len(team.rows - self._taken.keys())
        return not left or left == len(team.rows) or left >= team.least

    # ------------------------------------------------------------ nodes

    def on_nodes(self) -> tuple[ReclaimablePod, ...]:
        """Choose victims on the cheapest nodes, for one demanded pod after another.

        Pods of different classes are served in several orders, the requested one first.
        """
        here: dict[int, list[ReclaimablePod]] = {}
        for each in self._line:
            here.setdefault(each.slot, []).append(each)
        for classes in _orders(self._asked.classes):
            if self._serves(classes, here):
                return tuple(self._taken.values())
            self._unchoose(list(self._taken.values()))
        return ()

    def _serves(self, classes: Sequence[int], here: Mapping[int, list[ReclaimablePod]]) -> bool:
        """Choose victims for pods of these classes in this order; whether all are served."""
        placed: dict[int, list[int]] = {}
        for class_id in classes:
            slot = self._cheapest(class_id, here, placed)
            if slot is None:
                return False
            placed[slot].append(class_id)
        return True

    def _cheapest(
        self, class_id: int, here: Mapping[int, list[ReclaimablePod]], placed: dict[int, list[int]]
    ) -> int | None:
        """Choose victims for one pod on the cheapest node; returns its slot."""
        best: tuple[tuple[int, int, int, float], int, list[list[ReclaimablePod]]] | None = None
        looks = 0
        for slot, running in here.items():
            there = placed.get(slot)
            if there is None:
                there = placed[slot] = self._fit_now(slot, class_id)
            parts = self._free_capacity(slot, [*there, class_id], running)
            if parts is None:
                continue
            cost = self._cost(parts)
            if best is None or cost < best[0]:
                best = cost, slot, parts
            for part in parts:
                self._unchoose(part)
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
        """Demanded pods that fit a slot without eviction; their capacity is already in use."""
        there: list[int] = []
        while len(there) < len(self._asked.classes):
            if not self._facts.fits(slot, [*there, class_id], ()):
                break
            there.append(class_id)
        return there

    def _free_capacity(
        self, slot: int, classes: Sequence[int], running: Iterable[ReclaimablePod]
    ) -> list[list[ReclaimablePod]] | None:
        """Choose pods on a slot until these classes fit; ``None`` if that is impossible."""
        parts: list[list[ReclaimablePod]] = []
        line = iter(running)
        while not self._fits(slot, classes):
            each = next(line, None)
            if each is None:
                for part in parts:
                    self._unchoose(part)
                return None
            part = self._choose(each)
            if part:
                parts.append(part)
        for part in reversed(parts):
            self._spare(part, lambda: self._fits(slot, classes))
        return [part for part in parts if part]

    def _fits(self, slot: int, classes: Sequence[int]) -> bool:
        going = [row for row, each in self._taken.items() if each.slot == slot]
        return self._facts.fits(slot, classes, going)

    def _cost(self, parts: Iterable[list[ReclaimablePod]]) -> tuple[int, int, int, float]:
        """(highest priority, broken gangs, pods, longest run time) of victims."""
        rows = [each for part in parts for each in part]
        fallen = sum(len(part) > 1 for part in parts)
        priority = max((each.priority for each in rows), default=-(1 << 31))
        return priority, fallen, len(rows), -min((each.start for each in rows), default=0.0)


def _orders(classes: Sequence[int]) -> Iterator[list[int]]:
    """The demanded classes in the requested order, then by other orders of distinct classes."""
    counts = Counter(classes)
    seen = {tuple(classes)}
    yield list(classes)
    for order in islice(permutations(counts), MOST_ORDERS):
        found = [class_id for class_id in order for _ in range(counts[class_id])]
        if tuple(found) not in seen:
            seen.add(tuple(found))
            yield found


def _eviction_order(running: ReclaimablePod) -> tuple[int, float, int]:
    """Candidates by lowest priority, then by shortest run time."""
    return running.priority, -running.start, running.row

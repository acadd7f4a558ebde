"""Fairness between queues: the turn goes down the tree to the queue that has the least.

At every level the queue with the least for its weight is next, and before it those that hold less
than they are guaranteed. What "the least" means is the measure of the queue that they are part of:
the dominant share (DRF: Ghodsi et al., NSDI 2011; in a tree: Bhattacharya et al., SoCC 2013), the
share of one resource (weighted max-min), or what was sent so far. A queue is measured by its live
claims and by what it has at shards, so idleness earns no credit and nothing that has ended counts.

A queue in which nothing may start now, because of a limit, *rests*: it stands in no line until it
gives something back, gets something new, or a limit above it that was in the way gives way.
"""

import heapq
from collections.abc import Callable, Mapping
from typing import ClassVar

from stretto.control.queues.by_request import NOT_NOW, UnitDemand
from stretto.control.queues.config import DispatcherConfig, SiblingPolicy
from stretto.control.queues.orders import NEVER, SMALL
from stretto.control.queues.queue import UnitQueue
from stretto.control.queues.round_robin import QueueTurns, WeightedTurns
from stretto.control.queues.tree import Headroom, QueueBranch
from stretto.control.queues.usage import QueueUsage
from stretto.state.rows.resources import PODS
from stretto.state.work.units import Unit

Key = tuple[bool, float]
"""Whether it has what it is guaranteed, and how much it has for its weight: the least is next."""

_NO_KEY: Key = (True, 0.0)


class SiblingPosition:
    """Where one queue stands in the line of its siblings."""

    __slots__ = (
        "above",
        "branch",
        "flushed",
        "heap",
        "key",
        "listed",
        "queue",
        "resting",
        "rests",
        "served",
        "time",
        "waiting",
    )

    def __init__(self, branch: QueueBranch, queue: UnitQueue | None) -> None:
        """Start with nothing to send."""
        #: The queue in the tree.
        self.branch: QueueBranch = branch
        #: Its units; ``None`` where only queues that are part of it have any.
        self.queue: UnitQueue | None = queue
        #: Whether it, or one that is part of it, has something to send.
        self.listed: bool = False
        #: It has something to send, and limits forbid it.
        self.rests: bool = False
        #: A limit above it was in the way, not its own alone.
        self.above: bool = False
        #: Its present place in the line.
        self.key: Key = _NO_KEY
        #: Pods sent so far for its weight, where that is what counts.
        self.served: float = 0.0
        #: Those of its queues that have something to send, resting ones apart: a heap of (has its
        #: guarantee, measure, number, seat); an entry counts while the seat has just that key.
        self.heap: list[tuple[bool, float, int, SiblingPosition]] = []
        #: How many of its queues have something to send.
        self.waiting: int = 0
        #: Those of its queues that rest because of a limit above them.
        self.resting: dict[SiblingPosition, None] = {}
        #: The present time of its queues, where what was sent is what counts.
        self.time: float = 0.0
        #: What limits on the way to it had given back when those were last let go.
        self.flushed: int = 0


class TreeTurns(QueueTurns):
    """The queue with the least, level by level; ties go to the older queue."""

    one_by_one: ClassVar[bool] = True

    def __init__(self, usage: QueueUsage) -> None:
        """Start with no queue waiting; the tree is that of ``usage``."""
        self._usage = usage
        self._tree = usage.tree
        self._capacity: Mapping[int, int] = {}
        #: The same without what there is nothing of.
        self._totals: tuple[tuple[int, int], ...] = ()
        self._epoch = -1
        self._root: SiblingPosition = SiblingPosition(self._tree.root, None)
        self._queues: dict[str, UnitQueue] = {}
        self._waiting = 0
        #: Told of a queue in which nothing may start now because of a limit.
        self.on_rest: Callable[[UnitQueue], None] = lambda _: None

    # ------------------------------------------------------------ who waits

    def begin(self) -> None:
        """Take over what the cluster has now."""
        capacity = dict(self._usage.pool.capacity())
        capacity.pop(PODS, None)
        if capacity != self._capacity:
            self._capacity = capacity
            self._totals = tuple((column, whole) for column, whole in capacity.items() if whole)
            self._tree.changed.update(self._tree)
        if self._tree.any_limits and self._tree.freed:
            for queue in self._queues.values():
                if queue.backfills and queue.searched:
                    self.enlist(queue)

    def enlist(self, queue: UnitQueue) -> None:
        """Let a queue wait for its turn."""
        queue.searched = False
        self._follow_tree()
        self._queues[queue.name] = queue
        seat = self._sibling_position(self._tree.leaf(queue.name))
        if seat.queue is None:
            seat.queue = queue
        if not queue.listed:
            queue.listed = True
            self._waiting += 1
        self._stand(seat)

    def _stand(self, seat: SiblingPosition) -> None:
        """Put a queue, and those it is part of, into their lines; stops at the first that is."""
        while seat.branch.parent is not None and not (seat.listed and not seat.rests):
            above = self._sibling_position(seat.branch.parent)
            if not seat.listed:
                seat.listed = True
                above.waiting += 1
                seat.served = max(seat.served, above.time)
            seat.rests = seat.above = False
            self._put(seat, above)
            seat = above

    def _leave(self, seat: SiblingPosition) -> None:
        """A queue has nothing to send."""
        seat.listed = seat.rests = False
        if seat.queue is not None and seat.queue.listed:
            seat.queue.listed = False
            self._waiting -= 1
        assert seat.branch.parent is not None
        self._sibling_position(seat.branch.parent).waiting -= 1

    def _put(self, seat: SiblingPosition, above: SiblingPosition, key: Key | None = None) -> None:
        """Give a seat its place in the line of those that are part of ``above``."""
        has_it, share = seat.key = key or self._key(seat, above.branch)
        heapq.heappush(above.heap, (has_it, share, seat.branch.number, seat))
        if len(above.heap) > 2 * above.waiting + SMALL:
            alive = {id(e[3]): e for e in above.heap if _counts(e)}
            above.heap = list(alive.values())
            heapq.heapify(above.heap)

    def _key(self, seat: SiblingPosition, above: QueueBranch) -> Key:
        branch = seat.branch
        if above.between is SiblingPolicy.WEIGHT:
            return not branch.is_below_guarantee, seat.served
        return self._place(branch, branch.used, above)

    def _place(self, branch: QueueBranch, used: Mapping[int, int], above: QueueBranch) -> Key:
        """The place that a branch would have if it held so much."""
        has_it, weights = not branch.is_below_guarantee, branch.weights
        if above.between is SiblingPolicy.DRF:
            share = 0.0
            for column, whole in self._totals:
                amount = used.get(column)
                if amount:
                    part = amount / whole
                    if weights and column in weights:
                        part *= branch.weight / weights[column]
                    share = max(share, part)
            return has_it, share / branch.weight
        amount, whole = used.get(above.resource, 0), self._capacity.get(above.resource, 0)
        share = amount / whole if whole else float(amount)
        return has_it, share / weights.get(above.resource, branch.weight)

    def _sibling_position(self, branch: QueueBranch) -> SiblingPosition:
        seat = branch.seat
        if not isinstance(seat, SiblingPosition):
            seat = branch.seat = SiblingPosition(branch, None)
        return seat

    # ------------------------------------------------------------ whose turn it is

    def pick(self) -> UnitQueue | None:
        """The queue whose turn it is; its ``chosen`` unit may start, where limits say which."""
        self._follow_tree()
        self._follow_usage()
        root = self._tree.root
        return self._search(self._root, root.narrow(None), root.freed)

    def _search(self, seat: SiblingPosition, room: Headroom | None, freed: int) -> UnitQueue | None:
        """The first queue below a seat that may send something.

        Args:
            seat: where to look.
            room: what limits on the way to it leave.
            freed: counts what those limits have given back.
        """
        self._let_go(seat, freed)
        heap, limits = seat.heap, self._tree.any_limits
        while heap:
            entry = heap[0]
            below = entry[3]
            if not _counts(entry):
                heapq.heappop(heap)
                continue
            branch = below.branch
            if seat.branch.between is SiblingPolicy.WEIGHT:
                seat.time = max(seat.time, below.served)
            left = branch.narrow(room) if limits else None
            if below.queue is not None:
                found = self._offer(below.queue, left)
            else:
                found = self._search(below, left, freed + branch.freed)
            if found is not None:
                return found
            heapq.heappop(heap)
            self._stop_sending_below(below, seat, room)
        return None

    def _offer(self, queue: UnitQueue, room: Headroom | None) -> UnitQueue | None:
        """A queue that may send, with the unit that it sends where that is not simply the first."""
        if not queue.is_open:
            return None
        queue.chosen = None
        if room is None:
            return queue
        if queue.blocking:
            head = queue.order.peek() if queue.leads else None
            if head is None:
                return queue
            return queue if self._may_start(head, room) else None
        head = queue.order.peek()
        if head is not None and self._may_start(head, room):  # as nearly always: no need to search
            queue.chosen = head
            return queue
        found = queue.order.candidate(_longest(room), self._usage.demand)
        while found is not None and not self._may_start(found[0], room):
            queue.order.changed(found[0])  # the last of it has ended: it is one more unit again
            found = queue.order.candidate(_longest(room), self._usage.demand)
        if found is None:
            return None
        queue.chosen = found[0]
        return queue

    def _may_start(self, unit: Unit, room: Headroom) -> bool:
        asked = self._usage.demand(unit)
        return room.admits(asked.least, asked.fresh)

    def _stop_sending_below(
        self, seat: SiblingPosition, above: SiblingPosition, room: Headroom | None
    ) -> None:
        """Nothing may start below a seat: it has nothing to send, or it rests."""
        queue = seat.queue
        if queue is not None:
            if not queue.is_open:
                self._leave(seat)
                return
            seat.above = (
                room is not None and self._offer(queue, seat.branch.narrow(None)) is not None
            )
            queue.chosen = None
            self.on_rest(queue)
        elif not seat.waiting:
            self._leave(seat)
            return
        else:
            seat.above = bool(seat.resting)
        seat.rests = True
        if seat.above:
            above.resting[seat] = None

    def _let_go(self, seat: SiblingPosition, freed: int) -> None:
        """A limit on the way has given way: whoever it may have stopped stands in line again."""
        if seat.flushed != freed:
            seat.flushed = freed
            resting, seat.resting = seat.resting, {}
            for each in resting:
                if each.listed and each.rests:
                    each.rests = each.above = False
                    self._put(each, seat)

    def charge(self, queue: UnitQueue, pods: int) -> None:
        """The queue has just sent so many pods: where that is what counts, it moves back."""
        branch = self._tree.leaf(queue.name)
        while branch.parent is not None:
            if branch.parent.between is SiblingPolicy.WEIGHT:
                seat = self._sibling_position(branch)
                seat.served += pods / branch.weight
                if seat.listed and not seat.rests:
                    self._put(seat, self._sibling_position(branch.parent))
            branch = branch.parent

    @property
    def is_alone(self) -> bool:
        """Whether at most one queue waits, and no limit has a say in what it sends."""
        return self._waiting <= 1 and not self._tree.any_limits

    # ------------------------------------------------------------ what has changed

    def _follow_tree(self) -> None:
        """Start anew where the tree was laid out anew."""
        if self._epoch == self._tree.epoch:
            return
        self._epoch = self._tree.epoch
        self._root = self._sibling_position(self._tree.root)
        self._waiting = 0
        for queue in self._queues.values():
            queue.listed = False
        for queue in self._queues.values():
            self.enlist(queue)

    def _follow_usage(self) -> None:
        """Put queues whose usage has changed where they belong now."""
        tree = self._tree
        for branch in tree.freed:
            seat = branch.seat
            if isinstance(seat, SiblingPosition) and seat.rests:
                self._stand(seat)
        tree.freed.clear()
        for branch in tree.changed:
            seat = branch.seat
            if branch.parent is None or not isinstance(seat, SiblingPosition):
                continue
            if seat.listed and not seat.rests:
                above = self._sibling_position(branch.parent)
                key = self._key(seat, above.branch)
                if seat.key != key:
                    self._put(seat, above, key)
        tree.changed.clear()

    # ------------------------------------------------------------ who would have how much

    def standing(self, name: str, class_id: int, more: int) -> tuple[Key, ...]:
        """How a queue would stand with so many more pods of a class, from the root down."""
        asks = self._usage.pool.requests_of(class_id) if more else ()
        found: list[Key] = []
        branch = self._tree.leaf(name)
        while branch.parent is not None:
            if branch.parent.between is SiblingPolicy.WEIGHT:
                found.append((not branch.is_below_guarantee, 0.0))
            else:
                used = dict(branch.used)
                for column, amount in asks:
                    used[column] = used.get(column, 0) + more * amount
                found.append(self._place(branch, used, branch.parent))
            branch = branch.parent
        return tuple(reversed(found))


def _counts(entry: tuple[bool, float, int, SiblingPosition]) -> bool:
    """Whether an entry of a line is still true."""
    seat = entry[3]
    return seat.listed and not seat.rests and seat.key == entry[:2]


def _longest(room: Headroom) -> Callable[[UnitDemand], int]:
    """Whether what is asked may start, however long it runs."""
    return lambda asked: NEVER if room.admits(asked.least, asked.fresh) else NOT_NOW


def make_turns(config: DispatcherConfig, usage: QueueUsage | None) -> QueueTurns:
    """The turns that a configuration asks for; ``usage`` is there when it needs one."""
    if usage is None:
        return WeightedTurns()
    usage.tree.arrange(config.queues, config.between, config.resource)
    return TreeTurns(usage) if config.has_tree else WeightedTurns()

"""Fairness between queues: each turn descends the tree to the queue with the smallest usage.

At each level the child with the smallest measure for its weight is next; children below their
guarantee go first. The policy of the parent defines the measure (``state.queues.siblings``): the
dominant share (DRF; in a tree: Bhattacharya et al., SoCC 2013), the share of one resource (weighted
max-min), the pods sent so far, or the measure of a package. Usage is live claims plus pods at
shards, so neither idle time nor ended pods give an advantage.

A queue *rests* if limits refuse all of its units. It is considered again after a refund, after a
new unit, or after a refund under the ancestor's limit that refused it.
"""

import heapq
from collections.abc import Callable, Mapping
from typing import ClassVar

from stretto.control.queues.by_request import NOT_NOW
from stretto.control.queues.config import DispatcherConfig
from stretto.control.queues.orders import SMALL
from stretto.control.queues.queue import UnitQueue
from stretto.control.queues.round_robin import QueueTurns, WeightedTurns
from stretto.state.queues.demand import UnitDemand
from stretto.state.queues.end_times import NEVER
from stretto.state.queues.siblings import WEIGHTED, SiblingUsage, measured
from stretto.state.queues.tree import Headroom, QueueBranch
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.resources import PODS
from stretto.state.work.units import Unit

Key = tuple[bool, float]
"""(true if its guarantee is met, its measure divided by its weight): the smallest key is next."""

_NO_KEY: Key = (True, 0.0)


class SiblingPosition:
    """Position of one queue among its siblings."""

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
        """Start without units to send."""
        #: The queue in the tree.
        self.branch: QueueBranch = branch
        #: Units of the queue; ``None`` if only its children have units.
        self.queue: UnitQueue | None = queue
        #: True if the queue or a descendant has units to send.
        self.listed: bool = False
        #: True if the queue has units to send and limits refuse all of them.
        self.rests: bool = False
        #: True if a limit of an ancestor refused it, not only its own.
        self.above: bool = False
        #: Current key of the queue.
        self.key: Key = _NO_KEY
        #: Pods sent so far divided by its weight, under ``WEIGHTED``.
        self.served: float = 0.0
        #: Heap of (guarantee met, measure, number, position) of its listed children that do not
        #: rest; an entry is valid while the position has the same key.
        self.heap: list[tuple[bool, float, int, SiblingPosition]] = []
        #: Number of listed children.
        self.waiting: int = 0
        #: Children that rest because of a limit of an ancestor.
        self.resting: dict[SiblingPosition, None] = {}
        #: Virtual time of its children, under ``WEIGHTED``.
        self.time: float = 0.0
        #: Number of refunds on its path when its resting children were last released.
        self.flushed: int = 0


class TreeTurns(QueueTurns):
    """Turns by usage, level by level; ties go to the older queue."""

    one_by_one: ClassVar[bool] = True

    def __init__(self, usage: QueueUsage) -> None:
        """Start without listed queues; the tree is that of ``usage``."""
        self._usage = usage
        self._tree = usage.tree
        self._column = usage.pool.column
        self._capacity: Mapping[int, int] = {}
        #: Columns with non-zero capacity.
        self._totals: tuple[tuple[int, int], ...] = ()
        self._epoch = -1
        self._root: SiblingPosition = SiblingPosition(self._tree.root, None)
        self._queues: dict[str, UnitQueue] = {}
        self._waiting = 0
        #: Called with a queue whose units are all refused by limits.
        self.on_rest: Callable[[UnitQueue], None] = lambda _: None

    # ------------------------------------------------------------ listed queues

    def begin(self) -> None:
        """Update the capacity of the cluster."""
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
        """List a queue for a turn."""
        queue.searched = False
        self._follow_tree()
        self._queues[queue.name] = queue
        position = self._sibling_position(self._tree.leaf(queue.name))
        if position.queue is None:
            position.queue = queue
        if not queue.listed:
            queue.listed = True
            self._waiting += 1
        self._list_path(position)

    def _list_path(self, position: SiblingPosition) -> None:
        """List a queue and its ancestors; stop at the first one that is listed already."""
        while position.branch.parent is not None and not (position.listed and not position.rests):
            above = self._sibling_position(position.branch.parent)
            if not position.listed:
                position.listed = True
                above.waiting += 1
                position.served = max(position.served, above.time)
            position.rests = position.above = False
            self._put(position, above)
            position = above

    def _unlist(self, position: SiblingPosition) -> None:
        """Remove a queue without units to send."""
        position.listed = position.rests = False
        if position.queue is not None and position.queue.listed:
            position.queue.listed = False
            self._waiting -= 1
        assert position.branch.parent is not None
        self._sibling_position(position.branch.parent).waiting -= 1

    def _put(
        self, position: SiblingPosition, above: SiblingPosition, key: Key | None = None
    ) -> None:
        """Push a position with its current key on the heap of its parent."""
        is_met, share = position.key = key or self._key(position, above.branch)
        heapq.heappush(above.heap, (is_met, share, position.branch.number, position))
        if len(above.heap) > 2 * above.waiting + SMALL:
            alive = {id(e[3]): e for e in above.heap if _counts(e)}
            above.heap = list(alive.values())
            heapq.heapify(above.heap)

    def _key(self, position: SiblingPosition, above: QueueBranch) -> Key:
        branch = position.branch
        if above.between is WEIGHTED:
            return not branch.is_below_guarantee, position.served
        return self._key_with(branch, branch.used, above)

    def _key_with(self, branch: QueueBranch, used: Mapping[int, int], above: QueueBranch) -> Key:
        """Key that a branch would have with this usage."""
        assert above.between.measure is not None
        found, fault = measured(
            above.between.measure,
            SiblingUsage(
                used, self._totals, branch.weight, branch.weights, above.resource, self._column
            ),
        )
        if fault:
            self._tree.note_fault(above.name, fault)
        return not branch.is_below_guarantee, found

    def _sibling_position(self, branch: QueueBranch) -> SiblingPosition:
        position = branch.position
        if not isinstance(position, SiblingPosition):
            position = branch.position = SiblingPosition(branch, None)
        return position

    # ------------------------------------------------------------ next queue

    def pick(self) -> UnitQueue | None:
        """Return the next queue; if limits apply, its ``chosen`` is the unit that they admit."""
        self._follow_tree()
        self._follow_usage()
        root = self._tree.root
        return self._search(self._root, root.narrow(None), root.freed)

    def _search(
        self, position: SiblingPosition, headroom: Headroom | None, freed: int
    ) -> UnitQueue | None:
        """Return the first queue below a position that may send a unit.

        Args:
            position: root of the searched subtree.
            headroom: remaining capacity under the limits on its path.
            freed: number of refunds of those limits.
        """
        self._release_resting(position, freed)
        heap, limits = position.heap, self._tree.any_limits
        while heap:
            entry = heap[0]
            below = entry[3]
            if not _counts(entry):
                heapq.heappop(heap)
                continue
            branch = below.branch
            if position.branch.between is WEIGHTED:
                position.time = max(position.time, below.served)
            left = branch.narrow(headroom) if limits else None
            if below.queue is not None:
                found = self._offer(below.queue, left)
            else:
                found = self._search(below, left, freed + branch.freed)
            if found is not None:
                return found
            heapq.heappop(heap)
            self._stop_sending_below(below, position, headroom)
        return None

    def _offer(self, queue: UnitQueue, headroom: Headroom | None) -> UnitQueue | None:
        """Return the queue if it may send; set ``chosen`` if limits apply."""
        if not queue.is_open:
            return None
        queue.chosen = None
        if headroom is None:
            return queue
        if queue.blocking:
            head = queue.order.peek() if queue.leads else None
            if head is None:
                return queue
            return queue if self._may_start(head, headroom) else None
        head = queue.order.peek()
        if head is not None and self._may_start(head, headroom):  # the common case needs no search
            queue.chosen = head
            return queue
        found = queue.order.candidate(_longest(headroom), self._usage.demand)
        while found is not None and not self._may_start(found[0], headroom):
            queue.order.changed(found[0])  # its last pod has ended: it counts as a new unit
            found = queue.order.candidate(_longest(headroom), self._usage.demand)
        if found is None:
            return None
        queue.chosen = found[0]
        return queue

    def _may_start(self, unit: Unit, headroom: Headroom) -> bool:
        demand = self._usage.demand(unit)
        return headroom.admits(demand.least, demand.fresh)

    def _stop_sending_below(
        self, position: SiblingPosition, above: SiblingPosition, headroom: Headroom | None
    ) -> None:
        """Unlist a position without units to send, or mark it as resting."""
        queue = position.queue
        if queue is not None:
            if not queue.is_open:
                self._unlist(position)
                return
            position.above = (
                headroom is not None
                and self._offer(queue, position.branch.narrow(None)) is not None
            )
            queue.chosen = None
            self.on_rest(queue)
        elif not position.waiting:
            self._unlist(position)
            return
        else:
            position.above = bool(position.resting)
        position.rests = True
        if position.above:
            above.resting[position] = None

    def _release_resting(self, position: SiblingPosition, freed: int) -> None:
        """List resting children again after a refund on their path."""
        if position.flushed != freed:
            position.flushed = freed
            resting, position.resting = position.resting, {}
            for each in resting:
                if each.listed and each.rests:
                    each.rests = each.above = False
                    self._put(each, position)

    def charge(self, queue: UnitQueue, pods: int) -> None:
        """Count sent pods; this matters under ``WEIGHTED``."""
        branch = self._tree.leaf(queue.name)
        while branch.parent is not None:
            if branch.parent.between is WEIGHTED:
                position = self._sibling_position(branch)
                position.served += pods / branch.weight
                if position.listed and not position.rests:
                    self._put(position, self._sibling_position(branch.parent))
            branch = branch.parent

    @property
    def is_alone(self) -> bool:
        """True if at most one queue is listed and no queue is limited."""
        return self._waiting <= 1 and not self._tree.any_limits

    # ------------------------------------------------------------ changes

    def _follow_tree(self) -> None:
        """List all queues again after a rebuild of the tree."""
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
        """Update the keys of queues whose usage has changed."""
        tree = self._tree
        for branch in tree.freed:
            position = branch.position
            if isinstance(position, SiblingPosition) and position.rests:
                self._list_path(position)
        tree.freed.clear()
        for branch in tree.changed:
            position = branch.position
            if branch.parent is None or not isinstance(position, SiblingPosition):
                continue
            if position.listed and not position.rests:
                above = self._sibling_position(branch.parent)
                key = self._key(position, above.branch)
                if position.key != key:
                    self._put(position, above, key)
        tree.changed.clear()

    # ------------------------------------------------------------ comparison

    def standing(self, name: str, class_id: int, more: int) -> tuple[Key, ...]:
        """Keys of a queue with ``more`` additional pods of a class, from the root down."""
        requests = self._usage.pool.requests_of(class_id) if more else ()
        found: list[Key] = []
        branch = self._tree.leaf(name)
        while branch.parent is not None:
            if branch.parent.between is WEIGHTED:
                found.append((not branch.is_below_guarantee, 0.0))
            else:
                used = dict(branch.used)
                for column, amount in requests:
                    used[column] = used.get(column, 0) + more * amount
                found.append(self._key_with(branch, used, branch.parent))
            branch = branch.parent
        return tuple(reversed(found))


def _counts(entry: tuple[bool, float, int, SiblingPosition]) -> bool:
    """Return whether a heap entry is still valid."""
    position = entry[3]
    return position.listed and not position.rests and position.key == entry[:2]


def _longest(headroom: Headroom) -> Callable[[UnitDemand], int]:
    """Returns ``NEVER`` for demands that the headroom admits, and ``NOT_NOW`` for others."""
    return lambda demand: NEVER if headroom.admits(demand.least, demand.fresh) else NOT_NOW


def make_turns(config: DispatcherConfig, usage: QueueUsage | None) -> QueueTurns:
    """Create the turns of a configuration; ``usage`` is required if they depend on it."""
    if usage is None:
        return WeightedTurns()
    usage.tree.arrange(config.queues, config.between, config.resource)
    return TreeTurns(usage) if config.has_tree else WeightedTurns()

"""Fairness between queues: the turn goes to the queue that has the least for its weight.

Progressive filling: whoever has the least is served one unit, then all are compared again. What
"the least" means is the measure: the dominant share (DRF: Ghodsi et al., NSDI 2011), or the share
of one resource (weighted max-min). A queue is measured by its live claims and by what it has at
shards, so idleness earns no credit and nothing that has ended counts.
"""

import heapq
from collections.abc import Callable, Mapping
from typing import ClassVar

from stretto.control.dispatcher.config import Between, DispatcherConfig
from stretto.control.dispatcher.orders import SMALL
from stretto.control.dispatcher.queue import Queue
from stretto.control.dispatcher.turns import Turns, WeightedTurns
from stretto.control.dispatcher.usage import Usage
from stretto.state.resources import PODS
from stretto.state.shares import dominant

Measure = Callable[[Mapping[int, int], Mapping[int, int]], float]
"""(what a queue holds, what the cluster has) to how much that is."""


def dominant_share(held: Mapping[int, int], capacity: Mapping[int, int]) -> float:
    """DRF: the largest part of any resource; places for pods are no resource."""
    return dominant(held.items(), capacity).share


def share_of(column: int) -> Measure:
    """Max-min: the part of one resource."""

    def measure(held: Mapping[int, int], capacity: Mapping[int, int]) -> float:
        amount = held.get(column, 0)
        return amount / capacity[column] if capacity.get(column) else float(amount)

    return measure


class ShareTurns(Turns):
    """The queue with the smallest measure for its weight is next; ties go to the older queue."""

    one_by_one: ClassVar[bool] = True

    def __init__(self, usage: Usage, measure: Measure) -> None:
        """Start with no queue waiting."""
        self._usage = usage
        self._measure = measure
        self._capacity: Mapping[int, int] = {}
        self._known: dict[str, Queue] = {}
        self._waiting = 0
        #: (share, number, queue); an entry counts while its queue waits with just that share.
        self._heap: list[tuple[float, int, Queue]] = []

    def begin(self) -> None:
        """Take over what the cluster has now."""
        capacity = dict(self._usage.pool.capacity())
        capacity.pop(PODS, None)
        if capacity != self._capacity:
            self._capacity = capacity
            self._usage.changed.update(self._known)

    def enlist(self, queue: Queue) -> None:
        """Let a queue wait for its turn."""
        queue.searched = False
        if not queue.listed:
            queue.listed = True
            self._waiting += 1
            self._known[queue.name] = queue
            self._put(queue)

    def pick(self) -> Queue | None:
        """The queue with the least; queues that cannot send stop waiting."""
        self._follow()
        heap = self._heap
        while heap:
            share, _, queue = heap[0]
            if queue.listed and share == queue.served:
                if queue.is_open:
                    return queue
                queue.listed = False
                self._waiting -= 1
            heapq.heappop(heap)
        return None

    def charge(self, queue: Queue, pods: int) -> None:
        """What was sent is promised already, and claims are charged when they are granted."""
        del queue, pods

    @property
    def is_alone(self) -> bool:
        """Whether at most one queue waits."""
        return self._waiting <= 1

    def standing(self, name: str, class_id: int, more: int) -> float:
        """What a queue's measure for its weight would be with so many more pods of a class."""
        queue = self._known.get(name)
        held = self._usage.counted(name)
        if more:
            for column, amount in self._usage.pool.asks(class_id):
                held[column] = held.get(column, 0) + more * amount
        weight = queue.weight if queue is not None else 1.0
        return self._measure(held, self._capacity) / weight

    def _follow(self) -> None:
        """Put queues whose usage has changed where they belong now."""
        changed = self._usage.changed
        for name in changed:
            queue = self._known.get(name)
            if queue is not None and queue.listed:
                self._put(queue)
        changed.clear()

    def _put(self, queue: Queue) -> None:
        queue.served = share = self.standing(queue.name, -1, 0)
        heapq.heappush(self._heap, (share, queue.number, queue))
        if len(self._heap) > 2 * self._waiting + SMALL:
            self._heap = [(q.served, q.number, q) for q in self._known.values() if q.listed]
            heapq.heapify(self._heap)


def make_turns(config: DispatcherConfig, usage: Usage | None) -> Turns:
    """The turns that a configuration asks for; ``usage`` is there when it needs one."""
    if usage is None or config.between is Between.WEIGHT:
        return WeightedTurns()
    if config.between is Between.DRF:
        return ShareTurns(usage, dominant_share)
    return ShareTurns(usage, share_of(usage.pool.column(config.resource)))

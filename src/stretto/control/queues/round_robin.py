"""Turns: which queue is next when several have something to send.

The turn goes to whoever has been served least for its weight, or to whoever holds least
(``fairness``). A small interface, so that further ways come as further classes.
"""

import heapq
from abc import ABC, abstractmethod
from typing import ClassVar

from stretto.control.queues.queue import UnitQueue


class QueueTurns(ABC):
    """Which queue is next: the plug-in point for fairness between queues."""

    #: Whether a blocking queue gives way after each unit; else it sends a window of them.
    one_by_one: ClassVar[bool] = False

    def begin(self) -> None:
        """A round of handing out begins; most turns need not know."""
        return

    @abstractmethod
    def enlist(self, queue: UnitQueue) -> None:
        """A queue has something to send again, or what it may send has changed."""

    @abstractmethod
    def pick(self) -> UnitQueue | None:
        """The queue whose turn it is; ``None`` when no queue may send."""

    @abstractmethod
    def charge(self, queue: UnitQueue, pods: int) -> None:
        """The queue has just sent so many pods."""

    @property
    @abstractmethod
    def is_alone(self) -> bool:
        """Whether no other queue waits for its turn."""


class WeightedTurns(QueueTurns):
    """Round robin by weight: the queue that was served least for its weight is next.

    A queue that was idle joins at the present time of the others: idleness earns no credit.
    """

    def __init__(self) -> None:
        """Start with no queue waiting."""
        self._heap: list[tuple[float, int, UnitQueue]] = []
        self._time = 0.0

    def enlist(self, queue: UnitQueue) -> None:
        """Let a queue wait for its turn."""
        queue.searched = False
        if not queue.listed:
            queue.listed = True
            present = self._heap[0][0] if self._heap else self._time
            queue.served = max(queue.served, present)
            heapq.heappush(self._heap, (queue.served, queue.number, queue))

    def pick(self) -> UnitQueue | None:
        """The least served queue; queues that cannot send stop waiting."""
        heap = self._heap
        while heap:
            served, _, queue = heap[0]
            self._time = max(self._time, served)
            if queue.is_open:
                return queue
            queue.listed = False
            heapq.heappop(heap)
        return None

    def charge(self, queue: UnitQueue, pods: int) -> None:
        """Move the queue that was picked back in the line."""
        queue.served += pods / queue.weight
        if self._heap[0][2] is queue:
            heapq.heapreplace(self._heap, (queue.served, queue.number, queue))
        else:
            self._heap = [(each.served, each.number, each) for _, _, each in self._heap]
            heapq.heapify(self._heap)

    @property
    def is_alone(self) -> bool:
        """Whether at most one queue waits."""
        return len(self._heap) <= 1

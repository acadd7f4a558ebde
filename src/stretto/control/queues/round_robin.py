"""Turns: the choice of the next queue if several queues have units to send.

The next queue has the least service for its weight (this module) or the smallest usage
(``fairness``).
"""

import heapq
from abc import ABC, abstractmethod
from typing import ClassVar

from stretto.control.queues.queue import UnitQueue


class QueueTurns(ABC):
    """Interface of the choice between queues."""

    #: True if a blocking queue yields after each unit; otherwise it sends a window of units.
    one_by_one: ClassVar[bool] = False

    def begin(self) -> None:
        """Start a round of dispatch."""
        return

    @abstractmethod
    def enlist(self, queue: UnitQueue) -> None:
        """List a queue that has units to send, or whose units have changed."""

    @abstractmethod
    def pick(self) -> UnitQueue | None:
        """Return the next queue; ``None`` if no queue may send."""

    @abstractmethod
    def charge(self, queue: UnitQueue, pods: int) -> None:
        """Record that a queue has sent ``pods`` pods."""

    @property
    @abstractmethod
    def is_alone(self) -> bool:
        """True if no other queue is listed."""


class WeightedTurns(QueueTurns):
    """Weighted round robin: the queue with the least service for its weight is next.

    An idle queue rejoins at the current virtual time of the others: idle time gives no advantage.
    """

    def __init__(self) -> None:
        """Start without listed queues."""
        self._heap: list[tuple[float, int, UnitQueue]] = []
        self._time = 0.0

    def enlist(self, queue: UnitQueue) -> None:
        """List a queue for a turn."""
        queue.searched = False
        if not queue.listed:
            queue.listed = True
            present = self._heap[0][0] if self._heap else self._time
            queue.served = max(queue.served, present)
            heapq.heappush(self._heap, (queue.served, queue.number, queue))

    def pick(self) -> UnitQueue | None:
        """Return the queue with the least service; remove queues that cannot send."""
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
        """Increase the service of the picked queue and reorder."""
        queue.served += pods / queue.weight
        if self._heap[0][2] is queue:
            heapq.heapreplace(self._heap, (queue.served, queue.number, queue))
        else:
            self._heap = [(each.served, each.number, each) for _, _, each in self._heap]
            heapq.heapify(self._heap)

    @property
    def is_alone(self) -> bool:
        """True if at most one queue is listed."""
        return len(self._heap) <= 1

"""Queues: in which order units leave, within a queue and between queues.

A policy is an order over the units of one queue (``orders``), looked up by name in one literal
table. Between queues the turn goes to whoever has been served least for its weight, or to whoever
holds least (``fairness``). Both are small interfaces, so that policies come as further classes.
"""

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar, Final

from stretto.api.scheduling import QueuePolicy
from stretto.base.registry import Registry
from stretto.control.dispatcher.backfill import EasyOrder
from stretto.control.dispatcher.config import DispatcherConfig, QueueConfig
from stretto.control.dispatcher.orders import (
    Order,
    RankOrder,
    by_priority,
    first_come,
    shortest_first,
)
from stretto.state.units import Unit

POLICIES: Final[Registry[Callable[[], Order]]] = Registry(
    "queue policy",
    {
        QueuePolicy.FIFO: lambda: RankOrder(first_come),
        QueuePolicy.FIFO_SKIP: lambda: RankOrder(first_come),
        QueuePolicy.PRIORITY: lambda: RankOrder(by_priority),
        QueuePolicy.SHORTEST_FIRST: lambda: RankOrder(shortest_first),
        QueuePolicy.EASY: EasyOrder,
        QueuePolicy.DRF: lambda: RankOrder(first_come),
        QueuePolicy.FAIR_SHARE: lambda: RankOrder(first_come),
    },
)
"""Every policy by name; DRF and fair share order queues, and units of such a queue as they come."""

BLOCKING_POLICIES: Final = frozenset(
    {QueuePolicy.FIFO, QueuePolicy.SHORTEST_FIRST, QueuePolicy.EASY}
)
"""Policies under which nothing passes a failed head, unless a queue's settings say otherwise."""


class Queue:
    """One queue: its units, its share and what blocks it."""

    __slots__ = (
        "away",
        "blockers",
        "blocking",
        "listed",
        "name",
        "number",
        "order",
        "searched",
        "sending",
        "served",
        "shard",
        "weight",
    )

    def __init__(self, name: str, number: int, config: QueueConfig) -> None:
        """Start empty."""
        #: Its name.
        self.name: str = name
        #: Order of making; breaks ties between queues.
        self.number: int = number
        #: Its units.
        self.order: Order = POLICIES.get(config.policy)()
        #: Its share.
        self.weight: float = config.weight
        #: Whether nothing may pass a failed head.
        self.blocking: bool = (
            config.policy in BLOCKING_POLICIES if config.blocking is None else config.blocking
        )
        #: What it has had so far, divided by its weight, as its turns measure it.
        self.served: float = 0.0
        #: Nothing that may pass its blocked head was found since something last changed.
        self.searched: bool = False
        #: Whether it waits for its turn.
        self.listed: bool = False
        #: Units of a blocking queue that are at a shard.
        self.away: int = 0
        #: It has sent in this round, and may send more to the same shard.
        self.sending: bool = False
        #: That shard; -1 where it has not sent in this round.
        self.shard: int = -1
        #: Failed heads of a blocking queue: only what ranks before them all may leave.
        self.blockers: set[Unit] = set()

    @property
    def is_open(self) -> bool:
        """Whether its first unit may leave."""
        if not self.order.live:
            return False
        if not self.blocking:
            return True
        if self.away and not self.sending:
            return False
        return self.leads or (self.backfills and not self.searched)

    def stop_sending(self) -> None:
        """It sends no more in this round."""
        self.sending, self.shard = False, -1

    @property
    def leads(self) -> bool:
        """Whether its first unit comes before all that failed."""
        head = self.order.peek()
        return head is not None and all(head.rank < unit.rank for unit in self.blockers)

    @property
    def backfills(self) -> bool:
        """Whether units may pass its failed head that do not delay it."""
        return self.blocking and isinstance(self.order, EasyOrder)


class Turns(ABC):
    """Which queue is next: the plug-in point for fairness between queues."""

    #: Whether a blocking queue gives way after each unit; else it sends a window of them.
    one_by_one: ClassVar[bool] = False

    def begin(self) -> None:
        """A round of handing out begins; most turns need not know."""
        return

    @abstractmethod
    def enlist(self, queue: Queue) -> None:
        """A queue has something to send again, or what it may send has changed."""

    @abstractmethod
    def pick(self) -> Queue | None:
        """The queue whose turn it is; ``None`` when no queue may send."""

    @abstractmethod
    def charge(self, queue: Queue, pods: int) -> None:
        """The queue has just sent so many pods."""

    @property
    @abstractmethod
    def is_alone(self) -> bool:
        """Whether no other queue waits for its turn."""


class WeightedTurns(Turns):
    """Round robin by weight: the queue that was served least for its weight is next.

    A queue that was idle joins at the present time of the others: idleness earns no credit.
    """

    def __init__(self) -> None:
        """Start with no queue waiting."""
        self._heap: list[tuple[float, int, Queue]] = []
        self._time = 0.0

    def enlist(self, queue: Queue) -> None:
        """Let a queue wait for its turn."""
        queue.searched = False
        if not queue.listed:
            queue.listed = True
            present = self._heap[0][0] if self._heap else self._time
            queue.served = max(queue.served, present)
            heapq.heappush(self._heap, (queue.served, queue.number, queue))

    def pick(self) -> Queue | None:
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

    def charge(self, queue: Queue, pods: int) -> None:
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


class Queues:
    """All queues by name, each made when first named."""

    def __init__(self, config: DispatcherConfig, turns: Turns | None = None) -> None:
        """Make the configured queues."""
        #: Whose turn it is.
        self.turns: Turns = turns if turns is not None else WeightedTurns()
        #: Whether any queue blocks; most planes have none and need not ask.
        self.any_blocking: bool = False
        self._other = config.other_queues
        POLICIES.get(self._other.policy)
        self._by_name: dict[str, Queue] = {}
        self._backfilling: list[Queue] = []
        for each in config.queues:
            self._make(each.name, each)

    def __iter__(self) -> Iterator[Queue]:
        """Every queue, in the order of making."""
        return iter(self._by_name.values())

    def __len__(self) -> int:
        """How many units wait in all queues."""
        return sum(queue.order.live for queue in self)

    def get(self, name: str) -> Queue:
        """The queue of that name."""
        return self._by_name.get(name) or self._make(name, self._other)

    def push(self, unit: Unit) -> None:
        """Put a unit into its queue, at its place."""
        queue = self.get(unit.queue)
        queue.order.push(unit)
        self.turns.enlist(queue)

    def extend(self, name: str, units: list[Unit]) -> None:
        """Put many units into one queue."""
        queue = self.get(name)
        queue.order.extend(units)
        self.turns.enlist(queue)

    def changed(self, unit: Unit) -> None:
        """A unit in its queue wants something else now and keeps its rank."""
        queue = self.get(unit.queue)
        queue.order.changed(unit)
        self.turns.enlist(queue)

    def is_behind(self, unit: Unit) -> bool:
        """Whether a unit waits behind a failed head: the room it was woken for may serve others."""
        return any(unit.rank > head.rank for head in self.get(unit.queue).blockers)

    def stir(self) -> None:
        """Something may fit that did not: look again for what may pass blocked heads."""
        for queue in self._backfilling:
            self.turns.enlist(queue)

    def block(self, unit: Unit) -> None:
        """A unit failed: in a blocking queue nothing passes it."""
        queue = self.get(unit.queue)
        if queue.blocking:
            queue.blockers.add(unit)

    def unblock(self, unit: Unit) -> None:
        """A failed unit is tried again, or will never be."""
        queue = self.get(unit.queue)
        if queue.blockers and unit in queue.blockers:
            queue.blockers.remove(unit)
            self.turns.enlist(queue)

    def came_back(self, unit: Unit) -> None:
        """A unit is at its shard no longer."""
        if self.any_blocking:
            queue = self.get(unit.queue)
            if queue.blocking:
                queue.away -= 1
                self.turns.enlist(queue)

    def _make(self, name: str, config: QueueConfig) -> Queue:
        self._by_name[name] = queue = Queue(name, len(self._by_name), config)
        self.any_blocking = self.any_blocking or queue.blocking
        if queue.backfills:
            self._backfilling.append(queue)
        return queue

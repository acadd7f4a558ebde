"""Queues: in which order units leave, within a queue and between queues.

A policy is an order over the units of one queue, looked up by name in one literal table. Between
queues the turn goes to whoever has been served least for its weight. Both are small interfaces,
so that fairness policies come as further classes.

Nothing is ever searched for in the middle: a unit that leaves a queue otherwise than by its turn
leaves a dead entry behind, recognised by state and rank when it surfaces and swept when the dead
outnumber the living.
"""

import heapq
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from stretto.api.scheduling import QueuePolicy
from stretto.base.registry import Registry
from stretto.control.dispatcher.config import DispatcherConfig, QueueConfig
from stretto.state.lifecycle import UnitState
from stretto.state.units import Unit

SEQUENCE_BITS: Final = 48
"""Room for the order of arrival below the priority in a rank: 10,000 a second for 890 years."""
SMALL: Final = 64
"""Dead entries that are not worth sweeping."""

_QUEUED: Final = UnitState.QUEUED


def first_come(unit: Unit) -> int:
    """Rank by arrival."""
    return unit.sequence


def by_priority(unit: Unit) -> int:
    """Rank by priority, the highest first, then by arrival."""
    return (-unit.priority << SEQUENCE_BITS) + unit.sequence


class Order(ABC):
    """The units of one queue, in the order in which they leave."""

    def __init__(self, rank: Callable[[Unit], int]) -> None:
        """Start empty; ``rank`` gives each unit its place, once, when it enters."""
        #: Units in it.
        self.live: int = 0
        #: The place of a unit: smaller leaves first; ties do not occur.
        self.rank = rank

    @abstractmethod
    def push(self, unit: Unit) -> None:
        """Put a unit at its place, whether it is new or comes back."""

    @abstractmethod
    def pop(self) -> Unit | None:
        """Take the first unit; ``None`` when there is none."""

    @abstractmethod
    def peek(self) -> Unit | None:
        """The first unit, left where it is."""

    @abstractmethod
    def discard(self) -> None:
        """Count out a unit that left otherwise than by its turn, once its state says so."""

    @abstractmethod
    def __iter__(self) -> Iterator[Unit]:
        """The units in it, in no order that means anything."""

    def extend(self, units: Iterable[Unit]) -> None:
        """Put many units at their places."""
        for unit in units:
            self.push(unit)


class RankOrder(Order):
    """Units by rank: a heap for those that come back, and a line for those that come in order."""

    def __init__(self, rank: Callable[[Unit], int]) -> None:
        super().__init__(rank)
        self._line: deque[Unit] = deque()
        self._line_ranks: deque[int] = deque()
        self._heap: list[tuple[int, Unit]] = []

    def push(self, unit: Unit) -> None:
        """Append where the rank allows it, else sort in."""
        unit.rank = rank = self.rank(unit)
        self.live += 1
        ranks = self._line_ranks
        if not ranks or rank > ranks[-1]:
            ranks.append(rank)
            self._line.append(unit)
        else:
            heapq.heappush(self._heap, (rank, unit))

    def pop(self) -> Unit | None:
        """Take the living entry with the smallest rank."""
        heap, ranks = self._heap, self._line_ranks
        while True:
            if ranks and (not heap or ranks[0] < heap[0][0]):
                rank, unit = ranks.popleft(), self._line.popleft()
            elif heap:
                rank, unit = heapq.heappop(heap)
            else:
                return None
            if unit.rank == rank and unit.state is _QUEUED:
                self.live -= 1
                return unit

    def peek(self) -> Unit | None:
        """Drop dead entries until the first is alive."""
        unit = self.pop()
        if unit is not None:
            self.live += 1
            if not self._line_ranks or unit.rank < self._line_ranks[0]:
                self._line_ranks.appendleft(unit.rank)
                self._line.appendleft(unit)
            else:
                heapq.heappush(self._heap, (unit.rank, unit))
        return unit

    def discard(self) -> None:
        """Count one out, and sweep when the dead outnumber the living."""
        self.live -= 1
        if len(self._line) + len(self._heap) > 2 * self.live + SMALL:
            self._sweep()

    def __iter__(self) -> Iterator[Unit]:
        """Living entries, each unit once."""
        seen: set[Unit] = set()
        entries = [*zip(self._line_ranks, self._line, strict=True), *self._heap]
        for rank, unit in entries:
            if unit.rank == rank and unit.state is _QUEUED and unit not in seen:
                seen.add(unit)
                yield unit

    def _sweep(self) -> None:
        """Keep the living only, each once."""
        alive = sorted(self, key=lambda unit: unit.rank)
        self._line = deque(alive)
        self._line_ranks = deque(unit.rank for unit in alive)
        self._heap = []


POLICIES: Final[Registry[Callable[[], Order]]] = Registry(
    "queue policy",
    {
        QueuePolicy.FIFO: lambda: RankOrder(first_come),
        QueuePolicy.FIFO_SKIP: lambda: RankOrder(first_come),
        QueuePolicy.PRIORITY: lambda: RankOrder(by_priority),
    },
)
"""Every policy by name."""

BLOCKING_POLICIES: Final = frozenset({QueuePolicy.FIFO})
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
        "served",
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
        #: Pods it has sent, divided by its weight, in the common time of all queues.
        self.served: float = 0.0
        #: Whether it waits for its turn.
        self.listed: bool = False
        #: Units of a blocking queue that are at a shard.
        self.away: int = 0
        #: Failed heads of a blocking queue: only what ranks before them all may leave.
        self.blockers: set[Unit] = set()

    @property
    def is_open(self) -> bool:
        """Whether its first unit may leave."""
        if not self.order.live:
            return False
        if not self.blocking:
            return True
        if self.away:
            return False
        head = self.order.peek()
        return head is not None and all(head.rank < unit.rank for unit in self.blockers)


class Turns(ABC):
    """Which queue is next: the plug-in point for fairness between queues."""

    @abstractmethod
    def enlist(self, queue: Queue) -> None:
        """A queue has something to send again."""

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
        self._by_name: dict[str, Queue] = {}
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
        return queue

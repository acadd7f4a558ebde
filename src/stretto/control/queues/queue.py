"""One queue: its units in their order, its share, and what blocks it.

A policy is an order over the units of one queue (``orders``), looked up by name in one literal
table.
"""

from collections.abc import Callable
from typing import Final

from stretto.api.types.godel import QueuePolicy
from stretto.base.registry import Registry
from stretto.control.queues.backfill import EasyOrder
from stretto.control.queues.config import QueueConfig
from stretto.control.queues.fading_priority import DecayingPriorityOrder
from stretto.control.queues.orders import (
    RankOrder,
    UnitOrder,
    by_priority,
    first_come,
    shortest_first,
)
from stretto.state.work.units import Unit

POLICIES: Final[Registry[Callable[[], UnitOrder]]] = Registry(
    "queue policy",
    {
        QueuePolicy.FIFO: lambda: RankOrder(first_come),
        QueuePolicy.FIFO_SKIP: lambda: RankOrder(first_come),
        QueuePolicy.PRIORITY: lambda: RankOrder(by_priority),
        QueuePolicy.FADING_PRIORITY: DecayingPriorityOrder,
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


def blocks(config: QueueConfig) -> bool:
    """Whether nothing may pass a failed head of such a queue."""
    return config.policy in BLOCKING_POLICIES if config.blocking is None else config.blocking


class UnitQueue:
    """One queue: its units, its share and what blocks it."""

    __slots__ = (
        "away",
        "blockers",
        "blocking",
        "chosen",
        "config",
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
        #: Its settings.
        self.config: QueueConfig = config
        #: Its units.
        self.order: UnitOrder = POLICIES.get(config.policy)()
        #: Its share.
        self.weight: float = config.weight
        #: Whether nothing may pass a failed head.
        self.blocking: bool = blocks(config)
        #: What it has had so far, divided by its weight, as its turns measure it.
        self.served: float = 0.0
        #: Nothing that may pass its blocked head was found since something last changed.
        self.searched: bool = False
        #: The unit that limits let go first; ``None`` where that is simply the first.
        self.chosen: Unit | None = None
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

    def settle(self, config: QueueConfig) -> list[Unit]:
        """Take over other settings; returns the failed heads, which are to be tried again."""
        before, self.config = self.config, config
        self.weight = config.weight
        if (config.policy, blocks(config)) == (before.policy, self.blocking):
            return []
        waiting = sorted(self.order, key=lambda unit: unit.sequence)
        self.order, self.blocking = POLICIES.get(config.policy)(), blocks(config)
        self.order.extend(waiting)
        heads = sorted(self.blockers, key=lambda unit: unit.sequence)
        self.searched, self.chosen = False, None
        self.blockers.clear()
        return heads

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

"""One queue: its units in order, its weight, and the failed heads that block it."""

from stretto.control.queues.config import QueueConfig
from stretto.control.queues.orders import UnitOrder
from stretto.control.queues.policies import OrderPolicy, order_policy
from stretto.state.work.units import Unit


def blocks(config: QueueConfig) -> bool:
    """Return whether no unit may pass a failed head of a queue with these settings."""
    return order_policy(config.policy).blocking if config.blocking is None else config.blocking


class UnitQueue:
    """One queue of units."""

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
        "policy",
        "reserved",
        "searched",
        "sending",
        "served",
        "shard",
        "weight",
    )

    def __init__(self, name: str, number: int, config: QueueConfig) -> None:
        """Start without units; ``number`` is the order of creation."""
        #: Name of the queue.
        self.name: str = name
        #: Order of creation; breaks ties between queues.
        self.number: int = number
        #: Settings of the queue.
        self.config: QueueConfig = config
        #: Policy of the queue.
        self.policy: OrderPolicy = order_policy(config.policy)
        #: Units of the queue.
        self.order: UnitOrder = self.policy.order()
        #: Weight relative to other queues.
        self.weight: float = config.weight
        #: True if no unit may pass a failed head.
        self.blocking: bool = blocks(config)
        #: Service received so far divided by its weight; measured by the turns.
        self.served: float = 0.0
        #: True if a search for backfill found nothing, and nothing has changed since.
        self.searched: bool = False
        #: The first unit that the limits admit; ``None`` for the first unit of the order.
        self.chosen: Unit | None = None
        #: True if the queue is listed for a turn.
        self.listed: bool = False
        #: Number of units of a blocking queue that are at a shard now.
        self.away: int = 0
        #: True if the queue has sent units in this round and may send more to the same shard.
        self.sending: bool = False
        #: Number of that shard; -1 if it has not sent in this round.
        self.shard: int = -1
        #: Failed heads of a blocking queue: only units ranked before all of them may be sent.
        self.blockers: set[Unit] = set()
        #: Expected start in seconds of each unit with a reservation, by key, in order of rank.
        self.reserved: dict[str, float] = {}

    @property
    def is_open(self) -> bool:
        """True if its first unit may be sent."""
        if not self.order.live:
            return False
        if not self.blocking:
            return True
        if self.away and not self.sending:
            return False
        return self.leads or (self.backfills and not self.searched)

    def settle(self, config: QueueConfig) -> list[Unit]:
        """Apply other settings; returns the failed heads, which must be retried."""
        before, self.config = self.config, config
        self.weight = config.weight
        if (config.policy, blocks(config)) == (before.policy, self.blocking):
            return []
        waiting = sorted(self.order, key=lambda unit: unit.sequence)
        self.policy = order_policy(config.policy)
        self.order, self.blocking = self.policy.order(), blocks(config)
        self.order.extend(waiting)
        heads = sorted(self.blockers, key=lambda unit: unit.sequence)
        self.searched, self.chosen = False, None
        self.blockers.clear()
        return heads

    def count_sent(self) -> None:
        """Count a unit that was sent to a shard."""
        self.away += 1

    def reserve_only(self, head: Unit, start: float) -> None:
        """Record the only reservation of the queue, with the expected start in seconds."""
        self.reserved = {head.key: start}

    def end_search(self) -> None:
        """End a search for backfill that found nothing more, and the sending in this round."""
        self.searched = True
        self.stop_sending()

    def stop_sending(self) -> None:
        """End the queue's sending in this round."""
        self.sending, self.shard = False, -1

    @property
    def leads(self) -> bool:
        """True if its first unit ranks before all failed heads."""
        head = self.order.peek()
        return head is not None and all(head.rank < unit.rank for unit in self.blockers)

    @property
    def backfills(self) -> bool:
        """True if units that do not delay a failed head may pass it."""
        return self.blocking and self.policy.backfills

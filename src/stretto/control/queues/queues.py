"""Queues: every queue by name, and the moves of units into and out of them."""

from collections.abc import Iterator

from stretto.control.queues.config import DispatcherConfig, QueueConfig
from stretto.control.queues.policies import order_policy
from stretto.control.queues.queue import UnitQueue
from stretto.control.queues.round_robin import QueueTurns, WeightedTurns
from stretto.state.work.units import Unit


class UnitQueues:
    """All queues by name; an unconfigured queue is created when it is first named."""

    def __init__(self, config: DispatcherConfig, turns: QueueTurns | None = None) -> None:
        """Create the configured queues."""
        #: The turns between queues.
        self.turns: QueueTurns = turns if turns is not None else WeightedTurns()
        self._configs = {each.name: each for each in config.queues}
        #: True if any queue blocks.
        self.any_blocking: bool = False
        self._other = config.other_queues
        order_policy(self._other.policy)
        self._by_name: dict[str, UnitQueue] = {}
        self._backfilling: list[UnitQueue] = []
        for each in config.queues:
            self._make(each.name, each)

    def __iter__(self) -> Iterator[UnitQueue]:
        """Every queue, in the order of creation."""
        return iter(self._by_name.values())

    def __len__(self) -> int:
        """The number of queued units in all queues."""
        return sum(queue.order.live for queue in self)

    def get(self, name: str) -> UnitQueue:
        """Return the queue with a name."""
        return self._by_name.get(name) or self._make(name, self._configs.get(name, self._other))

    def settle(self, config: DispatcherConfig, turns: QueueTurns) -> list[Unit]:
        """Apply other settings; returns failed heads that must be retried."""
        self._configs = {each.name: each for each in config.queues}
        self.turns = turns
        heads: list[Unit] = []
        for queue in self:
            heads += queue.settle(self._configs.get(queue.name, self._other))
            queue.listed = False
        self.any_blocking = any(queue.blocking for queue in self)
        self._backfilling = [queue for queue in self if queue.backfills]
        for queue in self:
            turns.enlist(queue)
        return heads

    def push(self, unit: Unit) -> None:
        """Add a unit to its queue."""
        queue = self.get(unit.queue)
        queue.order.push(unit)
        self.turns.enlist(queue)

    def extend(self, name: str, units: list[Unit]) -> None:
        """Add many units to one queue."""
        queue = self.get(name)
        queue.order.extend(units)
        self.turns.enlist(queue)

    def changed(self, unit: Unit) -> None:
        """Update a queued unit whose demand or run time has changed; its rank stays."""
        queue = self.get(unit.queue)
        queue.order.changed(unit)
        self.turns.enlist(queue)

    def is_behind_blocked_head(self, unit: Unit) -> bool:
        """Return whether a unit is behind a failed head: other units may use the freed capacity."""
        return any(unit.rank > head.rank for head in self.get(unit.queue).blockers)

    def retry_backfill(self) -> None:
        """Search again for backfill, after capacity may have been freed."""
        for queue in self._backfilling:
            self.turns.enlist(queue)

    def block(self, unit: Unit) -> None:
        """Record a failed unit: in a blocking queue no unit passes it."""
        queue = self.get(unit.queue)
        if queue.blocking:
            queue.blockers.add(unit)

    def unblock(self, unit: Unit) -> None:
        """Remove a failed unit that is retried or gone."""
        queue = self.get(unit.queue)
        if queue.blockers and unit in queue.blockers:
            queue.blockers.remove(unit)
            self.turns.enlist(queue)

    def unit_returned(self, unit: Unit) -> None:
        """Record that a unit is no longer at its shard."""
        if self.any_blocking:
            queue = self.get(unit.queue)
            if queue.blocking:
                queue.away -= 1
                self.turns.enlist(queue)

    def _make(self, name: str, config: QueueConfig) -> UnitQueue:
        self._by_name[name] = queue = UnitQueue(name, len(self._by_name), config)
        self.any_blocking = self.any_blocking or queue.blocking
        if queue.backfills:
            self._backfilling.append(queue)
        return queue

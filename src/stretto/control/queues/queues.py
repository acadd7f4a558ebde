"""Queues: every queue by name, and the moves of units in and out of them."""

from collections.abc import Iterator

from stretto.control.queues.config import DispatcherConfig, QueueConfig
from stretto.control.queues.queue import POLICIES, UnitQueue
from stretto.control.queues.round_robin import QueueTurns, WeightedTurns
from stretto.state.work.units import Unit


class UnitQueues:
    """All queues by name, each made when first named."""

    def __init__(self, config: DispatcherConfig, turns: QueueTurns | None = None) -> None:
        """Make the configured queues."""
        #: Whose turn it is.
        self.turns: QueueTurns = turns if turns is not None else WeightedTurns()
        self._configs = {each.name: each for each in config.queues}
        #: Whether any queue blocks; most planes have none and need not ask.
        self.any_blocking: bool = False
        self._other = config.other_queues
        POLICIES.get(self._other.policy)
        self._by_name: dict[str, UnitQueue] = {}
        self._backfilling: list[UnitQueue] = []
        for each in config.queues:
            self._make(each.name, each)

    def __iter__(self) -> Iterator[UnitQueue]:
        """Every queue, in the order of making."""
        return iter(self._by_name.values())

    def __len__(self) -> int:
        """How many units wait in all queues."""
        return sum(queue.order.live for queue in self)

    def get(self, name: str) -> UnitQueue:
        """The queue of that name."""
        return self._by_name.get(name) or self._make(name, self._configs.get(name, self._other))

    def settle(self, config: DispatcherConfig, turns: QueueTurns) -> list[Unit]:
        """Take over other settings; returns failed heads that are to be tried again."""
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

    def is_behind_blocked_head(self, unit: Unit) -> bool:
        """Whether a unit waits behind a failed head: the room it was woken for may serve others."""
        return any(unit.rank > head.rank for head in self.get(unit.queue).blockers)

    def retry_backfill(self) -> None:
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

    def unit_returned(self, unit: Unit) -> None:
        """A unit is at its shard no longer."""
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

"""The dispatcher: forms units, orders them and dispatches them to shards.

A dispatcher is one object, used by one thread. Its input is batches of changes and answers; its
output is work for the shards. It never reads a node. Each call gets the current time.

    absorb(changes)            pods, PodGroups and queues that were added, changed or deleted
    timers.wake(cures)         requeue units that an event may cure
    timers.due()               back-offs, deadlines, the safety net
    sender.dispatch(capacity)  work by shard
    answers.placed(rows)       claims that were granted
    answers.settle(refused)    claims that were refused
    answers.set_back(...)      pods that shards could not place
"""

from stretto.control.dispatcher.answers import Answers
from stretto.control.dispatcher.audit import audit
from stretto.control.dispatcher.intake import UnitTracker
from stretto.control.dispatcher.reclaimer import Reclaimer, ReclaimSearch
from stretto.control.dispatcher.sending import UnitSender
from stretto.control.dispatcher.states.containers import UnitStates
from stretto.control.dispatcher.states.moves import UnitMoves
from stretto.control.dispatcher.views import UnitViews
from stretto.control.dispatcher.waiting.broken_gangs import BrokenGangs
from stretto.control.dispatcher.waiting.failures import UnitFailure
from stretto.control.dispatcher.waiting.timers import UnitTimers
from stretto.control.queues.config import DispatcherConfig
from stretto.state.queries.pool import PoolView
from stretto.state.rows.pods import Pods
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.evictions import EvictionOrder
from stretto.state.work.units import Units


class Dispatcher:
    """Chooses the next unit and the shard that tries it."""

    def __init__(
        self,
        pods: Pods,
        units: Units,
        config: DispatcherConfig | None = None,
        pool: PoolView | None = None,
    ) -> None:
        """Start with no unit and no shard; DRF, fair share and backfill need the ``pool``."""
        self._places = UnitStates(pods, units, config or DispatcherConfig(), pool)
        moves = UnitMoves(self._places)
        self._intake = UnitTracker(moves)
        #: Processes the answers of shards, binder and store.
        self.answers = Answers(moves)
        #: Evicts borrowing pods for queues below their guarantee.
        self.reclaimer = Reclaimer(self._places)
        self._broken_gangs = BrokenGangs(self._places)
        #: Dispatches units to shards.
        self.sender = UnitSender(moves)
        #: Wakes waiting units.
        self.timers = UnitTimers(moves, self._broken_gangs, pool)
        #: Positions, counts and the cure that each unit waits for.
        self.views = UnitViews(self._places, self._intake.groups, self.reclaimer)

    # ------------------------------------------------------------ what changed

    def absorb(self, changes: ClusterChanges, now: float) -> bool:
        """Apply a batch of changes; the caller passes its ``cures`` to ``timers.wake``.

        Returns:
            True if pods on nodes must be reported again to be counted.
        """
        gated, places = self._intake.gated, self._places
        if gated and places.usage is not None and not gated.isdisjoint(changes.bound):
            places.uncounted = True  # another binder bound a gated pod, whose queue is unknown
        self._intake.absorb(changes, now)
        return places.uncounted

    def begin_census(self) -> None:
        """Count pods on nodes from the next batch on: ``absorb`` no longer requires it."""
        self._places.uncounted = False

    def reclaim(
        self, search: ReclaimSearch, now: float, *, by_guarantee: bool = True
    ) -> list[EvictionOrder]:
        """Return evictions for late incomplete gangs, and for queues below their guarantee.

        ``by_guarantee`` is false if another process reclaims.
        """
        orders = self._broken_gangs.orders(search, now) if self._broken_gangs else []
        if by_guarantee and self._places.usage is not None:
            orders += self.reclaimer.orders(search, now)
        return orders

    def next_due(self) -> float:
        """Clock time at which ``timers`` has work without an event; the past means now."""
        return min(self.timers.next_due(), self.reclaimer.next_due())

    def drain_failures(self) -> list[UnitFailure]:
        """Return the units that failed since the last call."""
        failures, self._places.failures = self._places.failures, []
        return failures

    def audit(self) -> list[str]:
        """Descriptions of violated invariants; empty if all hold."""
        return audit(self._places, self._intake.gated)

    # ------------------------------------------------------------ shards

    @property
    def shares(self) -> dict[int, float]:
        """Fraction of the capacity in each shard's partition; the partitioner writes it."""
        return self._places.shards.shares

    def add_shard(self, number: int) -> None:
        """Process a shard that was added or restarted."""
        self._places.shards.add(number)

    def set_remote_load(self, number: int, pods: int) -> None:
        """Set the load of a shard that answers through the store: the number of its pods."""
        self._places.shards.pods[number] = pods

    def remove_shard(self, number: int, now: float) -> None:
        """Process the death of a shard: requeue its unanswered pods; assumed pods stay."""
        self.answers.lose_shard(number, now)

    def binder_lost(self, now: float) -> None:
        """Process the death of the binder: requeue pods whose refusals were lost."""
        self.answers.binder_lost(now)

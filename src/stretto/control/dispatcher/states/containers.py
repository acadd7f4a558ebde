"""The containers of units, one for each state, and the data that they share.

Every part of the dispatcher reads them; ``moves`` changes them together with the states.
"""

from stretto.control.dispatcher.shards import Shards
from stretto.control.dispatcher.waiting.delays import DelayedUnits
from stretto.control.dispatcher.waiting.failures import UnitFailure
from stretto.control.dispatcher.waiting.pool import WaitingUnits
from stretto.control.dispatcher.waiting.turns import connected_turns
from stretto.control.load_policies import load_policy
from stretto.control.queues.config import DispatcherConfig
from stretto.control.queues.queues import UnitQueues
from stretto.state.queries.pool import PoolView
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.pods import Pods
from stretto.state.work.units import Unit, Units


class UnitStates:
    """The containers of units, one for each state."""

    def __init__(
        self, pods: Pods, units: Units, config: DispatcherConfig, pool: PoolView | None = None
    ) -> None:
        """Start with all containers empty.

        Raises:
            ValueError: the configuration counts usage, and ``pool`` is missing.
        """
        #: The pods, whose states change with their units.
        self.pods = pods
        #: The table of units.
        self.units = units
        #: The configuration.
        self.config = config
        self._pool = pool
        #: Usage of queues; ``None`` if no policy counts usage.
        self.usage: QueueUsage | None = None
        if config.counts_usage:
            self.usage = QueueUsage(pods, units, self.need_pool())
        #: True while pods that ran before counting began are not counted yet.
        self.uncounted: bool = self.usage is not None
        #: Unschedulable units, which wait for a cure.
        self.unschedulable = WaitingUnits(config.safety_net)
        turns = connected_turns(config, self.usage, self.unschedulable)
        #: Queued units.
        self.queues = UnitQueues(config, turns)
        #: Faults of unreadable Queue objects, by name.
        self.queue_faults: dict[str, str] = {}
        #: Units in back-off.
        self.delays = DelayedUnits()
        #: Gangs with a deadline.
        self.deadlines = DelayedUnits()
        #: Gangs that have nodes for fewer pods than they need, with the clock time of the first
        #: sight; ``BrokenGangs`` removes gangs that are complete again or have no node.
        self.incomplete: dict[Unit, float] = {}
        #: The shards and their load.
        self.shards = Shards(load_policy(config.dispatch, "profile: stretto.dispatch"))
        #: Units that failed since the caller's last read.
        self.failures: list[UnitFailure] = []
        #: Failure of each failed unit that exists.
        self.given_up: dict[Unit, UnitFailure] = {}
        #: Faults of units whose PodGroup is inconsistent.
        self.faults: dict[Unit, str] = {}
        #: Number of units in back-off.
        self.delayed: int = 0
        #: Number of forming units.
        self.forming: int = 0

    def need_pool(self) -> PoolView:
        """The cluster as one pool.

        Raises:
            ValueError: the configuration counts usage, and there is no pool.
        """
        if self._pool is None:
            raise ValueError("DRF, fair share and backfill need the pool: pass one")
        return self._pool

    def count_forming(self, more: int) -> None:
        """Add to the number of forming units; a negative number subtracts."""
        self.forming += more

    def count_delayed(self, more: int) -> None:
        """Add to the number of units in back-off; a negative number subtracts."""
        self.delayed += more

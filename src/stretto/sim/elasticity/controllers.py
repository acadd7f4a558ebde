"""The controllers that act in a run of a scenario: the code of ``stretto up``, in its own time."""

from functools import partial
from math import inf

from stretto.api.wire.kinds import TIDE_NODE_POOL
from stretto.capacity.tides.controller import TideController
from stretto.plane.placements import PlacementTrial, scheduling_records
from stretto.reconcile.loop import ReconcileLoop
from stretto.sim.elasticity.clocks import RunTime
from stretto.sim.elasticity.quiet import quiet_after
from stretto.sim.elasticity.scaling import ReplicaMove, ReplicaMoves
from stretto.sim.elasticity.workloads import scaling_controllers
from stretto.sim.fitting.tides import SwitchReport, switch_report
from stretto.sim.setup import LiveSite


class RunControllers:
    """The controllers over the store of a run."""

    def __init__(self, site: LiveSite, time: RunTime) -> None:
        """Initialize for a store and the time of a run; the run's scheduler tries each switch."""
        clock = time.clock
        #: Maximum sleep in seconds of the clock.
        self.longest_sleep = time.longest_sleep
        #: The switches so far, in order.
        self.switches: list[SwitchReport] = []
        self._clock = clock
        self._moved_at = clock.monotonic()
        self._loop = ReconcileLoop(clock)
        cache = self._loop.add_store("run", site.store)
        self._pools = cache.follow(TIDE_NODE_POOL)
        trial = PlacementTrial(site.plane.config, partial(scheduling_records, site.store))
        begin, found = clock.now(), self.switches
        controller = TideController(
            cache, clock, trial.placed, lambda each: found.append(switch_report(each, begin))
        )
        self._moves = ReplicaMoves(cache, clock)
        self._loop.add_controllers([self._moves, *scaling_controllers(cache, clock), controller])

    @property
    def moves(self) -> list[ReplicaMove]:
        """Changes of the replicas of scaling groups so far, in order."""
        return self._moves.found

    def step(self, *, moved: bool) -> bool:
        """Reconcile due keys; return true if a switch began or replicas changed.

        ``moved`` is true if pods arrived or ended, so that the run is not quiet.
        """
        before = len(self.switches) + len(self.moves)
        self._loop.step()
        begun = len(self.switches) + len(self.moves) > before
        if begun or moved:
            self._moved_at = self._clock.monotonic()
        return begun

    def next_due(self) -> float:
        """Clock time of the next reconciliation; infinity for none."""
        due = self._loop.next_due()
        return inf if due is None else due

    @property
    def is_quiet(self) -> bool:
        """True if no change has occurred for so long that no node can switch any more.

        A group that is retried every five minutes does not keep a run active.
        """
        return self._clock.monotonic() - self._moved_at > quiet_after(self._pools)

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
        """Act on a store in the time of a run; the scheduler of the run tries each switch."""
        clock = time.clock
        #: Longest sleep in seconds of the clock.
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
        """Reconcile what is due; returns whether a switch began or replicas changed.

        ``moved`` tells whether pods arrived or ended: the run is not quiet then.
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
        """True if nothing has moved for so long that no node switches any more.

        A group that is tried again every five minutes does not keep a run going.
        """
        return self._clock.monotonic() - self._moved_at > quiet_after(self._pools)

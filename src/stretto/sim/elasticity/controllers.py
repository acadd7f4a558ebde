"""The controllers of tidal pools in a run: the code of ``stretto up``, in the scenario's time.

A run with such objects has one clock for the store, the scheduler and the controllers: seconds of
the scenario. With speed 0 it jumps from one due time to the next.
"""

from functools import partial
from math import floor, inf
from typing import Final, NamedTuple

from stretto.api.types.capacity.tides import TideNodePool
from stretto.api.wire.kinds import TIDE_NODE_POOL
from stretto.base.clock import Clock, ManualClock, PacedClock
from stretto.base.errors import InputError
from stretto.capacity.tides.controller import TideController
from stretto.capacity.tides.pool import TidePool
from stretto.capacity.tides.rounds import OFFLINE_HOLD_S, PERIOD_S, TRIED_AGAIN_S
from stretto.inputs.scenario.feed import Feed
from stretto.plane.placements import PlacementTrial, scheduling_records
from stretto.reconcile.loop import ReconcileLoop
from stretto.sim.fitting.tides import SwitchReport, switch_report
from stretto.sim.setup import LiveSite

PROMPT_S: Final = 0.1
"""Longest sleep in real seconds, so that Ctrl-C and progress reports are prompt."""


class RunTime(NamedTuple):
    """The time of a run."""

    #: The clock of its store and its scheduler.
    clock: Clock
    #: Seconds of the scenario per second of the clock; 0 jumps.
    speed: float
    #: Longest sleep of the clock in its own seconds.
    longest_sleep: float = PROMPT_S


def run_time(feed: Feed, clock: Clock, speed: float) -> RunTime:
    """The time of a run: that of the machine, or the scenario's if controllers act in it.

    Args:
        feed: the input of the run.
        clock: the machine's clock.
        speed: seconds of the scenario per second; 0 is as fast as possible.
    """
    if not has_pools(feed):
        return RunTime(clock, speed)
    if speed > 0:
        return RunTime(PacedClock(clock, speed), 1.0, PROMPT_S * speed)
    virtual = ManualClock()
    virtual.jump_wall(floor(clock.now()))  # conditions of pods have whole seconds
    return RunTime(virtual, 1.0, inf)


def has_pools(feed: Feed) -> bool:
    """Whether an input has tidal pools."""
    return any(kind == TIDE_NODE_POOL for kind, _ in feed.objects)


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
        self._loop.add_controllers([controller])

    def step(self, *, moved: bool) -> bool:
        """Reconcile what is due; returns whether a switch began.

        ``moved`` tells whether pods arrived or ended: the run is not quiet then.
        """
        before = len(self.switches)
        self._loop.step()
        begun = len(self.switches) > before
        if begun or moved:
            self._moved_at = self._clock.monotonic()
        return begun

    def next_due(self) -> float:
        """Clock time of the next reconciliation; infinity for none."""
        due = self._loop.next_due()
        return inf if due is None else due

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has moved for so long that no node switches any more."""
        return self._clock.monotonic() - self._moved_at > self._wait_s()

    def _wait_s(self) -> float:
        """Seconds after which the last node of a pool has switched that has a reason to."""
        holds = [OFFLINE_HOLD_S, TRIED_AGAIN_S]
        for each in self._pools:
            try:
                holds.append(TidePool(each.read(TideNodePool)).settings.hold_s)
            except InputError:  # an event of the pool reports it
                continue
        return max(holds) + 3 * PERIOD_S

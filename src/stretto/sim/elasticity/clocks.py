"""The time of a run: that of the machine, or the scenario's if controllers act in the run.

A run with such objects has one clock for the store, the scheduler and the controllers, which counts
seconds of the scenario. With speed 0 it jumps from one due time to the next.
"""

from math import inf
from typing import Final, NamedTuple

from stretto.api.wire.kinds import SCALING_POLICY, TIDE_NODE_POOL
from stretto.base.clock import BEGIN, Clock, ManualClock, PacedClock
from stretto.inputs.scenario.feed import Feed

PROMPT_S: Final = 0.1
"""Maximum sleep in real seconds, so that Ctrl-C and progress reports are prompt."""


class RunTime(NamedTuple):
    """The time of a run."""

    #: The clock of its store and its scheduler.
    clock: Clock
    #: Seconds of the scenario per second of the clock; 0 jumps.
    speed: float
    #: Maximum sleep in seconds of the clock.
    longest_sleep: float = PROMPT_S


def run_time(feed: Feed, clock: Clock, speed: float, begin: int = BEGIN) -> RunTime:
    """The time of a run: that of the machine, or the scenario's if controllers act in it.

    Args:
        feed: the input of the run.
        clock: the machine's clock.
        speed: seconds of the scenario per second; 0 is as fast as possible.
        begin: wall time at which virtual time begins; conditions of pods have whole seconds.
    """
    if not has_controllers(feed):
        return RunTime(clock, speed)
    if speed > 0:
        return RunTime(PacedClock(clock, speed), 1.0, PROMPT_S * speed)
    virtual = ManualClock()
    virtual.jump_wall(begin)
    return RunTime(virtual, 1.0, inf)


def virtual_time(feed: Feed) -> RunTime:
    """Virtual time that jumps from one due time to the next."""
    return run_time(feed, ManualClock(), 0.0)


def has_controllers(feed: Feed) -> bool:
    """True if an input has tidal pools or scaling policies."""
    return any(kind in (TIDE_NODE_POOL, SCALING_POLICY) for kind, _ in feed.objects)

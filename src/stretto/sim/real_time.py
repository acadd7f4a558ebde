"""A scenario through the real plane, in the time of whatever clock it is given.

With the machine's clock this is ``stretto run``. Arrivals are written when their second has come,
pods leave when theirs is over, and the plane steps in between; with speed 0 the scenario's time
jumps to whatever comes next as soon as nothing moves. The run is over when nothing more can happen.
"""

from collections.abc import Callable
from math import inf
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base import collector
from stretto.base.clock import Clock
from stretto.explain.records.recorder import Recorder
from stretto.plane.config import Step
from stretto.plane.plane import Plane
from stretto.sim.feeder import Feeder
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.work.units import Unit

TELL_EVERY: Final = 0.1
"""Seconds between reports of progress: as often as an eye follows."""
LONGEST_NAP: Final = 0.1
"""Seconds slept at most, so that Ctrl-C and progress are not kept waiting."""
PREPARED: Final = 16_384
"""Pods written before the first decision: enough to learn what is typical from."""
POLLED: Final = 1 << 30
"""Events taken at once before the first decision: all there are."""


class RunSample(NamedTuple):
    """The run at one moment."""

    #: Seconds since it began (or went on).
    seconds: float
    #: Pods on nodes.
    placed: int
    #: Pods that want one.
    pending: int
    #: Pods written so far.
    arrived: int

    @property
    def ended(self) -> int:
        """Pods that have left."""
        return max(0, self.arrived - self.placed - self.pending)


Told = Callable[[RunSample], None]
"""Told how the run comes along, some ten times a second."""


Check = Callable[[], None]
"""Called between two steps: raises to end the run there."""


class LiveRun:
    """One run; it may be ended between two steps, and what is known then is the result."""

    def __init__(self, plane: Plane, feeder: Feeder, clock: Clock, speed: float = 1.0) -> None:
        """A run of a feeder's scenario on a plane over the same store.

        Args:
            plane: the scheduler.
            feeder: what comes and leaves.
            clock: its time, the plane's own.
            speed: seconds of the scenario per second of the clock; 0 is as fast as it goes.
        """
        #: Clock time at which it began.
        self.start: float = clock.monotonic()
        #: What happened to each pod.
        self.recorder = Recorder(plane.cluster, self.start, verdicts=plane.verdicts)
        #: Why units were given up.
        self.failures: dict[Unit, str] = {}
        self._plane = plane
        self._feeder = feeder
        self._clock = clock
        self._speed = speed
        self._jumped = feeder.resumed_at
        self._reported_at = -inf
        plane.observers.append(self.recorder.observe)
        plane.witnesses.append(self.recorder.witness)
        plane.observers.append(self._observe)

    @property
    def elapsed(self) -> float:
        """Second of the scenario's time."""
        if self._speed == 0:
            return self._jumped
        return self._feeder.resumed_at + (self._clock.monotonic() - self.start) * self._speed

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return self._clock.monotonic() - self.start

    def run(self, told: Told | None = None, check: Check = lambda: None) -> None:
        """Run until nothing more can happen.

        Args:
            told: told of the progress.
            check: called where the run may stop; whatever it raises ends the run.
        """
        self._prepare()
        with collector.Pace() as pace:
            while True:
                check()
                fed = self._feeder.feed(self.elapsed)
                moved = self._plane.step() or fed > 0
                self._tell(told)
                pace.spare(idle=not moved)
                if moved:
                    continue
                if self._is_over():
                    break
                self._wait()
        self.finish()
        self._tell(told, now=True)

    def finish(self) -> None:
        """Tell in the store of pods that wait still, where that is wanted."""
        if self._plane.reporter is not None:
            self._plane.reporter.finish(self._clock.monotonic(), self._clock)
        if self._plane.statuses is not None:
            self._plane.statuses.report(self._clock.monotonic(), self._clock, at_once=True)

    def pause(self) -> None:
        """Note in the store how far the run has come."""
        self._feeder.pause(self.elapsed)

    def sample(self) -> RunSample:
        """The run at this moment."""
        pods = self._plane.cluster.pods
        counts = np.bincount(pods.state[: pods.length], minlength=len(PodState))
        placed = int(counts[PodState.BOUND] + counts[PodState.ASSUMED])
        gone = int(counts[PodState.GONE])
        pending = int(counts.sum()) - placed - gone
        return RunSample(self.seconds, placed, pending, self._feeder.pods)

    # ------------------------------------------------------------ inside

    def _prepare(self) -> None:
        """Let the plane see what is there before its first decision.

        What is there already comes as a list, sorted by name; arrivals come as events, in their
        own order, so the first look is before the first arrival.
        """
        self._look()
        while self._feeder.pods < PREPARED and self._feeder.feed(self.elapsed):
            continue
        self._look()
        self._adopt()

    def _look(self) -> None:
        now = self._clock.monotonic()
        while self._plane.pump.poll(now, POLLED):
            continue

    def _adopt(self) -> None:
        """Pods that are on nodes from before an interruption run their whole time again."""
        if not self._feeder.has_durations:
            return
        pods = self._plane.cluster.pods
        self._started(np.flatnonzero(pods.state[: pods.length] == PodState.BOUND))

    def _observe(self, step: Step) -> None:
        """Start the time of pods that end by themselves, and keep why units were given up."""
        if self._feeder.has_durations:
            for verdict in step.verdicts:
                self._started(verdict.granted)
        for failure in step.failed:
            self.failures[failure.unit] = failure.message

    def _started(self, rows: npt.NDArray[np.int64]) -> None:
        pods, elapsed = self._plane.cluster.pods, self.elapsed
        for row in rows.tolist():
            self._feeder.started(pods.key(row), elapsed)

    def _is_over(self) -> bool:
        """Whether nothing more can happen: nothing comes, leaves or waits out a delay."""
        if self._feeder.next_due() < inf or self._plane.binder.in_doubt:
            return False
        if self._plane.dispatcher.reclaimer.is_busy:
            return False
        return self._plane.dispatcher.views.counts()[UnitState.BACKOFF] == 0

    def _wait(self) -> None:
        """Let time pass until something is due."""
        due = self._feeder.next_due()
        plane_due = self._plane.next_due() - self._clock.monotonic()
        if self._speed == 0:
            if due < inf:
                self._jumped = max(self._jumped, due)
            else:
                self._clock.sleep(min(max(plane_due, 1e-4), LONGEST_NAP))
            return
        own = (due - self.elapsed) / self._speed
        self._clock.sleep(min(max(min(own, plane_due), 1e-4), LONGEST_NAP))

    def _tell(self, told: Told | None, *, now: bool = False) -> None:
        time = self._clock.monotonic()
        if told is not None and (now or time - self._reported_at >= TELL_EVERY):
            self._reported_at = time
            told(self.sample())

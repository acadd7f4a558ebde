"""Runs a scenario through the real plane, in the time of a given clock.

With the machine's clock this is ``stretto run``. Arrivals are written and ended pods are deleted
when they are due, and the plane steps in between. With speed 0, the scenario's time jumps to the
next due entry as soon as the plane is idle. The run ends when nothing more can happen.
"""

from bisect import bisect_right
from collections.abc import Callable
from math import inf
from typing import Final, NamedTuple, Protocol

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

REPORT_EVERY: Final = 0.1
"""Seconds between progress reports."""
LONGEST_SLEEP: Final = 0.1
"""Maximum sleep in seconds, so that Ctrl-C and progress reports are prompt."""
PREPARED: Final = 16_384
"""Pods written before the first decision, so that the typical pods can be derived from them."""
POLLED: Final = 1 << 30
"""Upper bound of events per poll before the first decision: all of them."""


class RunSample(NamedTuple):
    """Progress of a run at one instant."""

    #: Seconds since the run started or resumed.
    seconds: float
    #: Pods on nodes.
    placed: int
    #: Pods without a node.
    pending: int
    #: Pods written so far.
    arrived: int

    @property
    def ended(self) -> int:
        """Pods that have ended."""
        return max(0, self.arrived - self.placed - self.pending)


OnSample = Callable[[RunSample], None]
"""Receives the progress, about ten times a second."""


Check = Callable[[], None]
"""Function that is called between two steps; an exception ends the run."""


class ControllersInRun(Protocol):
    """Controllers that act on the store of a run."""

    #: Maximum sleep in seconds of the clock.
    longest_sleep: float

    def step(self, *, moved: bool) -> bool:
        """Reconcile due keys; ``moved`` is true if pods arrived or ended."""
        ...

    def next_due(self) -> float:
        """Clock time of the next reconciliation; infinity for none."""
        ...

    @property
    def is_quiet(self) -> bool:
        """True if nothing changes any more unless pods arrive or end."""
        ...


class LiveRun:
    """One run. It can be ended between two steps; its state at that point is the result."""

    def __init__(
        self,
        plane: Plane,
        feeder: Feeder,
        clock: Clock,
        speed: float = 1.0,
        controllers: ControllersInRun | None = None,
    ) -> None:
        """Create a run of a feeder's scenario on a plane over the same store.

        Args:
            plane: the scheduler.
            feeder: writes arrivals and deletes ended pods.
            clock: the clock of the plane.
            speed: scenario seconds per clock second; 0 is as fast as possible.
            controllers: controllers that act on the store between two steps; the clock is then that
                of the scenario.
        """
        #: Clock time of the start.
        self.start: float = clock.monotonic()
        #: Records the decisions about each pod.
        self.recorder = Recorder(plane.cluster, self.seconds_at, verdicts=plane.verdicts)
        #: Units that were given up, with the reason.
        self.failures: dict[Unit, str] = {}
        self._plane = plane
        self._feeder = feeder
        self._clock = clock
        self._speed = speed
        self._controllers = controllers
        #: Clock time and scenario second of each jump, for speed 0.
        self._jumps: tuple[list[float], list[float]] = ([self.start], [feeder.resumed_at])
        self._reported_at = -inf
        plane.observers.append(self.recorder.observe)
        plane.witnesses.append(self.recorder.witness)
        plane.observers.append(self._observe)

    @property
    def elapsed(self) -> float:
        """Current second of the scenario."""
        if self._speed == 0:
            return self._jumps[1][-1]
        return self._feeder.resumed_at + (self._clock.monotonic() - self.start) * self._speed

    @property
    def seconds(self) -> float:
        """Seconds since the run started."""
        return self._clock.monotonic() - self.start

    def seconds_at(self, time: float) -> float:
        """Second of the scenario at a clock time; a future time is reached without jumps."""
        if self._speed > 0:
            return self._feeder.resumed_at + (time - self.start) * self._speed
        at, seconds = self._jumps
        ahead = max(0.0, time - self._clock.monotonic())
        return seconds[max(0, bisect_right(at, time) - 1)] + ahead

    def run(self, on_sample: OnSample | None = None, check: Check = lambda: None) -> None:
        """Run until nothing more can happen.

        Args:
            on_sample: receives the progress.
            check: called between two steps; an exception ends the run.
        """
        self._prepare()
        with collector.Pace() as pace:
            while True:
                check()
                fed = self._feeder.feed(self.elapsed)
                moved = self._plane.step() or fed > 0
                if self._controllers is not None:
                    moved = self._controllers.step(moved=fed > 0) or moved
                self._report_progress(on_sample)
                pace.spare(idle=not moved)
                if moved:
                    continue
                if self._is_over():
                    break
                self._wait()
        self.finish()
        self._report_progress(on_sample, now=True)

    def finish(self) -> None:
        """Write the final events and conditions of pending pods, if these are enabled."""
        if self._plane.reporter is not None:
            self._plane.reporter.finish(self._clock.monotonic(), self._clock)
        if self._plane.statuses is not None:
            self._plane.statuses.report(self._clock.monotonic(), self._clock, at_once=True)

    def pause(self) -> None:
        """Write the run's progress to the store, so that it can resume."""
        self._feeder.pause(self.elapsed)

    def sample(self) -> RunSample:
        """The progress at this instant."""
        pods = self._plane.cluster.pods
        counts = np.bincount(pods.state[: pods.length], minlength=len(PodState))
        placed = int(counts[PodState.BOUND] + counts[PodState.ASSUMED])
        deleted = int(counts[PodState.GONE])
        pending = int(counts.sum()) - placed - deleted
        return RunSample(self.seconds, placed, pending, self._feeder.pods)

    @property
    def refused(self) -> dict[str, str]:
        """Pods that quotas reject, by ``namespace/name``, with the refusals."""
        return {key: each.message for key, each in self._feeder.quotas.refused.items()}

    # ------------------------------------------------------------ inside

    def _prepare(self) -> None:
        """Let the plane read the initial objects before its first decision.

        Initial objects are read as a list, sorted by name; arrivals are read as events, in order.
        Therefore the first poll precedes the first arrival.
        """
        self._poll()
        while self._feeder.pods < PREPARED and self._feeder.feed(self.elapsed):
            continue
        self._poll()
        self._adopt()

    def _poll(self) -> None:
        now = self._clock.monotonic()
        while self._plane.pump.poll(now, POLLED):
            continue

    def _adopt(self) -> None:
        """Restart the run time of pods that were bound before an interruption."""
        if not self._feeder.has_durations:
            return
        pods = self._plane.cluster.pods
        self._started(np.flatnonzero(pods.state[: pods.length] == PodState.BOUND))

    def _observe(self, step: Step) -> None:
        """Start the run time of bound pods; record the reasons of given-up units."""
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
        """True if nothing more can happen: no arrival, end, reclaim or back-off is due."""
        if self._feeder.next_due() < inf or self._plane.binder.in_doubt:
            return False
        if self._plane.dispatcher.reclaimer.is_busy:
            return False
        if self._controllers is not None and not self._controllers.is_quiet:
            return False
        return self._plane.dispatcher.views.counts()[UnitState.BACKOFF] == 0

    def _wait(self) -> None:
        """Sleep, or jump, until the next entry is due."""
        due = self._feeder.next_due()
        plane_due = self._plane.next_due() - self._clock.monotonic()
        if self._speed == 0:
            if due < inf:
                self._jump(due)
            else:
                self._clock.sleep(min(max(plane_due, 1e-4), LONGEST_SLEEP))
            return
        own, most = (due - self.elapsed) / self._speed, LONGEST_SLEEP
        if self._controllers is not None:
            own = min(own, self._controllers.next_due() - self._clock.monotonic())
            most = self._controllers.longest_sleep
        self._clock.sleep(min(max(min(own, plane_due), 1e-4), most))

    def _jump(self, second: float) -> None:
        """Advance to a second of the scenario."""
        at, seconds = self._jumps
        if second > seconds[-1]:
            at.append(self._clock.monotonic())
            seconds.append(second)

    def _report_progress(self, on_sample: OnSample | None, *, now: bool = False) -> None:
        time = self._clock.monotonic()
        if on_sample is not None and (now or time - self._reported_at >= REPORT_EVERY):
            self._reported_at = time
            on_sample(self.sample())

"""What a plane did while it ran: an observer that counts, and keeps one float for each pod placed.

    meter = Meter(plane)            # from now on
    ...                             # the plane runs
    report = summarise(plane, meter)

Latency runs from the instant at which the plane first saw a pod to the end of the step that bound
it, by the plane's own clock: real time in real time, virtual time in virtual time.
"""

from collections import Counter
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.plane.config import Step
from stretto.plane.plane import Plane
from stretto.state.work.claims import ConflictCause

DRAWN: Final = 500
"""Points that are kept of the way: enough for a plot."""

Floats = npt.NDArray[np.float64]


class StepCounters:
    """Counts the steps of one plane."""

    def __init__(self, plane: Plane) -> None:
        """Start counting now."""
        #: Clock time of the start.
        self.start: float = plane.clock.monotonic()
        #: Clock time of the last placement; the start where there was none.
        self.last: float = self.start
        #: Pods placed by number of the shard.
        self.placed_by_shard: Counter[int] = Counter()
        #: Claims that were refused, by cause.
        self.refused: Counter[ConflictCause] = Counter()
        #: Pods of units that were given up.
        self.given_up: int = 0
        self._plane = plane
        self._waits: list[Floats] = []
        self._times: list[float] = []
        self._placed: list[int] = []
        plane.observers.append(self.observe)

    @property
    def placed(self) -> int:
        """Pods placed since the start; one that was placed twice counts twice."""
        return self.placed_by_shard.total()

    def observe(self, step: Step) -> None:
        """Note one step."""
        now = self._plane.clock.monotonic()
        since = self._plane.cluster.pods.since
        for plan, verdict in zip(step.plans, step.verdicts, strict=True):
            if len(verdict.granted):
                self.placed_by_shard[plan.shard] += len(verdict.granted)
                self._waits.append(now - since[verdict.granted])
                self.last = now
            for _, rows, cause in verdict.refused:
                self.refused[cause] += len(rows)
        for _, rows, cause in step.refusals:
            self.refused[cause] += len(rows)
        self.given_up += sum(len(failure.rows) for failure in step.failed)
        self._times.append(now - self.start)
        self._placed.append(self.placed)

    def waits(self) -> Floats:
        """float64[pod]: seconds from first sight to the bind, in the order of placing."""
        return np.concatenate(self._waits) if self._waits else np.zeros(0)

    def way(self) -> tuple[list[float], list[int]]:
        """Seconds since the start, and pods placed by then: at most ``DRAWN`` points."""
        count = len(self._times)
        if not count:
            return [0.0], [0]
        shown = np.unique(np.linspace(0, count - 1, DRAWN - 1).astype(np.int64)).tolist()
        times, placed = [self._times[i] for i in shown], [self._placed[i] for i in shown]
        return [0.0, *times], [0, *placed]

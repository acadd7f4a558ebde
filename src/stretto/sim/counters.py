"""Counters of a plane's steps: an observer that stores one float for each placed pod.

    counters = StepCounters(plane)  # counts from now on
    ...                             # the plane runs
    report = summarise(plane, counters)

Latency is the time from the first watch event of a pod to the end of the step that bound it, by
the plane's clock (real or virtual).
"""

from collections import Counter
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.plane.config import Step
from stretto.plane.plane import Plane
from stretto.state.work.claims import ConflictCause

DRAWN: Final = 500
"""Maximum number of points of the progress curve, which is enough for a plot."""

Floats = npt.NDArray[np.float64]


class StepCounters:
    """Counts placements, refused claims and given-up pods of one plane."""

    def __init__(self, plane: Plane) -> None:
        """Start counting now."""
        #: Clock time of the start.
        self.start: float = plane.clock.monotonic()
        #: Clock time of the last placement; the start if there was none.
        self.last: float = self.start
        #: Placed pods by shard number.
        self.placed_by_shard: Counter[int] = Counter()
        #: Refused claims by cause.
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
        """Placements since the start; a pod that was placed twice counts twice."""
        return self.placed_by_shard.total()

    def observe(self, step: Step) -> None:
        """Count one step."""
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
        """float64[pod]: seconds from first watch event to bind, in the order of placement."""
        return np.concatenate(self._waits) if self._waits else np.zeros(0)

    def progress(self) -> tuple[list[float], list[int]]:
        """Seconds since the start, and the pods placed up to each: at most ``DRAWN`` points."""
        count = len(self._times)
        if not count:
            return [0.0], [0]
        shown = np.unique(np.linspace(0, count - 1, DRAWN - 1).astype(np.int64)).tolist()
        times, placed = [self._times[i] for i in shown], [self._placed[i] for i in shown]
        return [0.0, *times], [0, *placed]

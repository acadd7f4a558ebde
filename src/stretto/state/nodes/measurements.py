"""Recent measurements of every node, for percentiles of its use.

A node keeps its last ``SAMPLES`` measurements: with one report per minute, a quarter of an hour,
which is Koordinator's longest usual aggregation. Older measurements do not affect placement.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

SAMPLES: Final = 15
"""Number of measurements kept for each node."""


class NodeUseHistory:
    """The last measurements by slot."""

    def __init__(self) -> None:
        """Start without measurements."""
        #: int64[slot, sample, 2]: milli-CPU and bytes; -1 where there is none.
        self.used: npt.NDArray[np.int64] = np.zeros((0, SAMPLES, 2), np.int64)
        #: float64[slot, sample]: time in seconds since 1970.
        self.at_s: npt.NDArray[np.float64] = np.zeros((0, SAMPLES), np.float64)
        #: int64[slot]: number of measurements so far.
        self.count: npt.NDArray[np.int64] = np.zeros(0, np.int64)

    def grow(self, size: int) -> None:
        """Grow to ``size`` slots."""
        missing = size - len(self.count)
        if missing > 0:
            none = np.full((missing, SAMPLES, 2), -1, np.int64)
            self.used = np.concatenate([self.used, none])
            self.at_s = np.concatenate([self.at_s, np.zeros((missing, SAMPLES))])
            self.count = np.concatenate([self.count, np.zeros(missing, np.int64)])

    def add(self, slot: int, used: npt.NDArray[np.int64], at_s: float) -> None:
        """Add a measurement; the oldest one is dropped."""
        place = int(self.count[slot]) % SAMPLES
        self.used[slot, place] = used
        self.at_s[slot, place] = at_s
        self.count[slot] += 1

    def clear(self, slot: int) -> None:
        """Drop the measurements of a slot whose node is removed."""
        self.used[slot] = -1
        self.count[slot] = 0

    def percentile(
        self,
        slots: npt.NDArray[np.int64],
        percent: float,
        since_s: float | npt.NDArray[np.float64],
    ) -> npt.NDArray[np.int64]:
        """int64[k, 2]: percentile of the use measured since a time.

        ``percent`` is the percentile, 0 to 100. ``since_s`` is one time, or float64[k]. The result
        is -1 where there is no measurement.
        """
        since = np.broadcast_to(np.asarray(since_s, np.float64), (len(slots),))
        recent = (self.at_s[slots] >= since[:, None]) & (self.used[slots, :, 0] >= 0)
        used = np.sort(np.where(recent[:, :, None], self.used[slots], -1), axis=1)
        count = recent.sum(axis=1)
        rank = np.ceil(percent / 100 * count).astype(np.int64).clip(1) - 1
        place = (SAMPLES - count + rank).clip(0, SAMPLES - 1)
        return np.take_along_axis(used, place[:, None, None], axis=1)[:, 0]

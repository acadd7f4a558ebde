"""Pods of each population by slot, and the log of changes.

Views copy these counts. A row of counts is a population; it starts empty, is filled from the pods'
rows, and then follows every pod that is added or removed. The log contains (population, slot)
pairs: a view reads it from its last position and copies the logged counts.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

LOG_LIMIT: Final = 1 << 18
"""Maximum log length; a view that is further behind copies everything."""
FIRST_POPULATIONS: Final = 16
"""Initial number of populations; rows double when they are full."""
SLOT_BITS: Final = 32
"""A log entry is the population number shifted left by this, plus the slot."""


class PopulationCounts:
    """Counts of all populations by slot."""

    def __init__(self) -> None:
        """Start without populations and slots."""
        #: int16[population, slot]: number of pods; larger than the part in use.
        self.table: npt.NDArray[np.int16] = np.zeros((FIRST_POPULATIONS, 0), np.int16)
        #: Incremented when all counts are invalid: views must copy everything again.
        self.epoch: int = 0
        self._log: npt.NDArray[np.int64] = np.zeros(1024, np.int64)
        self._length = 0
        self._base = 0

    @property
    def head(self) -> int:
        """Position after the last change; positions never repeat."""
        return self._base + self._length

    def changes_since(self, position: int) -> npt.NDArray[np.int64] | None:
        """Entries since a position (with repeats), or ``None`` if no longer logged."""
        if position < self._base:
            return None
        return self._log[position - self._base : self._length]

    def fit(self, populations: int, slots: int) -> None:
        """Grow to so many populations and slots."""
        rows, width = self.table.shape
        if populations <= rows and slots <= width:
            return
        while rows < populations:
            rows *= 2
        table = np.zeros((rows, max(width, slots)), np.int16)
        table[: len(self.table), :width] = self.table
        self.table = table

    def change(
        self, populations: npt.NDArray[np.int32], slots: npt.NDArray[np.int32], sign: int
    ) -> None:
        """Add (1) or remove (-1) one pod per pair of population and slot."""
        np.add.at(self.table, (populations, slots), np.int16(sign))
        count = len(slots)
        if count > LOG_LIMIT:
            self._base, self._length = self.head + count, 0
            return
        if self._length + count > len(self._log):
            self._reserve_log(count)
        entries = self._log[self._length : self._length + count]
        entries[:] = populations
        entries <<= SLOT_BITS
        entries |= slots
        self._length += count

    def invalidate_log(self) -> None:
        """Make every view copy everything."""
        self._base, self._length = self.head + 1, 0

    def clear(self) -> None:
        """Remove every population."""
        self.table[:] = 0
        self.invalidate_log()
        self.epoch += 1

    def _reserve_log(self, count: int) -> None:
        """Grow the log, or drop its older half at the maximum length."""
        if len(self._log) < LOG_LIMIT:
            longer = np.zeros(min(LOG_LIMIT, 2 * (len(self._log) + count)), np.int64)
            longer[: self._length] = self._log[: self._length]
            self._log = longer
        if self._length + count > len(self._log):
            drop = self._length if count > LOG_LIMIT // 2 else self._length // 2
            self._log[: self._length - drop] = self._log[drop : self._length]
            self._base += drop
            self._length -= drop
        if self._length + count > len(self._log):
            self._base += self._length
            self._length = 0

"""How many pods of each population every slot has, and the log of what changed.

The truth that views copy. A row of counts is a population; it is made empty, filled from the pods'
rows, and follows every pod that comes or goes from then on. The log names (population, slot) pairs:
a view reads it from where it last stood and copies the counts that are named.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

LOG_LIMIT: Final = 1 << 18
"""Longest log kept; a view that is further behind copies everything."""
FIRST_POPULATIONS: Final = 16
"""Populations to begin with; rows double when they are full."""
SLOT_BITS: Final = 32
"""A log entry is the population's number shifted by so many bits, and the slot."""


class PopulationCounts:
    """Counts of all populations by slot."""

    def __init__(self) -> None:
        """Start with no population and no slot."""
        #: int16[population, slot]: pods; longer and wider than what is in use.
        self.table: npt.NDArray[np.int16] = np.zeros((FIRST_POPULATIONS, 0), np.int16)
        #: Rises when all counts are void: views start anew.
        self.epoch: int = 0
        self._log: npt.NDArray[np.int64] = np.zeros(1024, np.int64)
        self._length = 0
        self._base = 0

    @property
    def head(self) -> int:
        """Position after the last change; positions never repeat."""
        return self._base + self._length

    def changes_since(self, position: int) -> npt.NDArray[np.int64] | None:
        """Entries since a position (with repeats), or ``None`` when that is forgotten."""
        if position < self._base:
            return None
        return self._log[position - self._base : self._length]

    def fit(self, populations: int, slots: int) -> None:
        """Have room for so many populations and slots."""
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
        """Add (1) or take away (-1) one pod per pair of population and slot."""
        np.add.at(self.table, (populations, slots), np.int16(sign))
        count = len(slots)
        if count > LOG_LIMIT:
            self._base, self._length = self.head + count, 0
            return
        if self._length + count > len(self._log):
            self._make_room(count)
        entries = self._log[self._length : self._length + count]
        entries[:] = populations
        entries <<= SLOT_BITS
        entries |= slots
        self._length += count

    def invalidate_log(self) -> None:
        """Make every view copy everything."""
        self._base, self._length = self.head + 1, 0

    def clear(self) -> None:
        """Forget every population."""
        self.table[:] = 0
        self.invalidate_log()
        self.epoch += 1

    def _make_room(self, count: int) -> None:
        """A longer log, or the older half dropped where it may not be longer."""
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

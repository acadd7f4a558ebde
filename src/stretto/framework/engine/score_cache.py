"""The class cache: the cached scores of classes, bounded by memory.

Each class in use has an entry: maxima of blocks and, where a profile needs them, whole rows. The
least recently used entry is evicted first. Only the kernels interpret the content (``ScoreCache``).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.state.rows.slots import BLOCK

CACHE_BYTES: Final = 160 << 20
"""Memory limit for score rows in bytes; beyond it the least recently used class loses its row."""


class CacheEntries:
    """The entries of the class cache, bounded by memory, evicted in least-recently-used order.

    An entry has rows, or only the maxima of blocks and ranges. ``store_answers`` adds the bits of
    the results of Python rules.
    """

    def __init__(self, *, store_rows: bool, store_answers: bool) -> None:
        self._stores_rows = store_rows
        self._stores_answers = store_answers
        self._ranges = 0
        self.top: npt.NDArray[np.int16] = np.zeros((0, 0), np.int16)
        self.row: npt.NDArray[np.int16] = np.zeros((0, 0), np.int16)
        self.peak: npt.NDArray[np.int16] = np.zeros((0, 0), np.int16)
        self.position: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.row_position: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.unknown: npt.NDArray[np.uint64] = np.zeros((0, 0), np.uint64)
        self.refused: npt.NDArray[np.uint64] = np.zeros((0, 0), np.uint64)
        self.entry: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._serial: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._holder: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._used: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._turn = 0

    def reset(self, size: int) -> None:
        """Drop every row after the slots have changed."""
        self.row = np.zeros((0, size if self._stores_rows else 0), np.int16)
        self.top = np.zeros((0, self._ranges), np.int16)
        self.peak = np.zeros((0, size // BLOCK), np.int16)
        self.position = np.zeros(0, np.int64)
        self.row_position = np.zeros(0, np.int64)
        words = size // BLOCK if self._stores_answers else 0
        self.unknown = np.zeros((0, words), np.uint64)
        self.refused = np.zeros((0, words), np.uint64)
        self.entry[:] = -1
        self._holder = np.zeros(0, np.int64)
        self._used = np.zeros(0, np.int64)

    def resize_rows(self, ranges: int) -> None:
        """Invalidate the maxima of ranges after a regrouping of blocks."""
        self._ranges = ranges
        self.top = np.zeros((len(self.position), ranges), np.int16)
        self.position[:] = -1

    def hold(
        self, wanted: npt.NDArray[np.int32], serials: npt.NDArray[np.int64], size: int
    ) -> None:
        """Assign an entry to each of these classes; rows of recompiled classes are outdated."""
        self._turn += 1
        top = int(wanted.max()) + 1
        if top > len(self.entry):
            more = max(top, 2 * len(self.entry)) - len(self.entry)
            self.entry = np.concatenate([self.entry, np.full(more, -1, np.int32)])
            self._serial = np.concatenate([self._serial, np.zeros(more, np.int64)])
        held = wanted[self.entry[wanted] >= 0]
        self._used[self.entry[held]] = self._turn
        changed = self._serial[wanted] != serials
        self.forget(wanted[changed & (self.entry[wanted] >= 0)])
        self._serial[wanted] = serials
        missing = wanted[self.entry[wanted] < 0]
        if len(missing):
            self._allot(missing, size)

    def forget(self, class_ids: npt.NDArray[np.int32]) -> None:
        """Mark the entries of these classes as outdated."""
        self.position[self.entry[class_ids]] = -1
        self.row_position[self.entry[class_ids]] = -1

    def _allot(self, missing: npt.NDArray[np.int32], size: int) -> None:
        slots = size if self._stores_rows else size // BLOCK + self._ranges
        bound = max(64, CACHE_BYTES // max(1, 2 * slots), len(missing))
        length = len(self.position)
        if length + len(missing) > bound:
            spare = length + len(missing) - bound
            idle = np.flatnonzero(self._used < self._turn)
            oldest = idle[np.argsort(self._used[idle], kind="stable")[:spare]]
            self.entry[self._holder[oldest]] = -1
        else:
            oldest = np.zeros(0, np.int64)
        fresh = len(missing) - len(oldest)
        if fresh > 0:
            self._grow(length + fresh)
        entries = np.concatenate([oldest, np.arange(length, length + fresh)])
        self.entry[missing] = entries
        self._holder[entries] = missing
        self._used[entries] = self._turn
        self.position[entries] = -1
        self.row_position[entries] = -1

    def _grow(self, length: int) -> None:
        more = length - len(self.position)
        size, blocks = self.row.shape[1], self.peak.shape[1]
        self.row = np.concatenate([self.row, np.zeros((more, size), np.int16)])
        self.peak = np.concatenate([self.peak, np.zeros((more, blocks), np.int16)])
        self.top = np.concatenate([self.top, np.zeros((more, self._ranges), np.int16)])
        self.position = np.concatenate([self.position, np.full(more, -1, np.int64)])
        self.row_position = np.concatenate([self.row_position, np.full(more, -1, np.int64)])
        added = np.zeros((more, self.unknown.shape[1]), np.uint64)
        self.unknown = np.concatenate([self.unknown, added])
        self.refused = np.concatenate([self.refused, added])
        self._holder = np.concatenate([self._holder, np.zeros(more, np.int64)])
        self._used = np.concatenate([self._used, np.zeros(more, np.int64)])

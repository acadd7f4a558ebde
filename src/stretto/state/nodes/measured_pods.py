"""The measured use of each pod, so that a pod no longer counts after it leaves its node.

A report measures a node and its QoS levels, not single pods. The use of a level is divided among
its measured pods in proportion to their requests. Pods of a level without use share the rest of the
node's use. The share of a pod that leaves after the measurement is subtracted until the next
measurement.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.base.copies import copied_with
from stretto.state.rows.resources import CPU, MEMORY

Ints = npt.NDArray[np.int64]

NOT_MEASURED: Final = -1
"""Use of a pod that no measurement includes."""


class MeasuredPods:
    """Measured use by row, and by slot the use of the pods that left since the measurement."""

    def __init__(self) -> None:
        """Start without measurements."""
        #: int64[row, 2]: measured milli-CPU and bytes; -1 where no measurement includes the pod.
        self.use: Ints = np.zeros((0, 2), np.int64)
        #: int64[slot, 2]: measured use of the pods that left.
        self.gone_use: Ints = np.zeros((0, 2), np.int64)
        #: int64[slot, 2]: requests of these pods.
        self.gone_requests: Ints = np.zeros((0, 2), np.int64)

    def grow(self, slots: int) -> None:
        """Grow to this number of slots."""
        missing = slots - len(self.gone_use)
        if missing > 0:
            more = np.zeros((missing, 2), np.int64)
            self.gone_use = np.concatenate([self.gone_use, more])
            self.gone_requests = np.concatenate([self.gone_requests, more])

    def renew(self, slot: int, rows: Ints, use: Ints) -> None:
        """Record a new measurement of a slot: int64[k, 2], the use of the pods there."""
        missing = int(rows.max(initial=-1)) + 1 - len(self.use)
        if missing > 0:
            more = np.full((max(missing, len(self.use)), 2), NOT_MEASURED, np.int64)
            self.use = np.concatenate([self.use, more])
        self.use[rows] = use
        self.clear(slot)

    def use_of(self, rows: Ints) -> Ints:
        """int64[k, 2]: measured use of some pods; -1 for a pod that no measurement includes."""
        found = np.full((len(rows), 2), NOT_MEASURED, np.int64)
        known = rows < len(self.use)
        found[known] = self.use[rows[known]]
        return found

    def clear(self, slot: int) -> None:
        """Drop the records of the pods that left a slot."""
        self.gone_use[slot] = 0
        self.gone_requests[slot] = 0

    def forget(self, rows: Ints) -> None:
        """Drop the measured use of pods whose node is removed."""
        self.use[rows[rows < len(self.use)]] = NOT_MEASURED

    def leave_one(self, row: int, slot: int, requests: Iterable[tuple[int, int]]) -> None:
        """Record that a pod leaves its slot; its requests are amounts by resource column."""
        if row < len(self.use) and self.use[row, 0] != NOT_MEASURED:
            by_column = dict(requests)
            amounts = [[by_column.get(CPU, 0), by_column.get(MEMORY, 0)]]
            self.leave(np.array([row]), np.array([slot]), np.array(amounts, np.int64))

    def leave(self, rows: Ints, slots: Ints, requests: Ints) -> None:
        """Record that pods leave their slots; ``requests`` is int64[k, 2]."""
        self.subtract(rows, slots, requests)
        self.forget(rows)

    def subtract(self, rows: Ints, slots: Ints, requests: Ints) -> None:
        """Subtract pods from their slots, but keep their measured use."""
        known = np.flatnonzero(rows < len(self.use))
        known = known[self.use[rows[known], 0] != NOT_MEASURED]
        if len(known):
            self.grow(int(slots[known].max()) + 1)
            np.add.at(self.gone_use, slots[known], self.use[rows[known]])
            np.add.at(self.gone_requests, slots[known], requests[known])

    def copied(self) -> "MeasuredPods":
        """Return a copy from which pods may be subtracted without an effect on this object."""
        gone = self.gone_use.copy(), self.gone_requests.copy()
        return copied_with(self, gone_use=gone[0], gone_requests=gone[1])


def parts_of_use(use: Ints, levels: Ints, requests: Ints) -> Ints:
    """Divide the use of each level among its pods in proportion to their requests.

    Args:
        use: int64[level, 2]: measured use.
        levels: int64[k]: level of each pod; -1 if it is not measured.
        requests: int64[k, 2]: requests of each pod.

    Returns:
        int64[k, 2]: measured use; -1 for a pod that is not measured.
    """
    found = np.full((len(levels), 2), NOT_MEASURED, np.int64)
    measured = np.flatnonzero(levels >= 0)
    if not len(measured):
        return found
    sums = np.zeros((len(use), 2), np.float64)
    np.add.at(sums, levels[measured], requests[measured])
    whole = sums[levels[measured]]
    parts = np.divide(requests[measured], whole, out=np.zeros_like(whole), where=whole > 0)
    found[measured] = np.floor(use[levels[measured]] * parts).astype(np.int64)
    return found

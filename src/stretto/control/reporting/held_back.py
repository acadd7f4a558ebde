"""Finds units that a queue limit blocks, and formats the reason.

Their pods are pending, and no shard has tried them. A scan of the pending rows in pieces finds
them, only while some queue has limits. Therefore the cost of a call does not depend on the backlog.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from stretto.api.wire.quantity import format_amount
from stretto.control.dispatcher.views import ReachedLimit
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.rows.pods import Pods
from stretto.state.work.units import Unit, Units

PIECE: Final = 1024
"""Number of pending rows per call; each needs some microseconds."""


class LimitViews(Protocol):
    """Provides the limits that block a unit."""

    @property
    def has_limits(self) -> bool:
        """True if any queue has a limit."""
        ...

    def limits(self, unit: Unit) -> Sequence[ReachedLimit]:
        """Return the limits that block a unit, those of its own queue first."""
        ...


class LimitedPods:
    """Finds pods whose unit a limit blocks."""

    def __init__(self, pods: Pods, units: Units, views: LimitViews) -> None:
        """Scan these pods and units."""
        self._pods = pods
        self._units = units
        self._views = views
        self._cursor = 0

    def rows(
        self, wanted: npt.NDArray[np.bool_], reported: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int64]:
        """Return the next rows to report.

        Args:
            wanted: bool[row]: rows that may be reported now.
            reported: bool[row]: rows that were reported as blocked; they are returned again when
                the limit no longer blocks them.
        """
        pods = self._pods
        pending = pods.state[: pods.length] == PodState.PENDING
        if not self._views.has_limits:
            return np.flatnonzero(pending & wanted & reported)
        waiting = np.flatnonzero(pending & wanted)
        at = int(np.searchsorted(waiting, self._cursor))
        piece = waiting[at : at + PIECE]
        self._cursor = int(piece[-1]) + 1 if len(piece) == PIECE else 0
        held = [bool(reported[row]) or self.words(row) != "" for row in piece.tolist()]
        return np.asarray(piece[np.array(held, np.bool_)], np.int64)

    def words(self, row: int) -> str:
        """The limits that block a pod's unit, as a sentence; empty for none."""
        unit = self._units.of_row(row)
        if unit is None or unit.state is not UnitState.QUEUED:
            return ""
        return limit_message(self._views.limits(unit))


def limit_message(limits: Sequence[ReachedLimit]) -> str:
    """Limits as a sentence; empty for none."""
    return "; ".join(map(_words, limits))


def _words(limit: ReachedLimit) -> str:
    queue = f"queue {limit.queue}"
    if limit.most < 0:
        return f"{queue} starts nothing now: it is draining or returning borrowed capacity"
    if not limit.resource:
        return f"{queue} has reached its limit: {limit.held} of {limit.most} units running"
    held, most, requested = (
        format_amount(limit.resource, amount)
        for amount in (limit.held, limit.most, limit.requested)
    )
    used = f"{limit.resource} {held} of {most} used"
    return f"{queue} has reached its limit: {used}, {requested} requested"

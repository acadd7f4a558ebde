"""Units that a limit of their queues holds back: who they are, and the sentence that says so.

Pods of such units are pending like any that wait for their turn, and no shard has ever looked at
them. They are found by going through the pending rows a piece at a time, and only while some queue
has limits at all, so a long backlog costs each look the same.
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
"""Pending rows that one look goes through: each is a question of some microseconds."""


class LimitViews(Protocol):
    """Knows which limits keep a unit waiting."""

    @property
    def has_limits(self) -> bool:
        """Whether any queue limits what may start."""
        ...

    def limits(self, unit: Unit) -> Sequence[ReachedLimit]:
        """The limits that keep a unit waiting, its own queue's first."""
        ...


class LimitedPods:
    """Finds pods whose unit a limit holds back."""

    def __init__(self, pods: Pods, units: Units, views: LimitViews) -> None:
        """Look at these."""
        self._pods = pods
        self._units = units
        self._views = views
        self._cursor = 0

    def rows(
        self, wanted: npt.NDArray[np.bool_], told: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int64]:
        """The next rows of which something is to be said.

        Args:
            wanted: bool[row]: rows of which something may be said now.
            told: bool[row]: rows of which it was said that they are held back, or wait otherwise;
                where that is over they are told of, too.
        """
        pods = self._pods
        pending = pods.state[: pods.length] == PodState.PENDING
        if not self._views.has_limits:
            return np.flatnonzero(pending & wanted & told)
        waiting = np.flatnonzero(pending & wanted)
        at = int(np.searchsorted(waiting, self._cursor))
        piece = waiting[at : at + PIECE]
        self._cursor = int(piece[-1]) + 1 if len(piece) == PIECE else 0
        held = [bool(told[row]) or self.words(row) != "" for row in piece.tolist()]
        return np.asarray(piece[np.array(held, np.bool_)], np.int64)

    def words(self, row: int) -> str:
        """Which limits hold a pod's unit back, in a sentence; empty where none does."""
        unit = self._units.of_row(row)
        if unit is None or unit.state is not UnitState.QUEUED:
            return ""
        return limit_message(self._views.limits(unit))


def limit_message(limits: Sequence[ReachedLimit]) -> str:
    """Limits in a sentence; empty where there are none."""
    return "; ".join(map(_words, limits))


def _words(limit: ReachedLimit) -> str:
    queue = f"queue {limit.queue}"
    if limit.most < 0:
        return f"{queue} starts nothing now: it is draining or returning borrowed capacity"
    if not limit.resource:
        return f"{queue} has reached its limit: {limit.held} of {limit.most} units running"
    held, most, asked = (
        format_amount(limit.resource, amount) for amount in (limit.held, limit.most, limit.asked)
    )
    return (
        f"{queue} has reached its limit: {limit.resource} {held} of {most} used, {asked} requested"
    )

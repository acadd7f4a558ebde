"""How full the world was over time, from a record: levels by round, peaks, integrals.

A level changes at the rounds in which work starts and leaves; what leaves in a round leaves before
anything starts. So the peak over rounds is exact, also where work lives for no time at all.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.sim.engine import NEVER, WorkRecord
from stretto.sim.plots import PlotLine

DRAWN: Final = 2000
"""Points of a curve that are drawn: more than a plot has pixels."""
HOUR_S: Final = 3600.0

Ints = npt.NDArray[np.int64]


class AmountUsage(NamedTuple):
    """How much of one amount was in use."""

    #: int64[round]: tick of each round.
    ticks: Ints
    #: int64[round]: amount in use after each round.
    levels: Ints

    @property
    def peak(self) -> int:
        """Most at any one time."""
        return int(self.levels.max(initial=0))

    @property
    def amount_ticks(self) -> int:
        """Amount × ticks, up to the last round."""
        return int((self.levels[:-1] * np.diff(self.ticks)).sum())

    def line(self, label: str, whole: int, tick_s: float, colour: int = 0) -> PlotLine:
        """The level in percent of a whole over hours, as a curve of steps."""
        shown = np.unique(np.linspace(0, max(len(self.ticks) - 1, 0), DRAWN).astype(np.int64))
        if not len(self.ticks):
            shown = shown[:0]
        hours = (self.ticks[shown] - self.ticks[:1].sum()) * tick_s / HOUR_S
        percent = 100.0 * self.levels[shown] / max(1, whole)
        return PlotLine(label, hours.tolist(), percent.tolist(), colour, steps=True)


def usage(record: WorkRecord, amounts: Ints) -> AmountUsage:
    """Use of an amount (int64[work]: what each takes while it runs)."""
    started = record.started != NEVER
    ended = record.ended != NEVER
    change = np.zeros(len(record.ticks), np.int64)
    np.add.at(change, record.start_round[started], amounts[started])
    np.add.at(change, record.end_round[ended], -amounts[ended])
    return AmountUsage(record.ticks, np.cumsum(change))

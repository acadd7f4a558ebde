"""Usage over time from a work record (levels, peaks, integrals), and results of simulations.

A level changes in the rounds in which work starts or ends; within a round, ends precede starts.
Therefore the peak over rounds is exact, even for work without a lifetime.
"""

from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from stretto.explain.records.curves import PlotLine
from stretto.sim.engine import NEVER, WorkRecord

DRAWN: Final = 2000
"""Maximum number of points per drawn curve, more than a plot has pixels."""
HOUR_S: Final = 3600.0
"""Seconds per hour."""

Ints = npt.NDArray[np.int64]
Report = TypeVar("Report")


class SimulationResult(NamedTuple, Generic[Report]):
    """The result of one simulation."""

    #: The report.
    report: Report
    #: Usage in percent over hours since the first arrival.
    lines: tuple[PlotLine, ...]


class AmountUsage(NamedTuple):
    """Usage of one amount over time."""

    #: int64[round]: tick of each round.
    ticks: Ints
    #: int64[round]: amount in use after each round.
    levels: Ints

    @property
    def peak(self) -> int:
        """The highest level."""
        return int(self.levels.max(initial=0))

    @property
    def amount_ticks(self) -> int:
        """Integral of the amount over ticks, up to the last round."""
        return int((self.levels[:-1] * np.diff(self.ticks)).sum())

    def line(self, label: str, whole: int, tick_s: float, colour: int = 0) -> PlotLine:
        """The level in percent of ``whole`` over hours, as a step curve."""
        shown = np.unique(np.linspace(0, max(len(self.ticks) - 1, 0), DRAWN).astype(np.int64))
        if not len(self.ticks):
            shown = shown[:0]
        hours = (self.ticks[shown] - self.ticks[:1].sum()) * tick_s / HOUR_S
        percent = 100.0 * self.levels[shown] / max(1, whole)
        return PlotLine(label, hours.tolist(), percent.tolist(), colour, steps=True)


def usage(record: WorkRecord, amounts: Ints) -> AmountUsage:
    """Usage of an amount; ``amounts`` is int64[work], the amount each entry uses while it runs."""
    started = record.started != NEVER
    ended = record.ended != NEVER
    change = np.zeros(len(record.ticks), np.int64)
    np.add.at(change, record.start_round[started], amounts[started])
    np.add.at(change, record.end_round[ended], -amounts[ended])
    return AmountUsage(record.ticks, np.cumsum(change))

"""How full the world was over time, from a record: levels by round, peaks, integrals.

A level changes at the rounds in which work starts and leaves; what leaves in a round leaves before
anything starts. So the peak over rounds is exact, also where work lives for no time at all.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.sim.engine import NEVER, Record

Ints = npt.NDArray[np.int64]


class Usage(NamedTuple):
    """How much of one amount was in use."""

    #: Most at any one time.
    peak: int
    #: Amount × ticks, up to the last tick of the record.
    amount_ticks: int


def usage(record: Record, amounts: Ints) -> Usage:
    """Use of an amount (int64[work]: what each takes while it runs)."""
    if not record.rounds:
        return Usage(0, 0)
    started = record.started != NEVER
    ended = record.ended != NEVER
    change = np.zeros(record.rounds + 1, np.int64)
    np.add.at(change, record.start_round[started], amounts[started])
    np.add.at(change, record.end_round[ended], -amounts[ended])
    until = np.where(ended, record.ended, record.last_tick)
    ticks = (until - record.started)[started]
    return Usage(int(np.cumsum(change).max(initial=0)), int((ticks * amounts[started]).sum()))

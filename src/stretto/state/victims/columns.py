"""Columns of the victim index: entries by importance, and sums by band.

This module builds them in one pass from the rows of all pods; ``state.victims.index`` updates them
afterwards.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.state.victims.rules import UNPROTECTED

MAX_BANDS: Final = 64
"""Maximum number of priority bands; users of kube-scheduler have a handful of priorities."""
FIRST_WIDTH: Final = 16
"""Initial capacity of entries per slot."""
EVICTABLE, NOMINEE, TERMINATING, NOT_EVICTABLE = 0, 1, 2, 3
"""Kinds of entries: a running pod, a claim that waits for its own victims, a terminating pod, and
(never entered) a protected pod."""
NO_BUDGET: Final = 0
"""Number of the empty set of budgets."""


class VictimEntries(NamedTuple):
    """Potential victims by slot, the most important first."""

    #: int32[slot]: number of entries.
    length: npt.NDArray[np.int32]
    #: int32[slot]: number of waiting claims and terminating pods among them.
    odd: npt.NDArray[np.int32]
    #: int32[slot, k]: rows.
    row: npt.NDArray[np.int32]
    #: int32[slot, k]: priorities, descending.
    priority: npt.NDArray[np.int32]
    #: float64[slot, k]: starts, ascending within a priority.
    start: npt.NDArray[np.float64]
    #: int32[slot, k]: numbers of their requests (``Victims.requests``).
    request: npt.NDArray[np.int32]
    #: uint8[slot, k]: ``EVICTABLE``, ``NOMINEE`` or ``TERMINATING``.
    kind: npt.NDArray[np.uint8]
    #: int32[slot, k]: numbers of budget sets; 0 for none.
    budget: npt.NDArray[np.int32]


class VictimSums(NamedTuple):
    """Free amounts, and those that evictions would add."""

    #: int64[resource, slot]: free now; negative where claims wait for victims.
    free: npt.NDArray[np.int64]
    #: int64[band, resource, slot]: total amounts of the entries up to a band; waiting claims and
    #: terminating pods need no eviction and count from the lowest band on.
    below: npt.NDArray[np.int64]
    #: int64[band, resource, slot]: the totals without entries that a budget certainly protects; the
    #: same array without budgets.
    safe: npt.NDArray[np.int64]
    #: int64[band]: highest priority of each band, ascending.
    edges: npt.NDArray[np.int64]


class VictimRows(NamedTuple):
    """Rows to enter, with the fields of their entries; all of one length."""

    #: int32[row]: slots.
    slot: npt.NDArray[np.int32]
    #: int64[row]: the rows.
    row: npt.NDArray[np.int64]
    #: int32[row]: priorities.
    priority: npt.NDArray[np.int32]
    #: float64[row]: starts.
    start: npt.NDArray[np.float64]
    #: int32[row]: numbers of their requests.
    request: npt.NDArray[np.int32]
    #: uint8[row]: kinds.
    kind: npt.NDArray[np.uint8]
    #: int32[row]: numbers of budget sets.
    budget: npt.NDArray[np.int32]

    @staticmethod
    def none() -> "VictimRows":
        """No row."""
        ints, rows = np.zeros(0, np.int32), np.zeros(0, np.int64)
        return VictimRows(ints, rows, ints, np.zeros(0), ints, np.zeros(0, np.uint8), ints)


def fill_entries(counted: VictimRows, size: int) -> VictimEntries:
    """Entries of ``size`` slots."""
    length = np.bincount(counted.slot, minlength=size).astype(np.int32)
    width = FIRST_WIDTH
    while width < int(length.max(initial=0)):
        width *= 2
    special = counted.kind != EVICTABLE
    made = VictimEntries(
        length,
        np.bincount(counted.slot[special], minlength=size).astype(np.int32),
        np.zeros((size, width), np.int32),
        np.zeros((size, width), np.int32),
        np.zeros((size, width)),
        np.zeros((size, width), np.int32),
        np.zeros((size, width), np.uint8),
        np.zeros((size, width), np.int32),
    )
    order = np.lexsort((counted.row, counted.start, -counted.priority, counted.slot))
    slots = counted.slot[order]
    at = np.arange(len(slots)) - (np.cumsum(length) - length)[slots]
    columns: Sequence[npt.NDArray[Any]] = made[2:]
    sources: Sequence[npt.NDArray[Any]] = counted[1:]
    for column, values in zip(columns, sources, strict=True):
        column[slots, at] = values[order]
    return made


def widened_entries(old: VictimEntries) -> VictimEntries:
    """The same entries with twice the capacity per slot."""
    wide = [np.concatenate([each, np.zeros_like(each)], axis=1) for each in old[2:]]
    return VictimEntries(old.length, old.odd, *wide)


def fill_sums(
    counted: VictimRows,
    requests: npt.NDArray[np.int64],
    safe: npt.NDArray[np.bool_] | None,
    size: int,
) -> VictimSums:
    """Sums of ``size`` slots, with free amounts of 0.

    Args:
        counted: the rows.
        requests: int64[request, resource].
        safe: bool[set]: true if every budget of a set allows a disruption; ``None`` if there is no
            budget.
        size: number of slots.
    """
    edges = edges_of(counted.priority)
    resources = requests.shape[1]
    bands = np.searchsorted(edges, counted.priority)
    bands[counted.kind != EVICTABLE] = 0
    below = np.zeros((len(edges), resources, size), np.int64)
    kept = below.copy() if safe is not None else below
    for resource in range(resources):
        amounts = requests[counted.request, resource]
        np.add.at(below[:, resource], (bands, counted.slot), amounts)
        if safe is not None:
            may = safe[counted.budget]
            np.add.at(kept[:, resource], (bands[may], counted.slot[may]), amounts[may])
    np.cumsum(below, axis=0, out=below)
    if safe is not None:
        np.cumsum(kept, axis=0, out=kept)
    return VictimSums(np.zeros((resources, size), np.int64), below, kept, edges)


def most_of(
    counted: VictimRows, sets: Sequence[tuple[int, ...]], budgets: int
) -> npt.NDArray[np.int64]:
    """int64[budget]: maximum number of a budget's pods on one slot."""
    found = np.zeros(budgets, np.int64)
    for budget in range(budgets):
        numbers = [number for number, each in enumerate(sets) if budget in each]
        if numbers:
            slots = counted.slot[np.isin(counted.budget, numbers)]
            found[budget] = np.bincount(slots).max(initial=0)
    return found


def edges_of(priorities: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Highest priority of each band; a band is one priority or several neighbours.

    If neighbours share a band, the last band has no upper limit, so that new priorities fit.
    """
    found = np.unique(priorities).astype(np.int64)
    if len(found) <= MAX_BANDS:
        return found
    kept = found[np.linspace(0, len(found) - 1, MAX_BANDS).astype(np.int64)]
    return np.append(kept[:-1], UNPROTECTED)

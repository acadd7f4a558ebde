"""The search for victims in NumPy, with the results of the compiled search, without numba.

The search compares nodes by sums, band by band. It walks the promising nodes together, one entry of
each at a time. It walks nodes with budgets, waiting claims or terminating pods one by one, in the
order that budgets require.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.state.victims.columns import EVICTABLE, NOMINEE, TERMINATING, VictimEntries, VictimSums

TO_POSITIVE: Final = 1 << 31
"""Offset of all priorities, so that more victims of negative priority never score better."""
NO_TOP: Final = -TO_POSITIVE
"""Top priority without victims."""

Key = tuple[int, int, int, int, float]
"""Violations, highest priority, sum of priorities, number of victims, less the start.

Less is better.
"""


EVERY_NODE: Final = 1 << 30
"""Number of nodes to examine without a limit."""
HARMLESS, SPENT, DOUBTFUL = 0, 1, 2
"""State of a set of budgets on any node: all, none or some of its pods may be evicted."""


class VictimDemand(NamedTuple):
    """Input of a search: the preemptor and the admitted nodes."""

    #: int32[k]: resource columns that the preemptor requests.
    columns: npt.NDArray[np.int32]
    #: int64[k]: exact amounts.
    need: npt.NDArray[np.int64]
    #: Priority of the preemptor.
    priority: int
    #: Number of bands that may contain pods of lower priority.
    bands: int
    #: uint8[slot]: 1 for nodes that admit the preemptor apart from their pods.
    admitted: npt.NDArray[np.uint8]


class BudgetSetArrays(NamedTuple):
    """Sets of budgets as flat arrays."""

    #: int32[set + 1]: offset of the budgets of each set.
    first: npt.NDArray[np.int32]
    #: int32[k]: budgets by set.
    items: npt.NDArray[np.int32]


class VictimSearchLimits(NamedTuple):
    """Constraints and limits of a search."""

    #: int64[budget]: number of further allowed evictions.
    left: npt.NDArray[np.int64]
    #: Sets of budgets by number.
    sets: Sequence[tuple[int, ...]]
    #: The sets of budgets as arrays.
    arrays: BudgetSetArrays
    #: uint8[set]: ``HARMLESS``, ``SPENT`` or ``DOUBTFUL``.
    standing: npt.NDArray[np.uint8]
    #: True if budgets are never violated.
    hard: bool
    #: First slot to examine.
    offset: int = 0
    #: Number of sufficient nodes to examine.
    most: int = EVERY_NODE
    #: First band to examine.
    from_band: int = 0


class VictimSearchHit(NamedTuple):
    """The best node of a search."""

    #: Slot of the node.
    slot: int
    #: Key of the node, by which it is the best.
    key: Key
    #: Rows of the victims, the most important first.
    victims: tuple[int, ...]
    #: Rows of victims that violate a budget.
    beyond: frozenset[int]
    #: Rows of claims that lose their capacity.
    displaced: tuple[int, ...]


class WalkedSlot(NamedTuple):
    """Result of the walk of one slot."""

    #: Key of the slot.
    key: Key
    #: Positions of victims, in the order of importance.
    victims: tuple[int, ...]
    #: Positions of victims that violate a budget.
    beyond: tuple[int, ...]
    #: Positions of claims that lose their capacity.
    displaced: tuple[int, ...]


class VictimIndex(NamedTuple):
    """The columns that are searched."""

    #: The evictable pods.
    entries: VictimEntries
    #: The amounts that evictions free.
    sums: VictimSums
    #: int64[request, resource]: requests of one pod, by number.
    requests: npt.NDArray[np.int64]
    #: int64[resource]: the largest amounts of one evictable pod.
    largest: npt.NDArray[np.int64]


def search(
    index: VictimIndex, wanted: VictimDemand, limits: VictimSearchLimits
) -> VictimSearchHit | None:
    """Return the best node for a pod, the first slot of equally good ones.

    ``None`` if none fits.
    """
    best: tuple[Key, int, WalkedSlot] | None = None
    seen = np.zeros(len(wanted.admitted), np.bool_)
    sums, examined = index.sums, 0
    once = sums.safe is sums.below or limits.hard
    for phase, extra in enumerate((sums.safe,) if once else (sums.safe, sums.below)):
        q = _lowest(sums, extra, wanted) if phase == 0 else wanted.bands - 1
        for band in range(max(q, min(limits.from_band, wanted.bands - 1)), wanted.bands):
            slots = np.flatnonzero(_enough(sums, extra[band], wanted) & ~seen)
            slots = np.roll(slots, -int(np.searchsorted(slots, limits.offset)))
            top = int(sums.edges[band]) + 1 if phase == 0 else None
            for slot, walked in _walks(index, wanted, limits, slots, top):
                seen[slot] = True
                if walked is None:
                    continue
                examined += 1
                found = (walked.key, slot, walked)
                if best is None or _order(found) < _order(best):
                    best = found
                if examined >= limits.most:
                    break
            if best is not None and (examined >= limits.most or _is_final(best[0], sums, band)):
                return _hit(index, best)
        if best is not None and best[0][0] == 0:
            break
    return None if best is None else _hit(index, best)


def set_arrays(sets: Sequence[tuple[int, ...]]) -> BudgetSetArrays:
    """Return sets of budgets as arrays."""
    first = np.zeros(len(sets) + 1, np.int32)
    first[1:] = np.cumsum([len(each) for each in sets])
    return BudgetSetArrays(first, np.array([n for each in sets for n in each], np.int32))


def budget_standing_of(
    arrays: BudgetSetArrays, left: npt.NDArray[np.int64], most: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint8]:
    """Return uint8[set]: the effect of budgets on the pods under them.

    Args:
        arrays: sets of budgets.
        left: int64[budget]: number of further allowed evictions.
        most: int64[budget]: maximum number of its pods on one node.
    """
    found = np.full(len(arrays.first) - 1, HARMLESS, np.uint8)
    if len(arrays.items):
        held = np.flatnonzero(np.diff(arrays.first))
        starts = arrays.first[held]
        short = np.logical_or.reduceat((left < most)[arrays.items], starts)
        spent = np.logical_or.reduceat((left <= 0)[arrays.items], starts)
        found[held] = np.where(short, np.where(spent, SPENT, DOUBTFUL), HARMLESS)
    return found


def walk(
    index: VictimIndex, wanted: VictimDemand, limits: VictimSearchLimits, slot: int
) -> WalkedSlot | None:
    """Find the victims of one slot.

    Return ``None`` if the eviction of all candidates is not enough.
    """
    entries, requests = index.entries, index.requests[:, wanted.columns]
    first, last = _range(entries, slot, wanted.priority)
    places = range(first, last)
    kind, request = entries.kind[slot], entries.request[slot]
    breaks = _breaking(entries, limits, slot, places)
    mine = [k for k in places if kind[k] == EVICTABLE and not (limits.hard and k in breaks)]
    waiting = [k for k in places if kind[k] == NOMINEE]
    going = [k for k in places if kind[k] == TERMINATING]
    capacity = index.sums.free[wanted.columns, slot].copy()
    for k in (*mine, *waiting, *going):
        capacity += requests[request[k]]
    if (capacity < wanted.need).any():
        return None
    order = sorted(mine, key=lambda k: k not in breaks)
    chosen: list[int] = []
    for k in (*order, *waiting):
        less = capacity - requests[request[k]]
        if (less >= wanted.need).all():
            capacity = less
        else:
            chosen.append(k)
    victims = sorted(k for k in chosen if kind[k] == EVICTABLE)
    beyond = tuple(k for k in victims if k in breaks)
    key = _key(entries, slot, victims, len(beyond))
    return WalkedSlot(key, tuple(victims), beyond, tuple(k for k in chosen if kind[k] == NOMINEE))


def _key(entries: VictimEntries, slot: int, victims: Sequence[int], violations: int) -> Key:
    if not victims:
        return (0, NO_TOP, 0, 0, 0.0)
    priorities = [int(entries.priority[slot, k]) for k in victims]
    total = sum(each + TO_POSITIVE for each in priorities)
    return (
        violations,
        priorities[0],
        total,
        len(victims),
        -float(entries.start[slot, victims[0]]),
    )


def _breaking(
    entries: VictimEntries, limits: VictimSearchLimits, slot: int, places: range
) -> set[int]:
    """Return the positions whose eviction, in the order of importance, violates a budget."""
    if not len(limits.left):
        return set()
    left = limits.left.copy()
    found = set()
    for k in places:
        numbers = list(limits.sets[int(entries.budget[slot, k])])
        left[numbers] -= 1
        if numbers and (left[numbers] < 0).any():
            found.add(k)
    return found


def _range(entries: VictimEntries, slot: int, limit: int) -> tuple[int, int]:
    """Return the range of positions of the entries with a priority below a limit."""
    last = int(entries.length[slot])
    return int(
        np.searchsorted(-entries.priority[slot, :last].astype(np.int64), -limit, "right")
    ), last


def _enough(
    sums: VictimSums, extra: npt.NDArray[np.int64], wanted: VictimDemand
) -> npt.NDArray[np.bool_]:
    """Return bool[slot]: nodes with enough capacity if ``extra`` is free too."""
    mask = wanted.admitted.astype(np.bool_)
    for column, need in zip(wanted.columns, wanted.need, strict=True):
        mask &= sums.free[column] + extra[column] >= need
    return mask


def _lowest(sums: VictimSums, extra: npt.NDArray[np.int64], wanted: VictimDemand) -> int:
    """Return the lowest band at which some node has enough.

    The number of bands if there is none.
    """
    if wanted.bands == 0 or not _enough(sums, extra[wanted.bands - 1], wanted).any():
        return wanted.bands
    low, high = 0, wanted.bands - 1
    while low < high:
        middle = (low + high) // 2
        if _enough(sums, extra[middle], wanted).any():
            high = middle
        else:
            low = middle + 1
    return low


def _walks(
    index: VictimIndex,
    wanted: VictimDemand,
    limits: VictimSearchLimits,
    slots: npt.NDArray[np.int64],
    top: int | None,
) -> list[tuple[int, WalkedSlot | None]]:
    """Walk many slots; if sufficient, together and with the entries below ``top``.

    Slots that may suffice at a higher band are omitted.
    """
    entries = index.entries
    held = np.arange(entries.kind.shape[1])[None, :] < entries.length[slots, None]
    low = held & (entries.priority[slots] < wanted.priority)
    odd = entries.odd[slots] > 0
    if top is None:
        odd[:] = True
    else:
        low &= entries.priority[slots] < top
        odd |= (low & (limits.standing[entries.budget[slots]] == DOUBTFUL)).any(axis=1)
        low &= limits.standing[entries.budget[slots]] == HARMLESS
    found: dict[int, WalkedSlot | None] = {}
    for slot in slots[odd].tolist():
        found[slot] = walk(index, wanted, limits, slot)
    found.update(_together(index, wanted, slots[~odd], low[~odd]))
    return [(slot, found[slot]) for slot in slots.tolist() if slot in found]


def _together(
    index: VictimIndex,
    wanted: VictimDemand,
    slots: npt.NDArray[np.int64],
    low: npt.NDArray[np.bool_],
) -> dict[int, WalkedSlot]:
    """``walk`` for slots without a budget violation, one of the ``low`` entries at a time."""
    entries, requests = index.entries, index.requests[:, wanted.columns]
    taken = np.where(low[:, :, None], requests[entries.request[slots]], 0)
    capacity = index.sums.free[wanted.columns][:, slots].T + taken.sum(axis=1)
    enough = (capacity >= wanted.need).all(axis=1)
    chosen = np.zeros_like(low)
    for k in range(low.shape[1]):
        if not low[:, k].any():
            continue
        less = capacity - taken[:, k]
        spared = (less >= wanted.need).all(axis=1)
        capacity[spared] = less[spared]
        chosen[:, k] = low[:, k] & ~spared
    found = {}
    for at in np.flatnonzero(enough).tolist():
        slot, victims = int(slots[at]), tuple(np.flatnonzero(chosen[at]).tolist())
        found[slot] = WalkedSlot(_key(entries, slot, victims, 0), victims, (), ())
    return found


def _order(found: tuple[Key, int, WalkedSlot]) -> tuple[Key, int]:
    return found[0], found[1]


def _is_final(key: Key, sums: VictimSums, band: int) -> bool:
    """Return whether no node of a higher band can be better."""
    return key[0] == 0 and key[1] <= int(sums.edges[band])


def _hit(index: VictimIndex, best: tuple[Key, int, WalkedSlot]) -> VictimSearchHit:
    key, slot, walked = best
    rows = index.entries.row[slot]
    return VictimSearchHit(
        slot,
        key,
        tuple(int(rows[k]) for k in walked.victims),
        frozenset(int(rows[k]) for k in walked.beyond),
        tuple(int(rows[k]) for k in walked.displaced),
    )

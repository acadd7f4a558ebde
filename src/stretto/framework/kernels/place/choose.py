"""Compiled choice among equal scores: the zone, the blocks, and the slot of a block."""

from typing import Any

import numpy as np
from numba import njit

from stretto.state.rows.slots import BLOCK

_INTO: Any = {"error_model": "numpy", "cache": True, "nogil": True, "forceinline": True}


@njit(**_INTO)
def zone_in_turn(tops, k, choice):
    """Return the best score, a flag for a slot outside the own partition, and the next zone.

    The own partition goes first. Among zones with a best slot, stride scheduling selects the next
    one; the zone is -1 if no slot is feasible.
    """
    stride, passes = choice.stride, choice.passes
    zones = stride.shape[0]
    top, mine = np.int16(0), 0
    for z in range(zones):
        top = max(top, tops[k, 2 * z])
    if top == 0:
        mine = 1
        for z in range(zones):
            top = max(top, tops[k, 2 * z + 1])
    zone, soonest, now = -1, np.int64(0), passes[zones]
    if top > 0:
        for z in range(zones):
            if tops[k, 2 * z + mine] == top:
                due = max(passes[z], now)
                if zone < 0 or due < soonest:
                    zone, soonest = z, due
    return top, mine, zone


@njit(**_INTO)
def ring(r, start, choice):
    """Return the first and the end of the blocks of a range, and the start of its ring."""
    members = choice.range_block
    first, last, here = choice.range_first[r], choice.range_first[r + 1], start // BLOCK
    at = first
    while at < last and members[at] < here:
        at += 1
    return first, last, at if at < last else first


@njit(**_INTO)
def tied(todo, peaks, k, top, mine, choice):
    """List the blocks with a best slot, in order; return the count."""
    range_of, count = choice.range_of, 0
    for b in range(peaks.shape[1]):
        if peaks[k, b] == top and range_of[b] % 2 == mine:
            todo[count] = b
            count += 1
    return count


@njit(**_INTO)
def first_from(values, top, begin):
    """Return the first best slot of a block at or after an offset; -1 for none."""
    for j in range(begin, BLOCK):
        if values[j] == top:
            return j
    return -1


@njit(**_INTO)
def take_turn(choice, zone, found, size):
    """Record a pick: advance the cursor of the zone and end its turn."""
    passes, cursor, stride = choice.passes, choice.cursor, choice.stride
    zones = stride.shape[0]
    cursor[zone] = (found + 1) % size
    soonest = max(passes[zone], passes[zones])
    passes[zone] = soonest + stride[zone]
    passes[zones] = soonest

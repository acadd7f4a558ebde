"""Compiled placing for profiles judged by amounts, ports, devices and static rows (*plain* ones).

No score row is kept: a class keeps the maximum of each block and of each range of blocks (a zone's
own and other ones), with its position in the log. To bring it up to date the blocks that the log
names are scored again, 64 slots in one vectorised loop that writes nothing; the choice then scores
the block it falls on. That costs less than fetching kept scores from memory would, and a class
takes 2 bytes a block instead of 2 bytes a slot.

Decisions equal those of ``kernels_place``, the NumPy tier and a plain scan; property tests hold it.
Arrays come as arguments everywhere: taking one out of a table in a loop costs more than the work.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.compiled.tables import TieBreak
from stretto.framework.kernels.borrow import borrowed
from stretto.framework.kernels.place.block_values import (
    ask_of,
    block_values,
    is_narrow,
    narrow_block,
    rates_of,
    top_of,
    unit_top,
)
from stretto.framework.kernels.place.loop import apply, pick_devices
from stretto.framework.kernels.place.slot_value import slot_value
from stretto.state.rows.slots import BLOCK

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_INTO: Any = {"error_model": "numpy", "cache": True, "nogil": True, "forceinline": True}
_ROTATE, _RANK, _RANDOM = int(TieBreak.ROTATE), int(TieBreak.RANK), int(TieBreak.RANDOM)
FEW = 4
"""The log is read for named blocks up to so many entries a block; beyond, all blocks are scored."""


@njit(**_INTO)
def _named_blocks(todo, stamp, visit, log, first, stop):
    """Blocks that a stretch of the log names, each once; returns how many."""
    count = 0
    for e in range(first, stop):
        b = log[e] // BLOCK
        if stamp[b] != visit:
            stamp[b] = visit
            todo[count] = b
            count += 1
    return count


@njit(**_INTO)
def _raise_ranges(peaks, tops, k, todo, count, before, choice):
    """Bring the maxima of ranges up to date with those of the blocks that were scored again."""
    range_of, first, members = choice.range_of, choice.range_first, choice.range_block
    for i in range(count):
        b = todo[i]
        r = range_of[b]
        if peaks[k, b] > tops[k, r]:
            tops[k, r] = peaks[k, b]
        elif before[i] == tops[k, r] and peaks[k, b] < before[i]:
            top = np.int16(0)
            for m in range(first[r], first[r + 1]):
                top = max(top, peaks[k, members[m]])
            tops[k, r] = top


@njit(**_INTO)
def _zone_in_turn(tops, k, choice):
    """The zone whose turn it is among those with a best slot, the best score, own ones only."""
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
def _ring(todo, peaks, k, top, r, start, choice):
    """Blocks of a range with a best slot, round the ring from a slot on; returns how many.

    The block in which the ring starts stands at its end once more.
    """
    first, members = choice.range_first, choice.range_block
    low, high, here = first[r], first[r + 1], start // BLOCK
    at = low
    while at < high and members[at] < here:
        at += 1
    count, again = 0, -1
    for m in range(at, high):
        if peaks[k, members[m]] == top:
            todo[count] = members[m]
            count += 1
            if members[m] != here:
                return count
            again = here
    for m in range(low, at):
        if peaks[k, members[m]] == top:
            todo[count] = members[m]
            return count + 1
    if again >= 0:
        todo[count] = again
        count += 1
    return count


@njit(**_INTO)
def _tied(todo, peaks, k, top, mine, choice):
    """Blocks with a best slot, in order; returns how many."""
    range_of, count = choice.range_of, 0
    for b in range(peaks.shape[1]):
        if peaks[k, b] == top and range_of[b] % 2 == mine:
            todo[count] = b
            count += 1
    return count


@njit(**_INTO)
def _first_from(values, top, begin):
    """The first best slot of a block at or after a place in it; -1 for none."""
    for j in range(begin, BLOCK):
        if values[j] == top:
            return j
    return -1


@njit(**_INTO)
def _take_turn(choice, zone, found, size):
    """A slot was picked in a zone: the cursor moves on, and the zone's turn is over."""
    passes, cursor, stride = choice.passes, choice.cursor, choice.stride
    zones = stride.shape[0]
    cursor[zone] = (found + 1) % size
    soonest = max(passes[zone], passes[zones])
    passes[zone] = soonest + stride[zone]
    passes[zones] = soonest


@njit(**_INTO)
def _catch_up(scratch, what, classes, static, rates, state, cache, logged, choice):
    """Bring a class's maxima to the end of the log: the blocks that it names are scored again."""
    values, todo, stamp, before = scratch
    k, c, ask, narrow = what
    log, begin, length = logged
    weights, unit = rates
    free, percent, eligible = state[0], state[1], static.eligible
    peaks, tops, position = cache.peak, cache.top, cache.position
    first, blocks = position[k] - begin, peaks.shape[1]
    position[k] = begin + length
    every = first < 0 or length - first > FEW * blocks
    count = blocks
    if not every:
        stamp[blocks] += 1
        count = _named_blocks(todo, stamp, stamp[blocks], log, first, length)
    for i in range(count):
        b = i if every else todo[i]
        low = np.uint64(b * BLOCK)
        if unit and not narrow:
            top = unit_top(low, free, percent, eligible, ask)
        else:
            block_values(values, low, free, percent, eligible, ask, weights, unit)
            if narrow:
                narrow_block(values, low, classes, static, c, state)
            top = top_of(values)
        before[i] = peaks[k, b]
        peaks[k, b] = top
    if not every:
        _raise_ranges(peaks, tops, k, todo, count, before, choice)
        return
    range_of = choice.range_of
    tops[k] = 0
    for b in range(blocks):
        tops[k, range_of[b]] = max(tops[k, range_of[b]], peaks[k, b])


@njit(**_INTO)
def _find(scratch, what, classes, static, rates, state, cache, choice, draw):
    """The best slot by the tie rule, own partition first; -1 when nothing is feasible."""
    values, todo, _, _ = scratch
    k, c, ask, narrow = what
    weights, unit = rates
    free, percent, eligible = state[0], state[1], static.eligible
    top, mine, zone = _zone_in_turn(cache.top, k, choice)
    if top == 0:
        return -1
    start = np.int64(0)
    if choice.pick == _ROTATE:
        start = choice.cursor[zone]
        count = _ring(todo, cache.peak, k, top, 2 * zone + mine, start, choice)
    else:
        count = _tied(todo, cache.peak, k, top, mine, choice)
    looks = 2 * count if choice.pick == _RANDOM else count
    best, least, ties, wanted = -1, np.int32(0), np.uint64(0), np.uint64(0)
    for i in range(looks):
        b = todo[i % count]
        low = np.uint64(b * BLOCK)
        block_values(values, low, free, percent, eligible, ask, weights, unit)
        if narrow:
            narrow_block(values, low, classes, static, c, state)
        if choice.pick == _ROTATE:
            begin = start % BLOCK if i == 0 and b == start // BLOCK else 0
            found = _first_from(values, top, begin)
            if found >= 0:
                _take_turn(choice, zone, b * BLOCK + found, free.shape[1])
                return b * BLOCK + found
            continue
        if i == count:
            wanted = draw % ties
        for j in range(BLOCK):
            if values[j] != top:
                continue
            s = b * BLOCK + j
            if choice.pick == _RANK:
                if best < 0 or choice.rank[s] < least:
                    best, least = s, choice.rank[s]
            elif i < count:
                ties += np.uint64(1)
            elif wanted == np.uint64(0):
                return s
            else:
                wanted -= np.uint64(1)
    return best


@njit(**_INTO)
def _scratch(blocks):
    """Buffers of one call: values of a block, blocks to score, when each was named, old maxima."""
    return (
        np.empty(BLOCK, np.int32),
        np.empty(blocks + 1, np.int32),
        np.zeros(blocks + 1, np.int32),
        np.empty(blocks, np.int16),
    )


@njit(**_FLAGS)
def place(program, state, cache, log, log_state, choice, batch, limit):  # noqa: ARG001
    """Place a batch of units in order; returns how many units were tried.

    As ``kernels_place.place`` (whose ``limit`` has no meaning here), for plain profiles.
    """
    buffers = _scratch(cache.peak.shape[1])
    return _place(program, state, cache, (log, log_state), choice, batch, buffers)


@njit(**_FLAGS)
def _place(program, state, cache, logged, choice, batch, buffers):
    """``place`` with buffers: whoever calls holds every array, so none is counted in here."""
    state, cache, choice, batch = borrowed((state, cache, choice, batch))
    scratch, (log, log_state) = borrowed(buffers), borrowed(logged)
    classes, static, pair, scores, typical, thresholds = borrowed(program)
    class_id, pin, slot, devices = batch.class_id, batch.pin, batch.slot, batch.devices
    entry, position, draw = cache.entry, cache.position, batch.draw
    rates = rates_of(pair)
    for u in range(batch.at_least.shape[0]):
        start, stop, at_least = batch.start[u], batch.start[u + 1], batch.at_least[u]
        placed, failed = 0, -1
        for i in range(start, stop):
            c, s = class_id[i], pin[i]
            if stop - i + placed < at_least:
                break
            if c == failed and s < 0:
                slot[i] = -1
                continue
            if s < 0:
                k, narrow = entry[c], is_narrow(classes, static, c)
                ask = ask_of(classes, static, pair, c)
                what = (k, c, ask, narrow)
                if position[k] != log_state[0] + log_state[1]:
                    span = (log, log_state[0], log_state[1])
                    _catch_up(scratch, what, classes, static, rates, state, cache, span, choice)
                s = _find(scratch, what, classes, static, rates, state, cache, choice, draw[i])
                failed = c if s < 0 else failed
            elif slot_value(classes, static, pair, scores, typical, thresholds, c, s, state) == 0:
                s = -1
            slot[i] = s
            if s < 0:
                continue
            devices[i] = _take(classes, static, c, s, state, typical, thresholds, choice, draw[i])
            log[log_state[1]] = s
            log_state[1] += 1
            placed += 1
        if placed < at_least or (placed == 0 and stop > start):
            _undo(classes, static, state, batch, start, stop, log, log_state)
            if batch.blocking[u]:
                return u + 1
    return batch.at_least.shape[0]


@njit(**_INTO)
def _take(classes, static, c, s, state, typical, thresholds, choice, draw):
    """Take what a class asks on a slot; returns the bit mask of its devices."""
    device = classes.device
    if classes.port_row[c] == 0 and device[c, 0] + device[c, 4] == 0:
        free, column, amount = state[0], classes.column, classes.amount
        for i in range(classes.requests[c]):
            free[column[c, i], s] -= amount[c, i]
        return np.int32(0)
    mask = pick_devices(classes, c, s, state, typical, thresholds, choice.device_pick, draw)
    apply(classes, static, c, s, state, mask, 1)
    return mask


@njit(**_FLAGS)
def _undo(classes, static, state, batch, start, stop, log, log_state):
    """Take a unit's places back, the last first."""
    for i in range(stop - 1, start - 1, -1):
        s = batch.slot[i]
        if s >= 0:
            apply(classes, static, batch.class_id[i], s, state, batch.devices[i], -1)
            log[log_state[1]] = s
            log_state[1] += 1
        batch.slot[i] = -1
        batch.devices[i] = 0


@njit(**_FLAGS)
def score_row(program, c, state, row):
    """A class's score on every slot into ``row``: 0 where it may not go, else 1 + its score."""
    classes, static, pair = program[0], program[1], program[2]
    ask, narrow = ask_of(classes, static, pair, c), is_narrow(classes, static, c)
    weights, unit = rates_of(pair)
    values = np.empty(BLOCK, np.int32)
    for b in range(row.shape[0] // BLOCK):
        low = np.uint64(b * BLOCK)
        block_values(values, low, state[0], state[1], static.eligible, ask, weights, unit)
        if narrow:
            narrow_block(values, low, classes, static, c, state)
        for j in range(BLOCK):
            row[b * BLOCK + j] = values[j]

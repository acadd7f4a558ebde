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

from stretto.framework.kernels_borrow import borrowed
from stretto.framework.kernels_place import apply, pick_devices
from stretto.framework.kernels_point import has_devices, slot_value
from stretto.framework.program import Pick
from stretto.state.slots import BLOCK

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_INTO: Any = {"error_model": "numpy", "cache": True, "nogil": True, "forceinline": True}
_ROTATE, _RANK, _RANDOM = int(Pick.ROTATE), int(Pick.RANK), int(Pick.RANDOM)
FEW = 4
"""The log is read for named blocks up to so many entries a block; beyond, all blocks are scored."""
ANY = -(1 << 31)
"""An amount that every slot has: for classes that ask for fewer than three."""


@njit(**_INTO)
def _unit_score(t0, t1):
    """``pair_score`` where both columns, least and balanced weigh 1 and most 0, to the last bit."""
    zero, full, half = np.float32(0.0), np.float32(100.0), np.float32(0.5)
    t0 = min(max(t0, zero), full)
    t1 = min(max(t1, zero), full)
    return np.int32(np.int32((t0 + t1) * half) + np.int32(full - abs(t0 - t1) * half))


@njit(**_INTO)
def _pair_score(t0, t1, weights):
    """``kernels_point.pair_score``, kept to 32 bits so that eight slots go at once."""
    w0, w1, least, most, balanced = weights
    zero, full, half = np.float32(0.0), np.float32(100.0), np.float32(0.5)
    t0 = min(max(t0, zero), full)
    t1 = min(max(t1, zero), full)
    free = (t0 * w0 + t1 * w1) * (np.float32(1.0) / (w0 + w1))
    gap = full - abs(t0 - t1) * half
    total = np.int32(least * np.int32(free)) + np.int32(most * np.int32(full - free))
    return np.int32(np.int32(total) + np.int32(balanced * np.int32(gap)))


@njit(**_INTO)
def _unit_top(low, free, percent, eligible, ask):
    """The best of a block under the default weights; nothing but amounts and eligibility."""
    e, base, c0, c1, c2, a0, a1, a2, g0, g1, q0, q1 = ask
    top = np.int32(0)
    for j in range(BLOCK):
        s = low + np.uint64(j)
        t0 = np.float32(np.int32(free[g0, s] - q0)) * percent[g0, s]
        t1 = np.float32(np.int32(free[g1, s] - q1)) * percent[g1, s]
        fits = (
            (eligible[e, s] != 0) & (free[c0, s] >= a0) & (free[c1, s] >= a1) & (free[c2, s] >= a2)
        )
        score = np.int32(_unit_score(t0, t1) + base)
        top = np.int32(max(top, score if fits else np.int32(0)))
    return top


@njit(**_INTO)
def _block_values(values, low, free, percent, eligible, ask, weights, unit):
    """Each slot of a block into ``values``: amounts and eligibility."""
    e, base, c0, c1, c2, a0, a1, a2, g0, g1, q0, q1 = ask
    for j in range(BLOCK):
        s = low + np.uint64(j)
        t0 = np.float32(np.int32(free[g0, s] - q0)) * percent[g0, s]
        t1 = np.float32(np.int32(free[g1, s] - q1)) * percent[g1, s]
        fits = (
            (eligible[e, s] != 0) & (free[c0, s] >= a0) & (free[c1, s] >= a1) & (free[c2, s] >= a2)
        )
        score = _unit_score(t0, t1) if unit else _pair_score(t0, t1, weights)
        values[j] = np.int32(score + base) if fits else np.int32(0)


@njit(**_FLAGS)
def _narrow(values, low, classes, static, c, state):
    """What amounts and eligibility do not say: further amounts, ports, devices, static rows."""
    free, ports = state[0], state[2]
    score, row = static.score, classes.score_row[c]
    if static.uniform[row] < 0:
        for j in range(BLOCK):
            values[j] += np.int32(score[row, low + np.uint64(j)]) * np.int32(values[j] > 0)
    extra, row = static.extra, classes.extra_row[c]
    if row >= 0:
        for j in range(BLOCK):
            more = np.int32(extra[row, low + np.uint64(j)])
            values[j] = np.int32(values[j] + more) * np.int32((values[j] > 0) & (more >= 0))
    column, amount = classes.column, classes.amount
    for i in range(3, classes.requests[c]):
        r, least = np.uint64(column[c, i]), amount[c, i]
        for j in range(BLOCK):
            values[j] *= np.int32(free[r, low + np.uint64(j)] >= least)
    p = classes.port_row[c]
    conflict = static.port_conflict
    if p > 0:
        for w in range(ports.shape[0]):
            mask = conflict[p, w]
            if mask != np.uint64(0):
                for j in range(BLOCK):
                    values[j] *= np.int32(ports[w, low + np.uint64(j)] & mask == np.uint64(0))
    wanted, models = classes.device[c], classes.models[c]
    if wanted[0] + wanted[4] > 0:
        for j in range(BLOCK):
            s = low + np.uint64(j)
            if values[j] > 0 and not has_devices(state[3], state[4], state[5], s, wanted, models):
                values[j] = 0


@njit(**_INTO)
def _top_of(values):
    """The best of a block."""
    top = np.int32(0)
    for j in range(BLOCK):
        top = np.int32(max(top, values[j]))
    return top


@njit(**_INTO)
def _ask_of(classes, static, pair, c):
    """What a class asks, as scalars: eligibility row, least score, amounts, scored columns."""
    n, column, amount = classes.requests[c], classes.column, classes.amount
    none = np.int32(ANY)
    i1, i2 = min(1, n - 1), min(2, n - 1)
    c0 = np.uint64(column[c, 0]) if n > 0 else np.uint64(0)
    c1 = np.uint64(column[c, i1]) if n > 0 else np.uint64(0)
    c2 = np.uint64(column[c, i2]) if n > 0 else np.uint64(0)
    a0 = amount[c, 0] if n > 0 else none
    a1 = amount[c, i1] if n > 0 else none
    a2 = amount[c, i2] if n > 0 else none
    q0, q1 = classes.ask[c, pair.first], classes.ask[c, pair.second]
    g0, g1 = np.uint64(pair.first), np.uint64(pair.second)
    base = np.int32(1 + max(static.uniform[classes.score_row[c]], 0))
    return np.uint64(classes.filter_row[c]), base, c0, c1, c2, a0, a1, a2, g0, g1, q0, q1


@njit(**_INTO)
def _is_narrow(classes, static, c):
    """Whether a class is judged by more than three amounts and its eligibility."""
    device = classes.device
    return (
        classes.requests[c] > 3
        or static.uniform[classes.score_row[c]] < 0
        or classes.extra_row[c] >= 0
        or classes.port_row[c] > 0
        or device[c, 0] + device[c, 4] > 0
    )


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
            top = _unit_top(low, free, percent, eligible, ask)
        else:
            _block_values(values, low, free, percent, eligible, ask, weights, unit)
            if narrow:
                _narrow(values, low, classes, static, c, state)
            top = _top_of(values)
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
        _block_values(values, low, free, percent, eligible, ask, weights, unit)
        if narrow:
            _narrow(values, low, classes, static, c, state)
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
def _rates(pair):
    """Weights of the pair score, and whether they are the default ones."""
    w0, w1, least = pair.first_weight, pair.second_weight, pair.least
    most, balanced = pair.most, pair.balanced
    unit = w0 == 1 and w1 == 1 and least == 1 and most == 0 and balanced == 1
    return (w0, w1, least, most, balanced), unit


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
    rates = _rates(pair)
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
                k, narrow = entry[c], _is_narrow(classes, static, c)
                ask = _ask_of(classes, static, pair, c)
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
    ask, narrow = _ask_of(classes, static, pair, c), _is_narrow(classes, static, c)
    weights, unit = _rates(pair)
    values = np.empty(BLOCK, np.int32)
    for b in range(row.shape[0] // BLOCK):
        low = np.uint64(b * BLOCK)
        _block_values(values, low, state[0], state[1], static.eligible, ask, weights, unit)
        if narrow:
            _narrow(values, low, classes, static, c, state)
        for j in range(BLOCK):
            row[b * BLOCK + j] = values[j]

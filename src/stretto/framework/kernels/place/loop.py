"""Compiled placing: refresh a class's row, take its best slot, apply, go on.

The numba tier of ``place``. It equals a full sequential scan, because a row depends only on the
class and on slot-local state, every change of that state is in the log, and a row is brought up to
the log's end before it is read. The NumPy tier (``kernels_numpy``) does the same with the rules'
own vectorised functions; a property test compares the two and the plain scan.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.compiled.tables import DevicePick, TieBreak
from stretto.framework.kernels.borrow import borrowed
from stretto.framework.kernels.place.rows import refresh
from stretto.framework.kernels.place.slot_value import fgd_score, fullest_device, slot_value
from stretto.state.rows.devices import MAX_DEVICES, WHOLE
from stretto.state.rows.slots import BLOCK

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_ROTATE, _RANK = int(TieBreak.ROTATE), int(TieBreak.RANK)
_SCORED, _DRAWN = int(DevicePick.SCORED), int(DevicePick.RANDOM)


@njit(**_FLAGS)
def _top(peak, own, only_own):
    """The best score of any block, or of the own ones."""
    top = np.int16(0)
    if only_own:
        for b in range(peak.shape[0]):
            top = max(top, peak[b] * np.int16(own[b] != 0))
    else:
        for b in range(peak.shape[0]):
            top = max(top, peak[b])
    return top


@njit(**_FLAGS)
def _best(peak, own):
    """The best score, and whether it is one of the own partition, which is asked first."""
    top = _top(peak, own, True)
    if top > 0:
        return top, True
    return _top(peak, own, False), False


@njit(**_FLAGS)
def choose(row, peak, choice, draw):
    """The best slot by the tie rule, own partition first; -1 when nothing is feasible."""
    own = choice.own_block
    top, only_own = _best(peak, own)
    if top == 0:
        return -1
    if choice.pick == _ROTATE:
        return _choose_rotating(row, peak, own, only_own, top, choice)
    if choice.pick == _RANK:
        return _choose_by_rank(row, peak, own, only_own, top, choice.rank)
    return _choose_by_draw(row, peak, own, only_own, top, draw)


@njit(**_FLAGS)
def _choose_by_rank(row, peak, own, only_own, top, rank):
    """The best slot with the smallest rank."""
    best, least = -1, np.int32(0)
    for b in range(peak.shape[0]):
        if peak[b] != top or (only_own and not own[b]):
            continue
        for s in range(b * BLOCK, (b + 1) * BLOCK):
            if row[s] == top and (best < 0 or rank[s] < least):
                best, least = s, rank[s]
    return best


@njit(**_FLAGS)
def _choose_by_draw(row, peak, own, only_own, top, draw):
    """One of the best slots by a draw."""
    ties = np.uint64(0)
    for counting in range(2):
        wanted = draw % ties if counting else np.uint64(0)
        for b in range(peak.shape[0]):
            if peak[b] != top or (only_own and not own[b]):
                continue
            for s in range(b * BLOCK, (b + 1) * BLOCK):
                if row[s] != top:
                    continue
                if not counting:
                    ties += np.uint64(1)
                elif wanted == np.uint64(0):
                    return s
                else:
                    wanted -= np.uint64(1)
    return -1


@njit(**_FLAGS)
def _next_zone(peak, own, only_own, top, choice):
    """The zone whose turn it is among those with a best slot (stride scheduling by nodes)."""
    block_zone, passes = choice.block_zone, choice.passes
    now = passes[passes.shape[0] - 1]
    zone, soonest = np.int32(-1), np.int64(0)
    for b in range(peak.shape[0]):
        if peak[b] == top and (own[b] or not only_own):
            z = block_zone[b]
            due = max(passes[z], now)
            if zone < 0 or due < soonest or (due == soonest and z < zone):
                zone, soonest = z, due
    return zone


@njit(**_FLAGS)
def _next_block(peak, own, only_own, top, zone, block_zone, first, i):
    """The first block with a best slot of a zone, from the ``i``-th of the ring on.

    The ring starts and ends with block ``first``; returns the step, or the ring's length + 1.
    """
    blocks = peak.shape[0]
    while i <= blocks:
        b = first + i
        if b >= blocks:
            b -= blocks
        if peak[b] == top and block_zone[b] == zone and (own[b] or not only_own):
            return i
        i += 1
    return i


@njit(**_FLAGS)
def _first_in_block(row, top, b, begin):
    """The first best slot of a block at or after ``begin``; -1 for none."""
    for s in range(max(begin, b * BLOCK), (b + 1) * BLOCK):
        if row[s] == top:
            return s
    return -1


@njit(**_FLAGS)
def _take_turn(choice, zone, found, size):
    """A slot was picked in a zone: the cursor moves on, and the zone's turn is over."""
    passes = choice.passes
    choice.cursor[zone] = (found + 1) % size
    last = passes.shape[0] - 1
    soonest = max(passes[zone], passes[last])
    passes[zone] = soonest + choice.stride[zone]
    passes[last] = soonest


@njit(**_FLAGS)
def _choose_rotating(row, peak, own, only_own, top, choice):
    """Zones take turns by their share of nodes, slots within a zone in a ring."""
    zone = _next_zone(peak, own, only_own, top, choice)
    block_zone, start = choice.block_zone, choice.cursor[zone]
    first, i, found = start // BLOCK, 0, -1
    while found < 0:
        i = _next_block(peak, own, only_own, top, zone, block_zone, first, i)
        found = _first_in_block(row, top, (first + i) % peak.shape[0], start if i == 0 else 0)
        i += 1
    _take_turn(choice, zone, found, row.shape[0])
    return found


@njit(**_FLAGS)
def pick_devices(classes, c, s, state, typical, thresholds, how, draw):
    """Bit mask of the devices that the class gets on the slot."""
    free, device_free, device_kind, device_model = state[0], state[3], state[4], state[5]
    view = (free, device_free, device_kind, device_model)
    mask = np.int32(0)
    for q in range(classes.models.shape[1]):
        need, milli = classes.device[c, 4 * q], classes.device[c, 4 * q + 1]
        if need == 0:
            continue
        if need == 1 and milli < WHOLE and how == _SCORED and q == 0:
            device = fgd_score(classes, c, s, view, typical, thresholds)[1]
            mask |= np.int32(1) << np.int32(device)
            continue
        if need == 1 and milli < WHOLE and how == _DRAWN:
            mask |= _random_device(classes, c, q, s, view, draw)
            continue
        for _ in range(need):
            device = fullest_device(classes, c, q, s, view, mask)
            mask |= np.int32(1) << np.int32(device)
    return mask


@njit(**_FLAGS)
def _random_device(classes, c, q, s, view, draw):
    """One fitting device by a draw."""
    seen, fitting = np.int32(0), np.uint64(0)
    while True:
        device = fullest_device(classes, c, q, s, view, seen)
        if device < 0:
            break
        seen |= np.int32(1) << np.int32(device)
        fitting += np.uint64(1)
    wanted = (draw >> np.uint64(32)) % fitting
    for d in range(MAX_DEVICES):
        if (seen >> np.int32(d)) & 1:
            if wanted == np.uint64(0):
                return np.int32(1) << np.int32(d)
            wanted -= np.uint64(1)
    return np.int32(0)


@njit(**_FLAGS)
def apply(classes, static, c, s, state, mask, sign):
    """Take (sign 1) or give back (sign -1) what a class asks on a slot."""
    free, ports, device_free, device_kind, census = state[0], state[2], state[3], state[4], state[6]
    for i in range(classes.requests[c]):
        free[classes.column[c, i], s] -= sign * classes.amount[c, i]
    p = classes.port_row[c]
    if p > 0:
        for w in range(ports.shape[0]):
            if sign > 0:
                ports[w, s] |= static.port_own[p, w]
            else:
                ports[w, s] &= ~static.port_own[p, w]
    for q in range(classes.models.shape[1]):
        need, milli = classes.device[c, 4 * q], classes.device[c, 4 * q + 1]
        if need == 0:
            continue
        kind = classes.device[c, 4 * q + 2]
        for d in range(MAX_DEVICES):
            if (mask >> np.int32(d)) & 1 and device_kind[s, d] == kind:
                device_free[s, d] -= sign * milli
        form = 0 if milli < WHOLE else min(need, census.shape[1] - 1)
        census[s, form] += sign


@njit(**_FLAGS)
def place(program, state, cache, log, log_state, choice, batch, limit):
    """Place a batch of units in order; returns how many units were tried.

    ``program`` is (classes, static, pair, scores, typical, thresholds). Answers are written to
    ``batch.slot`` and ``batch.devices``. A unit with fewer than ``at_least`` places is undone
    without a trace; one that is blocking and fails ends the batch.
    """
    return _place(program, state, cache, (log, log_state), choice, batch, limit)


@njit(**_FLAGS)
def _place(program, state, cache, logged, choice, batch, limit):
    """``place``, whose caller holds every array: none is counted in here."""
    state, cache, choice, batch = borrowed((state, cache, choice, batch))
    program, (log, log_state) = borrowed(program), borrowed(logged)
    classes, static, pair, scores, typical, thresholds = program
    for u in range(batch.at_least.shape[0]):
        start, stop = batch.start[u], batch.start[u + 1]
        placed = 0
        failed_class = -1
        for i in range(start, stop):
            c = batch.class_id[i]
            if stop - i + placed < batch.at_least[u]:
                break
            if c == failed_class and batch.pin[i] < 0:
                batch.slot[i] = -1
                continue
            s = batch.pin[i]
            if s >= 0:
                if slot_value(classes, static, pair, scores, typical, thresholds, c, s, state) == 0:
                    s = -1
            else:
                k = refresh(program, c, state, cache, log, log_state, limit)
                s = choose(cache.row[k], cache.peak[k], choice, batch.draw[i])
                if s < 0:
                    failed_class = c
            batch.slot[i] = s
            if s < 0:
                continue
            mask = pick_devices(
                classes, c, s, state, typical, thresholds, choice.device_pick, batch.draw[i]
            )
            batch.devices[i] = mask
            apply(classes, static, c, s, state, mask, 1)
            log[log_state[1]] = s
            log_state[1] += 1
            placed += 1
        if placed < batch.at_least[u] or (placed == 0 and stop > start):
            for i in range(stop - 1, start - 1, -1):
                s = batch.slot[i]
                if s >= 0:
                    apply(classes, static, batch.class_id[i], s, state, batch.devices[i], -1)
                    log[log_state[1]] = s
                    log_state[1] += 1
                batch.slot[i] = -1
                batch.devices[i] = 0
            if batch.blocking[u]:
                return u + 1
    return batch.at_least.shape[0]

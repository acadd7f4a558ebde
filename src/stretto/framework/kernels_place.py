"""Compiled placing: refresh a class's row, take its best slot, apply, go on.

The numba tier of ``place``. It equals a full sequential scan, because a row depends only on the
class and on slot-local state, every change of that state is in the log, and a row is brought up to
the log's end before it is read. The NumPy tier (``kernels_numpy``) does the same with the rules'
own vectorised functions; a property test compares the two and the plain scan.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.kernels_point import (
    fgd_score,
    fullest_device,
    pair_score,
    slot_value,
)
from stretto.framework.program import DevicePick, Pick
from stretto.state.devices import MAX_DEVICES, WHOLE
from stretto.state.slots import BLOCK

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_ROTATE, _RANK = int(Pick.ROTATE), int(Pick.RANK)
_SCORED, _DRAWN = int(DevicePick.SCORED), int(DevicePick.RANDOM)


@njit(**_FLAGS)
def _scan_pair(row, eligible, score, free, percent, request, ask, pair):
    """Rows of classes that only the pair and static scores weigh: one vectorised pass.

    ``request`` is (column, amount) three times, the last repeated when there are fewer.
    """
    c0, a0, c1, a1, c2, a2 = request
    f0, f1, f2 = free[c0], free[c1], free[c2]
    g0, g1 = free[pair.first], free[pair.second]
    p0, p1 = percent[pair.first], percent[pair.second]
    q0, q1 = ask
    w0, w1 = pair.first_weight, pair.second_weight
    least, most, balanced = pair.least, pair.most, pair.balanced
    for s in range(row.shape[0]):
        t0 = np.float32(g0[s] - q0) * p0[s]
        t1 = np.float32(g1[s] - q1) * p1[s]
        total = np.int32(score[s]) + pair_score(t0, t1, w0, w1, least, most, balanced)
        passes = (
            np.int32(eligible[s])
            & np.int32(f0[s] >= a0)
            & np.int32(f1[s] >= a1)
            & np.int32(f2[s] >= a2)
        )
        row[s] = np.int16(passes * (np.int32(1) + max(total, np.int32(0))))


@njit(**_FLAGS)
def _and_fits(row, column, amount):
    """Clear the slots where one more resource does not fit."""
    for s in range(row.shape[0]):
        row[s] = row[s] * np.int16(column[s] >= amount)


@njit(**_FLAGS)
def _and_ports(row, ports, mask):
    """Clear the slots where a host port is taken."""
    for w in range(mask.shape[0]):
        if mask[w] == 0:
            continue
        for s in range(row.shape[0]):
            row[s] = row[s] * np.int16(ports[s, w] & mask[w] == 0)


@njit(**_FLAGS)
def has_devices(device_free, device_kind, device_model, s, wanted, models):
    """Whether a slot has the devices that a class asks; see ``ClassTable.device``."""
    for q in range(models.shape[0]):
        need, milli, kind = wanted[4 * q], wanted[4 * q + 1], wanted[4 * q + 2]
        for d in range(MAX_DEVICES):
            if (
                device_kind[s, d] == kind
                and device_free[s, d] >= milli
                and (models[q] >> np.int64(device_model[s, d])) & 1
            ):
                need -= 1
        if need > 0:
            return False
    return True


@njit(**_FLAGS)
def _and_devices(row, device_free, device_kind, device_model, wanted, models):
    """Clear the slots that lack the devices asked for."""
    for s in range(row.shape[0]):
        if row[s] > 0 and not has_devices(
            device_free, device_kind, device_model, s, wanted, models
        ):
            row[s] = 0


@njit(**_FLAGS)
def find_peaks(row, peak):
    """Maxima of the row's blocks."""
    for b in range(peak.shape[0]):
        low = b * BLOCK
        top = np.int16(0)
        for s in range(BLOCK):
            top = max(top, row[low + s])
        peak[b] = top


@njit(**_FLAGS)
def rebuild(classes, static, pair, scores, typical, thresholds, c, state, row, peak):
    """Compute a class's whole row afresh."""
    free, percent = state[0], state[1]
    if not is_plain(classes, pair, scores, c):
        for s in range(row.shape[0]):
            row[s] = np.int16(
                slot_value(classes, static, pair, scores, typical, thresholds, c, s, state)
            )
        find_peaks(row, peak)
        return
    n = classes.requests[c]
    j1, j2 = min(1, n - 1), min(2, n - 1)
    request = (
        classes.column[c, 0],
        classes.amount[c, 0],
        classes.column[c, j1],
        classes.amount[c, j1],
        classes.column[c, j2],
        classes.amount[c, j2],
    )
    ask = (classes.ask[c, pair.first], classes.ask[c, pair.second])
    eligible, score = static.eligible[classes.filter_row[c]], static.score[classes.score_row[c]]
    _scan_pair(row, eligible, score, free, percent, request, ask, pair)
    for i in range(3, n):
        _and_fits(row, free[classes.column[c, i]], classes.amount[c, i])
    if classes.port_row[c] > 0:
        _and_ports(row, state[2], static.port_conflict[classes.port_row[c]])
    if classes.device[c, 0] + classes.device[c, 4] > 0:
        _and_devices(row, state[3], state[4], state[5], classes.device[c], classes.models[c])
    find_peaks(row, peak)


@njit(**_FLAGS)
def _put(row, peak, s, value):
    """Set one slot of a row and keep its block's maximum."""
    old = row[s]
    if value == old:
        return
    row[s] = value
    b = s // BLOCK
    if value > peak[b]:
        peak[b] = value
    elif old == peak[b]:
        low = b * BLOCK
        top = np.int16(0)
        for t in range(BLOCK):
            top = max(top, row[low + t])
        peak[b] = top


@njit(**_FLAGS)
def _named_again(entries, e):
    """Whether an entry is named again soon: then the later one will do."""
    for f in range(e + 1, min(e + 5, entries.shape[0])):
        if entries[f] == entries[e]:
            return True
    return False


@njit(**_FLAGS)
def _replay_plain(row, peak, entries, eligible, score, amounts, asked, ports, devices, pair):
    """``replay`` where only amounts, ports, devices and static rows matter.

    Every array is taken out of its table once: inside the loop that would cost more than the work.
    ``amounts`` is (free, percent), ``asked`` (column, amount, how many, first ask, second ask),
    ``ports`` (used, mask), ``devices`` (free, kind, model, requests, models).
    """
    free, percent = amounts
    column, amount, n, q0, q1 = asked
    used, mask = ports
    device_free, device_kind, device_model, wanted, models = devices
    a, b = pair.first, pair.second
    w0, w1 = pair.first_weight, pair.second_weight
    least, most, balanced = pair.least, pair.most, pair.balanced
    for e in range(entries.shape[0]):
        if _named_again(entries, e):
            continue
        s = entries[e]
        passes = eligible[s] != 0
        for i in range(n):
            passes = passes and free[column[i], s] >= amount[i]
        for w in range(mask.shape[0]):
            passes = passes and used[s, w] & mask[w] == 0
        if passes and wanted[0] + wanted[4] > 0:
            passes = has_devices(device_free, device_kind, device_model, s, wanted, models)
        if not passes:
            _put(row, peak, s, np.int16(0))
            continue
        t0 = np.float32(free[a, s] - q0) * percent[a, s]
        t1 = np.float32(free[b, s] - q1) * percent[b, s]
        total = np.int32(score[s]) + pair_score(t0, t1, w0, w1, least, most, balanced)
        _put(row, peak, s, np.int16(np.int32(1) + max(total, np.int32(0))))


@njit(**_FLAGS)
def is_plain(classes, pair, scores, c):
    """Whether a class is judged by amounts, ports, devices and static rows alone."""
    return (
        scores.code.shape[0] == 0
        and classes.extra_row[c] < 0
        and classes.requests[c] > 0
        and pair.first_weight + pair.second_weight > 0
    )


@njit(**_FLAGS)
def replay(classes, static, pair, scores, typical, thresholds, c, state, row, peak, entries):
    """Recompute the slots that a stretch of the log names, and the maxima they touch."""
    if is_plain(classes, pair, scores, c):
        p = classes.port_row[c]
        asked = (
            classes.column[c],
            classes.amount[c],
            classes.requests[c],
            classes.ask[c, pair.first],
            classes.ask[c, pair.second],
        )
        mask = static.port_conflict[p] if p > 0 else static.port_conflict[p, :0]
        devices = (state[3], state[4], state[5], classes.device[c], classes.models[c])
        _replay_plain(
            row, peak, entries, static.eligible[classes.filter_row[c]],
            static.score[classes.score_row[c]], (state[0], state[1]), asked, (state[2], mask),
            devices, pair,
        )  # fmt: skip
        return
    for e in range(entries.shape[0]):
        if not _named_again(entries, e):
            s = entries[e]
            value = slot_value(
                classes, static, pair, scores, typical, thresholds, c, s, state
            )
            _put(row, peak, s, np.int16(value))


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
def choose(row, peak, choice, draw):
    """The best slot by the tie rule, own partition first; -1 when nothing is feasible."""
    own = choice.own_block
    only_own = True
    top = _top(peak, own, True)
    if top == 0:
        only_own = False
        top = _top(peak, own, False)
    if top == 0:
        return -1
    if choice.pick == _ROTATE:
        turns = (choice.block_zone, choice.stride, choice.passes, choice.cursor)
        return _choose_rotating(row, peak, own, only_own, top, turns)
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
def _choose_rotating(row, peak, own, only_own, top, turns):
    """Zones take turns by their share of nodes (stride scheduling), slots within a zone in a ring.

    ``turns`` is (zone of each block, strides, passes, cursors); see ``Choice``.
    """
    block_zone, stride, passes, cursor = turns
    zones = stride.shape[0]
    now = passes[zones]
    zone, soonest = np.int32(-1), np.int64(0)
    for b in range(peak.shape[0]):
        if peak[b] == top and (own[b] or not only_own):
            z = block_zone[b]
            due = max(passes[z], now)
            if zone < 0 or due < soonest or (due == soonest and z < zone):
                zone, soonest = z, due
    start = cursor[zone]
    blocks = peak.shape[0]
    first = start // BLOCK
    found = -1
    for i in range(blocks + 1):
        b = first + i
        if b >= blocks:
            b -= blocks
        if peak[b] != top or block_zone[b] != zone or (only_own and not own[b]):
            continue
        low = b * BLOCK
        begin = start if i == 0 else low
        for s in range(begin, low + BLOCK):
            if row[s] == top:
                found = s
                break
        if found >= 0:
            break
    cursor[zone] = (found + 1) % row.shape[0]
    passes[zone] = soonest + stride[zone]
    passes[zones] = soonest
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
        for w in range(ports.shape[1]):
            if sign > 0:
                ports[s, w] |= static.port_own[p, w]
            else:
                ports[s, w] &= ~static.port_own[p, w]
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
def row_length(cache):
    """Slots in a row: where rows cost as much per slot as replaying, this is the break-even."""
    return cache.row.shape[1]


@njit(**_FLAGS)
def refresh(classes, static, pair, scores, typical, thresholds, c, state, cache, log, log_state, limit):
    """Bring a class's row up to the end of the log; returns its cache entry."""
    k = cache.entry[c]
    head = log_state[0] + log_state[1]
    position = cache.position[k]
    if position == head:
        return k
    most = limit if scores.code.shape[0] == 0 else row_length(cache)
    if position < log_state[0] or head - position > most:
        rebuild(classes, static, pair, scores, typical, thresholds, c, state, cache.row[k], cache.peak[k])
    else:
        entries = log[position - log_state[0] : log_state[1]]
        replay(
            classes, static, pair, scores, typical, thresholds, c, state,
            cache.row[k], cache.peak[k], entries,
        )  # fmt: skip
    cache.position[k] = head
    return k


@njit(**_FLAGS)
def place(program, state, cache, log, log_state, choice, batch, limit):
    """Place a batch of units in order; returns how many units were tried.

    ``program`` is (classes, static, pair, scores, typical, thresholds). Answers are written to
    ``batch.slot`` and ``batch.devices``. A unit with fewer than ``at_least`` places is undone
    without a trace; one that is blocking and fails ends the batch.
    """
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
                k = refresh(
                    classes, static, pair, scores, typical, thresholds, c, state, cache,
                    log, log_state, limit,
                )  # fmt: skip
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

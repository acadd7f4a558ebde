"""Compiled rows of the class cache: made, patched, and brought up to the log's end.

A class judged by amounts, ports, devices and static rows alone (a *plain* one) is scored span by
span with vectorised loops; any other slot by slot. A plain row that is rebuilt at every visit is
not worth writing (it would go to memory and never be read): such an entry is *lean*, it keeps the
maxima of the blocks only, and the few blocks that a choice looks at are filled in on demand.

Inside loops every array is at hand as an argument: taking one out of a table costs more than the
work on a slot.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.kernels_point import (
    has_devices,
    pair_score,
    slot_value,
    spread_score,
)
from stretto.state.slots import BLOCK

SPAN = 16 * BLOCK
"""Slots scored at once: a buffer that stays in the nearest cache, and few calls a row."""

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}


@njit(**_FLAGS)
def _score_span(
    values, low, count, eligible, score, f0, f1, f2, g0, g1, p0, p1, amounts, asks, weights
):
    """``count`` slots of a plain class: amounts and static rows; ports and the like come after.

    ``f0`` to ``f2`` are the free columns asked for (the last repeated when there are fewer), ``g0``
    and ``g1`` those that are scored, with ``p0`` and ``p1`` percent per step.
    """
    a0, a1, a2 = amounts
    q0, q1 = asks
    w0, w1, least, most, balanced = weights
    base = np.uint64(low)  # unsigned: an index that might be negative is not vectorised
    if most == 0:  # nearly every profile: a loop of its own, with a fifth fewer operations
        for j in range(count):
            s = base + np.uint64(j)
            t0 = np.float32(g0[s] - q0) * p0[s]
            t1 = np.float32(g1[s] - q1) * p1[s]
            total = np.int32(score[s]) + spread_score(t0, t1, w0, w1, least, balanced)
            passes = (
                np.int32(eligible[s])
                & np.int32(f0[s] >= a0)
                & np.int32(f1[s] >= a1)
                & np.int32(f2[s] >= a2)
            )
            values[j] = np.int16(passes * (np.int32(1) + max(total, np.int32(0))))
        return
    for j in range(count):
        s = base + np.uint64(j)
        t0 = np.float32(g0[s] - q0) * p0[s]
        t1 = np.float32(g1[s] - q1) * p1[s]
        total = np.int32(score[s]) + pair_score(t0, t1, w0, w1, least, most, balanced)
        passes = (
            np.int32(eligible[s])
            & np.int32(f0[s] >= a0)
            & np.int32(f1[s] >= a1)
            & np.int32(f2[s] >= a2)
        )
        values[j] = np.int16(passes * (np.int32(1) + max(total, np.int32(0))))


@njit(**_FLAGS)
def _narrow_span(values, low, count, free, column, amount, n, used, mask, devices):
    """Clear the slots of a span where further amounts, ports or devices are lacking."""
    base = np.uint64(low)
    for i in range(3, n):
        for j in range(count):
            values[j] *= np.int16(free[column[i], base + np.uint64(j)] >= amount[i])
    for w in range(mask.shape[0]):
        if mask[w] == 0:
            continue
        for j in range(count):
            values[j] *= np.int16(used[base + np.uint64(j), w] & mask[w] == 0)
    device_free, device_kind, device_model, wanted, models = devices
    if wanted[0] + wanted[4] == 0:
        return
    for j in range(count):
        if values[j] > 0 and not has_devices(
            device_free, device_kind, device_model, low + j, wanted, models
        ):
            values[j] = 0


@njit(**_FLAGS)
def _span_peaks(values, count, peak):
    """Maxima of a span's blocks."""
    for b in range(count // BLOCK):
        top = np.int16(0)
        for j in range(BLOCK):
            top = max(top, values[b * BLOCK + j])
        peak[b] = top


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
def rebuild_plain(classes, static, pair, c, state, row, peak, only, lean):
    """Score blocks of a plain class.

    With ``only`` below 0 every block, and its maximum to ``peak``; the row is written unless
    ``lean``. Otherwise that block alone, into the row.
    """
    free, percent, used = state[0], state[1], state[2]
    column, amount, n = classes.column[c], classes.amount[c], classes.requests[c]
    j1, j2 = min(1, n - 1), min(2, n - 1)
    f0, f1, f2 = free[column[0]], free[column[j1]], free[column[j2]]
    g0, g1 = free[pair.first], free[pair.second]
    p0, p1 = percent[pair.first], percent[pair.second]
    amounts = (amount[0], amount[j1], amount[j2])
    asks = (classes.ask[c, pair.first], classes.ask[c, pair.second])
    weights = (pair.first_weight, pair.second_weight, pair.least, pair.most, pair.balanced)
    eligible, score = static.eligible[classes.filter_row[c]], static.score[classes.score_row[c]]
    ports = classes.port_row[c]
    mask = static.port_conflict[ports] if ports > 0 else static.port_conflict[0, :0]
    wanted, models = classes.device[c], classes.models[c]
    devices = (state[3], state[4], state[5], wanted, models)
    narrow = n > 3 or ports > 0 or wanted[0] + wanted[4] > 0
    values = np.empty(SPAN, np.int16)
    low, end = (0, row.shape[0]) if only < 0 else (only * BLOCK, (only + 1) * BLOCK)
    while low < end:
        count = min(SPAN, end - low)
        _score_span(
            values, low, count, eligible, score, f0, f1, f2, g0, g1, p0, p1, amounts, asks, weights
        )
        if narrow:
            _narrow_span(values, low, count, free, column, amount, n, used, mask, devices)
        if only < 0:
            _span_peaks(values, count, peak[low // BLOCK :])
        if only >= 0 or not lean:
            row[low : low + count] = values[:count]
        low += count


@njit(**_FLAGS)
def rebuild(classes, static, pair, scores, typical, thresholds, c, state, row, peak):
    """Compute a class's whole row afresh."""
    if is_plain(classes, pair, scores, c):
        rebuild_plain(classes, static, pair, c, state, row, peak, -1, False)
        return
    for b in range(peak.shape[0]):
        top = np.int16(0)
        for s in range(b * BLOCK, (b + 1) * BLOCK):
            row[s] = np.int16(
                slot_value(classes, static, pair, scores, typical, thresholds, c, s, state)
            )
            top = max(top, row[s])
        peak[b] = top


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
        peak[b] = _block_top(row, b)


@njit(**_FLAGS)
def _named_again(entries, e):
    """Whether an entry is named again soon: then the later one will do."""
    again = False
    for f in range(e + 1, min(e + 5, entries.shape[0])):
        again = again or entries[f] == entries[e]
    return again


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
    j1, j2 = min(1, n - 1), min(2, n - 1)
    f0, f1, f2 = free[column[0]], free[column[j1]], free[column[j2]]
    a0, a1, a2 = amount[0], amount[j1], amount[j2]
    g0, g1, p0, p1 = free[a], free[b], percent[a], percent[b]
    devices_asked = wanted[0] + wanted[4] > 0
    values = np.empty(entries.shape[0], np.int16)
    for e in range(entries.shape[0]):
        s = np.uint64(entries[e])
        passes = (eligible[s] != 0) & (f0[s] >= a0) & (f1[s] >= a1) & (f2[s] >= a2)
        for i in range(3, n):
            passes &= free[column[i], s] >= amount[i]
        for w in range(mask.shape[0]):
            passes &= used[s, w] & mask[w] == 0
        if passes and devices_asked:
            passes = has_devices(device_free, device_kind, device_model, s, wanted, models)
        t0 = np.float32(g0[s] - q0) * p0[s]
        t1 = np.float32(g1[s] - q1) * p1[s]
        total = np.int32(score[s]) + pair_score(t0, t1, w0, w1, least, most, balanced)
        values[e] = np.int16(np.int32(passes) * (np.int32(1) + max(total, np.int32(0))))
    _put_all(row, peak, entries, values)


@njit(**_FLAGS)
def _put_all(row, peak, entries, values):
    """Set many slots of a row; a block whose maximum went down is looked through once, at the end.

    Values are computed before any is written, so that their loads do not wait for one another.
    """
    fallen = np.zeros(peak.shape[0], np.uint8)
    any_fallen = False
    for e in range(entries.shape[0]):
        s, value = entries[e], values[e]
        old = row[s]
        if value == old:
            continue
        row[s] = value
        b = s // BLOCK
        if value > peak[b]:
            peak[b] = value
        elif old == peak[b]:
            fallen[b] = 1
            any_fallen = True
    if not any_fallen:
        return
    for b in range(peak.shape[0]):
        if fallen[b]:
            peak[b] = _block_top(row, b)


@njit(**_FLAGS)
def _block_top(row, b):
    """The maximum of one block."""
    low = b * BLOCK
    top = np.int16(0)
    for t in range(BLOCK):
        top = max(top, row[low + t])
    return top


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
            value = slot_value(classes, static, pair, scores, typical, thresholds, c, s, state)
            _put(row, peak, s, np.int16(value))


@njit(**_FLAGS)
def refresh(
    classes, static, pair, scores, typical, thresholds, c, state, cache, log, log_state, limit, lean
):
    """Bring a class's row up to the end of the log; returns its cache entry.

    ``lean`` allows an entry that is rebuilt to keep no row.
    """
    k = cache.entry[c]
    head = log_state[0] + log_state[1]
    position, whole = cache.position[k], cache.whole[k]
    if position == head and (whole or lean):
        return k
    plain = is_plain(classes, pair, scores, c)
    # Where a row costs as much per slot as an entry does, its length is the break-even.
    most = limit if plain else cache.row.shape[1]
    if position >= log_state[0] and head - position <= most and whole:
        entries = log[position - log_state[0] : log_state[1]]
        replay(
            classes, static, pair, scores, typical, thresholds, c, state,
            cache.row[k], cache.peak[k], entries,
        )  # fmt: skip
    elif plain and lean and (position < log_state[0] or head - position > most):
        rebuild_plain(classes, static, pair, c, state, cache.row[k], cache.peak[k], -1, True)
        cache.whole[k] = 0
    else:
        rebuild(
            classes, static, pair, scores, typical, thresholds, c, state,
            cache.row[k], cache.peak[k],
        )  # fmt: skip
        cache.whole[k] = 1
    cache.position[k] = head
    return k

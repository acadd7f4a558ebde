"""Compiled scores of the 64 slots of a block, for plain profiles.

One vectorised loop computes amounts, eligibility and the pair score; the other requests of classes
(more amounts, ports, devices, static rows) restrict the values afterwards. All values are int32 or
float32, so that the loop processes eight slots at once; a wider type would halve that.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.kernels.place.slot_value import has_devices
from stretto.state.rows.slots import BLOCK

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_INTO: Any = {"error_model": "numpy", "cache": True, "nogil": True, "forceinline": True}
ANY = -(1 << 31)
"""An amount that every slot has, for classes that request fewer than three amounts."""


@njit(**_INTO)
def _unit_score(t0, t1):
    """Return ``pair_score`` to the last bit if all weights are 1, except most (0)."""
    zero, full, half = np.float32(0.0), np.float32(100.0), np.float32(0.5)
    t0 = min(max(t0, zero), full)
    t1 = min(max(t1, zero), full)
    return np.int32(np.int32((t0 + t1) * half) + np.int32(full - abs(t0 - t1) * half))


@njit(**_INTO)
def _pair_score(t0, t1, weights):
    """Return ``slot_value.pair_score`` in 32 bits, so that eight slots are processed at once."""
    w0, w1, least, most, balanced = weights
    zero, full, half = np.float32(0.0), np.float32(100.0), np.float32(0.5)
    t0 = min(max(t0, zero), full)
    t1 = min(max(t1, zero), full)
    free = (t0 * w0 + t1 * w1) * (np.float32(1.0) / (w0 + w1))
    gap = full - abs(t0 - t1) * half
    total = np.int32(least * np.int32(free)) + np.int32(most * np.int32(full - free))
    return np.int32(np.int32(total) + np.int32(balanced * np.int32(gap)))


@njit(**_INTO)
def _shares(s, free, percent, eligible, request):
    """Return a flag (slot is eligible and has the amounts) and both shares after placing."""
    e, _, c0, c1, c2, a0, a1, a2, g0, g1, q0, q1 = request
    t0 = np.float32(np.int32(free[g0, s] - q0)) * percent[g0, s]
    t1 = np.float32(np.int32(free[g1, s] - q1)) * percent[g1, s]
    fits = (eligible[e, s] != 0) & (free[c0, s] >= a0) & (free[c1, s] >= a1) & (free[c2, s] >= a2)
    return fits, t0, t1


@njit(**_INTO)
def unit_top(low, free, percent, eligible, request):
    """Return the best value of a block under the default weights; amounts and eligibility only."""
    top, base = np.int32(0), request[1]
    for j in range(BLOCK):
        fits, t0, t1 = _shares(low + np.uint64(j), free, percent, eligible, request)
        score = np.int32(_unit_score(t0, t1) + base)
        top = np.int32(max(top, score if fits else np.int32(0)))
    return top


@njit(**_INTO)
def block_values(values, low, free, percent, eligible, request, weights, unit):
    """Write the value of each slot of a block into ``values``: amounts and eligibility."""
    base = request[1]
    for j in range(BLOCK):
        fits, t0, t1 = _shares(low + np.uint64(j), free, percent, eligible, request)
        score = _unit_score(t0, t1) if unit else _pair_score(t0, t1, weights)
        values[j] = np.int32(score + base) if fits else np.int32(0)


@njit(**_INTO)
def one_value(s, free, percent, eligible, request, weights, unit):
    """Return the value of ``block_values`` for one slot."""
    fits, t0, t1 = _shares(s, free, percent, eligible, request)
    score = _unit_score(t0, t1) if unit else _pair_score(t0, t1, weights)
    return np.int32(score + request[1]) if fits else np.int32(0)


@njit(**_INTO)
def narrow_value(value, s, classes, static, c, state):
    """Return the result of ``narrow_block`` for one slot with a value."""
    free, ports = state[0], state[2]
    column, amount = classes.column, classes.amount
    for i in range(3, classes.checked[c]):
        if free[np.uint64(column[c, i]), s] < amount[c, i]:
            return np.int32(0)
    row = classes.score_row[c]
    if static.uniform[row] < 0:
        value += np.int32(static.score[row, s])
    row = classes.extra_row[c]
    if row >= 0:
        more = np.int32(static.extra[row, s])
        if more < 0:
            return np.int32(0)
        value += more
    p = classes.port_row[c]
    if p > 0:
        for w in range(ports.shape[0]):
            if ports[w, s] & static.port_conflict[p, w] != np.uint64(0):
                return np.int32(0)
    wanted = classes.device[c]
    if wanted[0] + wanted[4] > 0 and not has_devices(
        state[3], state[4], state[5], s, wanted, classes.models[c]
    ):
        return np.int32(0)
    return value


@njit(**_INTO)
def narrow_block(values, low, classes, static, c, state):
    """Apply the other requests: further amounts, ports, devices, static rows."""
    free, column, amount = state[0], classes.column, classes.amount
    for i in range(3, classes.checked[c]):
        r, least = np.uint64(column[c, i]), amount[c, i]
        for j in range(BLOCK):
            values[j] *= np.int32(free[r, low + np.uint64(j)] >= least)
    if _has_more_than_amounts(classes, static, c):
        _narrow_further(values, low, classes, static, c, state)


@njit(**_FLAGS)
def _narrow_further(values, low, classes, static, c, state):
    """Apply ports, devices and static rows; a separate function, because few classes have any."""
    ports = state[2]
    score, row = static.score, classes.score_row[c]
    if static.uniform[row] < 0:
        for j in range(BLOCK):
            values[j] += np.int32(score[row, low + np.uint64(j)]) * np.int32(values[j] > 0)
    extra, row = static.extra, classes.extra_row[c]
    if row >= 0:
        for j in range(BLOCK):
            more = np.int32(extra[row, low + np.uint64(j)])
            values[j] = np.int32(values[j] + more) * np.int32((values[j] > 0) & (more >= 0))
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
def apply_answers(values, low, answers, k, scored):
    """Apply the results of Python rules for an entry: their scores, and the refused slots."""
    refused = answers.refused[k, low // np.uint64(BLOCK)]
    if scored:
        for j in range(BLOCK):
            more = np.int32(answers.score[k, low + np.uint64(j)])
            values[j] = np.int32(values[j] + more) * np.int32(values[j] > 0)
    for j in range(BLOCK):
        allowed = ~(refused >> np.uint64(j)) & np.uint64(1)
        values[j] *= np.int32(allowed)


@njit(**_INTO)
def top_of(values):
    """Return the best value of a block."""
    top = np.int32(0)
    for j in range(BLOCK):
        top = np.int32(max(top, values[j]))
    return top


@njit(**_INTO)
def request_of(classes, static, pair, c):
    """Return the requests of a class as scalars: eligibility row, least score, amounts, columns."""
    n, column, amount = classes.checked[c], classes.column, classes.amount
    none = np.int32(ANY)
    i1, i2 = min(1, n - 1), min(2, n - 1)
    c0 = np.uint64(column[c, 0]) if n > 0 else np.uint64(0)
    c1 = np.uint64(column[c, i1]) if n > 0 else np.uint64(0)
    c2 = np.uint64(column[c, i2]) if n > 0 else np.uint64(0)
    a0 = amount[c, 0] if n > 0 else none
    a1 = amount[c, i1] if n > 0 else none
    a2 = amount[c, i2] if n > 0 else none
    q0, q1 = classes.by_column[c, pair.first], classes.by_column[c, pair.second]
    g0, g1 = np.uint64(pair.first), np.uint64(pair.second)
    base = np.int32(1 + max(static.uniform[classes.score_row[c]], 0))
    return np.uint64(classes.filter_row[c]), base, c0, c1, c2, a0, a1, a2, g0, g1, q0, q1


@njit(**_INTO)
def is_narrow(classes, static, c):
    """Return whether a class has conditions besides three amounts and its eligibility."""
    return classes.checked[c] > 3 or _has_more_than_amounts(classes, static, c)


@njit(**_INTO)
def _has_more_than_amounts(classes, static, c):
    """Return whether a class has ports, devices or static rows."""
    device = classes.device
    return (
        static.uniform[classes.score_row[c]] < 0
        or classes.extra_row[c] >= 0
        or classes.port_row[c] > 0
        or device[c, 0] + device[c, 4] > 0
    )


@njit(**_INTO)
def rates_of(pair):
    """Return the weights of the pair score, and a flag for the default weights."""
    w0, w1, least = pair.first_weight, pair.second_weight, pair.least
    most, balanced = pair.most, pair.balanced
    unit = w0 == 1 and w1 == 1 and least == 1 and most == 0 and balanced == 1
    return (w0, w1, least, most, balanced), unit

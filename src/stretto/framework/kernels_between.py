"""Compiled constraints between pods: counts, and what they make of the values of a block.

The numba twin of ``domains.formulas``. Constraints on hosts are slot-local but for what the *stamp*
says (the least count of a hard spread, whether nobody matches yet); those on other keys become a
yes or no and a bonus for each domain.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.domains.program import CAP, Kind
from stretto.state.slots import BLOCK

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_NEVER, _NEAR, _FAR = int(Kind.NEVER), int(Kind.NEAR), int(Kind.FAR)
_HARD, _SOFT, _WISH = int(Kind.HARD), int(Kind.SOFT), int(Kind.WISH)
_MIX = 1_000_003
"""Larger than twice any number that a stamp is made of, so that stamps tell them apart."""


# ---------------------------------------------------------------- counts


@njit(**_FLAGS)
def count(table, others, c, s, sign):
    """A pod of a class came to a slot (1) or went (-1)."""
    for m in range(table.counted_start[c], table.counted_stop[c]):
        p = table.counted[m]
        before = others.pods[p, s]
        after = before + sign
        others.pods[p, s] = after
        t = table.tally_first[p]
        while t >= 0:
            key, offset = table.tally_key[t], table.tally_offset[t]
            d = table.domain[key, s]
            if d > 0 and table.mask[table.tally_mask[t], s] > 0:
                others.total[t] += sign
                if table.is_host[key] > 0:
                    others.sums[offset + min(max(before, 0), CAP - 1)] -= 1
                    others.sums[offset + min(max(after, 0), CAP - 1)] += 1
                else:
                    others.sums[offset + d] += sign
            t = table.tally_next[t]


@njit(**_FLAGS)
def _lowest(table, others, t):
    """The least count of the domains in which a node counts; 0 without any."""
    if t < 0 or others.present[t] == 0:
        return 0
    key, offset = table.tally_key[t], table.tally_offset[t]
    if table.is_host[key] > 0:
        n = 0
        while others.sums[offset + n] == 0:
            n += 1
        return n
    low = np.int64(1) << 40
    for d in range(1, table.domains[key]):
        if others.nodes[offset + d] > 0:
            low = min(low, np.int64(others.sums[offset + d]))
    return low


@njit(**_FLAGS)
def limits_of(limits, table, others, c):
    """What constraints come to now, into ``limits``; returns the stamp of the class's maxima."""
    start, stop = table.start[c], table.stop[c]
    may_be_first = 1
    for i in range(start, stop):
        if table.kind[i] == _NEAR and (table.first[i] == 0 or others.total[table.tally[i]] != 0):
            may_be_first = 0
    stamp = np.int64(table.salt)
    for i in range(start, stop):
        kind, t, host = table.kind[i], table.tally[i], table.is_host[table.key[i]] > 0
        limit = np.int64(0)
        if kind == _NEAR:
            limit = np.int64(may_be_first)
        elif kind == _HARD:
            enough = t >= 0 and others.present[t] >= table.third[i]
            limit = table.first[i] - table.second[i]
            if enough:
                limit += _lowest(table, others, t)
        elif kind == _SOFT and not host:
            limit = _lowest(table, others, t)
        limits[i - start] = limit
        if host and kind in (_NEAR, _HARD):
            stamp = stamp * _MIX + limit + 1
    return stamp


# ---------------------------------------------------------------- hosts


@njit(**_FLAGS)
def on_hosts(values, sums, low, table, others, limits, c):
    """Constraints on hosts, worked into the values of a block."""
    start, stop = table.start[c], table.stop[c]
    for i in range(start, stop):
        kind, t, key = table.kind[i], table.tally[i], np.uint64(table.key[i])
        if kind == _NEVER:
            values[:] = 0
            return
        if table.is_host[key] == 0:
            return
        p, mask = np.uint64(0), np.uint64(0)
        if t >= 0:
            p, mask = np.uint64(table.tally_population[t]), np.uint64(table.tally_mask[t])
        limit, first, second = np.int32(limits[i - start]), table.first[i], table.second[i]
        for j in range(BLOCK):
            s = low + np.uint64(j)
            there = table.domain[key, s] > 0
            n = np.int32(0)
            if t >= 0 and there and (kind == _SOFT or table.mask[mask, s] > 0):
                n = np.int32(others.pods[p, s])
            if kind == _FAR:
                values[j] *= np.int32(n <= 0)
            elif kind == _NEAR:
                values[j] *= np.int32(there and (n > 0 or limit > 0))
            elif kind == _HARD:
                values[j] *= np.int32(there and n <= limit)
            elif kind == _SOFT:
                part = np.int32(100) * first // (first + n) // second
                if values[j] > 0 and there:
                    values[j] += np.int32(table.spread_weight * part)
            else:
                n *= first
                sums[j] = n if i == start or table.kind[i - 1] != _WISH else sums[j] + n
        last = i + 1 == stop or table.kind[i + 1] != _WISH or table.key[i + 1] != table.key[i]
        if kind == _WISH and last:
            _add_wishes(values, sums, table, i)


@njit(**_FLAGS)
def _add_wishes(values, sums, table, i):
    """Preferred terms on hosts, summed up, as scores."""
    most, total = table.second[i], table.third[i]
    for j in range(BLOCK):
        if values[j] > 0:
            size = abs(sums[j])
            part = np.int32(100) * size // (2 * size + most)
            part = 50 + part if sums[j] >= 0 else 50 - part
            values[j] += np.int32(table.affinity_weight * (part * most // total))


# ---------------------------------------------------------------- other keys


@njit(**_FLAGS)
def by_domain(allowed, bonus, base, table, others, limits, c):
    """What each domain of each key says to a class; whether blocks will do, and whether any does.

    ``base`` says where a key's domains begin in ``allowed`` and ``bonus``.
    """
    start, stop = table.start[c], table.stop[c]
    even, some = True, False
    for i in range(start, stop):
        key, t, kind = table.key[i], table.tally[i], table.kind[i]
        if table.is_host[key] > 0:
            continue
        first, size = base[key], table.domains[key]
        if i == start or table.key[i - 1] != key:
            allowed[first : first + size] = 1
            bonus[first : first + size] = 0
            even, some = even and table.is_even[key] > 0, True
        offset, limit = 0 if t < 0 else table.tally_offset[t], limits[i - start]
        if kind == _WISH:
            if i == start or table.kind[i - 1] != _WISH or table.key[i - 1] != key:
                _wish_domains(bonus, first, table, others, i, stop)
            continue
        if kind in (_NEAR, _HARD):
            allowed[first] = 0
        for d in range(1, size):
            n = np.int64(0) if t < 0 else np.int64(others.sums[offset + d])
            if kind == _FAR:
                allowed[first + d] &= np.uint8(n <= 0)
            elif kind == _NEAR:
                allowed[first + d] &= np.uint8(n > 0 or limit > 0)
            elif kind == _HARD:
                allowed[first + d] &= np.uint8(n <= limit)
            else:
                k = np.int64(table.first[i])
                part = 100 * k // (k + max(n - limit, 0)) // table.second[i]
                bonus[first + d] += np.int32(table.spread_weight * part)
    return even, some


@njit(**_FLAGS)
def _wish_domains(bonus, first, table, others, i, stop):
    """Preferred terms of one key, from constraint ``i`` on, as a bonus for each domain."""
    key, most, total = table.key[i], table.second[i], table.third[i]
    size = table.domains[key]
    sums = np.zeros(size, np.int64)
    low, found = np.int64(0), False
    last = i
    while last < stop and table.kind[last] == _WISH and table.key[last] == key:
        offset = table.tally_offset[table.tally[last]]
        for d in range(1, size):
            sums[d] += table.first[last] * np.int64(others.sums[offset + d])
        last += 1
    offset = table.tally_offset[table.tally[i]]
    for d in range(1, size):
        if others.nodes[offset + d] > 0:
            low = min(low, sums[d]) if found else sums[d]
            found = True
    for d in range(size):
        above = max(sums[d] - low, 0)
        part = 200 * above // (2 * above + most)
        bonus[first + d] += np.int32(table.affinity_weight * (part * most // total))


@njit(**_FLAGS)
def in_domains(values, low, allowed, bonus, base, table, c):
    """Work what the domains say into the values of a block."""
    before = np.int32(-1)
    for i in range(table.start[c], table.stop[c]):
        key = table.key[i]
        if table.is_host[key] > 0 or key == before:
            continue
        before, first = key, base[key]
        for j in range(BLOCK):
            d = first + table.domain[key, low + np.uint64(j)]
            if values[j] > 0:
                values[j] = (values[j] + bonus[d]) * np.int32(allowed[d])


@njit(**_FLAGS)
def may_stay(scratch, c, s, value, table, others, limits, keys):
    """Whether a pinned slot, worth ``value`` by itself, is good in view of other pods."""
    values, sums = scratch[0], scratch[4]
    values[:] = 0
    values[s % BLOCK] = value
    low = np.uint64(s // BLOCK * BLOCK)
    on_hosts(values, sums, low, table, others, limits, c)
    by_domain(keys[0], keys[1], keys[2], table, others, limits, c)
    in_domains(values, low, keys[0], keys[1], keys[2], table, c)
    return values[s % BLOCK] > 0


@njit(**_FLAGS)
def may_recover(table, c):
    """Whether a class that fits nowhere may fit once other pods are placed."""
    found = False
    for i in range(table.start[c], table.stop[c]):
        found = found or table.kind[i] in (_NEAR, _HARD)
    return found


@njit(**_FLAGS)
def recheck(table, others, class_ids, slots):
    """How many claims hold before the first that does not; those are counted."""
    base = np.zeros(table.is_host.shape[0] + 1, np.int64)
    for key in range(table.is_host.shape[0]):
        base[key + 1] = base[key] + (0 if table.is_host[key] > 0 else table.domains[key])
    keys = (np.ones(base[-1] + 1, np.uint8), np.zeros(base[-1] + 1, np.int32), base)
    scratch = (np.zeros(BLOCK, np.int32), 0, 0, 0, np.zeros(BLOCK, np.int32))
    most = 1
    for c in class_ids:
        most = max(most, table.stop[c] - table.start[c])
    limits = np.zeros(most, np.int64)
    for i in range(slots.shape[0]):
        c, s = class_ids[i], slots[i]
        if table.stop[c] > table.start[c]:
            limits_of(limits, table, others, c)
            if not may_stay(scratch, c, s, 1, table, others, limits, keys):
                return i
        count(table, others, c, s, 1)
    return slots.shape[0]

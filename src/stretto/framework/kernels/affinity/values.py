"""Compiled inter-pod constraints: their counts, and their effect on the values of a block.

This module is the numba form of ``compiled.affinity``. Constraints on hosts are slot-local except
for the *stamp* (the minimum count of a hard spread, and a flag for no matching pod). Constraints on
other keys become a filter result and a bonus for each domain.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.compiled.domain_tables import CAP, ConstraintKind
from stretto.state.rows.slots import BLOCK

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_INTO: Any = {"error_model": "numpy", "cache": True, "nogil": True, "forceinline": True}
_NEVER, _NEAR, _FAR = int(ConstraintKind.NEVER), int(ConstraintKind.NEAR), int(ConstraintKind.FAR)
_HARD, _SOFT, _PREFERRED = (
    int(ConstraintKind.HARD),
    int(ConstraintKind.SOFT),
    int(ConstraintKind.PREFERRED),
)
_MIX = 1_000_003
"""Larger than twice any number in a stamp, so that stamps distinguish them."""


# ---------------------------------------------------------------- counts


@njit(**_FLAGS)
def count(table, others, c, s, sign):
    """Count a pod of a class that is added to a slot (1) or removed (-1)."""
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
    """Return the minimum count of the domains with a counted node; 0 without such domains."""
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
def limits_of(hosts, limits, table, others, c):
    """Write the current limits of a class.

    Return the number of constraints on hosts, and the stamp.

    ``limits`` receives a number for each constraint, ``hosts`` a row for each constraint on hosts:
    kind, population (-1 for none), mask, key, limit, and the three numbers of the table.
    """
    start, stop = table.start[c], table.stop[c]
    may_be_first = 1
    for i in range(start, stop):
        if table.kind[i] == _NEAR and (table.first[i] == 0 or others.total[table.tally[i]] != 0):
            may_be_first = 0
    stamp, count_of_hosts = np.int64(table.salt), 0
    for i in range(start, stop):
        kind, t, key = table.kind[i], table.tally[i], table.key[i]
        host = table.is_host[key] > 0 or kind == _NEVER
        limit = np.int64(0)
        if kind == _NEAR:
            limit = np.int64(may_be_first)
        elif kind == _HARD:
            enough = t >= 0 and others.present[t] >= table.third[i]
            limit = np.int64(table.first[i] - table.second[i])
            if enough:
                limit += _lowest(table, others, t)
        elif kind == _SOFT and not host:
            limit = np.int64(_lowest(table, others, t))
        limits[i - start] = limit
        if not host:
            continue
        if kind in (_NEAR, _HARD):
            stamp = stamp * _MIX + limit + 1
        row = hosts[count_of_hosts]
        row[0], row[1], row[2], row[3], row[4] = kind, -1, 0, key, limit
        if t >= 0:
            row[1], row[2] = table.tally_population[t], table.tally_mask[t]
        row[5], row[6], row[7] = table.first[i], table.second[i], table.third[i]
        count_of_hosts += 1
    return count_of_hosts, stamp


# ---------------------------------------------------------------- hosts


@njit(**_INTO)
def on_hosts(values, sums, low, hosts, count_of_hosts, pods, domain, mask, weights):
    """Apply constraints on hosts to the values of a block; ``sums`` is a buffer."""
    has_preferred = False
    for h in range(count_of_hosts):
        kind, key = hosts[h, 0], np.uint64(hosts[h, 3])
        p, m = np.uint64(max(hosts[h, 1], 0)), np.uint64(hosts[h, 2])
        limit, no_pod = hosts[h, 4], hosts[h, 1] < 0
        if kind == _FAR:
            for j in range(BLOCK):
                s = low + np.uint64(j)
                values[j] *= np.int32((pods[p, s] <= 0) | (domain[key, s] == 0))
        elif kind == _NEAR:
            least = np.int32(0 if limit > 0 else 1)
            for j in range(BLOCK):
                s = low + np.uint64(j)
                values[j] *= np.int32((np.int32(pods[p, s]) >= least) & (domain[key, s] > 0))
        elif kind == _HARD:
            most, counts = np.int32(limit), np.int32(0 if no_pod else 1)
            for j in range(BLOCK):
                s = low + np.uint64(j)
                n = np.int32(pods[p, s]) * np.int32(mask[m, s]) * counts
                values[j] *= np.int32((n <= most) & (domain[key, s] > 0))
        elif kind == _SOFT:
            _add_evenness(values, low, pods, domain, p, key, no_pod, hosts[h], weights[1])
        elif kind == _PREFERRED:
            weight = np.int32(hosts[h, 5])
            for j in range(BLOCK):
                s = low + np.uint64(j)
                n = np.int32(pods[p, s]) * np.int32(domain[key, s] > 0) * weight
                sums[j] = n + (sums[j] if has_preferred else np.int32(0))
            has_preferred = True
            if h + 1 == count_of_hosts or hosts[h + 1, 0] != _PREFERRED:
                _add_preferences(values, sums, hosts[h, 6], hosts[h, 7], weights[0])
        else:
            values[:] = 0


@njit(**_INTO)
def _add_evenness(values, low, pods, domain, p, key, no_pod, host, weight):
    """A soft constraint on hosts as a score; doubles divide eight at once, and exactly here."""
    k = np.float64(host[5])
    counts = np.int32(0 if no_pod else 1)
    constraints = np.float64(host[6])
    for j in range(BLOCK):
        s = low + np.uint64(j)
        n = np.float64(np.int32(pods[p, s]) * counts)
        part = np.int32(np.float64(100.0) * k / (k + n))
        part = np.int32(np.float64(part) / constraints)
        there = np.int32((values[j] > 0) & (domain[key, s] > 0))
        values[j] += np.int32(weight) * part * there


@njit(**_INTO)
def _add_preferences(values, sums, most, total, weight):
    """Preferred terms on hosts, summed up, as a score."""
    largest, all_keys = np.float64(most), np.float64(total)
    for j in range(BLOCK):
        size = np.float64(abs(sums[j]))
        part = np.int32(np.float64(100.0) * size / (np.float64(2.0) * size + largest))
        part = np.int32(50) + (part if sums[j] >= 0 else -part)
        part = np.int32(np.float64(part) * largest / all_keys)
        values[j] += np.int32(weight) * part * np.int32(values[j] > 0)


# ---------------------------------------------------------------- other keys


@njit(**_FLAGS)
def by_domain(keys, table, others, limits, c):
    """Compute the effect of each domain; return the number of keys, and a flag for per-block use.

    ``keys`` is (allowed, bonus, base, listed): a filter result and a bonus for each domain, the
    offset of each key's domains in these, and the keys that the class uses.
    """
    allowed, bonus, base, listed = keys
    start, stop = table.start[c], table.stop[c]
    even, count_of_keys = True, 0
    for i in range(start, stop):
        key, t, kind = table.key[i], table.tally[i], table.kind[i]
        if table.is_host[key] > 0:
            continue
        first, size = base[key], table.domains[key]
        if i == start or table.key[i - 1] != key:
            allowed[first : first + size] = 1
            bonus[first : first + size] = 0
            even = even and table.is_even[key] > 0
            listed[count_of_keys] = key
            count_of_keys += 1
        offset, limit = 0 if t < 0 else table.tally_offset[t], limits[i - start]
        if kind == _PREFERRED:
            if i == start or table.kind[i - 1] != _PREFERRED or table.key[i - 1] != key:
                _preferred_domains(bonus, first, table, others, i, stop)
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
    return count_of_keys, even


@njit(**_FLAGS)
def _preferred_domains(bonus, first, table, others, i, stop):
    """Add the preferred terms of one key, from constraint ``i`` on, as a bonus for each domain."""
    key, most, total = table.key[i], table.second[i], table.third[i]
    size = table.domains[key]
    sums = np.zeros(size, np.int64)
    low, found = np.int64(0), False
    last = i
    while last < stop and table.kind[last] == _PREFERRED and table.key[last] == key:
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


@njit(**_INTO)
def in_domains(values, low, keys, count_of_keys, domain):
    """Apply the filter results and bonuses of the domains to the values of a block."""
    allowed, bonus, base, listed = keys
    for n in range(count_of_keys):
        key = listed[n]
        first, of = base[key], np.uint64(key)
        for j in range(BLOCK):
            d = first + domain[of, low + np.uint64(j)]
            values[j] = (values[j] + bonus[d]) * np.int32(allowed[d]) * np.int32(values[j] > 0)


@njit(**_FLAGS)
def can_stay(values, sums, value, c, s, table, others, buffers, count_of_hosts):
    """Return whether a slot with the value ``value`` satisfies the inter-pod constraints.

    ``buffers`` is (hosts, limits, keys), with the current limits.
    """
    hosts, limits, keys = buffers
    values[:] = 0
    values[s % BLOCK] = value
    low = np.uint64(s // BLOCK * BLOCK)
    weights = (table.affinity_weight, table.spread_weight)
    on_hosts(
        values, sums, low, hosts, count_of_hosts, others.pods, table.domain, table.mask, weights
    )
    count_of_keys, _ = by_domain(keys, table, others, limits, c)
    in_domains(values, low, keys, count_of_keys, table.domain)
    return values[s % BLOCK] > 0


@njit(**_FLAGS)
def may_recover(table, c):
    """Return whether a class that fits nowhere may fit after other pods are placed."""
    found = False
    for i in range(table.start[c], table.stop[c]):
        found = found or table.kind[i] in (_NEAR, _HARD)
    return found


@njit(**_FLAGS)
def buffers_of(table):
    """Return buffers for the constraints of any class: (hosts, limits, keys)."""
    size = table.is_host.shape[0]
    base = np.zeros(size + 1, np.int64)
    for key in range(size):
        base[key + 1] = base[key] + (0 if table.is_host[key] > 0 else table.domains[key])
    most = 1
    for c in range(table.start.shape[0]):
        most = max(most, table.stop[c] - table.start[c])
    capacity = base[size] + 1
    keys = (
        np.ones(capacity, np.uint8),
        np.zeros(capacity, np.int32),
        base,
        np.zeros(size + 1, np.int64),
    )
    return np.zeros((most, 8), np.int64), np.zeros(most, np.int64), keys


@njit(**_FLAGS)
def recheck(table, others, class_ids, slots):
    """Return the number of valid claims before the first invalid one; valid claims are counted."""
    buffers = buffers_of(table)
    values, sums = np.zeros(BLOCK, np.int32), np.zeros(BLOCK, np.int32)
    for i in range(slots.shape[0]):
        c, s = class_ids[i], slots[i]
        if table.stop[c] > table.start[c]:
            hosts, _ = limits_of(buffers[0], buffers[1], table, others, c)
            if not can_stay(values, sums, np.int32(1), c, s, table, others, buffers, hosts):
                return i
        count(table, others, c, s, 1)
    return slots.shape[0]

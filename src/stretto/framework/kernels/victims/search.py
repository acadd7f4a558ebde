"""The compiled search for victims: all nodes compared by sums, the promising ones pod by pod.

Results equal those of the NumPy tier and of simulating every node (``one_node``); tests compare
them. If evictions up to band ``q`` are enough on a node, the pods of higher bands stay: they fit
together, so each alone fits too. The search therefore examines only the pods up to the lowest
sufficient band. Pods under an exhausted budget stay, as long as some node needs no
violation. Where neither rule decides (a budget that allows some evictions on a node, a claim that
waits for its own victims, a terminating pod) the kernel simulates the node in full.

Functions take arrays one by one: a table inside a compiled loop costs a reference count.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.kernels.borrow import borrowed
from stretto.framework.kernels.numpy.victims import (
    DOUBTFUL,
    SPENT,
    VictimDemand,
    VictimIndex,
    VictimSearchHit,
    VictimSearchLimits,
)

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_TO_POSITIVE = np.int64(1) << 31
NO_TOP = -(np.int64(1) << 31)
_NOTHING = (np.int64(0), NO_TOP, np.int64(0), np.int64(0), 0.0)
_SPENT, _DOUBTFUL = np.uint8(SPENT), np.uint8(DOUBTFUL)


@njit(**_FLAGS)
def mask_of(free, extra, columns, need, admitted, mask):
    """Mark the slots that have enough if ``extra`` is free too; return their number."""
    size, found = admitted.shape[0], np.int64(0)
    for s in range(size):
        mask[s] = admitted[s]
    for j in range(columns.shape[0]):
        here, more, wanted = free[columns[j]], extra[columns[j]], need[j]
        for s in range(size):
            mask[s] = mask[s] & np.uint8(here[s] + more[s] >= wanted)
        found = np.int64(0)
        for s in range(size):
            found += np.int64(mask[s])
        if found == 0:
            break
    return found


@njit(**_FLAGS)
def lowest_band(free, below, bands, columns, need, admitted, mask, sure):
    """Return the lowest band at which some slot has enough, or ``bands``.

    Its slots are in ``mask``.

    ``sure`` states that some slot has enough at the highest band.
    """
    low, high, marked = 0, bands - 1, -1
    if not sure:
        marked = high
        if mask_of(free, below[high], columns, need, admitted, mask) == 0:
            return bands
    while low < high:
        marked = (low + high) // 2
        if mask_of(free, below[marked], columns, need, admitted, mask) > 0:
            high = marked
        else:
            low = marked + 1
    if marked != low:
        mask_of(free, below[low], columns, need, admitted, mask)
    return low


@njit(**_FLAGS)
def better(a, b):
    """True if a key is smaller than another: violations, top, sum, number, less the start."""
    if a[0] != b[0]:
        return a[0] < b[0]
    if a[1] != b[1]:
        return a[1] < b[1]
    if a[2] != b[2]:
        return a[2] < b[2]
    if a[3] != b[3]:
        return a[3] < b[3]
    return a[4] > b[4]


@njit(**_FLAGS)
def first_below(priority, count, s, limit):
    """Return the position of the first entry of a slot with a priority below a limit."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if priority[s, middle] < limit:
            high = middle
        else:
            low = middle + 1
    return low


@njit(**_FLAGS)
def walk(entries, free, requests, columns, need, s, limit, capacity, taken, standing):
    """Find the victims of a slot without a budget violation; entries of ``limit`` and above stay.

    The least important entries are removed until the preemptor fits. The entries before them would
    be reprieved first, and they fit together, so the kernel does not examine them.
    ``taken`` receives the positions of the victims, ``capacity`` is scratch. The result is the key
    and the number of victims; -1 if all entries are not enough, -2 if a budget allows only some
    evictions.
    """
    count, priority, start, request = entries[0][s], entries[3][s], entries[4][s], entries[5][s]
    budget = entries[7][s]
    wanted = columns.shape[0]
    short = 0
    for j in range(wanted):
        capacity[j] = free[columns[j], s]
        short += capacity[j] < need[j]
    first = count
    while short > 0 and first > 0 and priority[first - 1] < limit:
        first -= 1
        status = standing[budget[first]]
        if status == _DOUBTFUL:
            return _NOTHING, -2
        if status == _SPENT:
            continue
        for j in range(wanted):
            before = capacity[j] < need[j]
            capacity[j] += requests[request[first], columns[j]]
            short -= before and capacity[j] >= need[j]
    if short > 0:
        return _NOTHING, -1
    number, total = 0, np.int64(0)
    for k in range(first, count):
        if standing[budget[k]] == _SPENT:
            continue
        a = request[k]
        spared = True
        for j in range(wanted):
            spared &= capacity[j] - requests[a, columns[j]] >= need[j]
        if spared:
            for j in range(wanted):
                capacity[j] -= requests[a, columns[j]]
        else:
            taken[number] = k
            number += 1
            total += priority[k] + _TO_POSITIVE
    if number == 0:
        return _NOTHING, 0
    k = taken[0]
    return (np.int64(0), np.int64(priority[k]), total, np.int64(number), start[k]), number


@njit(**_FLAGS)
def _mark_breaches(marks, left, sets, budget, s, first, count):
    """Mark with 1 the entries of a slot whose eviction, in order, violates a budget."""
    set_first, set_items = sets
    for k in range(first, count):
        marks[k] = 0
        for i in range(set_first[budget[s, k]], set_first[budget[s, k] + 1]):
            left[set_items[i]] -= 1
            if left[set_items[i]] < 0:
                marks[k] = 1
    for k in range(first, count):
        for i in range(set_first[budget[s, k]], set_first[budget[s, k] + 1]):
            left[set_items[i]] += 1


@njit(**_FLAGS)
def walk_irregular(
    entries, free, requests, columns, need, s, limit, capacity, taken, left, sets, hard, marks
):
    """Walk a slot with budgets, waiting claims or terminating pods, like ``walk``.

    ``left`` are the budgets' allowances (changed and put back), ``sets`` is (first, items) of each
    set of budgets, ``marks`` is scratch: 1 = violates a budget, 2 = stays. Positions of claims that
    lose their capacity come last in ``taken``; the second number is the number of victims before.
    """
    count, priority, start = entries[0][s], entries[3], entries[4]
    request, kind, budget = entries[5], entries[6], entries[7]
    first = first_below(priority, count, s, limit)
    wanted = columns.shape[0]
    _mark_breaches(marks, left, sets, budget, s, first, count)
    for j in range(wanted):
        capacity[j] = free[columns[j], s]
    for k in range(first, count):
        if hard and marks[k] == 1:
            marks[k] = 2
            continue
        for j in range(wanted):
            capacity[j] += requests[request[s, k], columns[j]]
    for j in range(wanted):
        if capacity[j] < need[j]:
            return _NOTHING, -1, 0
    number, violations, displaced = 0, 0, 0
    for turn in range(3):  # budget violations, the others, waiting claims
        for k in range(first, count):
            mine = kind[s, k] == 1 if turn == 2 else kind[s, k] == 0 and marks[k] == 1 - turn
            if not mine:
                continue
            spared = True
            for j in range(wanted):
                if capacity[j] - requests[request[s, k], columns[j]] < need[j]:
                    spared = False
                    break
            if spared:
                for j in range(wanted):
                    capacity[j] -= requests[request[s, k], columns[j]]
            else:
                taken[number] = k
                number += 1
                violations += turn == 0
                displaced += turn == 2
    victims = number - displaced
    top, total, begun = NO_TOP, np.int64(0), 0.0
    for i in range(victims):
        k = taken[i]
        total += priority[s, k] + _TO_POSITIVE
        if priority[s, k] > top:
            top, begun = np.int64(priority[s, k]), start[s, k]
        elif priority[s, k] == top:
            begun = min(begun, start[s, k])
    key = (np.int64(violations), top, total, np.int64(victims), begun)
    return key, victims, displaced


@njit(**_FLAGS)
def needed(free, columns, need, largest, s, most):
    """Return a lower bound of a slot's victims, each of the largest size; or ``most`` + 1."""
    n = np.int64(0)
    for j in range(columns.shape[0]):
        short = need[j] - free[columns[j], s] - n * largest[j]
        while short > 0 and n <= most:
            n += 1
            short -= largest[j]
    return n


@njit(**_FLAGS)
def find(entries, sums, bands, requests, columns, need, priority, admitted, budgets, scratch,
         pick, largest):  # fmt: skip
    """Run ``_find`` with buffers.

    The caller holds all arrays, so that none is reference-counted.
    """
    size, width = admitted.shape[0], scratch[1].shape[0]
    buffers = (np.zeros(size, np.uint8), np.zeros(size, np.uint8), np.zeros(width, np.int32))
    return _find(
        entries, sums, bands, requests, columns, need, priority, admitted, budgets, scratch, pick,
        (*buffers, largest),
    )  # fmt: skip


@njit(**_FLAGS)
def _is_no_better(entries, s, n, edges, q, best_key):
    """Return whether a slot that needs ``n`` victims at best ties with the best key so far."""
    length, priorities, starts = entries[0], entries[3], entries[4]
    least, dearest = edges[0] + _TO_POSITIVE, edges[q] + _TO_POSITIVE
    at = length[s] - n
    same = n > 0 and at >= 0 and dearest + (n - 1) * least == best_key[2]
    return same and priorities[s, at] == edges[q] and starts[s, at] <= best_key[4]


@njit(**_FLAGS)
def _copy(source, target, count):
    """Copy the first ``count`` positions of one array to another."""
    for v in range(count):
        target[v] = source[v]


@njit(**_FLAGS)
def _find(entries, sums, bands, requests, columns, need, priority, admitted, budgets, scratch,
          pick, buffers):  # fmt: skip
    """Return (slot or -1, key, victims, claims that lose capacity); ``scratch[1]``: positions.

    ``pick`` is (offset, most, from_band, phases): first examined slot, maximum of sufficient slots,
    first band, 1 or 2. The search for the best of all slots starts at the lowest band.
    """
    entries, sums, requests, columns = borrowed((entries, sums, requests, columns))
    need, admitted, budgets, scratch = borrowed((need, admitted, budgets, scratch))
    mask, seen, kept, largest = borrowed(buffers)
    free, below, safe, edges = sums
    offset, most, from_band, phases = pick
    once, whole = phases == 1, safe if phases == 1 else below
    if bands == 0 or mask_of(free, whole[bands - 1], columns, need, admitted, mask) == 0:
        return -1, _NOTHING, 0, 0  # evicting all entries is not enough
    pruning = offset == 0 and edges[0] > NO_TOP and edges[-1] < _TO_POSITIVE
    best, best_key, best_number, best_displaced = -1, _NOTHING, 0, 0
    examined, size = 0, admitted.shape[0]
    for phase in range(phases):
        extra = safe if phase == 0 else below
        q, marked = bands - 1, -1
        if phase == 0:
            q = marked = lowest_band(free, extra, bands, columns, need, admitted, mask, once)
        q = max(q, min(from_band, bands - 1))
        while q < bands:
            if q != marked:
                mask_of(free, extra[q], columns, need, admitted, mask)
            fewest = np.int64(1) << 31  # victims with which a node could still be the best
            for i in range(size):
                s = i + offset if i + offset < size else i + offset - size
                if not mask[s] or seen[s]:
                    continue
                seen[s] = 1
                if pruning and not entries[1][s] and fewest < 1 << 31:
                    n = needed(free, columns, need, largest, s, fewest)
                    if n > fewest or _is_no_better(entries, s, n, edges, q, best_key):
                        continue
                key, number, displaced = _at_band(
                    entries, sums, requests, columns, need, s, priority, q, scratch, budgets,
                    phase == 0,
                )  # fmt: skip
                if number < 0:
                    seen[s] = number != -1  # at -1 a higher band may suffice
                    continue
                examined += 1
                if best < 0 or better(key, best_key) or (s < best and not better(best_key, key)):
                    best, best_key, best_number, best_displaced = s, key, number, displaced
                    _copy(scratch[1], kept, number + displaced)
                    if key[0] == 0 and key[1] == edges[q] and pruning:
                        fewest = 1 + (key[2] - _TO_POSITIVE - edges[q]) // (edges[0] + _TO_POSITIVE)
                if examined >= most:
                    break
            if best >= 0 and (examined >= most or (best_key[0] == 0 and best_key[1] <= edges[q])):
                break
            q += 1
        if best >= 0 and (examined >= most or best_key[0] == 0):
            break
    _copy(kept, scratch[1], best_number + best_displaced)
    return best, best_key, best_number, best_displaced


@njit(**_FLAGS)
def _at_band(entries, sums, requests, columns, need, s, priority, q, scratch, budgets, plainly):
    """Find the victims of a slot; use only the entries up to a band if they decide."""
    capacity, taken, marks = scratch
    left, set_first, set_items, standing, hard = budgets
    if plainly and not entries[1][s]:
        limit = min(np.int64(priority), sums[3][q] + 1)
        key, number = walk(
            entries, sums[0], requests, columns, need, s, limit, capacity, taken, standing
        )  # fmt: skip
        if number != -2:
            return key, number, 0
    key, number, displaced = walk_irregular(
        entries, sums[0], requests, columns, need, s, priority, capacity, taken, left,
        (set_first, set_items), hard, marks,
    )  # fmt: skip
    return key, number if number >= 0 else -3, displaced


def search(
    index: VictimIndex, wanted: VictimDemand, limits: VictimSearchLimits
) -> VictimSearchHit | None:
    """Return the best node for a pod, the first slot of equally good ones.

    ``None`` if none fits.
    """
    entries, sums = index.entries, index.sums
    width = entries.row.shape[1]
    scratch = (
        np.zeros(len(wanted.columns), np.int64),
        np.zeros(width, np.int32),
        np.zeros(width, np.uint8),
    )
    first, items = limits.arrays
    once = sums.safe is sums.below or limits.hard
    slot, key, number, displaced = find(
        tuple(entries),
        tuple(sums),
        wanted.bands,
        index.requests,
        wanted.columns,
        wanted.need,
        wanted.priority,
        wanted.admitted,
        (limits.left.copy(), first, items, limits.standing, limits.hard),
        scratch,
        (limits.offset, limits.most, limits.from_band, 1 if once else 2),
        index.largest[wanted.columns],
    )
    if slot < 0:
        return None
    rows = entries.row[slot]
    violations, top, total, count, begun = key
    beyond = frozenset(int(rows[k]) for k in scratch[1][:violations])
    chosen = sorted(scratch[1][:number].tolist())
    lost = scratch[1][number : number + displaced].tolist()
    return VictimSearchHit(
        int(slot),
        (int(violations), int(top), int(total), int(count), -float(begun)),
        tuple(int(rows[k]) for k in chosen),
        beyond,
        tuple(int(rows[k]) for k in lost),
    )

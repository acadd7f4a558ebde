"""Compiled placement in given slots: NUMA nodes, domains in order, and caps.

For constraints that a score row over all nodes cannot express. The caller lists domains (runs of
slots) in the order of trial; a unit goes into the first domain that fits it. The kernel computes
the values of a class for the slots of one domain and updates them after later placements, so that a
rack of forty nodes costs forty values. The value of a slot is ``slot_value`` if the pod also fits
its NUMA nodes. ``kernels.numpy.groups`` is the NumPy form; a property test compares both.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.compiled.group_tables import OWN
from stretto.framework.kernels.borrow import borrowed
from stretto.framework.kernels.groups.numa import (
    charge_shares,
    choose_numa_nodes,
    pick_local_devices,
    take_numa_nodes,
)
from stretto.framework.kernels.place.devices import apply, pick_devices
from stretto.framework.kernels.place.slot_value import slot_value
from stretto.state.numa.layout import MAX_NUMA_NODES
from stretto.state.numa.ledger import DEVICE_BITS, NUMA_COLUMNS, NUMA_SHIFT
from stretto.state.rows.slots import BLOCK

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_WHOLE = 2
"""Code of the binding to whole NUMA nodes."""


@njit(**_FLAGS)
def _value(program, state, numa, requests, caps, j, c, search, p, fitting, base):
    """Return the value of a place of the search for a class; 0 if infeasible."""
    classes, static, pair, scores, typical, thresholds = program
    for q in range(caps.capacity.shape[0]):
        domain = caps.domain[q, p]
        if domain >= 0 and caps.capacity[q, domain] <= 0:
            return np.int32(0)
    s, (rows, touched) = search.slots[p], base
    if rows.shape[0] > 0 and touched[s] == 0:
        value = np.int32(rows[j, s])
    else:
        value = np.int32(
            slot_value(classes, static, pair, scores, typical, thresholds, c, s, state)
        )
    bound = value > 0 and requests.binding[j] > 0
    if bound and choose_numa_nodes(classes, c, numa, requests, j, s, state, fitting, True) == 0:
        return np.int32(0)
    if value > 0 and search.own[p]:
        value += np.int32(OWN)
    return value


@njit(**_FLAGS)
def _refresh(program, state, numa, requests, caps, j, c, search, rows_state, first, last, fitting):
    """Update the values of a class for one domain."""
    rows, peaks, made, seen, changes, changed, _, tops, base = rows_state
    if made[j] == first and seen[j] == changed[0]:
        return
    row, peak = rows[j], peaks[j]
    fresh = made[j] != first or changed[0] - seen[j] > (last - first) // 2
    if fresh:
        peak[: (last - first) // BLOCK + 1] = 0
        for p in range(first, last):
            value = _value(program, state, numa, requests, caps, j, c, search, p, fitting, base)
            row[p - first] = value
            b = (p - first) // BLOCK
            peak[b] = max(peak[b], value)
    else:
        for e in range(seen[j], changed[0]):
            p = changes[e]
            value = _value(program, state, numa, requests, caps, j, c, search, p, fitting, base)
            before = row[p - first]
            row[p - first] = value
            b = (p - first) // BLOCK
            if value >= peak[b]:
                peak[b] = value
            elif before == peak[b]:
                top = np.int32(0)
                for i in range(b * BLOCK, min((b + 1) * BLOCK, last - first)):
                    top = max(top, row[i])
                peak[b] = top
    made[j], seen[j] = first, changed[0]
    best = np.int32(0)
    for b in range((last - first + BLOCK - 1) // BLOCK):
        best = max(best, peak[b])
    tops[j] = best


@njit(**_FLAGS)
def _pick(row, peak, top, length, begin):
    """Return the best place, of equal ones in a ring from ``begin``; -1 if there is none."""
    blocks = (length + BLOCK - 1) // BLOCK
    if top == 0:
        return -1
    begin = begin if begin < length else 0
    b = begin // BLOCK
    for i in range(begin, min((b + 1) * BLOCK, length)):
        if row[i] == top:
            return i
    for step in range(1, blocks + 1):
        at = (b + step) % blocks
        if peak[at] == top:
            for i in range(at * BLOCK, min((at + 1) * BLOCK, length)):
                if row[i] == top:
                    return i
    return -1


@njit(**_FLAGS)
def _note(caps, p, rows_state, sign, first, last):
    """Update the values of the domain after a place was charged or released."""
    changes, changed, following = rows_state[4], rows_state[5], rows_state[6]
    changes[changed[0]] = p
    changed[0] += 1
    for q in range(caps.capacity.shape[0]):
        domain = caps.domain[q, p]
        if domain < 0:
            continue
        before = caps.capacity[q, domain]
        caps.capacity[q, domain] = before - sign
        if (before > 0) == (before - sign > 0):
            continue
        other = following[q, p]
        while other != p:
            if first <= other < last:
                changes[changed[0]] = other
                changed[0] += 1
            other = following[q, other]


@njit(**_FLAGS)
def _place_unit(
    program, state, numa, requests, caps, search, job, u, d, rows_state, held, choice, fitting
):
    """Place one unit in one domain; return the number of its pods with a place."""
    classes, static, typical, thresholds = program[0], program[1], program[4], program[5]
    start, stop = job.start[u], job.start[u + 1]
    first, last = search.start[d], search.start[d + 1]
    placed, failed, hopeless = 0, -1, 0
    log, log_state, device_pick = choice
    for i in range(start, stop):
        j = job.local[i]
        c = job.class_id[j]
        _refresh(
            program, state, numa, requests, caps, j, c, search, rows_state, first, last, fitting
        )
        hopeless += rows_state[7][j] == 0
    if stop - start - hopeless < job.at_least[u]:
        return 0
    for i in range(start, stop):
        j = job.local[i]
        c = job.class_id[j]
        if stop - i + placed < job.at_least[u]:
            break
        job.slot[i] = -1
        if j == failed:
            continue
        _refresh(
            program, state, numa, requests, caps, j, c, search, rows_state, first, last, fitting
        )
        at = _pick(
            rows_state[0][j], rows_state[1][j], rows_state[7][j], last - first, search.cursor[0]
        )
        if at < 0:
            failed = j
            continue
        p = first + at
        s = search.slots[p]
        mask = np.int32(0)
        if requests.binding[j] > 0:
            inside = choose_numa_nodes(classes, c, numa, requests, j, s, state, fitting, False)
            mask = pick_local_devices(classes, c, s, state, numa, requests, j, inside, fitting)
            apply(classes, static, c, s, state, mask, 1)
            take_numa_nodes(classes, c, numa, requests, j, s, state, inside, held[i])
            mask |= inside << np.int32(NUMA_SHIFT)
        else:
            mask = pick_devices(
                classes, c, s, state, typical, thresholds, device_pick, np.uint64(0)
            )
            apply(classes, static, c, s, state, mask, 1)
        log[log_state[1]] = s
        log_state[1] += 1
        touched = rows_state[8][1]
        if touched.shape[0] > 0:
            touched[s] = 1
        job.slot[i], job.mask[i] = p, mask
        _note(caps, p, rows_state, 1, first, last)
        search.cursor[0] = at + 1
        placed += 1
    return placed


@njit(**_FLAGS)
def _undo_unit(program, state, numa, requests, caps, search, job, u, rows_state, held):
    """Release all places of a unit, the last first."""
    classes, static = program[0], program[1]
    for i in range(job.start[u + 1] - 1, job.start[u] - 1, -1):
        p, j = job.slot[i], job.local[i]
        job.slot[i] = -1
        if p < 0:
            continue
        s, c, inside = search.slots[p], job.class_id[j], job.mask[i] >> np.int32(NUMA_SHIFT)
        if requests.binding[j] > 0:
            for z in range(numa.count[s]):
                for k in range(NUMA_COLUMNS):
                    numa.free[s, z, k] += held[i, z, k]
                    held[i, z, k] = 0
            if requests.binding[j] == _WHOLE:
                charge_shares(classes, c, numa, s, state, inside, -1)
        apply(classes, static, c, s, state, job.mask[i] & np.int32(DEVICE_BITS), -1)
        for q in range(caps.capacity.shape[0]):
            if caps.domain[q, p] >= 0:
                caps.capacity[q, caps.domain[q, p]] += 1
        job.mask[i] = 0
    rows_state[2][:] = -1
    rows_state[5][0] = 0


@njit(**_FLAGS)
def count_in_slots(program, state, numa, requests, caps, search, c):
    """Return the number of places of a search on which a class with NUMA nodes fits now."""
    fitting = np.zeros(MAX_NUMA_NODES, np.int64)
    base = (np.zeros((0, 0), np.int16), np.zeros(0, np.uint8))
    found = 0
    for p in range(search.slots.shape[0]):
        found += _value(program, state, numa, requests, caps, 0, c, search, p, fitting, base) > 0
    return found


@njit(**_FLAGS)
def _rings(caps, search):
    """Return int32[cap, k]: for each place the next one with the same label value, in a ring."""
    length = search.slots.shape[0]
    following = np.empty((caps.capacity.shape[0], length), np.int32)
    for q in range(caps.capacity.shape[0]):
        latest = np.full(caps.capacity.shape[1], -1, np.int32)
        earliest = np.full(caps.capacity.shape[1], -1, np.int32)
        for p in range(length - 1, -1, -1):
            domain = caps.domain[q, p]
            if domain < 0:
                following[q, p] = p
                continue
            following[q, p] = latest[domain]
            if earliest[domain] < 0:
                earliest[domain] = p
            latest[domain] = p
        for v in range(caps.capacity.shape[1]):
            if earliest[v] >= 0:
                following[q, earliest[v]] = latest[v]
    return following


@njit(**_FLAGS)
def place_in_slots(
    program, state, numa, requests, caps, search, job, log, log_state, device_pick, rows
):
    """Place units in order, each in the first domain that fits it.

    Return the number of tried units.

    The results are in ``job.slot`` and ``job.mask``; a unit that fits no domain changes neither the
    snapshot nor the log. The log must have capacity for one entry per pod. ``rows`` contains the
    values of the classes on all current slots (int16[class, slot]); with 0 rows, the kernel
    computes them.
    """
    classes, pods, places = job.class_id.shape[0], job.local.shape[0], search.slots.shape[0]
    domains = search.start.shape[0] - 1
    longest = 0
    for d in range(domains):
        longest = max(longest, search.start[d + 1] - search.start[d])
    capacity = 2 * pods + 2 + caps.capacity.shape[0] * places
    bound = False
    for j in range(classes):
        bound |= requests.binding[j] > 0
    rows_state = (
        np.zeros((classes, longest), np.int32),
        np.zeros((classes, longest // BLOCK + 1), np.int32),
        np.full(classes, -1, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(capacity, np.int32),
        np.zeros(1, np.int64),
        _rings(caps, search),
        np.zeros(classes, np.int32),
        (rows, np.zeros(rows.shape[1], np.uint8)),
    )
    held = np.zeros((pods if bound else 0, MAX_NUMA_NODES, NUMA_COLUMNS), np.int64)
    fitting = np.zeros(MAX_NUMA_NODES, np.int64)
    choice = (log, log_state, device_pick)
    return _place_units(
        program, state, numa, requests, caps, search, job, rows_state, held, choice, fitting
    )


@njit(**_FLAGS)
def _place_units(
    program, state, numa, requests, caps, search, job, rows_state, held, choice, fitting
):
    """Run ``place_in_slots`` with buffers.

    The caller holds all arrays, none is reference-counted.
    """
    program, state, numa = borrowed(program), borrowed(state), borrowed(numa)
    requests, caps, search, job = (
        borrowed(requests),
        borrowed(caps),
        borrowed(search),
        borrowed(job),
    )
    rows_state, held, choice, fitting = borrowed((rows_state, held, choice, fitting))
    domains, log_state = search.start.shape[0] - 1, choice[1]
    for u in range(job.at_least.shape[0]):
        start, stop = job.start[u], job.start[u + 1]
        placed, mark, turn = 0, log_state[1], search.cursor[0]
        for d in range(domains):
            if domains > 1:
                search.cursor[0] = 0
                rows_state[2][:] = -1
                rows_state[5][0] = 0
            placed = _place_unit(
                program,
                state,
                numa,
                requests,
                caps,
                search,
                job,
                u,
                d,
                rows_state,
                held,
                choice,
                fitting,
            )
            if placed > 0 and placed >= job.at_least[u]:
                break
            _undo_unit(program, state, numa, requests, caps, search, job, u, rows_state, held)
            log_state[1], search.cursor[0] = mark, turn
            placed = 0
        for i in range(start, stop):
            if job.slot[i] >= 0:
                job.slot[i] = search.slots[job.slot[i]]
            else:
                job.slot[i] = -1
        if placed == 0 and stop > start and job.blocking[u]:
            return u + 1
    return job.at_least.shape[0]

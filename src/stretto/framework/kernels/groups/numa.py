"""Compiled choice of NUMA nodes on one machine, and of devices near them.

This module is the compiled form of ``state.numa.choice``, which documents the choice; a property
test compares both. ``group_tables`` describes the arrays.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.state.numa.layout import MAX_NUMA_NODES
from stretto.state.numa.ledger import NUMA_COLUMNS
from stretto.state.rows.devices import MAX_DEVICES

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_WHOLE, _SOCKET = 2, 3
_CONFLICTING = 2
"""Columns below this one are CPU and memory."""


@njit(**_FLAGS)
def _bits(mask):
    """Return the number of set bits."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@njit(**_FLAGS)
def _devices_in(classes, c, q, s, state, numa, fitting):
    """Count suitable devices by NUMA node; return the number of all with a known NUMA node."""
    device_free, device_kind, device_model = state[3], state[4], state[5]
    count = numa.count[s]
    fitting[:count] = 0
    known = 0
    milli, kind = classes.device[c, 4 * q + 1], classes.device[c, 4 * q + 2]
    models = classes.models[c, q]
    for d in range(MAX_DEVICES):
        z = numa.device_numa_node[s, d]
        if device_kind[s, d] != kind or z < 0 or z >= count:
            continue
        known += 1
        if device_free[s, d] >= milli and (models >> np.int64(device_model[s, d])) & 1:
            fitting[z] += 1
    return known


@njit(**_FLAGS)
def _allowed(order, count, inside, most):
    """Return the bit mask of the NUMA nodes that one resource may use.

    See ``choice.numa_nodes_for``.
    """
    found = np.int32(0) if most <= _bits(inside) else inside
    while _bits(found) < min(most, count):
        best, value = -1, np.int64(0)
        for z in range(count):
            bit = np.int32(1) << np.int32(z)
            if found & bit or (most <= _bits(inside) and not inside & bit):
                continue
            if best < 0 or order[z] > value:
                best, value = z, order[z]
        found |= np.int32(1) << np.int32(best)
    return found


@njit(**_FLAGS)
def _amounts_fit(numa, requests, j, s, inside, exact):
    """Return whether the NUMA nodes of a mask have all amounts.

    With ``exact``, all amounts are on these NUMA nodes; otherwise (whole NUMA nodes), resources
    other than CPU and memory may be on a subset or a superset.
    """
    count = numa.count[s]
    for k in range(NUMA_COLUMNS):
        amount = requests.amount[j, k]
        if amount <= 0 or numa.average[s, k] == 0:
            continue
        allowed = inside
        if not exact and k >= _CONFLICTING:
            most = -(-amount // numa.average[s, k])
            allowed = _allowed(numa.free[s, :, k], count, inside, most)
        total = np.int64(0)
        for z in range(count):
            if (allowed >> np.int32(z)) & 1:
                total += numa.free[s, z, k]
        if total < amount:
            return False
    return True


@njit(**_FLAGS)
def _numa_of_devices(classes, c, q, s, state, numa, inside, exact, fitting):
    """Return the bit mask of the NUMA nodes that a device request may use; 0 if none is known."""
    known = _devices_in(classes, c, q, s, state, numa, fitting)
    if known == 0:
        return np.int32(0)
    if exact:
        return inside
    count = numa.count[s]
    average = -(-known // count)
    return _allowed(fitting, count, inside, -(-classes.device[c, 4 * q] // average))


@njit(**_FLAGS)
def _devices_fit_numa(classes, c, s, state, numa, inside, exact, fitting):
    """Return whether the NUMA nodes of a mask have the devices that a class requests."""
    for q in range(classes.models.shape[1]):
        need = classes.device[c, 4 * q]
        if need == 0:
            continue
        allowed = _numa_of_devices(classes, c, q, s, state, numa, inside, exact, fitting)
        if allowed == 0:
            continue
        total = 0
        for z in range(numa.count[s]):
            if (allowed >> np.int32(z)) & 1:
                total += fitting[z]
        if total < need:
            return False
    return True


@njit(**_FLAGS)
def _whole_numa_nodes(classes, c, numa, requests, j, s, state, fitting):
    """Return the number of whole NUMA nodes that a class needs on a slot."""
    number = np.int64(1)
    for k in range(NUMA_COLUMNS):
        amount, average = requests.amount[j, k], numa.average[s, k]
        if amount > 0 and average > 0 and (k < _CONFLICTING or requests.aligned[j, k]):
            number = max(number, -(-amount // average))
    for q in range(classes.models.shape[1]):
        if classes.device[c, 4 * q] > 0 and requests.device_aligned[j, q]:
            known = _devices_in(classes, c, q, s, state, numa, fitting)
            if known > 0:
                average = -(-np.int64(known) // numa.count[s])
                number = max(number, -(-classes.device[c, 4 * q] // average))
    return number


@njit(**_FLAGS)
def _spared(numa, s, inside, state):
    """Return whether the node as a whole has the amounts of the NUMA nodes of a mask free."""
    for r in range(2):
        total = np.int64(0)
        for z in range(numa.count[s]):
            if (inside >> np.int32(z)) & 1:
                total += numa.share[s, z, r]
        if total > state[0][r, s]:
            return False
    return True


@njit(**_FLAGS)
def _choose_whole_nodes(classes, c, numa, requests, j, s, state, fitting, first):
    """Choose whole NUMA nodes; with ``first``, any sufficient set."""
    count = np.int64(numa.count[s])
    number = _whole_numa_nodes(classes, c, numa, requests, j, s, state, fitting)
    spare = np.zeros(MAX_NUMA_NODES, np.int32)
    empty, sockets_seen, empties = np.int64(0), np.int64(0), 0
    for z in range(count):
        sockets_seen |= np.int64(1) << np.int64(numa.socket[s, z])
        untouched = True
        for k in range(_CONFLICTING):
            untouched &= numa.free[s, z, k] == numa.alloc[s, z, k]
        if untouched:
            empty |= np.int64(1) << np.int64(z)
            spare[numa.socket[s, z]] += 1
            empties += 1
    if number > empties:
        return np.int32(0)
    per_socket = max(np.int64(1), count // _bits(sockets_seen))
    most_sockets = -(-number // per_socket)
    best, least = np.int64(0), 0
    mask, limit = (np.int64(1) << number) - 1, np.int64(1) << count
    while mask < limit:
        if mask & ~empty == 0:
            used, cost = np.int64(0), 0
            for z in range(count):
                where = np.int64(1) << np.int64(numa.socket[s, z])
                if (mask >> z) & 1 and not used & where:
                    used |= where
                    cost += spare[numa.socket[s, z]]
            inside = np.int32(mask)
            if (
                _bits(used) <= most_sockets
                and (best == 0 or cost < least)
                and _spared(numa, s, inside, state)
                and _amounts_fit(numa, requests, j, s, inside, False)
                and _devices_fit_numa(classes, c, s, state, numa, inside, False, fitting)
            ):
                best, least = mask, cost
                if first:
                    break
        low = mask & -mask
        above = mask + low
        mask = above | (((mask ^ above) // low) >> 2)
    return np.int32(best)


@njit(**_FLAGS)
def _choose_socket(classes, c, numa, requests, j, s, state, fitting):
    """Choose the NUMA nodes of the sufficient socket with the least free CPU."""
    best, least, done = np.int32(0), np.int64(0), np.int64(0)
    for start in range(numa.count[s]):
        socket = numa.socket[s, start]
        if (done >> np.int64(socket)) & 1:
            continue
        done |= np.int64(1) << np.int64(socket)
        inside, free = np.int32(0), np.int64(0)
        for z in range(start, numa.count[s]):
            if numa.socket[s, z] == socket:
                inside |= np.int32(1) << np.int32(z)
                free += numa.free[s, z, 0]
        if (best == 0 or free < least) and (
            _amounts_fit(numa, requests, j, s, inside, True)
            and _devices_fit_numa(classes, c, s, state, numa, inside, True, fitting)
        ):
            best, least = inside, free
    return best


@njit(**_FLAGS)
def choose_numa_nodes(classes, c, numa, requests, j, s, state, fitting, first):
    """Return the bit mask of the NUMA nodes of a class on a slot; 0 if it does not fit."""
    binding = requests.binding[j]
    if numa.count[s] == 0:
        return np.int32(0)
    if binding == _WHOLE:
        return _choose_whole_nodes(classes, c, numa, requests, j, s, state, fitting, first)
    if binding == _SOCKET:
        return _choose_socket(classes, c, numa, requests, j, s, state, fitting)
    best, least = np.int32(0), np.int64(0)
    for z in range(numa.count[s]):
        inside, free = np.int32(1) << np.int32(z), numa.free[s, z, 0]
        if (best == 0 or free < least) and (
            _amounts_fit(numa, requests, j, s, inside, True)
            and _devices_fit_numa(classes, c, s, state, numa, inside, True, fitting)
        ):
            best, least = inside, free
            if first:
                break
    return best


@njit(**_FLAGS)
def pick_local_devices(classes, c, s, state, numa, requests, j, inside, fitting):
    """Return the bit mask of devices on the NUMA nodes of a pod, the fullest first."""
    device_free, device_kind, device_model = state[3], state[4], state[5]
    exact = requests.binding[j] != _WHOLE
    mask = np.int32(0)
    for q in range(classes.models.shape[1]):
        need, milli, kind = (
            classes.device[c, 4 * q],
            classes.device[c, 4 * q + 1],
            classes.device[c, 4 * q + 2],
        )
        if need == 0:
            continue
        allowed = _numa_of_devices(classes, c, q, s, state, numa, inside, exact, fitting)
        for _ in range(need):
            best, least = -1, 1 << 30
            for d in range(MAX_DEVICES):
                z = numa.device_numa_node[s, d]
                near = allowed == 0 or (z >= 0 and (allowed >> np.int32(z)) & 1)
                if (
                    near
                    and not (mask >> np.int32(d)) & 1
                    and device_kind[s, d] == kind
                    and milli <= device_free[s, d] < least
                    and (classes.models[c, q] >> np.int64(device_model[s, d])) & 1
                ):
                    best, least = d, device_free[s, d]
            mask |= np.int32(1) << np.int32(best)
    return mask


@njit(**_FLAGS)
def take_numa_nodes(classes, c, numa, requests, j, s, state, inside, held):
    """Charge the requests of a class to the NUMA nodes of a mask; record the parts in ``held``."""
    whole = requests.binding[j] == _WHOLE
    count = numa.count[s]
    for k in range(NUMA_COLUMNS):
        amount = requests.amount[j, k]
        if whole and k < _CONFLICTING:
            for z in range(count):
                if (inside >> np.int32(z)) & 1:
                    held[z, k] = numa.alloc[s, z, k]
                    numa.free[s, z, k] -= held[z, k]
            continue
        if amount <= 0 or numa.average[s, k] == 0:
            continue
        allowed = inside
        if whole:
            most = -(-amount // numa.average[s, k])
            allowed = _allowed(numa.free[s, :, k], count, inside, most)
        for z in range(count):
            if (allowed >> np.int32(z)) & 1:
                here = min(amount, max(np.int64(0), numa.free[s, z, k]))
                held[z, k] = here
                numa.free[s, z, k] -= here
                amount -= here
    if whole:
        charge_shares(classes, c, numa, s, state, inside, 1)


@njit(**_FLAGS)
def charge_shares(classes, c, numa, s, state, inside, sign):
    """Charge or release the amounts of whole NUMA nodes beyond the requests of the class."""
    for r in range(2):
        total = np.int64(0)
        for z in range(numa.count[s]):
            if (inside >> np.int32(z)) & 1:
                total += numa.share[s, z, r]
        state[0][r, s] -= sign * max(np.int64(0), total - classes.by_column[c, r])

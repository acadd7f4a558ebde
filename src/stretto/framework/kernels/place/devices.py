"""Compiled changes of the snapshot.

The devices of a pod, and the charge of its requests to a slot.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.compiled.tables import DevicePick
from stretto.framework.kernels.place.slot_value import fgd_score, fullest_device
from stretto.state.rows.devices import MAX_DEVICES, WHOLE

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_SCORED, _DRAWN = int(DevicePick.SCORED), int(DevicePick.RANDOM)


@njit(**_FLAGS)
def pick_devices(classes, c, s, state, typical, thresholds, how, draw):
    """Return the bit mask of the devices of a pod of the class on the slot."""
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
    """Return the bit mask of one fitting device, selected by a draw."""
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
    """Charge (sign 1) or release (sign -1) the requests of a class on a slot."""
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

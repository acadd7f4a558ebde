"""Compiled per-slot functions: the value of one slot for one class.

This is the numba tier. It contains the formula of each built-in slot-local rule for one slot; the
update of the class cache fuses the formulas. The vectorised NumPy forms of the rules are the
reference; property tests verify that both are equal bit by bit: same operations, same order, no
fused multiply-add.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.compiled.tables import ScoreCode
from stretto.state.rows.devices import MAX_DEVICES, WHOLE
from stretto.state.rows.resources import MEMORY

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_INLINE: Any = {"error_model": "numpy", "inline": "always"}

_LEAST = int(ScoreCode.LEAST)
_MOST = int(ScoreCode.MOST)
_BALANCED = int(ScoreCode.BALANCED)
_RATIO = int(ScoreCode.RATIO)
_DOT_PROD = int(ScoreCode.DOT_PROD)
_BEST_FIT = int(ScoreCode.BEST_FIT)
_GPU_PACKING = int(ScoreCode.GPU_PACKING)
_GPU_CLUSTERING = int(ScoreCode.GPU_CLUSTERING)
_FGD = int(ScoreCode.FGD)
_RATIO_MATCH = int(ScoreCode.RATIO_MATCH)


@njit(**_INLINE)
def pair_score(t0, t1, w0, w1, least, most, balanced):
    """Return the sum of least, most and balanced of two free shares in percent; see ``PairScore``.

    A share is clipped to 0..100 first: the free amount may be negative after a node shrank.
    """
    t0 = min(max(t0, np.float32(0.0)), np.float32(100.0))
    t1 = min(max(t1, np.float32(0.0)), np.float32(100.0))
    free = (t0 * w0 + t1 * w1) * (np.float32(1.0) / (w0 + w1))
    gap = np.float32(100.0) - abs(t0 - t1) * np.float32(0.5)
    return (
        least * np.int32(free)
        + most * np.int32(np.float32(100.0) - free)
        + balanced * np.int32(gap)
    )


@njit(**_FLAGS)
def linear_score(code, classes, scores, o, c, s, free, percent):
    """Return least, most, balanced or ratio over any columns of one slot.

    Resources that a node lacks are skipped. CPU and memory alone are scored as a pair, so that a
    rule returns the same score with and without fusion into ``PairScore``.
    """
    if code != _RATIO and scores.columns[o] == 2:
        a, b = scores.column[o, 0], scores.column[o, 1]
        if a <= MEMORY and b <= MEMORY:
            t0 = np.float32(free[a, s] - classes.by_column[c, a]) * percent[a, s]
            t1 = np.float32(free[b, s] - classes.by_column[c, b]) * percent[b, s]
            w0, w1 = scores.column_weight[o, 0], scores.column_weight[o, 1]
            least, most = np.int32(code == _LEAST), np.int32(code == _MOST)
            return np.int32(pair_score(t0, t1, w0, w1, least, most, np.int32(code == _BALANCED)))
    total = np.float32(0.0)
    weights = np.float32(0.0)
    squares = np.float32(0.0)
    for j in range(scores.columns[o]):
        r = scores.column[o, j]
        share = percent[r, s]
        if share > 0:
            w = scores.column_weight[o, j]
            t = np.float32(free[r, s] - classes.by_column[c, r]) * share
            t = min(max(t, np.float32(0.0)), np.float32(100.0))
            taken = np.float32(100.0) - t
            if code == _LEAST:
                total += w * t
                weights += w
            elif code == _MOST:
                total += w * taken
                weights += w
            elif code == _BALANCED:
                total += taken
                squares += taken * taken
                weights += np.float32(1.0)
            else:
                value = _shape(scores, o, taken)
                if value > 0:
                    total += w * value
                    weights += w
    if weights <= 0:
        return np.int32(0)
    if code == _BALANCED:
        mean = total / weights
        spread = max(squares / weights - mean * mean, np.float32(0.0))
        return np.int32(np.float32(100.0) - np.sqrt(spread))
    if code == _RATIO:
        return np.int32(total / weights + np.float32(0.5))
    return np.int32(total / weights)


@njit(**_FLAGS)
def ratio_match(free_cpu, free_memory, cpu, memory):
    """Return the similarity of the ratios of free and requested amounts.

    See ``compiled.amounts``.
    """
    node, pod = np.float64(free_cpu) * memory, np.float64(free_memory) * cpu
    if node <= 0.0 or pod <= 0.0:
        return np.int32(0)
    if node <= pod:
        return np.int32(50 + np.int32(50.0 * (node / pod)))
    return np.int32(50.0 * (pod / node))


@njit(**_FLAGS)
def _shape(scores, o, x):
    """Return the piecewise-linear shape of a ratio score at utilisation ``x``."""
    n = scores.points[o]
    if x <= scores.shape_x[o, 0]:
        return scores.shape_y[o, 0]
    for i in range(1, n):
        if x <= scores.shape_x[o, i]:
            x0, y0 = scores.shape_x[o, i - 1], scores.shape_y[o, i - 1]
            x1, y1 = scores.shape_x[o, i], scores.shape_y[o, i]
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return scores.shape_y[o, n - 1]


@njit(**_FLAGS)
def has_devices(device_free, device_kind, device_model, s, wanted, models):
    """Return whether a slot has the devices that a class requests; see ``ClassTable.device``."""
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
def fragmentation(typical, cpu, gpus, models, n):
    """Return the expected free GPU milli of a node that a typical pod cannot use (FGD, eq. 1-3).

    ``cpu`` is the node's free milli-CPU, ``gpus[:n]`` the free milli of its GPUs and
    ``models[:n]`` their models.
    """
    everything = 0
    for d in range(n):
        everything += gpus[d]
    total = 0.0
    for k in range(typical.frequency.shape[0]):
        need, milli = typical.gpus[k], typical.milli[k]
        lost = everything
        if need > 0 and cpu >= typical.cpu[k]:
            fitting = 0
            small = 0
            for d in range(n):
                allowed = (typical.models[k] >> np.int64(models[d])) & 1
                if allowed and gpus[d] >= milli:
                    fitting += 1
                else:
                    small += gpus[d]
            if fitting >= need:
                lost = small
        total += typical.frequency[k] * lost
    return total


@njit(**_FLAGS)
def steps_passed(gain, thresholds):
    """Return FGD's score: the number of sigmoid steps (1..100) that a gain in milli reaches."""
    low, high = 0, thresholds.shape[0]
    while low < high:
        middle = (low + high) // 2
        if gain >= thresholds[middle]:
            low = middle + 1
        else:
            high = middle
    return low


@njit(**_FLAGS)
def fgd_score(classes, c, s, view, typical, thresholds):
    """Return FGD's score of a slot and, for a GPU share, its device (else -1).

    ``view`` is (free, device_free, device_kind, device_model).
    """
    free, device_free, device_kind, device_model = view
    kind = classes.device[c, 2] if classes.device[c, 0] > 0 else 1
    gpus = np.empty(MAX_DEVICES, np.int32)
    models = np.empty(MAX_DEVICES, np.uint8)
    place = np.empty(MAX_DEVICES, np.int32)
    n = 0
    for d in range(MAX_DEVICES):
        if device_kind[s, d] == kind:
            gpus[n], models[n], place[n] = device_free[s, d], device_model[s, d], d
            n += 1
    cpu = free[0, s]
    before = fragmentation(typical, cpu, gpus, models, n)
    cpu -= classes.by_column[c, 0]
    need, milli = classes.device[c, 0], classes.device[c, 1]
    allowed = classes.models[c, 0]
    if need != 1 or milli >= WHOLE:
        left = need
        for i in range(n):
            if left > 0 and gpus[i] >= milli and (allowed >> np.int64(models[i])) & 1:
                gpus[i] -= milli
                left -= 1
        after = fragmentation(typical, cpu, gpus, models, n)
        return steps_passed(before - after, thresholds), -1
    best, device = -1, -1
    for i in range(n):
        if gpus[i] < milli or not (allowed >> np.int64(models[i])) & 1:
            continue
        twin = False
        for j in range(i):
            if gpus[j] == gpus[i] and models[j] == models[i]:
                twin = True
        if twin:
            continue
        gpus[i] -= milli
        score = steps_passed(before - fragmentation(typical, cpu, gpus, models, n), thresholds)
        gpus[i] += milli
        if score > best:
            best, device = score, place[i]
    return best, device


@njit(**_FLAGS)
def device_score(code, classes, c, s, view, census):
    """Return DotProd, BestFit, GpuPacking or GpuClustering of one slot (openb study), 0..100.

    DotProd and BestFit are relative to the study's largest node (128 cores, 8 GPUs); larger values
    of larger nodes are clipped.
    """
    free, device_free, device_kind, _ = view
    need, milli = classes.device[c, 0], classes.device[c, 1]
    kind = classes.device[c, 2] if need > 0 else 1
    gpu_free = 0
    wholly_free = 0
    gpus = 0
    for d in range(MAX_DEVICES):
        if device_kind[s, d] == kind:
            gpus += 1
            gpu_free += device_free[s, d]
            if device_free[s, d] == WHOLE:
                wholly_free += 1
    if code == _DOT_PROD:
        c_part = free[0, s] * np.float64(classes.by_column[c, 0]) / (128000.0 * 128000.0)
        g_part = gpu_free * np.float64(need * milli) / (8000.0 * 8000.0)
        score = 100.0 * (1.0 - (c_part + g_part) / 2.0)
        return np.int32(min(max(score, 0.0), 100.0))
    if code == _BEST_FIT:
        c_left = (free[0, s] - classes.by_column[c, 0]) / 128000.0
        g_left = (gpu_free - need * milli) / 8000.0
        score = 100.0 * (1.0 - (c_left + g_left) / 2.0)
        return np.int32(min(max(score, 0.0), 100.0))
    if need == 0:
        return np.int32(0)
    if code == _GPU_CLUSTERING:
        form = 0 if milli < WHOLE else min(need, census.shape[1] - 1)
        others = 0
        for f in range(census.shape[1]):
            if f != form and census[s, f] > 0:
                others += 1
        base = max(25 * (8000 - gpu_free) // 8000, 0)
        if census[s, form] > 0:
            return np.int32(base + (75 if others == 0 else 50))
        return np.int32(base + (25 if others == 0 else 0))
    if wholly_free == gpus:
        return np.int32(max(33 - wholly_free, wholly_free))
    return _packing_of_used(classes, c, s, view)


@njit(**_FLAGS)
def _packing_of_used(classes, c, s, view):
    """Return GpuPacking on a node with a GPU in use: the fullest GPUs come first."""
    _, device_free, _, _ = view
    need, mask = classes.device[c, 0], np.int32(0)
    taken_free, whole = 0, 0
    for _ in range(need):
        d = fullest_device(classes, c, 0, s, view, mask)
        mask |= np.int32(1) << np.int32(d)
        taken_free += device_free[s, d] * 100 // WHOLE
        if device_free[s, d] == WHOLE:
            whole += 1
    if whole > 0:
        return np.int32(max(50 - whole, 33))
    return np.int32(max(100 - taken_free // 10, 50))


@njit(**_FLAGS)
def fullest_device(classes, c, q, s, view, mask):
    """Return the fitting device with the least free milli that is not in ``mask``; -1 for none."""
    _, device_free, device_kind, device_model = view
    milli, kind = classes.device[c, 4 * q + 1], classes.device[c, 4 * q + 2]
    models = classes.models[c, q]
    best, least = -1, 1 << 30
    for d in range(MAX_DEVICES):
        if (
            not (mask >> np.int32(d)) & 1
            and device_kind[s, d] == kind
            and milli <= device_free[s, d] < least
            and (models >> np.int64(device_model[s, d])) & 1
        ):
            best, least = d, device_free[s, d]
    return best


@njit(**_FLAGS)
def fits(classes, static, c, s, free, ports, device):
    """Return whether all filters admit the class to the slot.

    ``device`` is (device_free, device_kind, device_model).
    """
    if static.eligible[classes.filter_row[c], s] == 0:
        return False
    for i in range(classes.checked[c]):
        if free[classes.column[c, i], s] < classes.amount[c, i]:
            return False
    p = classes.port_row[c]
    if p > 0:
        for w in range(ports.shape[0]):
            if ports[w, s] & static.port_conflict[p, w]:
                return False
    wanted, models = classes.device[c], classes.models[c]
    return has_devices(device[0], device[1], device[2], s, wanted, models)


@njit(**_FLAGS)
def slot_value(classes, static, pair, scores, typical, thresholds, c, s, state):
    """Return 0 if infeasible, else 1 + the weighted score of the slot.

    ``state`` is (free, percent, ports, device_free, device_kind, device_model, census).
    """
    free, percent, ports, device_free, device_kind, device_model, census = state
    if not fits(classes, static, c, s, free, ports, (device_free, device_kind, device_model)):
        return np.int32(0)
    total = np.int32(static.score[classes.score_row[c], s])
    x = classes.extra_row[c]
    if x >= 0:
        if static.extra[x, s] < 0:
            return np.int32(0)
        total += np.int32(static.extra[x, s])
    if pair.first_weight + pair.second_weight > 0:
        a, b = pair.first, pair.second
        t0 = np.float32(free[a, s] - classes.by_column[c, a]) * percent[a, s]
        t1 = np.float32(free[b, s] - classes.by_column[c, b]) * percent[b, s]
        total += pair_score(
            t0, t1, pair.first_weight, pair.second_weight, pair.least, pair.most, pair.balanced
        )
    view = (free, device_free, device_kind, device_model)
    for o in range(scores.code.shape[0]):
        code = scores.code[o]
        if code <= _RATIO:
            value = linear_score(code, classes, scores, o, c, s, free, percent)
        elif code == _RATIO_MATCH:
            value = ratio_match(
                free[0, s], free[1, s], classes.by_column[c, 0], classes.by_column[c, 1]
            )
        elif code == _FGD:
            value = np.int32(fgd_score(classes, c, s, view, typical, thresholds)[0])
        else:
            value = device_score(code, classes, c, s, view, census)
        total += scores.weight[o] * value
    return np.int32(1) + max(total, np.int32(0))

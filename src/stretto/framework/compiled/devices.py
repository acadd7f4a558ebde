"""Scores of devices: the NumPy form of the device filter and of the openb study's scores.

The formulas equal those of ``place.slot_value`` bit by bit, over several slots at once: counts are
integers, and sums of floats follow the order of the typical pods.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.tables import TypicalPodTable
from stretto.state.rows.devices import FORMS, WHOLE

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]

CHUNK: Final = 512
"""Number of slots whose fragmentation is computed at once: about 10 MB for 40 typical kinds."""
CPU_SCALE: Final = 128000.0
"""Milli-CPU of the study's largest node."""
GPU_SCALE: Final = 8000.0
"""GPU milli of the study's largest node."""
_MOST_FREE: Final = 1 << 30
FGD_STEPS: Final = 100
"""Steps of FGD's score: one for each point of the scale."""
FGD_GAIN: Final = 1000.0
"""Milli of avoided fragmentation that raise the argument of the sigmoid by one: a whole GPU."""
FGD_NOISE: Final = 1e-6
"""Tolerance of a threshold in milli.

A gain is a difference of sums of floats, and a gain that should be 0 (a score of 50) may be -1e-12.
"""


def fgd_thresholds() -> npt.NDArray[np.float64]:
    """Return float64[100]: minimum gains in milli for the FGD scores 1, 2, ... 100.

    The score is trunc(100 · sigmoid(gain / 1000)). Counting the reached thresholds gives the same
    result without an exponential, whose last bit differs between libraries.
    """
    k = np.arange(1, FGD_STEPS, dtype=np.float64)
    return np.append(FGD_GAIN * np.log(k / (FGD_STEPS - k)) - FGD_NOISE, np.inf)


class DeviceSlots(NamedTuple):
    """Device columns of some slots."""

    #: int32[k, device]: free milli.
    free: IntArray
    #: uint8[k, device]: kind number; 0 for none.
    kind: npt.NDArray[np.uint8]
    #: uint8[k, device]: model number.
    model: npt.NDArray[np.uint8]


class DeviceDemand(NamedTuple):
    """Requests of a class for a node's CPU and devices."""

    #: Milli-CPU.
    cpu: int
    #: Number of devices; 0 for none.
    number: int
    #: Milli of each device.
    milli: int
    #: Kind number; the number of GPUs for a class without device requests.
    kind: int
    #: Bit mask of allowed models.
    models: int


def fitting(devices: DeviceSlots, wanted: DeviceDemand) -> BoolArray:
    """Return bool[k, device]: devices of the kind, of an allowed model, with enough free milli."""
    allowed = (np.int64(wanted.models) >> devices.model.astype(np.int64)) & 1
    right: BoolArray = (devices.kind == wanted.kind) & (devices.free >= wanted.milli)
    right &= allowed == 1
    return right


def free_milli(devices: DeviceSlots, kind: int) -> LongArray:
    """Return int64[k]: free milli of all devices of a kind."""
    right = devices.kind == kind
    free: LongArray = np.sum(devices.free, axis=1, dtype=np.int64, where=right)
    return free


def dot_prod(cpu: IntArray, gpu: LongArray, wanted: DeviceDemand) -> IntArray:
    """Return int32[k]: 100(1 − (cC/128000² + gG/8000²)/2) of free c, g, requested C, G; clipped."""
    requested = float(wanted.number * wanted.milli)
    c_part = cpu * np.float64(wanted.cpu) / (CPU_SCALE * CPU_SCALE)
    g_part = gpu * np.float64(requested) / (GPU_SCALE * GPU_SCALE)
    return _points(100.0 * (1.0 - (c_part + g_part) / 2.0))


def best_fit(cpu: IntArray, gpu: LongArray, wanted: DeviceDemand) -> IntArray:
    """Return int32[k]: 100(1 − ((c−C)/128000 + (g−G)/8000)/2), clipped."""
    c_left = (cpu - np.int64(wanted.cpu)) / CPU_SCALE
    g_left = (gpu - wanted.number * wanted.milli) / GPU_SCALE
    return _points(100.0 * (1.0 - (c_left + g_left) / 2.0))


def gpu_packing(devices: DeviceSlots, wanted: DeviceDemand) -> IntArray:
    """Return int32[k]: GPUs in use first, then free GPUs of a node in use, then an idle node."""
    gpus = devices.kind == wanted.kind
    idle = np.count_nonzero(gpus & (devices.free == WHOLE), axis=1)
    key = np.where(fitting(devices, wanted), devices.free, _MOST_FREE)
    taken = np.sort(key, axis=1)[:, : wanted.number]
    whole = np.count_nonzero(taken == WHOLE, axis=1)
    part = (taken.astype(np.int64) * 100 // WHOLE).sum(axis=1)
    used = np.where(whole > 0, np.maximum(50 - whole, 33), np.maximum(100 - part // 10, 50))
    unused = np.maximum(33 - idle, idle)
    untouched = idle == np.count_nonzero(gpus, axis=1)
    return np.asarray(np.where(untouched, unused, used), np.int32)


def gpu_clustering(gpu: LongArray, census: npt.NDArray[np.int16], wanted: DeviceDemand) -> IntArray:
    """Return int32[k]: nodes with pods of the same form first; ``census`` is int16[k, form]."""
    form = 0 if wanted.milli < WHOLE else min(wanted.number, FORMS - 1)
    present = census > 0
    own = present[:, form]
    alone = np.count_nonzero(present, axis=1) == own
    base = np.maximum(25 * (8000 - gpu) // 8000, 0)
    bonus = np.where(own, np.where(alone, 75, 50), np.where(alone, 25, 0))
    return (base + bonus).astype(np.int32)


def fragmentation(
    typical: TypicalPodTable, cpu: IntArray, devices: DeviceSlots, kind: int
) -> npt.NDArray[np.float64]:
    """Return float64[k]: expected free GPU milli that a typical pod cannot use (FGD, eq. 1-3).

    The expectation is over the typical pods. A pod that requests no GPU, may not use the models or
    does not fit loses all free GPU milli. A pod that fits loses the free milli of the GPUs that are
    too small for it.
    """
    parts = [
        _lost(typical, cpu[low : low + CHUNK], _part(devices, low), kind)
        for low in range(0, len(cpu), CHUNK)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


class FgdChoice(NamedTuple):
    """FGD's answer for some slots."""

    #: int32[k]: score 0..100; -1 if a GPU share fits on no device.
    score: IntArray
    #: int32[k]: the device of the score for a GPU share; -1 for other pods.
    device: IntArray


def fgd(
    typical: TypicalPodTable,
    cpu: IntArray,
    devices: DeviceSlots,
    wanted: DeviceDemand,
    thresholds: npt.NDArray[np.float64],
) -> FgdChoice:
    """Return the score of least growth of fragmentation (reached sigmoid steps), and the device."""
    score, device = np.zeros(len(cpu), np.int32), np.full(len(cpu), -1, np.int32)
    for low in range(0, len(cpu), CHUNK):
        here = slice(low, low + CHUNK)
        part, free = _part(devices, low), cpu[here]
        before = _lost(typical, free, part, wanted.kind)
        fits, left = fitting(part, wanted), free - np.int32(wanted.cpu)
        if wanted.number != 1 or wanted.milli >= WHOLE:
            taken = fits & (np.cumsum(fits, axis=1) <= wanted.number)
            after = part._replace(free=part.free - taken * np.int32(wanted.milli))
            gain = before - _lost(typical, left, after, wanted.kind)
            score[here] = np.searchsorted(thresholds, gain, side="right")
            continue
        gain = before[:, None] - _lost_by_device(typical, left, part, wanted)
        steps = np.where(fits, np.searchsorted(thresholds, gain, side="right"), -1)
        best = np.argmax(steps, axis=1)
        score[here] = np.take_along_axis(steps, best[:, None], axis=1)[:, 0]
        device[here] = np.where(score[here] >= 0, best, -1)
    return FgdChoice(score, device)


def _points(value: npt.NDArray[np.float64]) -> IntArray:
    """Return int32[k]: whole points, clipped to 0..100 before they are truncated."""
    return np.minimum(np.maximum(value, 0.0), 100.0).astype(np.int32)


def _part(devices: DeviceSlots, low: int) -> DeviceSlots:
    """Return one chunk of the slots."""
    here = slice(low, low + CHUNK)
    return DeviceSlots(devices.free[here], devices.kind[here], devices.model[here])


def _weighed(typical: TypicalPodTable, lost: IntArray) -> npt.NDArray[np.float64]:
    """Return the sum of frequency × loss over the kinds (first axis), one after the other."""
    total = np.zeros(lost.shape[1:])
    for frequency, loss in zip(typical.frequency, lost, strict=True):
        total += frequency * loss
    return total


def _lost(
    typical: TypicalPodTable, cpu: IntArray, devices: DeviceSlots, kind: int
) -> npt.NDArray[np.float64]:
    """Return float64[k]: ``fragmentation`` of one chunk."""
    free = np.where(devices.kind == kind, devices.free, 0)
    fits = _may_use(typical, devices, kind) & (free >= typical.milli[:, None, None])
    everything = free.sum(axis=1, dtype=np.int32)
    usable = np.where(fits, free, 0).sum(axis=2, dtype=np.int32)
    served = np.count_nonzero(fits, axis=2) >= typical.gpus[:, None]
    served &= _served_by(typical, cpu)
    return _weighed(typical, everything - served * usable)


def _lost_by_device(
    typical: TypicalPodTable, cpu: IntArray, devices: DeviceSlots, wanted: DeviceDemand
) -> npt.NDArray[np.float64]:
    """Return float64[k, device]: fragmentation after the device provides ``wanted.milli``."""
    free = np.where(devices.kind == wanted.kind, devices.free, 0)
    left = free - np.int32(wanted.milli)
    may, milli = _may_use(typical, devices, wanted.kind), typical.milli[:, None, None]
    fits, still = may & (free >= milli), may & (left >= milli)
    mine = np.where(fits, free, 0)
    usable = mine.sum(axis=2, dtype=np.int32)[:, :, None] - mine + np.where(still, left, 0)
    number = np.count_nonzero(fits, axis=2)[:, :, None] - fits + still
    everything = free.sum(axis=1, dtype=np.int32)[:, None] - np.int32(wanted.milli)
    served = (number >= typical.gpus[:, None, None]) & _served_by(typical, cpu)[:, :, None]
    return _weighed(typical, everything - served * usable)


def _may_use(typical: TypicalPodTable, devices: DeviceSlots, kind: int) -> BoolArray:
    """Return bool[kind, k, device]: GPUs whose model a typical pod may use."""
    allowed = (typical.models[:, None, None] >> devices.model.astype(np.int64)) & 1
    return np.asarray((allowed == 1) & (devices.kind == kind))


def _served_by(typical: TypicalPodTable, cpu: IntArray) -> BoolArray:
    """Return bool[kind, k]: typical pods that request GPUs and whose CPU is free."""
    return (typical.gpus[:, None] > 0) & (cpu >= typical.cpu[:, None])

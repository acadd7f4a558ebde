"""Scores of amounts: the NumPy form of the scores over free and allocatable columns.

The formulas have two callers: the rules (with a class and some slots) and the NumPy kernels (with
arrays only). All values are float32, in the order of ``place.slot_value``, so that the compiled
tier returns the same bits. A share is the free amount after placing, in percent of the allocatable
amount of the node.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.tables import CompiledScore, ScoreCode
from stretto.state.rows.resources import MEMORY

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int32]

_NONE: Final = np.float32(0)
_FULL: Final = np.float32(100)
_HALF: Final = np.float32(0.5)


class ResourceAmount(NamedTuple):
    """One resource of some slots, and the request of a class for it."""

    #: int32[k]: free amount in scan steps.
    free: IntArray
    #: float32[k]: percent per step; 0 if the node has none.
    percent: FloatArray
    #: Request of the class, in scan steps.
    requested: int


class PairWeights(NamedTuple):
    """Weights of the pair score, as in ``PairScore``."""

    #: Weight of the first resource.
    first: np.float32
    #: Weight of the second resource.
    second: np.float32
    #: Profile weight of LEAST.
    least: int
    #: Profile weight of MOST.
    most: int
    #: Profile weight of BALANCED.
    balanced: int


def shares(amount: ResourceAmount) -> FloatArray:
    """Return float32[k]: free share after placing, clipped to 0..100.

    A node may shrink under its pods.
    """
    left = np.subtract(amount.free, np.int32(amount.requested)).astype(np.float32)
    left *= amount.percent
    np.maximum(left, _NONE, out=left)
    return np.minimum(left, _FULL, out=left)


def pair_score(t0: FloatArray, t1: FloatArray, weights: PairWeights) -> IntArray:
    """Return int32[k]: weighted sum of least, most and balanced over two shares."""
    total: IntArray = np.zeros(len(t0), np.int32)
    if weights.least or weights.most:
        free = t0 * weights.first
        free += t1 * weights.second
        free *= np.float32(1) / (weights.first + weights.second)
        if weights.least:
            total += _times(free, weights.least)
        if weights.most:
            total += _times(np.subtract(_FULL, free, out=free), weights.most)
    if weights.balanced:
        gap = np.subtract(t0, t1)
        np.abs(gap, out=gap)
        gap *= _HALF
        total += _times(np.subtract(_FULL, gap, out=gap), weights.balanced)
    return total


def amount_score(score: CompiledScore, amounts: Sequence[ResourceAmount]) -> IntArray:
    """Return int32[k] in 0..100: least, most, balanced or ratio; one ``ResourceAmount`` per column.

    Resources that a node lacks are skipped. CPU and memory alone are scored as a pair, so that a
    rule returns the same score with and without fusion.
    """
    code = score.code
    weights = [np.float32(weight) for weight in score.column_weights]
    if code is not ScoreCode.RATIO and len(amounts) == 2 and max(score.columns) <= MEMORY:
        least, most, balanced = (
            code is ScoreCode.LEAST,
            code is ScoreCode.MOST,
            code is ScoreCode.BALANCED,
        )
        pair = PairWeights(weights[0], weights[1], least, most, balanced)
        return pair_score(shares(amounts[0]), shares(amounts[1]), pair)
    if not amounts:
        raise ValueError("a score needs at least one resource")
    if code is ScoreCode.BALANCED:
        return _balanced(amounts)
    return _mean(score, amounts, weights)


def _times(value: FloatArray, weight: int) -> IntArray:
    """Return int32[k]: the whole points times a weight."""
    points = value.astype(np.int32)
    return points if weight == 1 else np.multiply(points, np.int32(weight), out=points)


def _balanced(amounts: Sequence[ResourceAmount]) -> IntArray:
    """Return 100 minus the standard deviation of the used shares."""
    size = len(amounts[0].free)
    total, squares, count = (np.zeros(size, np.float32) for _ in range(3))
    for amount in amounts:
        taken = _FULL - shares(amount)
        has = amount.percent > _NONE
        np.add(total, taken, out=total, where=has)
        np.add(squares, taken * taken, out=squares, where=has)
        np.add(count, np.float32(1), out=count, where=has)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / count
        spread = np.maximum(squares / count - mean * mean, _NONE)
        return _whole(_FULL - np.sqrt(spread), count)


def _mean(
    score: CompiledScore, amounts: Sequence[ResourceAmount], weights: Sequence[np.float32]
) -> IntArray:
    """Return the weighted mean of the values of the counted resources."""
    size = len(amounts[0].free)
    total, weight = np.zeros(size, np.float32), np.zeros(size, np.float32)
    for amount, w in zip(amounts, weights, strict=True):
        value = shares(amount)
        counts = amount.percent > _NONE
        if score.code is not ScoreCode.LEAST:
            value = np.subtract(_FULL, value, out=value)
        if score.code is ScoreCode.RATIO:
            value = shape_value(score.shape, value)
            counts &= value > _NONE
        np.add(total, w * value, out=total, where=counts)
        np.add(weight, w, out=weight, where=counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / weight
        return _whole(mean + _HALF if score.code is ScoreCode.RATIO else mean, weight)


def _whole(value: FloatArray, weight: FloatArray) -> IntArray:
    """Return int32[k]: the whole part if the total weight is positive, else 0."""
    return np.where(weight > _NONE, value, _NONE).astype(np.int32)


def ratio_match(
    free_cpu: npt.NDArray[np.int32], free_memory: npt.NDArray[np.int32], requested: tuple[int, int]
) -> IntArray:
    """Return int32[k]: similarity of the free and the requested ratio of CPU to memory.

    The value is the smaller ratio divided by the larger, in 50 steps: 50 and above if the ratio of
    the node is at most that of the pod, below 50 otherwise. It is 0 if the node or the pod lacks
    CPU or memory.
    """
    node, pod = (
        free_cpu.astype(np.float64) * requested[1],
        free_memory.astype(np.float64) * requested[0],
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        under, over = 50.0 * (node / pod), 50.0 * (pod / node)
    score = np.where(node <= pod, 50 + np.nan_to_num(under).clip(0, 50).astype(np.int32), 0)
    score = np.where(node > pod, np.nan_to_num(over).clip(0, 50).astype(np.int32), score)
    return np.where((node > 0) & (pod > 0), score, 0).astype(np.int32)


def shape_value(shape: Sequence[tuple[float, float]], x: FloatArray) -> FloatArray:
    """Return float32[k]: a piecewise-linear shape at utilisations ``x``."""
    points = [(np.float32(px), np.float32(py)) for px, py in shape]
    value = np.full(len(x), points[-1][1], np.float32)
    for (x0, y0), (x1, y1) in reversed(list(pairwise(points))):
        np.copyto(value, y0 + (y1 - y0) * (x - x0) / (x1 - x0), where=x <= x1)
    np.copyto(value, points[0][1], where=x <= points[0][0])
    return value

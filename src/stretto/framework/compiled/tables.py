"""A profile compiled for the kernels: classes and scores as arrays.

Kernels do not use rules or objects. They read these tables: per class its requests (amounts, ports,
devices, rows of the static rules), and per score a code with its columns and weights. The same
arrays feed the NumPy and the numba tier.
"""

from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

SCORE_COLUMNS: Final = 8
"""Resource columns a score may weigh."""
SHAPE_POINTS: Final = 16
"""Points of a requested-to-capacity shape."""
REQUESTS: Final = 12
"""Different resources one class may request."""
DEVICE_REQUESTS: Final = 2
"""Device kinds one class may request."""


class ScoreCode(IntEnum):
    """Slot-local scores that kernels compute themselves."""

    #: Mean free share after placing, in percent (Kubernetes' LeastAllocated).
    LEAST = 0
    #: Mean used share after placing, in percent (MostAllocated).
    MOST = 1
    #: 100 minus the spread of the used shares (BalancedAllocation).
    BALANCED = 2
    #: A piecewise-linear shape over the used share (RequestedToCapacityRatio).
    RATIO = 3
    #: Alignment of free and requested amounts (openb study, DotProd).
    DOT_PROD = 4
    #: Least remaining capacity (openb study, BestFit).
    BEST_FIT = 5
    #: GPUs in use first (openb study, GpuPacking).
    GPU_PACKING = 6
    #: Pods of one form together (openb study, GpuClustering).
    GPU_CLUSTERING = 7
    #: Least growth of fragmentation (FGD, ATC 2023).
    FGD = 8
    #: CPU and memory free in the ratio of the requests (Gödel's AdaptiveCpuToMemRatio).
    RATIO_MATCH = 9


class CompiledScore(NamedTuple):
    """The compiled form of a score rule: a code and its constants, without the profile's weight."""

    #: The formula.
    code: ScoreCode
    #: Resource columns it weighs.
    columns: tuple[int, ...] = ()
    #: Weight of each of these columns.
    column_weights: tuple[float, ...] = ()
    #: Points (utilisation 0..100, score 0..100) of a shape, ascending in utilisation.
    shape: tuple[tuple[float, float], ...] = ()


NOTHING: Final = CompiledScore(ScoreCode.LEAST)
"""Compiled form of a score that is 0 everywhere: over no column at all."""


class TieBreak(IntEnum):
    """How ties between equal scores are broken."""

    #: Rotate: zones by their share, within a zone the next slot.
    ROTATE = 0
    #: The smallest value of a rank column (a fixed order, or names).
    RANK = 1
    #: A fresh draw.
    RANDOM = 2


class DevicePick(IntEnum):
    """Which devices of a node a pod gets."""

    #: Shares go to the fullest device that fits, whole ones to the lowest free.
    FULLEST = 0
    #: The device for which the FGD score was best.
    SCORED = 1
    #: A random fitting device for shares.
    RANDOM = 2


class ClassTable(NamedTuple):
    """Requests of each class, by class id."""

    #: int32[class]: entries used in ``column`` and ``amount``: what placing takes.
    requests: npt.NDArray[np.int32]
    #: int32[class]: entries, from the first, that a slot must have free; others are only scored.
    checked: npt.NDArray[np.int32]
    #: int32[class, request]: requested resource columns.
    column: npt.NDArray[np.int32]
    #: int32[class, request]: amounts in scan steps.
    amount: npt.NDArray[np.int32]
    #: int32[class, resource]: the same amounts by column, for scores.
    by_column: npt.NDArray[np.int32]
    #: int32[class]: row of eligibility.
    filter_row: npt.NDArray[np.int32]
    #: int32[class]: row of static scores; 0 adds nothing.
    score_row: npt.NDArray[np.int32]
    #: int32[class]: row of port masks; 0 requests no port.
    port_row: npt.NDArray[np.int32]
    #: int32[class, 4*request]: device requests as (count, milli, kind, spare).
    device: npt.NDArray[np.int32]
    #: int64[class, request]: bit masks of allowed models.
    models: npt.NDArray[np.int64]
    #: int32[class]: row of the answers of Python rules; -1 for none.
    extra_row: npt.NDArray[np.int32]


class StaticTable(NamedTuple):
    """Rows over slots that classes point to."""

    #: uint8[row, slot]: 1 where the static filters pass.
    eligible: npt.NDArray[np.uint8]
    #: int16[row, slot]: weighted static scores.
    score: npt.NDArray[np.int16]
    #: int32[row]: the score that a row has on every live node; -1 where nodes differ.
    uniform: npt.NDArray[np.int32]
    #: uint64[row, word]: bits that must be clear.
    port_conflict: npt.NDArray[np.uint64]
    #: uint64[row, word]: bits that are set by placing.
    port_own: npt.NDArray[np.uint64]
    #: int16[row, slot]: answers of Python rules; -1 refuses, else a weighted score.
    extra: npt.NDArray[np.int16]


class PairScore(NamedTuple):
    """Least, most and balanced over two columns, computed in one pass."""

    #: First resource column.
    first: np.int32
    #: Second resource column.
    second: np.int32
    #: Weight of the first column.
    first_weight: np.float32
    #: Weight of the second column.
    second_weight: np.float32
    #: Profile weight of LEAST.
    least: np.int32
    #: Profile weight of MOST.
    most: np.int32
    #: Profile weight of BALANCED.
    balanced: np.int32


class ScoreTable(NamedTuple):
    """The other scores, in order."""

    #: int32[score]: ``ScoreCode``.
    code: npt.NDArray[np.int32]
    #: int32[score]: profile weight.
    weight: npt.NDArray[np.int32]
    #: int32[score]: columns used.
    columns: npt.NDArray[np.int32]
    #: int32[score, k]: resource columns.
    column: npt.NDArray[np.int32]
    #: float32[score, k]: their weights.
    column_weight: npt.NDArray[np.float32]
    #: int32[score]: points of the shape.
    points: npt.NDArray[np.int32]
    #: float32[score, point]: utilisation 0..100, ascending.
    shape_x: npt.NDArray[np.float32]
    #: float32[score, point]: score 0..100.
    shape_y: npt.NDArray[np.float32]


class TypicalPodTable(NamedTuple):
    """The workload that fragmentation is measured against (FGD)."""

    #: float64[kind]: share of pods of the kind; sums to 1.
    frequency: npt.NDArray[np.float64]
    #: int32[kind]: milli-CPU.
    cpu: npt.NDArray[np.int32]
    #: int32[kind]: requested devices; 0 for none.
    gpus: npt.NDArray[np.int32]
    #: int32[kind]: milli of each.
    milli: npt.NDArray[np.int32]
    #: int64[kind]: bit mask of allowed models.
    models: npt.NDArray[np.int64]


def no_typical_pods() -> TypicalPodTable:
    """An empty workload: nothing is fragmented against it."""
    ints = np.zeros(0, np.int32)
    return TypicalPodTable(np.zeros(0, np.float64), ints, ints, ints, np.zeros(0, np.int64))


NO_TYPICAL_PODS: Final = no_typical_pods()
"""The same as one shared constant."""


class SlotChoice(NamedTuple):
    """How a slot is chosen among the best, and devices on it."""

    #: ``TieBreak``.
    pick: int
    #: ``DevicePick``.
    device_pick: int
    #: int32[slot]: rank of each slot for ``TieBreak.RANK``.
    rank: npt.NDArray[np.int32]
    #: int32[block]: zone of each block.
    block_zone: npt.NDArray[np.int32]
    #: uint8[block]: 1 for blocks of the own partition, tried first.
    own_block: npt.NDArray[np.uint8]
    #: int32[block]: range of each block: twice its zone, plus one where it is not an own block.
    range_of: npt.NDArray[np.int32]
    #: int32[range + 1]: where the blocks of each range begin in ``range_block``.
    range_first: npt.NDArray[np.int32]
    #: int32[block]: blocks by range, ascending within each.
    range_block: npt.NDArray[np.int32]
    #: int64[zone]: stride of each zone (large number / live nodes).
    stride: npt.NDArray[np.int64]
    #: int64[zone + 1]: pass of each zone, and the pass of the last pick at the end.
    passes: npt.NDArray[np.int64]
    #: int64[zone]: slot after the last pick in each zone.
    cursor: npt.NDArray[np.int64]


class ScoreCache(NamedTuple):
    """Cached scores of classes (the class cache)."""

    #: int16[entry, slot]: 0 = infeasible, else 1 + score; where blocks are kept, the sums of the
    #: Python scores, or of no length for profiles without Python rules.
    row: npt.NDArray[np.int16]
    #: int16[entry, block]: maxima of the row's blocks; in the compiled tier, bounds of these.
    peak: npt.NDArray[np.int16]
    #: int16[entry, range]: the largest bounds of ranges of blocks, in the compiled tier.
    top: npt.NDArray[np.int16]
    #: int64[entry]: log position that the bounds of an entry reflect; -1 = recompute them.
    position: npt.NDArray[np.int64]
    #: int64[entry]: log position that the row of an entry reflects, in the compiled tier.
    row_position: npt.NDArray[np.int64]
    #: uint64[entry, block]: a bit per slot that changed since the Python filters judged it.
    unknown: npt.NDArray[np.uint64]
    #: uint64[entry, block]: a bit per slot that a Python rule refuses.
    refused: npt.NDArray[np.uint64]
    #: int32[class]: entry of a class; -1 for none.
    entry: npt.NDArray[np.int32]


class PodBatch(NamedTuple):
    """The pods to place, and the result arrays."""

    #: int32[pod]: class ids.
    class_id: npt.NDArray[np.int32]
    #: int32[pod]: only this slot may be used; -1 for any.
    pin: npt.NDArray[np.int32]
    #: int32[unit + 1]: first pod of each unit.
    start: npt.NDArray[np.int32]
    #: int32[unit]: pods that must be placed or none is.
    at_least: npt.NDArray[np.int32]
    #: uint8[unit]: 1 ends the batch when the unit fails.
    blocking: npt.NDArray[np.uint8]
    #: uint64[pod]: one random draw each.
    draw: npt.NDArray[np.uint64]
    #: int32[pod]: answer: the slot, -1 for none, -2 for not tried.
    slot: npt.NDArray[np.int32]
    #: int32[pod]: answer: bit mask of the devices.
    devices: npt.NDArray[np.int32]

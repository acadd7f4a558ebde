"""A profile compiled for the kernels: classes and scores as arrays.

Kernels do not use rules or objects. They read these tables: for each class its requests (amounts,
ports, devices, rows of the static rules), and for each score a code with its columns and weights.
The NumPy tier and the numba tier read the same arrays.
"""

from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

SCORE_COLUMNS: Final = 8
"""Maximum number of resource columns of a score."""
SHAPE_POINTS: Final = 16
"""Maximum number of points of a requested-to-capacity shape."""
REQUESTS: Final = 12
"""Maximum number of different resources that one class requests."""
DEVICE_REQUESTS: Final = 2
"""Maximum number of device kinds that one class requests."""


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
    #: CPU and memory are free in the ratio of the requests (Gödel's AdaptiveCpuToMemRatio).
    RATIO_MATCH = 9


class CompiledScore(NamedTuple):
    """The compiled form of a score rule: a code and its constants, without the profile's weight."""

    #: The formula.
    code: ScoreCode
    #: Weighted resource columns.
    columns: tuple[int, ...] = ()
    #: Weight of each of these columns.
    column_weights: tuple[float, ...] = ()
    #: Points (utilisation 0..100, score 0..100) of a shape, ascending in utilisation.
    shape: tuple[tuple[float, float], ...] = ()


NOTHING: Final = CompiledScore(ScoreCode.LEAST)
"""Compiled form of a score that is 0 on all slots: it has no columns."""


class TieBreak(IntEnum):
    """Tie-breaking rule for equal scores."""

    #: Rotate: zones by their share, then the next slot in the zone.
    ROTATE = 0
    #: The smallest value of a rank column (a fixed order, or names).
    RANK = 1
    #: A random draw.
    RANDOM = 2


class DevicePick(IntEnum):
    """Selection of the devices of a node for a pod."""

    #: The fullest fitting device for shares, the lowest free devices for whole ones.
    FULLEST = 0
    #: The device with the best FGD score.
    SCORED = 1
    #: A random fitting device for shares.
    RANDOM = 2


class ClassTable(NamedTuple):
    """Requests of each class, by class id."""

    #: int32[class]: number of entries in ``column`` and ``amount`` that placing charges.
    requests: npt.NDArray[np.int32]
    #: int32[class]: number of first entries that a slot must have free; others are only scored.
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
    """Rows over slots, which classes reference."""

    #: uint8[row, slot]: 1 if the static filters pass.
    eligible: npt.NDArray[np.uint8]
    #: int16[row, slot]: weighted static scores.
    score: npt.NDArray[np.int16]
    #: int32[row]: the equal score of a row on all live nodes; -1 if nodes differ.
    uniform: npt.NDArray[np.int32]
    #: uint64[row, word]: bits that must be clear.
    port_conflict: npt.NDArray[np.uint64]
    #: uint64[row, word]: bits that are set by placing.
    port_own: npt.NDArray[np.uint64]
    #: int16[row, slot]: results of Python rules; -1 refuses, else a weighted score.
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
    """The typical workload that measures fragmentation (FGD)."""

    #: float64[kind]: fraction of the pods of the kind; sums to 1.
    frequency: npt.NDArray[np.float64]
    #: int32[kind]: milli-CPU.
    cpu: npt.NDArray[np.int32]
    #: int32[kind]: requested devices; 0 for none.
    gpus: npt.NDArray[np.int32]
    #: int32[kind]: milli of each device.
    milli: npt.NDArray[np.int32]
    #: int64[kind]: bit mask of allowed models.
    models: npt.NDArray[np.int64]


def no_typical_pods() -> TypicalPodTable:
    """Return an empty workload, without fragmentation."""
    ints = np.zeros(0, np.int32)
    return TypicalPodTable(np.zeros(0, np.float64), ints, ints, ints, np.zeros(0, np.int64))


NO_TYPICAL_PODS: Final = no_typical_pods()
"""The empty workload as one shared constant."""


class SlotChoice(NamedTuple):
    """Rules for the choice among the best slots, and for devices on a slot."""

    #: ``TieBreak``.
    pick: int
    #: ``DevicePick``.
    device_pick: int
    #: int32[slot]: rank of each slot for ``TieBreak.RANK``.
    rank: npt.NDArray[np.int32]
    #: int32[block]: zone of each block.
    block_zone: npt.NDArray[np.int32]
    #: uint8[block]: 1 for blocks of the own partition, which are tried first.
    own_block: npt.NDArray[np.uint8]
    #: int32[block]: range of each block: twice its zone, plus one if it is not an own block.
    range_of: npt.NDArray[np.int32]
    #: int32[range + 1]: offset of the blocks of each range in ``range_block``.
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
    #: int64[entry]: log position of the bounds of an entry; -1 = recompute them.
    position: npt.NDArray[np.int64]
    #: int64[entry]: log position of the row of an entry, in the compiled tier.
    row_position: npt.NDArray[np.int64]
    #: uint64[entry, block]: a bit per slot that changed since the last call of the Python filters.
    unknown: npt.NDArray[np.uint64]
    #: uint64[entry, block]: a bit per slot that a Python rule refuses.
    refused: npt.NDArray[np.uint64]
    #: int32[class]: entry of a class; -1 for none.
    entry: npt.NDArray[np.int32]


class PodBatch(NamedTuple):
    """The pods to place, and the result arrays."""

    #: int32[pod]: class ids.
    class_id: npt.NDArray[np.int32]
    #: int32[pod]: the only allowed slot; -1 for any.
    pin: npt.NDArray[np.int32]
    #: int32[unit + 1]: first pod of each unit.
    start: npt.NDArray[np.int32]
    #: int32[unit]: minimum number of pods of a unit; with fewer places, none is placed.
    at_least: npt.NDArray[np.int32]
    #: uint8[unit]: 1 if the failure of the unit ends the batch.
    blocking: npt.NDArray[np.uint8]
    #: uint64[pod]: one random draw for each pod.
    draw: npt.NDArray[np.uint64]
    #: int32[pod]: result: the slot, -1 for none, -2 for not tried.
    slot: npt.NDArray[np.int32]
    #: int32[pod]: result: bit mask of the devices.
    devices: npt.NDArray[np.int32]

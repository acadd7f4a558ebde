"""Values of slots for a class, without numba: the NumPy form of ``place.slot_value``.

The formulas are those of the rules (``compiled.amounts``, ``compiled.devices``); their inputs are
the compiled tables, for any slots at once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled import devices as gpu
from stretto.framework.compiled.amounts import (
    PairWeights,
    ResourceAmount,
    amount_score,
    pair_score,
    ratio_match,
    shares,
)
from stretto.framework.compiled.tables import (
    ClassTable,
    CompiledScore,
    PairScore,
    ScoreCode,
    ScoreTable,
    StaticTable,
    TypicalPodTable,
)
from stretto.state.rows.resources import CPU, MEMORY

SlotArray = npt.NDArray[np.integer[Any]]
RowArray = npt.NDArray[np.int16]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
Slots = SlotArray | slice
"""The requested slots; a slice is read without a copy."""

_NONE = np.int32(0)
_ONE = np.int32(1)


class PointProgram(NamedTuple):
    """A compiled profile and its classes."""

    #: Requests of classes.
    classes: ClassTable
    #: Rows that classes reference.
    static: StaticTable
    #: Fused scores.
    pair: PairScore
    #: The other scores.
    scores: ScoreTable
    #: The typical workload that measures fragmentation.
    typical: TypicalPodTable
    #: Minimum gains of the steps of FGD's score.
    thresholds: npt.NDArray[np.float64]
    #: Function for rules without a compiled form: returns -1 (refused) or a weighted score per
    #: slot.
    python_values: Callable[[int, SlotArray], RowArray] | None = None


class PointState(NamedTuple):
    """The snapshot, in the form of the kernels."""

    #: int32[resource, slot]: free amounts.
    free: IntArray
    #: float32[resource, slot]: percent per step.
    percent: npt.NDArray[np.float32]
    #: uint64[slot, word]: ports in use.
    ports: npt.NDArray[np.uint64]
    #: int32[slot, device]: free milli.
    device_free: IntArray
    #: uint8[slot, device]: kinds.
    device_kind: npt.NDArray[np.uint8]
    #: uint8[slot, device]: models.
    device_model: npt.NDArray[np.uint8]
    #: int16[slot, form]: pods by form.
    census: npt.NDArray[np.int16]


def slot_values(program: PointProgram, c: int, slots: Slots, state: PointState) -> RowArray:
    """Return int16[k]: 0 if infeasible, else 1 + the weighted score."""
    classes, static, pair, scores = program.classes, program.static, program.pair, program.scores
    passes = _passes(program, c, slots, state)
    total: IntArray | None = None
    if pair.first_weight + pair.second_weight > 0 and (pair.least or pair.most or pair.balanced):
        total = _pair(classes, pair, c, slots, state)
    score_row, extra_row = int(classes.score_row[c]), int(classes.extra_row[c])
    if score_row > 0:
        mine = static.score[score_row][slots].astype(np.int32)
        total = mine if total is None else np.add(total, mine, out=total)
    if extra_row >= 0:
        extra = static.extra[extra_row][slots].astype(np.int32)
        passes &= extra >= 0
        total = extra if total is None else np.add(total, extra, out=total)
    if total is None:
        total = np.zeros(len(passes), np.int32)
    if program.python_values is not None:
        given = program.python_values(c, _numbers(slots, len(passes)))
        passes &= given >= 0
        total += given
    if len(scores.code):
        _add_scores(program, c, slots, state, passes, total)
    np.maximum(total, _NONE, out=total)
    total += _ONE
    total *= passes
    return total.astype(np.int16)


def _numbers(slots: Slots, count: int) -> SlotArray:
    """Return the requested slots as numbers."""
    if isinstance(slots, slice):
        return np.arange(slots.start or 0, (slots.start or 0) + count)
    return slots


def _passes(program: PointProgram, c: int, slots: Slots, state: PointState) -> BoolArray:
    """Return bool[k]: True if all filters admit the class."""
    classes, static = program.classes, program.static
    passes: BoolArray = static.eligible[classes.filter_row[c]][slots] != 0
    for i in range(int(classes.checked[c])):
        passes &= state.free[classes.column[c, i]][slots] >= classes.amount[c, i]
    port_row = int(classes.port_row[c])
    if port_row > 0:
        mask = static.port_conflict[port_row][: len(state.ports)]
        for word in np.flatnonzero(mask).tolist():
            passes &= (state.ports[word, slots] & mask[word]) == 0
    for q in range(classes.models.shape[1]):
        if classes.device[c, 4 * q] > 0:
            wanted = wanted_of(classes, c, q)
            passes &= (state.device_kind[slots] == wanted.kind).any(axis=1)
            here = np.flatnonzero(passes)
            python_values = here if isinstance(slots, slice) else slots[here]
            fits = gpu.fitting(devices_of(state, python_values), wanted)
            passes[here] = np.count_nonzero(fits, axis=1) >= wanted.number
    return passes


def _pair(
    classes: ClassTable, pair: PairScore, c: int, slots: Slots, state: PointState
) -> IntArray:
    """Return int32[k]: the fused scores."""
    weights = PairWeights(
        pair.first_weight,
        pair.second_weight,
        int(pair.least),
        int(pair.most),
        int(pair.balanced),
    )
    t0 = shares(_amount(classes, c, int(pair.first), slots, state))
    t1 = shares(_amount(classes, c, int(pair.second), slots, state))
    return pair_score(t0, t1, weights)


def _add_scores(
    program: PointProgram,
    c: int,
    slots: Slots,
    state: PointState,
    passes: BoolArray,
    total: IntArray,
) -> None:
    """Add the scores of the table to feasible slots; other slots are not used."""
    here = np.flatnonzero(passes)
    if len(here) == 0:
        return
    python_values = here if isinstance(slots, slice) else slots[here]
    sums = np.zeros(len(here), np.int32)
    for o, weight in enumerate(program.scores.weight.tolist()):
        sums += _score(program, o, c, python_values, state) * np.int32(weight)
    total[here] += sums


def _score(program: PointProgram, o: int, c: int, slots: SlotArray, state: PointState) -> IntArray:
    """Return int32[k]: one score of the table."""
    classes, scores = program.classes, program.scores
    code = ScoreCode(int(scores.code[o]))
    if code <= ScoreCode.RATIO:
        width, points = int(scores.columns[o]), int(scores.points[o])
        columns = tuple(scores.column[o, :width].tolist())
        weights = tuple(scores.column_weight[o, :width].tolist())
        xs, ys = scores.shape_x[o, :points].tolist(), scores.shape_y[o, :points].tolist()
        compiled = CompiledScore(code, columns, weights, tuple(zip(xs, ys, strict=True)))
        return amount_score(compiled, [_amount(classes, c, r, slots, state) for r in columns])
    devices, wanted = devices_of(state, slots), wanted_of(classes, c, 0)
    cpu = state.free[CPU][slots]
    if code is ScoreCode.RATIO_MATCH:
        python_values = int(classes.by_column[c, CPU]), int(classes.by_column[c, MEMORY])
        return ratio_match(state.free[CPU][slots], state.free[MEMORY][slots], python_values)
    if code is ScoreCode.FGD:
        return gpu.fgd(program.typical, cpu, devices, wanted, program.thresholds).score
    if code is ScoreCode.DOT_PROD:
        return gpu.dot_prod(cpu, gpu.free_milli(devices, wanted.kind), wanted)
    if code is ScoreCode.BEST_FIT:
        return gpu.best_fit(cpu, gpu.free_milli(devices, wanted.kind), wanted)
    if wanted.number == 0:
        return np.zeros(len(slots), np.int32)
    if code is ScoreCode.GPU_PACKING:
        return gpu.gpu_packing(devices, wanted)
    milli = gpu.free_milli(devices, wanted.kind)
    return gpu.gpu_clustering(milli, state.census[slots], wanted)


def _amount(
    classes: ClassTable, c: int, column: int, slots: Slots, state: PointState
) -> ResourceAmount:
    return ResourceAmount(
        state.free[column][slots], state.percent[column][slots], int(classes.by_column[c, column])
    )


def devices_of(state: PointState, slots: Slots) -> gpu.DeviceSlots:
    """Return the device columns of some slots."""
    return gpu.DeviceSlots(
        state.device_free[slots], state.device_kind[slots], state.device_model[slots]
    )


def wanted_of(classes: ClassTable, c: int, q: int) -> gpu.DeviceDemand:
    """Return the CPU of a class and its ``q``-th device request."""
    count, milli, kind, _ = classes.device[c, 4 * q : 4 * q + 4].tolist()
    cpu, models = int(classes.by_column[c, CPU]), int(classes.models[c, q])
    return gpu.DeviceDemand(cpu, count, milli, kind if count > 0 else 1, models)

"""Placement without numba: the NumPy tier of ``place``, with the results of ``kernels.place``.

Program, snapshot, cache, log and all results equal those of the compiled tier. The formulas of the
rules compute or update a row, as one batch over its slots; work on a single slot (devices,
charging) is plain Python. Property tests compare this tier, the compiled tier and a plain scan.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled import affinity as domains
from stretto.framework.compiled import devices as gpu
from stretto.framework.compiled.domain_tables import InterPodProgram
from stretto.framework.compiled.python_calls import PythonRuleCalls
from stretto.framework.compiled.tables import DevicePick, PodBatch, ScoreCache, SlotChoice, TieBreak
from stretto.framework.kernels.numpy.slot_value import (
    IntArray,
    PointProgram,
    PointState,
    RowArray,
    SlotArray,
    devices_of,
    slot_values,
    wanted_of,
)
from stretto.state.rows.devices import WHOLE
from stretto.state.rows.resources import CPU
from stretto.state.rows.slots import BLOCK

# ---------------------------------------------------------------- rows of the cache


def rebuild(
    program: PointProgram, c: int, state: PointState, row: RowArray, peak: RowArray
) -> None:
    """Recompute the whole row of a class."""
    row[:] = slot_values(program, c, slice(0, len(row)), state)
    np.max(row.reshape(-1, BLOCK), axis=1, out=peak)


def replay(
    program: PointProgram,
    c: int,
    state: PointState,
    row: RowArray,
    peak: RowArray,
    entries: SlotArray,
) -> None:
    """Recompute the slots in a range of the log, and the maxima of their blocks."""
    slots = entries if len(entries) == 1 else np.unique(entries)
    values = slot_values(program, c, slots, state)
    different = values != row[slots]
    if not different.any():
        return
    slots = slots[different]
    row[slots] = values[different]
    blocks = slots // BLOCK if len(slots) == 1 else np.unique(slots // BLOCK)
    peak[blocks] = row.reshape(-1, BLOCK)[blocks].max(axis=1)


def refresh(
    program: tuple[Any, ...],
    c: int,
    state: PointState,
    cache: ScoreCache,
    log: IntArray,
    log_state: npt.NDArray[np.int64],
    limit: int,
    rules: PythonRuleCalls | None = None,
) -> int:
    """Bring the row of a class to the end of the log; return its cache entry."""
    point = program_with(program, rules)
    return _refresh(point, c, PointState(*state), cache, log, log_state, limit)


def program_with(program: tuple[Any, ...], rules: PythonRuleCalls | None) -> PointProgram:
    """Return a compiled profile with the Python rules that the NumPy tier calls."""
    point = PointProgram(*program[:6])
    return point if rules is None else point._replace(python_values=rules.slot_values)


def _refresh(
    program: PointProgram,
    c: int,
    state: PointState,
    cache: ScoreCache,
    log: IntArray,
    log_state: npt.NDArray[np.int64],
    limit: int,
) -> int:
    k = int(cache.entry[c])
    base, length = log_state.tolist()
    position, head = int(cache.position[k]), base + length
    if position == head:
        return k
    most = limit if len(program.scores.code) == 0 else cache.row.shape[1]
    if position < base or head - position > most:
        rebuild(program, c, state, cache.row[k], cache.peak[k])
    else:
        replay(program, c, state, cache.row[k], cache.peak[k], log[position - base : length])
    cache.position[k] = head
    return k


# ---------------------------------------------------------------- choosing


def choose(row: RowArray, peak: RowArray, choice: SlotChoice, draw: int) -> int:
    """Return the best slot by the tie rule, own partition first; -1 if none is feasible."""
    own = choice.own_block != 0
    top = int(np.max(peak, initial=0, where=own))
    if top == 0:
        own = np.ones(len(peak), np.bool_)
        top = int(np.max(peak, initial=0))
    if top == 0:
        return -1
    blocks = np.flatnonzero((peak == top) & own)
    if choice.pick == TieBreak.ROTATE:
        return _choose_rotating(row, blocks, choice, top)
    inside = row.reshape(-1, BLOCK)[blocks] == top
    best = (blocks[:, None] * BLOCK + np.arange(BLOCK))[inside]
    if choice.pick == TieBreak.RANK:
        return int(best[np.argmin(choice.rank[best])])
    return int(best[draw % len(best)])


def _choose_rotating(row: RowArray, blocks: SlotArray, choice: SlotChoice, top: int) -> int:
    """Choose with rotation: zones by their share of nodes (stride scheduling), slots in a ring."""
    zones = len(choice.stride)
    here = choice.block_zone[blocks]
    due = np.maximum(choice.passes[here], choice.passes[zones])
    first = np.lexsort((here, due))[0] if len(here) > 1 else 0
    zone, soonest = int(here[first]), int(due[first])
    found = _next_in_ring(row, blocks[here == zone], int(choice.cursor[zone]), top)
    choice.cursor[zone] = (found + 1) % len(row)
    choice.passes[zone] = soonest + int(choice.stride[zone])
    choice.passes[zones] = soonest
    return found


def _next_in_ring(row: RowArray, blocks: SlotArray, start: int, top: int) -> int:
    """Return the first slot with the value ``top`` from ``start`` on, in a ring of blocks."""
    at = int(np.searchsorted(blocks, start // BLOCK))
    if at < len(blocks) and blocks[at] == start // BLOCK:
        behind = row[start : (start // BLOCK + 1) * BLOCK] == top
        if behind.any():
            return start + int(np.argmax(behind))
        at += 1
    low = int(blocks[at % len(blocks)]) * BLOCK
    return low + int(np.argmax(row[low : low + BLOCK] == top))


def pick_devices(
    program: PointProgram, c: int, s: int, state: PointState, how: int, draw: int
) -> int:
    """Return the bit mask of the devices of the class on the slot."""
    mask = 0
    here = np.array([s], np.int64)
    for q in range(program.classes.models.shape[1]):
        if program.classes.device[c, 4 * q] == 0:
            continue
        wanted = wanted_of(program.classes, c, q)
        devices = devices_of(state, here)
        share = wanted.number == 1 and wanted.milli < WHOLE
        if share and how == DevicePick.SCORED and q == 0:
            cpu = state.free[CPU][here]
            chosen = gpu.fgd(program.typical, cpu, devices, wanted, program.thresholds)
            mask |= 1 << int(chosen.device[0])
            continue
        fits = np.flatnonzero(gpu.fitting(devices, wanted)[0]).tolist()
        if share and how == DevicePick.RANDOM:
            mask |= 1 << fits[(draw >> 32) % len(fits)]
            continue
        free = devices.free[0].tolist()
        fits.sort(key=lambda device: free[device])
        for device in [d for d in fits if not mask >> d & 1][: wanted.number]:
            mask |= 1 << device
    return mask


def apply(program: PointProgram, c: int, s: int, state: PointState, mask: int, sign: int) -> None:
    """Charge (sign 1) or release (sign -1) the requests of a class on a slot."""
    classes, static = program.classes, program.static
    for i in range(int(classes.requests[c])):
        state.free[classes.column[c, i], s] -= sign * int(classes.amount[c, i])
    port_row = int(classes.port_row[c])
    if port_row > 0:
        own = static.port_own[port_row][: len(state.ports)]
        if sign > 0:
            state.ports[:, s] |= own
        else:
            state.ports[:, s] &= ~own
    for q in range(classes.models.shape[1]):
        if classes.device[c, 4 * q] == 0:
            continue
        wanted = wanted_of(classes, c, q)
        for device, kind in enumerate(state.device_kind[s].tolist()):
            if mask >> device & 1 and kind == wanted.kind:
                state.device_free[s, device] -= sign * wanted.milli
        form = 0 if wanted.milli < WHOLE else min(wanted.number, state.census.shape[1] - 1)
        state.census[s, form] += sign


def release(program: tuple[Any, ...], state: tuple[Any, ...], c: int, s: int, mask: int) -> None:
    """Release the requests of a class and its devices on a slot."""
    apply(PointProgram(*program[:6]), c, s, PointState(*state), mask, -1)


# ---------------------------------------------------------------- placing


def place(
    program: tuple[Any, ...],
    state: tuple[Any, ...],
    cache: ScoreCache,
    log: IntArray,
    log_state: npt.NDArray[np.int64],
    choice: SlotChoice,
    batch: PodBatch,
    limit: int,
    among: InterPodProgram | None = None,
    rules: PythonRuleCalls | None = None,
) -> int:
    """Place a batch of units in order; return the number of tried units.

    As in the compiled ``place``, the results are in ``batch.slot`` and ``batch.devices``, a unit
    with fewer than ``at_least`` places is undone completely, and a blocking unit that fails ends
    the batch. ``among`` contains the inter-pod constraints, ``rules`` the Python rules.
    """
    run = _PlaceCall(
        program_with(program, rules),
        PointState(*state),
        cache,
        log,
        log_state,
        choice,
        batch,
        limit,
        among,
        rules if rules is not None and rules.over_domains else None,
    )
    units = len(batch.at_least)
    for u in range(units):
        start, stop = int(batch.start[u]), int(batch.start[u + 1])
        placed = _place_unit(run, start, stop, int(batch.at_least[u]))
        if placed < batch.at_least[u] or (placed == 0 and stop > start):
            _undo(run, start, stop)
            if batch.blocking[u]:
                return u + 1
    return units


class _PlaceCall(NamedTuple):
    """Arguments of one call of ``place``."""

    program: PointProgram
    state: PointState
    cache: ScoreCache
    log: IntArray
    log_state: npt.NDArray[np.int64]
    choice: SlotChoice
    batch: PodBatch
    limit: int
    among: InterPodProgram | None
    #: The rules with the scope DOMAIN, if there are any.
    rules: PythonRuleCalls | None


def _place_unit(run: _PlaceCall, start: int, stop: int, at_least: int) -> int:
    """Place the pods of one unit; return the number of pods with a place.

    Pods that other pods of the unit may have made feasible are retried as long as this places pods.
    """
    placed = lost = 0
    waiting = list(range(start, stop))
    while waiting:
        before, failed_class, refused = placed, -1, list[int]()
        for i in waiting:
            if stop - start - lost < at_least:
                return placed
            c, pin = int(run.batch.class_id[i]), int(run.batch.pin[i])
            alike = c == failed_class and pin < 0
            s = -1 if alike else _find(run, c, pin, int(run.batch.draw[i]))
            run.batch.slot[i] = s
            recovers = _may_recover(run, c)
            if s >= 0:
                _take(run, i, c, s)
                placed += 1
                if failed_class >= 0 and _may_recover(run, failed_class):
                    failed_class = -1
                continue
            failed_class = c if pin < 0 else failed_class
            lost += not recovers
            if recovers:
                refused.append(i)
        waiting = refused if placed > before else []
        if stop - start - lost < at_least:
            break
    return placed


def _take(run: _PlaceCall, i: int, c: int, s: int) -> None:
    """Place a pod of the batch on a slot."""
    draw, how = int(run.batch.draw[i]), run.choice.device_pick
    mask = pick_devices(run.program, c, s, run.state, how, draw)
    run.batch.devices[i] = mask
    _apply(run, c, s, mask, 1)


def _find(run: _PlaceCall, c: int, pin: int, draw: int) -> int:
    """Return the slot for one pod; -1 for none."""
    if pin >= 0:
        here = np.array([pin], np.int64)
        values = _with_inter_pod_counts(run, c, slot_values(run.program, c, here, run.state), here)
        return pin if values[0] > 0 else -1
    row, peak = _row_and_peaks(run, c)
    if _is_judged(run, c):
        row = _with_inter_pod_counts(run, c, row, np.arange(len(row)))
        peak = row.reshape(-1, BLOCK).max(axis=1)
    return choose(row, peak, run.choice, draw)


def _row_and_peaks(run: _PlaceCall, c: int) -> tuple[RowArray, RowArray]:
    """Return the row of a class without other pods, and its maxima; recompute uncached rows."""
    if run.cache.row.shape[1] == 0:
        row = slot_values(run.program, c, slice(0, run.state.free.shape[1]), run.state)
        return row, row.reshape(-1, BLOCK).max(axis=1)
    k = _refresh(run.program, c, run.state, run.cache, run.log, run.log_state, run.limit)
    return run.cache.row[k], run.cache.peak[k]


def _is_judged(run: _PlaceCall, c: int) -> bool:
    """Return whether inter-pod constraints apply to a class."""
    judged = run.among is not None and domains.is_judged(run.among.table, c)
    return run.rules is not None or judged


def _with_inter_pod_counts(
    run: _PlaceCall, c: int, row: RowArray, slots: npt.NDArray[np.int64]
) -> RowArray:
    """Return the scores with the inter-pod constraints and the rules over domains."""
    if run.among is not None and domains.is_judged(run.among.table, c):
        row = domains.overlay(run.among.table, run.among.state, c, row, slots)
    if run.rules is None:
        return row
    answers = run.rules.domain_values(c, slots)
    return np.where((row > 0) & (answers >= 0), np.maximum(row + answers, 1), 0).astype(np.int16)


def _may_recover(run: _PlaceCall, c: int) -> bool:
    """Return whether a class that fits nowhere may fit after other pods are placed."""
    recovers = run.among is not None and domains.may_recover(run.among.table, c)
    return run.rules is not None or recovers


def _undo(run: _PlaceCall, start: int, stop: int) -> None:
    """Release the places of a unit, the last first."""
    batch = run.batch
    for i in range(stop - 1, start - 1, -1):
        s = int(batch.slot[i])
        if s >= 0:
            _apply(run, int(batch.class_id[i]), s, int(batch.devices[i]), -1)
        batch.slot[i] = -1
        batch.devices[i] = 0


def _apply(run: _PlaceCall, c: int, s: int, mask: int, sign: int) -> None:
    """Charge or release, and log the change."""
    apply(run.program, c, s, run.state, mask, sign)
    if run.among is not None:
        domains.count(run.among.table, run.among.state, c, s, sign)
    run.log[run.log_state[1]] = s
    run.log_state[1] += 1

"""Placement in given slots without numba: the NumPy form of ``kernels.groups``.

Domains, caps, NUMA nodes and results are the same. The values of slots come from the vectorised
formulas of the rules, the choice of NUMA nodes from ``state.numa.choice``.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.group_tables import (
    CODES,
    OWN,
    DomainCaps,
    DomainSearch,
    NumaRequests,
    NumaSnapshot,
    PlacementJob,
    PlacementWork,
)
from stretto.framework.kernels.numpy.place import apply, pick_devices
from stretto.framework.kernels.numpy.slot_value import PointProgram, PointState, slot_values
from stretto.state.classes.annotations import NumaBinding
from stretto.state.numa.choice import (
    CONFLICTING,
    NumaDeviceRequest,
    NumaMachine,
    bits,
    choose,
    needed,
    numa_nodes_for,
    relevant_columns,
    spread,
)
from stretto.state.numa.ledger import DEVICE_BITS, NUMA_COLUMNS, NUMA_SHIFT, numa_nodes_of
from stretto.state.rows.devices import MAX_DEVICES

_BINDING = {code: binding for binding, code in CODES.items()}


class _SlotSetCall(NamedTuple):
    """Arguments of one call."""

    program: PointProgram
    state: PointState
    numa: NumaSnapshot
    requests: NumaRequests
    caps: DomainCaps
    search: DomainSearch
    job: PlacementJob
    log: npt.NDArray[np.int32]
    log_state: npt.NDArray[np.int64]
    device_pick: int
    #: Amounts of each pod on each NUMA node: (NUMA node, column, amount).
    held: dict[int, list[tuple[int, int, int]]]


def place_in_slots(
    program: tuple[Any, ...],
    state: tuple[Any, ...],
    work: PlacementWork,
    log: tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]],
    device_pick: int,
) -> int:
    """Place units like the compiled ``place_in_slots``; return the number of tried units."""
    run = _SlotSetCall(PointProgram(*program), PointState(*state), *work, *log, device_pick, {})
    job, search = run.job, run.search
    domains = len(search.start) - 1
    for u in range(len(job.at_least)):
        start, stop = int(job.start[u]), int(job.start[u + 1])
        placed, mark, turn = 0, int(run.log_state[1]), int(search.cursor[0])
        for d in range(domains):
            if domains > 1:
                search.cursor[0] = 0
            placed = _place_unit(run, u, d)
            if placed > 0 and placed >= job.at_least[u]:
                break
            _undo_unit(run, start, stop)
            run.log_state[1], search.cursor[0] = mark, turn
            placed = 0
        here = job.slot[start:stop]
        here[:] = np.where(here >= 0, search.slots[np.maximum(here, 0)], -1)
        if placed == 0 and stop > start and job.blocking[u]:
            return u + 1
    return len(job.at_least)


def count_in_slots(program: tuple[Any, ...], state: tuple[Any, ...], work: PlacementWork) -> int:
    """Return the number of places of a search on which a class with NUMA nodes fits now."""
    log = (np.zeros(0, np.int32), np.zeros(2, np.int64))
    run = _SlotSetCall(PointProgram(*program), PointState(*state), *work, *log, 0, {})
    length = len(work.search.slots)
    return int(np.count_nonzero(_values(run, 0, int(work.job.class_id[0]), 0, length)))


def _values(run: _SlotSetCall, j: int, c: int, first: int, last: int) -> npt.NDArray[np.int32]:
    """Return int32[place]: values of the places of a domain for a class; 0 if infeasible."""
    slots = run.search.slots[first:last]
    values = slot_values(run.program, c, slots, run.state).astype(np.int32)
    for q, capacity in enumerate(run.caps.capacity):
        domain = run.caps.domain[q, first:last]
        values[(domain >= 0) & (capacity[np.maximum(domain, 0)] <= 0)] = 0
    if run.requests.binding[j]:
        for at in np.flatnonzero(values).tolist():
            if not _choose(run, j, c, int(slots[at])):
                values[at] = 0
    values[(values > 0) & (run.search.own[first:last] > 0)] += OWN
    return values


def _place_unit(run: _SlotSetCall, u: int, d: int) -> int:
    """Place one unit in one domain; return the number of its pods with a place."""
    job, search = run.job, run.search
    start, stop = int(job.start[u]), int(job.start[u + 1])
    first, last = int(search.start[d]), int(search.start[d + 1])
    placed, failed = 0, -1
    for i in range(start, stop):
        j = int(job.local[i])
        c = int(job.class_id[j])
        if stop - i + placed < job.at_least[u]:
            break
        job.slot[i] = -1
        if j == failed:
            continue
        values = _values(run, j, c, first, last)
        if not values.any():
            failed = j
            continue
        best = np.flatnonzero(values == values.max())
        at = int(best[np.searchsorted(best, run.search.cursor[0]) % len(best)])
        _take(run, i, first + at)
        search.cursor[0] = at + 1
        placed += 1
    return placed


def _take(run: _SlotSetCall, i: int, place: int) -> None:
    """Assign a place to a pod."""
    job = run.job
    j, s = int(job.local[i]), int(run.search.slots[place])
    c = int(job.class_id[j])
    if run.requests.binding[j]:
        inside = _choose(run, j, c, s)
        mask = _pick_local_devices(run, j, c, s, inside)
        apply(run.program, c, s, run.state, mask, 1)
        run.held[i] = _parts(run, j, s, bits(inside))
        for z, k, amount in run.held[i]:
            run.numa.free[s, z, k] -= amount
        run.state.free[:2, s] -= _extra(run, j, c, s, inside)
        mask |= inside << NUMA_SHIFT
    else:
        mask = pick_devices(run.program, c, s, run.state, run.device_pick, 0)
        apply(run.program, c, s, run.state, mask, 1)
    run.log[run.log_state[1]] = s
    run.log_state[1] += 1
    job.slot[i], job.mask[i] = place, mask
    for q, capacity in enumerate(run.caps.capacity):
        domain = run.caps.domain[q, place]
        if domain >= 0:
            capacity[domain] -= 1


def _undo_unit(run: _SlotSetCall, start: int, stop: int) -> None:
    """Release all places of a unit, the last first."""
    job = run.job
    for i in range(stop - 1, start - 1, -1):
        place, j = int(job.slot[i]), int(job.local[i])
        job.slot[i] = -1
        if place < 0:
            continue
        s, c, mask = int(run.search.slots[place]), int(job.class_id[j]), int(job.mask[i])
        if run.requests.binding[j]:
            for z, k, amount in run.held.pop(i):
                run.numa.free[s, z, k] += amount
            run.state.free[:2, s] += _extra(run, j, c, s, numa_nodes_of(mask))
        apply(run.program, c, s, run.state, mask & DEVICE_BITS, -1)
        for q, capacity in enumerate(run.caps.capacity):
            if run.caps.domain[q, place] >= 0:
                capacity[run.caps.domain[q, place]] += 1
        job.mask[i] = 0


def _extra(run: _SlotSetCall, j: int, c: int, s: int, inside: int) -> tuple[int, ...]:
    """Return the amounts of whole NUMA nodes beyond those of the class, for CPU and memory."""
    if _BINDING[int(run.requests.binding[j])] is not NumaBinding.WHOLE:
        return (0, 0)
    whole = [sum(int(run.numa.share[s, z, r]) for z in bits(inside)) for r in CONFLICTING]
    requested = run.program.classes.by_column[c]
    return tuple(
        max(0, total - int(requested[r])) for r, total in zip(CONFLICTING, whole, strict=True)
    )


# ---------------------------------------------------------------- one machine


def _machine(run: _SlotSetCall, j: int, c: int, s: int) -> NumaMachine:
    numa, count = run.numa, int(run.numa.count[s])
    return NumaMachine(
        sockets=numa.socket[s, :count].tolist(),
        alloc=numa.alloc[s, :count].tolist(),
        free=numa.free[s, :count].tolist(),
        amounts=run.requests.amount[j].tolist(),
        aligned=run.requests.aligned[j].astype(bool).tolist(),
        devices=[
            _device_request(run, j, c, q, s)
            for q in range(run.program.classes.models.shape[1])
            if run.program.classes.device[c, 4 * q]
        ],
        share=numa.share[s, :count].tolist(),
        node_free=[int(run.state.free[r, s]) for r in CONFLICTING],
    )


def _fits(run: _SlotSetCall, c: int, q: int, s: int, d: int) -> bool:
    """Return whether a device satisfies a request."""
    classes, state = run.program.classes, run.state
    return bool(
        state.device_kind[s, d] == classes.device[c, 4 * q + 2]
        and state.device_free[s, d] >= classes.device[c, 4 * q + 1]
        and int(classes.models[c, q]) >> int(state.device_model[s, d]) & 1
    )


def _device_request(run: _SlotSetCall, j: int, c: int, q: int, s: int) -> NumaDeviceRequest:
    classes, count = run.program.classes, int(run.numa.count[s])
    fitting, installed = [0] * count, [0] * count
    for d in range(MAX_DEVICES):
        z = int(run.numa.device_numa_node[s, d])
        if 0 <= z < count and run.state.device_kind[s, d] == classes.device[c, 4 * q + 2]:
            installed[z] += 1
            fitting[z] += _fits(run, c, q, s, d)
    need, aligned = int(classes.device[c, 4 * q]), bool(run.requests.device_aligned[j, q])
    return NumaDeviceRequest(
        need, tuple(fitting) if any(installed) else (), tuple(installed), aligned
    )


def _choose(run: _SlotSetCall, j: int, c: int, s: int) -> int:
    return choose(_machine(run, j, c, s), _BINDING[int(run.requests.binding[j])])


def _pick_local_devices(run: _SlotSetCall, j: int, c: int, s: int, inside: int) -> int:
    """Return the bit mask of devices on the NUMA nodes of a pod, the fullest first."""
    whole = _BINDING[int(run.requests.binding[j])] is NumaBinding.WHOLE
    mask = 0
    for q in range(run.program.classes.models.shape[1]):
        if not run.program.classes.device[c, 4 * q]:
            continue
        by_column = _device_request(run, j, c, q, s)
        near = set(range(-1, MAX_DEVICES))
        if by_column.fitting:
            within = bits(inside)
            most = needed(by_column.need, by_column.installed)
            near = set(numa_nodes_for(by_column.fitting, within, most) if whole else within)
        for _ in range(by_column.need):
            found = [
                (int(run.state.device_free[s, d]), d)
                for d in range(MAX_DEVICES)
                if int(run.numa.device_numa_node[s, d]) in near
                and not mask >> d & 1
                and _fits(run, c, q, s, d)
            ]
            mask |= 1 << min(found)[1]
    return mask


def _parts(run: _SlotSetCall, j: int, s: int, inside: list[int]) -> list[tuple[int, int, int]]:
    """Return the amounts of a class on each of its NUMA nodes."""
    numa, whole = run.numa, _BINDING[int(run.requests.binding[j])] is NumaBinding.WHOLE
    machine = _machine(run, j, int(run.job.class_id[j]), s)
    parts = []
    for k in range(NUMA_COLUMNS):
        if whole and k in CONFLICTING:
            parts += [(z, k, int(numa.alloc[s, z, k])) for z in inside]
        elif k in relevant_columns(machine):
            parts += spread(machine, k, inside, whole) or []
    return parts

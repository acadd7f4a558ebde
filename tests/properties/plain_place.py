"""Placing as one would explain it: every pod looks at every slot, nothing is remembered.

The reference for both kernel tiers. It shares with them what a slot is worth (that is
another property's business) and nothing else: no cache, no log, no maxima, and a unit that fails is
undone by putting a copy back.
"""

from math import inf
from typing import NamedTuple

from stretto.framework.compiled.tables import (
    DevicePick,
    PodBatch,
    SlotChoice,
    TieBreak,
    TypicalPodTable,
)
from stretto.framework.kernels.numpy.slot_value import PointProgram, PointState, slot_values
from stretto.state.rows.devices import MAX_DEVICES, WHOLE
from stretto.state.rows.slots import BLOCK
from tests.properties.kernel_world import World


class Scan(NamedTuple):
    """State on which one batch is placed."""

    program: PointProgram
    state: PointState
    choice: SlotChoice
    batch: PodBatch


def plain_place(world: World, batch: PodBatch) -> int:
    """Place a batch; answers as ``place`` gives them."""
    scan = Scan(PointProgram(*world.program), PointState(*world.state), world.choice, batch)
    for unit in range(len(batch.at_least)):
        pods = range(int(batch.start[unit]), int(batch.start[unit + 1]))
        before = [column.copy() for column in scan.state]
        if not _place_unit(scan, pods, int(batch.at_least[unit])):
            for column, old in zip(scan.state, before, strict=True):
                column[...] = old
            for i in pods:
                batch.slot[i], batch.devices[i] = -1, 0
            if batch.blocking[unit]:
                return unit + 1
    return len(batch.at_least)


def _place_unit(scan: Scan, pods: range, at_least: int) -> bool:
    """Return whether enough pods found a place (an empty unit has nothing to fail)."""
    batch, placed, hopeless = scan.batch, 0, None
    for position, i in enumerate(pods):
        if len(pods) - position + placed < at_least:
            return False
        c, pin, draw = int(batch.class_id[i]), int(batch.pin[i]), int(batch.draw[i])
        batch.slot[i] = -1
        if pin < 0 and c == hopeless:
            continue
        everything = slice(0, scan.state.free.shape[1])
        row = [int(v) for v in slot_values(scan.program, c, everything, scan.state)]
        if pin >= 0:
            slot = pin if row[pin] > 0 else -1
        else:
            slot = plain_choose(row, scan.choice, draw)
            hopeless = c if slot < 0 else hopeless
        batch.slot[i] = slot
        if slot < 0:
            continue
        batch.devices[i] = mask = _devices(scan, c, slot, draw)
        _take(scan, c, slot, mask)
        placed += 1
    return placed >= at_least and (placed > 0 or not len(pods))


def plain_choose(row: list[int], choice: SlotChoice, draw: int) -> int:
    """The best slot, own blocks first, by the tie rule."""
    for own in (True, False):
        allowed = [s for s in range(len(row)) if not own or choice.own_block[s // BLOCK]]
        top = max((row[s] for s in allowed), default=0)
        if top > 0:
            best = [s for s in allowed if row[s] == top]
            break
    else:
        return -1
    if choice.pick == TieBreak.RANK:
        return min(best, key=lambda s: (choice.rank[s], s))
    if choice.pick == TieBreak.RANDOM:
        return best[draw % len(best)]
    return _rotate(best, len(row), choice)


def _rotate(best: list[int], size: int, choice: SlotChoice) -> int:
    zone_of = {s: int(choice.block_zone[s // BLOCK]) for s in best}
    now = int(choice.passes[-1])
    due, zone = min((max(int(choice.passes[z]), now), z) for z in zone_of.values())
    start = int(choice.cursor[zone])
    slot = min((s for s in best if zone_of[s] == zone), key=lambda s: (s - start) % size)
    choice.cursor[zone] = (slot + 1) % size
    choice.passes[zone] = due + int(choice.stride[zone])
    choice.passes[-1] = due
    return slot


def _devices(scan: Scan, c: int, slot: int, draw: int) -> int:
    """The devices that a class gets on a slot, as a bit mask."""
    classes, mask, how = scan.program.classes, 0, scan.choice.device_pick
    for q in range(classes.models.shape[1]):
        need, milli = (int(x) for x in classes.device[c, 4 * q : 4 * q + 2])
        fits = [d for d in range(MAX_DEVICES) if _serves(scan, (c, q), slot, d)]
        if need == 1 and milli < WHOLE and how == DevicePick.RANDOM:
            chosen = [fits[(draw >> 32) % len(fits)]]
        elif need == 1 and milli < WHOLE and how == DevicePick.SCORED and q == 0:
            chosen = [max(fits, key=lambda d: (_steps(scan, c, slot, d), -d))]
        else:
            free = [d for d in fits if not mask >> d & 1]
            chosen = sorted(free, key=lambda d: (scan.state.device_free[slot, d], d))[:need]
        mask |= sum(1 << d for d in chosen) if need else 0
    return mask


def _serves(scan: Scan, request: tuple[int, int], slot: int, device: int) -> bool:
    (c, q), classes, state = request, scan.program.classes, scan.state
    _, milli, kind, _ = classes.device[c, 4 * q : 4 * q + 4]
    return bool(
        state.device_kind[slot, device] == kind
        and state.device_free[slot, device] >= milli
        and int(classes.models[c, q]) >> int(state.device_model[slot, device]) & 1
    )


def _steps(scan: Scan, c: int, slot: int, device: int) -> int:
    """FGD's score of a GPU share on one device."""
    program, state = scan.program, scan.state
    _, milli, kind, _ = (int(x) for x in program.classes.device[c, :4])
    cpu = int(state.free[0, slot])
    gpus = [
        (int(state.device_free[slot, d]), int(state.device_model[slot, d]), d)
        for d in range(MAX_DEVICES)
        if state.device_kind[slot, d] == kind
    ]
    left = [(free - milli * (d == device), model, d) for free, model, d in gpus]
    after = plain_fragmentation(program.typical, cpu - int(program.classes.by_column[c, 0]), left)
    gain = plain_fragmentation(program.typical, cpu, gpus) - after
    return sum(gain >= threshold for threshold in program.thresholds if threshold < inf)


def plain_fragmentation(
    typical: TypicalPodTable, cpu: int, gpus: list[tuple[int, int, int]]
) -> float:
    """F of a node with so much CPU and these GPUs (free milli, model, index)."""
    total = 0.0
    for k, frequency in enumerate(typical.frequency):
        milli, models = typical.milli[k], int(typical.models[k])
        usable = [free for free, model, _ in gpus if models >> model & 1 and free >= milli]
        fits = 0 < typical.gpus[k] <= len(usable) and cpu >= typical.cpu[k]
        total += frequency * (sum(free for free, _, _ in gpus) - (sum(usable) if fits else 0))
    return total


def _take(scan: Scan, c: int, slot: int, mask: int) -> None:
    """Charge a pod of a class to a slot."""
    classes, static, state = scan.program.classes, scan.program.static, scan.state
    for i in range(int(classes.requests[c])):
        state.free[classes.column[c, i], slot] -= classes.amount[c, i]
    state.ports[:, slot] |= static.port_own[classes.port_row[c]]
    for q in range(classes.models.shape[1]):
        need, milli, kind, _ = (int(x) for x in classes.device[c, 4 * q : 4 * q + 4])
        for d in range(MAX_DEVICES):
            if mask >> d & 1 and state.device_kind[slot, d] == kind:
                state.device_free[slot, d] -= milli
        if need:
            state.census[slot, 0 if milli < WHOLE else need] += 1

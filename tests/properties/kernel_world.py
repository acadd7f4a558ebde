"""Random small worlds for the kernels: a snapshot, classes, scores and a script of what happens.

Everything is arrays, so that shapes can be odd: several zones and blocks, dead slots, nodes that
shrank under their pods, resources that some nodes have not got, devices of two kinds.
"""

import copy
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from stretto.framework.compiled.devices import fgd_thresholds
from stretto.framework.compiled.tables import (
    DEVICE_REQUESTS,
    REQUESTS,
    SCORE_COLUMNS,
    SHAPE_POINTS,
    ClassTable,
    DevicePick,
    PairScore,
    PodBatch,
    ScoreCache,
    ScoreCode,
    ScoreTable,
    SlotChoice,
    StaticTable,
    TieBreak,
    TypicalPodTable,
)
from stretto.framework.compiled.ties import ranges
from stretto.state.rows.devices import FORMS, MAX_DEVICES, WHOLE
from stretto.state.rows.slots import BLOCK

LOG = 4096
PORT_WORDS = 2
ANY_MODEL = (1 << 63) - 1


class Shape(NamedTuple):
    """Part that hypothesis draws and shrinks; the rest follows from the seed."""

    seed: int
    slots: int
    zones: int
    resources: int
    classes: int
    codes: tuple[ScoreCode, ...]
    paired: bool
    devices: bool
    pick: TieBreak
    device_pick: DevicePick
    limit: int
    steps: int


class World(NamedTuple):
    """The arrays of one engine, and the requests to it."""

    program: tuple[Any, ...]
    state: tuple[np.ndarray, ...]
    cache: ScoreCache
    log: np.ndarray
    log_state: np.ndarray
    choice: SlotChoice
    limit: int

    def copy(self) -> "World":
        return copy.deepcopy(self)


shapes = st.builds(
    Shape,
    seed=st.integers(0, 2**32 - 1),
    slots=st.integers(1, 300),
    zones=st.integers(1, 4),
    resources=st.integers(4, 6),
    classes=st.integers(1, 6),
    codes=st.lists(st.sampled_from(ScoreCode), max_size=3).map(tuple),
    paired=st.booleans(),
    devices=st.booleans(),
    pick=st.sampled_from(TieBreak),
    device_pick=st.sampled_from(DevicePick),
    limit=st.sampled_from([0, 1, 3, 20, 1000]),
    steps=st.integers(1, 6),
)


def make_world(shape: Shape, rng: np.random.Generator) -> World:
    """A world of that shape."""
    blocks = max(shape.zones, -(-shape.slots // BLOCK)) + int(rng.integers(0, 3))
    size = blocks * BLOCK
    live = np.zeros(size, np.uint8)
    live[rng.choice(size, shape.slots, replace=False)] = 1
    state = _state(shape, rng, live)
    classes = _classes(shape, rng)
    entries = rng.permutation(shape.classes + 2)[: shape.classes]
    table = np.full(shape.classes, -1, np.int32)
    table[:] = entries
    cache = ScoreCache(
        row=np.zeros((shape.classes + 2, size), np.int16),
        peak=np.zeros((shape.classes + 2, blocks), np.int16),
        top=np.zeros((shape.classes + 2, 2 * shape.zones), np.int16),
        position=np.full(shape.classes + 2, -1, np.int64),
        row_position=np.full(shape.classes + 2, -1, np.int64),
        unknown=np.zeros((shape.classes + 2, 0), np.uint64),
        refused=np.zeros((shape.classes + 2, 0), np.uint64),
        entry=table,
    )
    base = int(rng.integers(0, 3))
    program = (
        classes,
        _static(shape, rng, live),
        _pair(shape, rng),
        _scores(shape, rng),
        _typical(rng),
        fgd_thresholds(),
    )
    return World(
        program,
        state,
        cache,
        np.zeros(LOG, np.int32),
        np.array([base, 0], np.int64),
        _choice(shape, rng, blocks, size),
        shape.limit,
    )


def make_batch(shape: Shape, rng: np.random.Generator, size: int) -> PodBatch:
    """Units of some pods, gangs among them, a few pods pinned."""
    units = int(rng.integers(1, 6))
    lengths = rng.integers(0, 6, units)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    pods = int(start[-1])
    at_least = np.array([rng.integers(0, n + 1) if rng.random() < 0.7 else n for n in lengths])
    few = rng.integers(0, shape.classes, max(1, min(2, shape.classes)))
    pin = np.where(rng.random(pods) < 0.1, rng.integers(0, size, pods), -1)
    return PodBatch(
        class_id=rng.choice(few, pods).astype(np.int32),
        pin=pin.astype(np.int32),
        start=start,
        at_least=at_least.astype(np.int32),
        blocking=(rng.random(units) < 0.2).astype(np.uint8),
        draw=rng.integers(0, 1 << 63, pods, dtype=np.uint64),
        slot=np.full(pods, -2, np.int32),
        devices=np.zeros(pods, np.int32),
    )


class Change(NamedTuple):
    """New state of some slots after changes by others."""

    slots: np.ndarray
    shift: np.ndarray
    ports: np.ndarray
    device_free: np.ndarray
    census: np.ndarray
    trim: int


def make_change(rng: np.random.Generator, world: World) -> Change:
    """New amounts, ports and devices on a few slots; sometimes the log drops its start."""
    free, _, ports, _, kind, _, _ = world.state
    words = len(ports)
    slots = rng.choice(free.shape[1], int(rng.integers(1, 6)), replace=False)
    shift = rng.integers(-400, 800, (free.shape[0], len(slots))).astype(np.int32)
    usable = (kind[slots] > 0).astype(np.int32)
    return Change(
        slots,
        shift,
        rng.integers(0, 16, (words, len(slots))).astype(np.uint64),
        _free_milli(rng, len(slots)) * usable,
        rng.integers(0, 3, (len(slots), FORMS)).astype(np.int16),
        int(rng.integers(0, 10)) if rng.random() < 0.3 else 0,
    )


def apply_change(world: World, change: Change) -> None:
    """Do it and log it."""
    free, _, ports, device_free, _, _, census = world.state
    share = world.state[1][:, change.slots]
    with np.errstate(divide="ignore"):
        alloc = np.where(share > 0, np.float32(100) / share, 0).round().astype(np.int32)
    free[:, change.slots] = np.minimum(free[:, change.slots] + change.shift, alloc)
    ports[:, change.slots] = change.ports
    device_free[change.slots] = change.device_free
    census[change.slots] = change.census
    length = int(world.log_state[1])
    world.log[length : length + len(change.slots)] = change.slots
    length += len(change.slots)
    drop = min(change.trim, length)
    world.log[: length - drop] = world.log[drop:length].copy()
    world.log_state[:] = world.log_state[0] + drop, length - drop


def _state(shape: Shape, rng: np.random.Generator, live: np.ndarray) -> tuple[np.ndarray, ...]:
    size = len(live)
    alloc = rng.integers(0, 4000, (shape.resources, size)) * (
        rng.random((shape.resources, size)) < 0.9
    )
    alloc = (alloc * live).astype(np.int32)
    used = (alloc * rng.random(alloc.shape)).astype(np.int32) // 2
    free = (
        alloc
        - used
        - rng.integers(0, 300, alloc.shape).astype(np.int32) * (rng.random(alloc.shape) < 0.1)
    )
    with np.errstate(divide="ignore"):
        percent = np.where(alloc > 0, np.float32(100) / alloc.astype(np.float32), np.float32(0))
    count = rng.integers(0, 9, size) * (live > 0) * (rng.random(size) < 0.7) * shape.devices
    there = np.arange(MAX_DEVICES) < count[:, None]
    second = rng.random((size, 1)) < 0.2
    kind = np.where(there, 1 + (second & (np.arange(MAX_DEVICES) > 4)), 0).astype(np.uint8)
    model = (rng.integers(0, 3, (size, 1)) * there).astype(np.uint8)
    return (
        free.astype(np.int32),
        percent.astype(np.float32),
        rng.integers(0, 16, (PORT_WORDS, size)).astype(np.uint64),
        (_free_milli(rng, size) * there).astype(np.int32),
        kind,
        model,
        rng.integers(-1, 3, (size, FORMS)).clip(0).astype(np.int16),
    )


def _free_milli(rng: np.random.Generator, size: int) -> np.ndarray:
    parts = rng.choice([0, 100, 250, 500, 750, WHOLE, WHOLE, WHOLE], (size, MAX_DEVICES))
    return parts.astype(np.int32)


def _classes(shape: Shape, rng: np.random.Generator) -> ClassTable:
    n = shape.classes
    table = ClassTable(
        requests=np.zeros(n, np.int32),
        checked=np.zeros(n, np.int32),
        column=np.zeros((n, REQUESTS), np.int32),
        amount=np.zeros((n, REQUESTS), np.int32),
        by_column=np.zeros((n, shape.resources), np.int32),
        filter_row=rng.integers(0, 3, n).astype(np.int32),
        score_row=rng.integers(0, 3, n).astype(np.int32),
        port_row=(rng.integers(0, 3, n) * (rng.random(n) < 0.4)).astype(np.int32),
        device=np.zeros((n, 4 * DEVICE_REQUESTS), np.int32),
        models=np.zeros((n, DEVICE_REQUESTS), np.int64),
        extra_row=np.where(rng.random(n) < 0.2, rng.integers(0, 2, n), -1).astype(np.int32),
    )
    for c in range(n):
        requested = rng.permutation(shape.resources)[: int(rng.integers(0, 6))]
        table.requests[c] = len(requested)
        table.checked[c] = rng.integers(len(requested) // 2, len(requested) + 1)
        for i, column in enumerate(requested):
            table.column[c, i] = column
            table.amount[c, i] = table.by_column[c, column] = rng.integers(1, 700)
        for q in range(int(rng.integers(0, 3)) if shape.devices else 0):
            count = int(rng.choice([1, 1, 1, 2, 4]))
            milli = int(rng.choice([100, 250, 300, 500, WHOLE])) if count == 1 else WHOLE
            table.device[c, 4 * q : 4 * q + 3] = count, milli, q + 1
            table.models[c, q] = rng.choice([ANY_MODEL, 1, 2, 3, 6])
    return table


def _static(shape: Shape, rng: np.random.Generator, live: np.ndarray) -> StaticTable:
    size = len(live)
    wider = size + BLOCK * int(rng.integers(0, 2))
    eligible = np.zeros((3, wider), np.uint8)
    eligible[:, :size] = live * (rng.random((3, size)) < [[1.0], [0.8], [0.3]])
    score = rng.integers(0, 500, (3, wider)).astype(np.int16)
    score[0] = 0
    if rng.random() < 0.5:
        score[1] = score[1, 0]
    same = [int(row[0]) if (row == row[0]).all() else -1 for row in score]
    own = (1 << rng.integers(0, 4, (3, PORT_WORDS))).astype(np.uint64)
    own[0] = 0
    return StaticTable(
        eligible=eligible,
        score=score,
        uniform=np.array(same, np.int32),
        port_conflict=own.copy(),
        port_own=own,
        extra=rng.integers(-20, 200, (2, wider)).astype(np.int16),
    )


def _pair(shape: Shape, rng: np.random.Generator) -> PairScore:
    least, most, balanced = (int(x) for x in rng.integers(0, 3, 3) * shape.paired)
    w0, w1 = (float(x) for x in rng.integers(1, 4, 2)) if shape.paired else (0.0, 0.0)
    return PairScore(
        np.int32(0),
        np.int32(1),
        np.float32(w0),
        np.float32(w1),
        np.int32(least),
        np.int32(most),
        np.int32(balanced),
    )


def _scores(shape: Shape, rng: np.random.Generator) -> ScoreTable:
    n = len(shape.codes)
    table = ScoreTable(
        code=np.array([int(code) for code in shape.codes], np.int32),
        weight=rng.integers(1, 5, n).astype(np.int32),
        columns=np.zeros(n, np.int32),
        column=np.zeros((n, SCORE_COLUMNS), np.int32),
        column_weight=np.zeros((n, SCORE_COLUMNS), np.float32),
        points=np.zeros(n, np.int32),
        shape_x=np.zeros((n, SHAPE_POINTS), np.float32),
        shape_y=np.zeros((n, SHAPE_POINTS), np.float32),
    )
    for o, code in enumerate(shape.codes):
        if code > ScoreCode.RATIO:
            continue
        width = int(rng.integers(1, shape.resources + 1))
        both = rng.random() < 0.3
        columns = [0, 1] if both else rng.permutation(shape.resources)[:width]
        table.columns[o] = len(columns)
        table.column[o, : len(columns)] = columns
        table.column_weight[o, : len(columns)] = rng.integers(1, 6, len(columns))
        points = int(rng.integers(1, 5))
        table.points[o] = points
        table.shape_x[o, :points] = np.sort(rng.choice(101, points, replace=False))
        table.shape_y[o, :points] = rng.integers(0, 11, points) * 10
    return table


def _typical(rng: np.random.Generator) -> TypicalPodTable:
    kinds = int(rng.integers(0, 6))
    weight = rng.random(kinds) + 0.1
    count = rng.choice([0, 1, 1, 2, 4], kinds)
    milli = np.where(count == 1, rng.choice([100, 300, 500, WHOLE], kinds), WHOLE)
    return TypicalPodTable(
        frequency=weight / weight.sum() if kinds else weight,
        cpu=rng.integers(0, 2000, kinds).astype(np.int32),
        gpus=count.astype(np.int32),
        milli=np.where(count > 0, milli, 0).astype(np.int32),
        models=rng.choice([ANY_MODEL, 1, 2, 3], kinds).astype(np.int64),
    )


def _choice(shape: Shape, rng: np.random.Generator, blocks: int, size: int) -> SlotChoice:
    own = np.ones(blocks, np.uint8)
    if rng.random() < 0.5:
        own = (rng.random(blocks) < 0.5).astype(np.uint8)
    zone = rng.integers(0, shape.zones, blocks).astype(np.int32)
    cut = ranges(zone, own, shape.zones)
    return SlotChoice(
        pick=int(shape.pick),
        device_pick=int(shape.device_pick),
        rank=rng.integers(0, size, size).astype(np.int32),
        block_zone=zone,
        own_block=own,
        range_of=cut.of_block,
        range_first=cut.first,
        range_block=cut.block,
        stride=(2**32 // rng.integers(1, 100, shape.zones)).astype(np.int64),
        passes=rng.integers(0, 2**33, shape.zones + 1).astype(np.int64),
        cursor=rng.integers(0, size, shape.zones).astype(np.int64),
    )

"""The heart of the project: a cached placement is the placement of a full scan, in every tier.

Random clusters, classes with ports, devices, static rows and answers of Python rules, units with
gangs that fail and are undone, changes by others in between, every tie rule, any replay limit.
"""

import numpy as np
import pytest
from hypothesis import given, settings

from stretto.framework.compiled.tables import PodBatch, TieBreak
from stretto.framework.kernels.numpy.place import release
from stretto.framework.kernels.numpy.slot_value import PointProgram, PointState, slot_values
from stretto.framework.kernels.tiers import KernelTier, has_numba, kernel
from tests.properties.kernel_world import (
    Shape,
    World,
    apply_change,
    make_batch,
    make_change,
    make_world,
    shapes,
)
from tests.properties.plain_place import plain_place

NUMBA = pytest.param(
    "numba", marks=pytest.mark.skipif(not has_numba(), reason="numba is not installed")
)
# Where the compiled kernels are not cached yet, the first example compiles them.
COMPILING = pytest.mark.timeout(300)


def run(tier: KernelTier, world: World, batch: PodBatch) -> int:
    return tier.place(*world[:5], world.choice, batch, world.limit)


def copy_of(batch: PodBatch) -> PodBatch:
    return PodBatch(*(column.copy() for column in batch))


def differences(one: World, other: World, *, cached: bool) -> list[str]:
    """Names of the parts in which two worlds differ; ``one`` may keep bounds of the maxima."""
    names = ["free", "percent", "ports", "device_free", "kind", "model", "census"]
    pairs = list(zip(names, one.state, other.state, strict=True))
    pairs += [
        ("choice", np.asarray(a), np.asarray(b))
        for a, b in zip(one.choice, other.choice, strict=True)
    ]
    if cached:
        pairs += [("peak", one.cache.peak, np.maximum(one.cache.peak, other.cache.peak))]
        pairs += [("position", one.cache.position, other.cache.position)]
        pairs += [("log", one.log, other.log), ("log_state", one.log_state, other.log_state)]
    return [name for name, a, b in pairs if not np.array_equal(a, b)]


def kernels_for(shape: Shape) -> list[KernelTier]:
    """Every way to place in such a world: blocks alone too, where the profile is a plain one."""
    found = [kernel("numpy")]
    if has_numba():
        compiled = kernel("numba")
        found.append(compiled)
        if shape.paired and not shape.codes:
            found.append(compiled._replace(name="blocks", place=compiled.place_plain))
    return found


def check_script(shape: Shape, tiers: list[KernelTier]) -> tuple[int, int]:
    """Live through a world's script in every tier and plainly; pods placed and refused."""
    rng = np.random.default_rng(shape.seed)
    plain = make_world(shape, rng)
    worlds = [plain.copy() for _ in tiers]
    placed = refused = 0
    for _ in range(shape.steps):
        if rng.random() < 0.5:
            change = make_change(rng, plain)
            for world in (plain, *worlds):
                apply_change(world, change)
        batch = make_batch(shape, rng, plain.state[0].shape[1])
        batches = [copy_of(batch) for _ in tiers]
        tried = plain_place(plain, batch)
        for tier, world, mine in zip(tiers, worlds, batches, strict=True):
            assert run(tier, world, mine) == tried, tier.name
            assert mine.slot.tolist() == batch.slot.tolist(), tier.name
            assert mine.devices.tolist() == batch.devices.tolist(), tier.name
            assert differences(world, plain, cached=False) == [], tier.name
            assert differences(world, worlds[0], cached=True) == [], tier.name
        placed += int((batch.slot >= 0).sum())
        refused += int((batch.slot == -1).sum())
    return placed, refused


@COMPILING
@given(shapes)
@settings(max_examples=60)
def test_both_tiers_place_as_a_plain_scan_does(shape: Shape) -> None:
    check_script(shape, kernels_for(shape))


@COMPILING
@pytest.mark.slow
@given(shapes)
@settings(max_examples=5000)
def test_both_tiers_place_as_a_plain_scan_does_at_length(shape: Shape) -> None:
    check_script(shape, kernels_for(shape))


@COMPILING
@pytest.mark.skipif(not has_numba(), reason="numba is not installed")
@given(shapes)
@settings(max_examples=50)
def test_blocks_alone_place_as_a_plain_scan_does(shape: Shape) -> None:
    plain = shape._replace(codes=(), paired=True)
    check_script(plain, kernels_for(plain))


@pytest.mark.skipif(not has_numba(), reason="numba is not installed")
@given(shapes)
@settings(max_examples=50)
def test_a_row_made_from_blocks_is_the_row_of_a_plain_profile(shape: Shape) -> None:
    world = make_world(shape._replace(codes=(), paired=True), np.random.default_rng(shape.seed))
    size = world.state[0].shape[1]
    for c in range(shape.classes):
        row = kernel("numba").plain_row(world.program, c, *world[1:5])
        expected = slot_values(
            PointProgram(*world.program), c, slice(0, size), PointState(*world.state)
        )
        assert row.tolist() == expected.tolist()


@COMPILING
@pytest.mark.skipif(not has_numba(), reason="numba is not installed")
@pytest.mark.parametrize("pick", TieBreak)
@pytest.mark.parametrize("entry", ["place", "place_plain"])
def test_the_bounds_of_a_class_that_fits_nowhere_fall_to_zero(pick: TieBreak, entry: str) -> None:
    world = make_world(EXAMPLE._replace(pick=pick), np.random.default_rng(3))
    place, batch = getattr(kernel("numba"), entry), singles(world, 600)
    place(*world[:5], world.choice, batch, world.limit)
    assert set(batch.slot[-2:].tolist()) == {-1}
    assert not world.cache.peak[world.cache.entry[batch.class_id[0]]].any()
    assert not world.cache.top[world.cache.entry[batch.class_id[0]]].any()


@COMPILING
@pytest.mark.skipif(not has_numba(), reason="numba is not installed")
def test_a_pod_that_leaves_raises_the_bound_of_its_block() -> None:
    world = make_world(EXAMPLE, np.random.default_rng(3))
    place, batch = kernel("numba").place_plain, singles(world, 600)
    place(*world[:5], world.choice, batch, world.limit)
    left, again = int(batch.slot[0]), singles(world, 1)
    release(world.program, world.state, int(batch.class_id[0]), left, int(batch.devices[0]))
    world.log[world.log_state[1]] = left
    world.log_state[1] += 1
    place(*world[:5], world.choice, again, world.limit)
    assert again.slot.tolist() == [left]


def test_the_scripts_place_and_refuse_pods_of_every_kind() -> None:
    rng = np.random.default_rng(7)
    counts = np.zeros(2, np.int64)
    for seed in range(60):
        picks = {"slots": int(rng.integers(1, 301)), "seed": seed, "devices": seed % 2 == 0}
        shape = EXAMPLE._replace(**picks)
        counts += check_script(shape, [kernel("numpy")])
    assert (counts > 200).all(), counts


@COMPILING
@pytest.mark.parametrize("name", ["numpy", NUMBA])
def test_a_failed_gang_leaves_no_trace_but_in_the_log(name: str) -> None:
    rng = np.random.default_rng(3)
    world = make_world(EXAMPLE, rng)
    before = world.copy()
    batch = gang(world, 500)
    assert run(kernel(name), world, batch) == 1
    assert set(batch.slot.tolist()) == {-1}
    assert all(np.array_equal(a, b) for a, b in zip(world.state, before.state, strict=True))
    assert world.log_state[1] % 2 == 0


@COMPILING
@pytest.mark.parametrize("name", ["numpy", NUMBA])
def test_a_blocking_unit_that_fails_ends_the_batch(name: str) -> None:
    world = make_world(EXAMPLE, np.random.default_rng(3))
    batch = gang(world, 500)
    two = PodBatch(
        class_id=np.append(batch.class_id, batch.class_id[:1]),
        pin=np.append(batch.pin, batch.pin[:1]),
        start=np.array([0, 500, 501], np.int32),
        at_least=np.array([500, 1], np.int32),
        blocking=np.array([1, 0], np.uint8),
        draw=np.append(batch.draw, batch.draw[:1]),
        slot=np.full(501, -2, np.int32),
        devices=np.zeros(501, np.int32),
    )
    assert (run(kernel(name), world, two), int(two.slot[-1])) == (1, -2)


EXAMPLE = Shape(
    seed=1,
    slots=150,
    zones=3,
    resources=4,
    classes=4,
    codes=(),
    paired=True,
    devices=True,
    pick=0,
    device_pick=0,
    limit=20,
    steps=4,
)


def singles(world: World, size: int) -> PodBatch:
    """Pods of a class with requests, one by one."""
    return gang(world, size)._replace(
        start=np.arange(size + 1, dtype=np.int32),
        at_least=np.ones(size, np.int32),
        blocking=np.zeros(size, np.uint8),
    )


def gang(world: World, size: int) -> PodBatch:
    """One gang of a class with requests, too large for the world."""
    asking = int(np.argmax(world.program[0].requests))
    return PodBatch(
        class_id=np.full(size, asking, np.int32),
        pin=np.full(size, -1, np.int32),
        start=np.array([0, size], np.int32),
        at_least=np.array([size], np.int32),
        blocking=np.array([1], np.uint8),
        draw=np.zeros(size, np.uint64),
        slot=np.full(size, -2, np.int32),
        devices=np.zeros(size, np.int32),
    )

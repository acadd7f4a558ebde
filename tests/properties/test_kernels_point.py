"""Score of a slot: the compiled function, the one-pass scan and NumPy are equal."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stretto.framework.compiled import devices as formulas
from stretto.framework.compiled.devices import FGD_NOISE, fgd_thresholds
from stretto.framework.compiled.tables import PodBatch
from stretto.framework.kernels.numpy import place
from stretto.framework.kernels.numpy.slot_value import PointProgram, PointState, slot_values
from stretto.framework.kernels.tiers import has_numba, kernel
from stretto.state.rows.devices import MAX_DEVICES
from stretto.state.rows.slots import BLOCK
from tests.properties.kernel_world import Shape, World, make_world, shapes
from tests.properties.plain_place import plain_fragmentation

pytestmark = pytest.mark.timeout(300)  # the first example may compile the kernels


def world_of(shape: Shape) -> World:
    return make_world(shape, np.random.default_rng(shape.seed))


def size_of(world: World) -> int:
    return int(world.state[0].shape[1])


def peaks_of(world: World, c: int) -> list[int]:
    """The maxima that the compiled tier keeps of a class when it has looked for a slot."""
    batch = PodBatch(
        class_id=np.array([c], np.int32),
        pin=np.array([-1], np.int32),
        start=np.array([0, 1], np.int32),
        at_least=np.array([1], np.int32),
        blocking=np.zeros(1, np.uint8),
        draw=np.zeros(1, np.uint64),
        slot=np.zeros(1, np.int32),
        devices=np.zeros(1, np.int32),
    )
    kernel("numba").place(*world[:5], world.choice, batch, world.limit)
    peaks: list[int] = world.cache.peak[world.cache.entry[c]].tolist()
    return peaks


@pytest.mark.skipif(not has_numba(), reason="numba is not installed")
@given(shapes)
@settings(max_examples=25)
def test_the_compiled_row_and_the_compiled_slots_equal_numpy(shape: Shape) -> None:
    kernel("numba")  # drops code that was compiled from other sources
    from stretto.framework.kernels.place import slot_value

    world = world_of(shape)
    size, some = size_of(world), slice(0, None, 5)
    for c in range(shape.classes):
        expected = slot_values(
            PointProgram(*world.program), c, slice(0, size), PointState(*world.state)
        )
        entry = kernel("numba").refresh(world.program, c, *world[1:5], world.limit)
        row = world.cache.row[entry]
        slots = [
            slot_value.slot_value(*world.program, c, s, world.state) for s in range(size)[some]
        ]
        assert slots == expected[some].tolist()
        assert row.tolist() == expected.tolist()
        assert peaks_of(world.copy(), c) == expected.reshape(-1, BLOCK).max(axis=1).tolist()


@given(shapes)
def test_some_slots_are_worth_what_they_are_in_the_whole_row(shape: Shape) -> None:
    world = world_of(shape)
    program, state, size = PointProgram(*world.program), PointState(*world.state), size_of(world)
    some = np.random.default_rng(shape.seed).integers(0, size, 7)
    for c in range(shape.classes):
        row = slot_values(program, c, slice(0, size), state)
        assert slot_values(program, c, some, state).tolist() == row[some].tolist()


@given(shapes)
def test_replaying_changes_gives_the_rebuilt_row(shape: Shape) -> None:
    world, rng = world_of(shape), np.random.default_rng(shape.seed)
    program, state, size = PointProgram(*world.program), PointState(*world.state), size_of(world)
    row, peak = np.zeros(size, np.int16), np.zeros(size // BLOCK, np.int16)
    place.rebuild(program, 0, state, row, peak)
    dirty = rng.integers(0, size, 9)
    state.free[:, dirty] = rng.integers(-50, 4000, (shape.resources, 9))
    place.replay(program, 0, state, row, peak, dirty)
    patched = row.copy(), peak.copy()
    place.rebuild(program, 0, state, row, peak)
    assert [part.tolist() for part in patched] == [row.tolist(), peak.tolist()]


@given(shapes)
def test_fragmentation_equals_its_definition(shape: Shape) -> None:
    world = world_of(shape._replace(devices=True, slots=min(shape.slots, 40)))
    typical, state = world.program[4], PointState(*world.state)
    columns = formulas.DeviceSlots(state.device_free, state.device_kind, state.device_model)
    found = formulas.fragmentation(typical, state.free[0], columns, 1)
    for slot in range(0, size_of(world), 5):
        gpus = [
            (int(state.device_free[slot, d]), int(state.device_model[slot, d]), d)
            for d in range(MAX_DEVICES)
            if state.device_kind[slot, d] == 1
        ]
        expected = plain_fragmentation(typical, int(state.free[0, slot]), gpus)
        assert math.isclose(found[slot], expected, abs_tol=1e-9)


@given(st.floats(-20_000, 20_000))
@settings(max_examples=500)
def test_counting_thresholds_is_the_sigmoid_cut_to_points(gain: float) -> None:
    thresholds = fgd_thresholds()
    assume(np.abs(thresholds - gain).min() > 2 * FGD_NOISE)
    reached = int((gain >= thresholds).sum())
    assert reached == math.trunc(100 / (1 + math.exp(-gain / 1000)))


def test_a_gain_that_is_zero_but_for_rounding_scores_fifty() -> None:
    gains = np.array([-1e-12, 0.0, 1e-12])
    assert np.searchsorted(fgd_thresholds(), gains, side="right").tolist() == [50, 50, 50]

"""Placing inside given slots: the compiled form, the plain form, and what both must keep."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.framework.compiled.group_tables import (
    DomainCaps,
    DomainSearch,
    NumaSnapshot,
    PlacementJob,
    PlacementWork,
    no_caps,
    no_numa_nodes,
    no_numa_requests,
)
from stretto.framework.compiled.tables import DevicePick
from stretto.framework.kernels.numpy import groups
from stretto.framework.kernels.numpy.slot_value import PointProgram, PointState, slot_values
from stretto.state.numa.ledger import NUMA_COLUMNS, numa_nodes_of
from stretto.state.rows.devices import MAX_DEVICES
from tests.properties.kernel_world import World, make_world, shapes

kernels_within = pytest.importorskip("stretto.framework.kernels.groups.place")


def numa_on(world: World, rng: np.random.Generator) -> NumaSnapshot:
    """NUMA nodes on most machines: two sockets or one, some of them in use."""
    slots = world.state[0].shape[1]
    numa = no_numa_nodes(slots)
    numa.count[:] = rng.choice([0, 1, 2, 4, 6], slots)
    for s in range(slots):
        n = int(numa.count[s])
        numa.socket[s, :n] = np.arange(n) * 2 // max(n, 1)
        numa.alloc[s, :n, :3] = rng.integers(0, 900, (n, 3)) * (rng.random((n, 3)) < 0.9)
        taken = numa.alloc[s, :n] * rng.choice([0, 0, 0, 1, 3], (n, NUMA_COLUMNS)) // 4
        numa.free[s, :n] = numa.alloc[s, :n] - taken
        numa.share[s, :n] = numa.alloc[s, :n, :2]
        numa.average[s] = -(-numa.alloc[s].sum(axis=0) // max(n, 1))
        numa.device_numa_node[s] = rng.integers(-1, n, MAX_DEVICES) if n else -1
    return numa


def work_on(world: World, rng: np.random.Generator, *, bound: bool) -> PlacementWork:
    """A few units over a few domains, with caps where there is one unit."""
    slots = np.flatnonzero(world.program[1].eligible[0]).astype(np.int32)
    slots = rng.permutation(slots) if len(slots) else np.zeros(1, np.int32)
    cuts = np.sort(rng.integers(0, len(slots) + 1, int(rng.integers(0, 4))))
    start = np.concatenate([[0], cuts, [len(slots)]]).astype(np.int32)
    own = (rng.random(len(slots)) < 0.3).astype(np.uint8)
    search = DomainSearch(slots, start, own, rng.integers(0, len(slots), 1))
    classes = len(world.program[0].requests)
    requests = no_numa_requests(classes)
    if bound:
        requests.binding[:] = rng.integers(0, 4, classes)
        requests.amount[:, :3] = rng.integers(0, 500, (classes, 3)) * (
            rng.random((classes, 3)) < 0.8
        )
        requests.aligned[:, 2] = rng.integers(0, 2, classes)
        requests.device_aligned[:] = rng.integers(0, 2, requests.device_aligned.shape)
    lengths = rng.integers(1, 8, int(rng.integers(1, 4)))
    pods = int(lengths.sum())
    job = PlacementJob(
        class_id=np.arange(classes, dtype=np.int32),
        local=rng.integers(0, classes, pods).astype(np.int32),
        start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
        at_least=np.array([rng.integers(1, n + 1) for n in lengths], np.int32),
        blocking=(rng.random(len(lengths)) < 0.2).astype(np.uint8),
        slot=np.full(pods, -2, np.int32),
        mask=np.zeros(pods, np.int32),
    )
    caps = no_caps(len(slots))
    if rng.random() < 0.5:
        domain = rng.integers(-1, 5, (2, len(slots))).astype(np.int32)
        caps = DomainCaps(domain, rng.integers(0, 4, (2, 5)).astype(np.int32))
    return PlacementWork(numa_on(world, rng), requests, caps, search, job)


def run_both(
    seed: int, world: World, *, bound: bool
) -> tuple[World, PlacementWork, World, PlacementWork]:
    """The same work by both forms, each on a world of its own."""
    rng = np.random.default_rng(seed)
    work = work_on(world, rng, bound=bound)
    other, same = (
        world.copy(),
        PlacementWork(*(type(part)(*(a.copy() for a in part)) for part in work)),
    )
    pick = int(DevicePick.FULLEST)
    rows = np.zeros((0, 0), np.int16)
    if seed % 2:  # values of the whole row, as the runtime hands them over for many places
        slots, given = slice(0, world.state[0].shape[1]), PointProgram(*world.program)
        classes = range(len(world.program[0].requests))
        rows = np.stack([slot_values(given, c, slots, PointState(*world.state)) for c in classes])
    tried = kernels_within.place_in_slots(
        world.program, world.state, *work, world.log, world.log_state, pick, rows
    )
    again = groups.place_in_slots(
        other.program, other.state, same, (other.log, other.log_state), pick
    )
    assert tried == again
    return world, work, other, same


@pytest.mark.timeout(600)
@settings(max_examples=25, deadline=None)
@given(shapes, st.integers(0, 2**32 - 1), st.booleans())
def test_both_forms_give_every_pod_the_same_place(shape, seed, bound) -> None:
    world = make_world(shape, np.random.default_rng(shape.seed))
    fast, work, plain, same = run_both(seed, world, bound=bound)
    assert work.job.slot.tolist() == same.job.slot.tolist()
    assert work.job.mask.tolist() == same.job.mask.tolist()
    assert all(np.array_equal(a, b) for a, b in zip(fast.state, plain.state, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(work.numa, same.numa, strict=True))
    assert np.array_equal(work.caps.capacity, same.caps.capacity)


@pytest.mark.timeout(600)
@settings(max_examples=25, deadline=None)
@given(shapes, st.integers(0, 2**32 - 1))
def test_a_unit_is_placed_in_one_domain_with_enough_pods_or_leaves_no_trace(shape, seed) -> None:
    world = make_world(shape, np.random.default_rng(shape.seed))
    before = [array.copy() for array in world.state]
    _, work, _, _ = run_both(seed, world, bound=True)
    job, search = work.job, work.search
    domains = [set(search.slots[a:b].tolist()) for a, b in pairwise(search.start)]
    for u, least in enumerate(job.at_least):
        placed = [s for s in job.slot[job.start[u] : job.start[u + 1]].tolist() if s >= 0]
        assert not placed or len(placed) >= least
        assert not placed or any(set(placed) <= domain for domain in domains)
    if not (job.slot >= 0).any():
        assert all(np.array_equal(a, b) for a, b in zip(before, world.state, strict=True))


@pytest.mark.timeout(600)
@settings(max_examples=25, deadline=None)
@given(shapes, st.integers(0, 2**32 - 1))
def test_no_numa_node_gives_more_than_it_has_free(shape, seed) -> None:
    world = make_world(shape, np.random.default_rng(shape.seed))
    _, work, _, _ = run_both(seed, world, bound=True)
    bound = work.requests.binding[work.job.local] > 0
    taken = work.job.slot[bound & (work.job.slot >= 0)]
    assert (work.numa.free[taken] >= 0).all()
    assert all(numa_nodes_of(int(mask)) for mask in work.job.mask[bound & (work.job.slot >= 0)])

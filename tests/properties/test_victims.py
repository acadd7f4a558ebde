"""The search for victims equals a rehearsal on every node, in both tiers, after any changes."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stretto.base.clock import ManualClock
from stretto.framework.compiled.one_node import Preemptor, VictimCandidate
from stretto.framework.kernels.numpy import victims
from stretto.framework.kernels.numpy.victims import VictimSearchHit
from stretto.framework.parity.decision import PostFilterResult
from stretto.framework.preemption.cycle import CycleVictims
from stretto.framework.preemption.terms import PriorityTerms
from stretto.state.victims.index import Victims
from tests.properties.victim_world import CALM, World, same

pytest.importorskip("numba")
from stretto.framework.kernels.victims import best_of_many, search

seeds = st.integers(0, 1 << 30)
few = settings(max_examples=35)


@few
@given(seeds, st.booleans(), st.booleans())
@example(71607, True, False)
def test_both_tiers_find_what_rehearsing_every_node_finds(
    seed: int, budgets: bool, hard: bool
) -> None:
    world = World(seed, budgets=budgets, hard=hard)
    for _ in range(6):
        preemptor = world.preemptor()
        world.victims.sync(world.now)
        wanted, plain = world.wanted(preemptor), world.plainly(preemptor)
        assert same(victims.search(world.index, wanted, world.limits), plain)
        assert same(search.search(world.index, wanted, world.limits), plain)
        world.change()


@few
@given(seeds, st.booleans())
def test_the_node_and_its_victims_are_those_of_kube_schedulers_search(
    seed: int, budgets: bool
) -> None:
    world = World(seed, budgets=budgets)
    for _ in range(4):
        preemptor = world.preemptor()
        world.victims.sync(world.now)
        decision = world.as_upstream_decides(preemptor)
        hit = search.search(world.index, world.wanted(preemptor), world.limits)
        if not len(decision.feasible):
            assert decision.preemption is not None
            assert agrees(world, hit, decision.preemption)
        world.change(CALM)


def agrees(world: World, hit: VictimSearchHit | None, upstream: PostFilterResult) -> bool:
    """Return whether a node is one of upstream's best with the same victims, or none is found."""
    if hit is None or upstream.chosen is None:
        return hit is None and upstream.chosen is None
    names = world.cluster.pods.name
    node = world.cluster.nodes.names[hit.slot]
    mine = ([names[row] for row in hit.victims], len(hit.beyond))
    theirs = next(each for each in upstream.candidates if each.node == node)
    best = {upstream.chosen.node, *upstream.tied}
    return node in best and mine == ([v.key[1] for v in theirs.victims], theirs.violations)


@few
@given(seeds, st.integers(1, 40))
def test_an_updated_index_equals_a_new_one(seed: int, changes: int) -> None:
    world = World(seed)
    for _ in range(changes):
        world.change()
        world.victims.sync(world.now)
    recomputed = Victims(world.cluster, world.rules, world.budgets)
    recomputed.sync(world.now)
    assert contents(world.victims) == contents(recomputed)


@few
@given(seeds, st.booleans(), st.booleans())
def test_many_that_are_alike_get_what_each_would_get_after_the_other(
    seed: int, budgets: bool, hard: bool
) -> None:
    together, alone = (World(seed, budgets=budgets, hard=hard) for _ in range(2))
    preemptor, twin = together.preemptor(), alone.preemptor()
    for world in (together, alone):
        world.victims.sync(world.now)
    known = together.victims.most, together.victims.budgets_in_safe_sums()
    wanted = together.wanted(preemptor)
    hits = best_of_many.search_many(together.index, wanted, together.limits, known, 12)
    assert one_by_one(alone, twin, 12) == hits
    rows = [row for hit in hits for row in (*hit.victims, *hit.displaced)]
    together.victims.taken(rows, [hit.slot for hit in hits])
    assert contents(together.victims) == contents(alone.victims)


def one_by_one(world: World, preemptor: Preemptor, count: int) -> list[VictimCandidate]:
    """Search, promise, and search again."""
    hits = []
    for _ in range(count):
        hit = victims.search(world.index, world.wanted(preemptor), world.limits)
        if hit is None:
            break
        rows = (*hit.victims, *hit.displaced)
        world.victims.take(rows, hit.slot, world.victims.request_number(preemptor.class_id))
        world.budgets.spend(hit.victims)
        hits.append(VictimCandidate(hit.slot, hit.victims, hit.beyond, hit.displaced, 0))
    return hits


@few
@given(seeds)
def test_the_end_of_an_exclusion_brings_no_promised_victim_back(seed: int) -> None:
    world = World(seed)
    cycle = CycleVictims(
        world.cluster, PriorityTerms(world.cluster, world.rules), world.budgets, ManualClock()
    )
    cycle.sync()
    entries, pods = cycle.victims.entries, world.cluster.pods
    going, kept = [int(entries.row[s, 0]) for s in np.flatnonzero(entries.length)[:2]]
    slot = int(pods.slot[going])
    cycle.take(kept, VictimCandidate(slot, (going,), frozenset(), (), 0))
    before = contents(cycle.victims)
    cycle.spare([going, kept])
    cycle.end_sparing()
    assert contents(cycle.victims) == before


def contents(index: Victims) -> object:
    """The contents of an index by rows: numbers of requests and sets may differ."""
    entries, sums = index.entries, index.sums
    slots = []
    for slot in range(len(entries.length)):
        places = range(int(entries.length[slot]))
        slots.append(
            [
                (
                    int(entries.row[slot, k]),
                    int(entries.kind[slot, k]),
                    index.sets[int(entries.budget[slot, k])],
                    index.requests[entries.request[slot, k]].tolist(),
                )
                for k in places
            ]
        )
    top = sums.below[-1].tolist() if len(sums.below) else []
    safe = sums.safe[-1].tolist() if len(sums.safe) else []
    return slots, top, safe, sums.free.tolist()

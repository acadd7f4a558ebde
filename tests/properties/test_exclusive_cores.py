"""Exclusive cores on nodes that promise more than they have: shards agree with the binder."""

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stretto.base.rng import Rng
from stretto.framework.compiled.placement import PlacementRequest
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.placers import PlacerFactory
from stretto.framework.profile.profile import load_profile
from stretto.state.classes.table import PodClass
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.config import ClusterConfig
from stretto.state.rows.promises import NodeRatio, PromisedAmounts, RatioBound, amplified
from stretto.state.rows.resources import CPU, MEMORY
from stretto.state.rows.snapshot import Columns
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import ClusterFeed, same_columns

EXCLUSIVE = {"katalyst.kubewharf.io/qos_level": "dedicated_cores"}
OVERCOMMIT = {"profiles": [{"stretto": {"overcommit": {"pools": {"o": {"caps": {"cpu": 3}}}}}}]}
EXACT = (1.0, 1.25, 1.5, 2.0, 3.0, 1.1, 1.2, 1.35)
"""Ratios whose truncated products with whole amounts are exact; those of ``ANY`` are not all."""
ANY = (1.15, 1.4, 1.333, 2.3, 2.55)
pods = st.tuples(st.sampled_from(["500m", "1", "1500m", "2"]), st.booleans())
units = st.lists(
    st.tuples(st.lists(pods, min_size=1, max_size=4), st.integers(1, 4)), min_size=1, max_size=8
)


def ratios(of: tuple[float, ...]) -> st.SearchStrategy[list[float]]:
    return st.lists(st.sampled_from(of), min_size=1, max_size=4)


class World:
    """Nodes with a ratio of four cores or 4000Mi, a shard's runtime, and units of pods."""

    def __init__(
        self,
        nodes: list[float],
        units: list[tuple[list[tuple[str, bool]], int]],
        resource: str = "cpu",
    ) -> None:
        self.resource = resource
        self.feed = ClusterFeed(config=ClusterConfig(overcommits=True))
        for number, ratio in enumerate(nodes):
            self.feed.node(make_node(f"n{number}", cpu="4", memory="4000Mi"))
            bound = NodeRatio(ratio, 3.0, RatioBound.STATIC)
            self.cluster.ledger.set_ratios(number, {resource: bound} if ratio > 1 else {})
        self.units: list[tuple[list[int], int]] = []
        for members, least in units:
            rows = [self.pod(amount, exclusive=exclusive) for amount, exclusive in members]
            self.units.append((rows, min(least, len(members))))
        engine = CompiledProfile(load_profile(OVERCOMMIT), self.cluster)
        self.runtime = PlacerFactory(engine, "numpy").by_class(Rng(1))
        self.runtime.sync()

    @property
    def cluster(self) -> Cluster:
        return self.feed.cluster

    def pod(self, amount: str, *, exclusive: bool) -> int:
        name, notes = f"p{self.feed.version}", EXCLUSIVE if exclusive else {}
        requests = {"cpu": "0", "memory": "0", self.resource: amount}
        self.feed.pod(make_pod(name, **requests, annotations=notes))
        return self.feed.row(name)

    def class_of(self, row: int) -> PodClass:
        return self.cluster.classes[int(self.cluster.pods.class_id[row])]

    def fits(self, row: int, slot: int) -> bool:
        """The exact check of the binder."""
        pod = self.class_of(row)
        return self.cluster.ledger.fits(slot, pod.requests, exclusive=pod.annotations.is_exclusive)

    def place(self) -> Any:
        rows = [row for members, _ in self.units for row in members]
        starts = np.cumsum([0, *(len(members) for members, _ in self.units)]).tolist()
        ids, least = self.cluster.pods.class_id[rows], [least for _, least in self.units]
        return self.runtime.place(PlacementRequest(ids, starts, least)).slots.tolist()

    def charged(self, rows: list[int], slots: list[int]) -> list[bool]:
        """Charge claims in order; returns which of them fit."""
        found = []
        for row, slot in zip(rows, slots, strict=True):
            if slot >= 0:
                found.append(self.fits(row, slot))
                self.cluster.charges.charge(row, slot)
        return found

    def most(self, rows: list[int]) -> int:
        """Members that fit one after another, each on the first node that holds it."""
        taken = []
        for row in rows:
            slot = next(
                (s for s in range(len(self.cluster.nodes.by_name)) if self.fits(row, s)), -1
            )
            if slot >= 0:
                self.cluster.charges.charge(row, slot)
                taken.append(row)
        for row in taken:
            self.cluster.charges.refund(row)
        return len(taken)


@given(ratios(EXACT + ANY), units)
def test_every_claim_of_a_batch_holds(nodes: list[float], wanted: Any) -> None:
    world = World(nodes, wanted)
    rows = [row for members, _ in world.units for row in members]
    assert all(world.charged(rows, world.place()))


@given(ratios(EXACT + ANY), units)
def test_the_snapshot_shows_what_the_binder_will_charge(nodes: list[float], wanted: Any) -> None:
    world = World(nodes, wanted)
    rows = [row for members, _ in world.units for row in members]
    world.charged(rows, world.place())
    true = Columns(world.cluster.ledger)
    true.sync()
    assert same_columns(world.runtime.columns, true) == []


@given(ratios(EXACT + ANY), units)
def test_a_unit_of_equal_pods_waits_only_if_too_few_fit(nodes: list[float], wanted: Any) -> None:
    world = World(nodes, [(members[:1] * len(members), least) for members, least in wanted])
    slots = iter(world.place())
    for rows, least in world.units:
        here = [next(slots) for _ in rows]
        possible = world.most(rows)
        assert sum(slot >= 0 for slot in here) == (possible if possible >= least else 0)
        world.charged(rows, here)


@given(ratios(EXACT + ANY), units)
def test_members_that_are_given_back_leave_no_trace_in_the_snapshot(
    nodes: list[float], wanted: Any
) -> None:
    world = World(nodes, wanted)
    before = world.runtime.columns.copied()
    rows = [row for members, _ in world.units for row in members]
    for row, slot in reversed(list(zip(rows, world.place(), strict=True))):
        if slot >= 0:
            world.runtime.give_back(world.class_of(row).id, slot, 0)
    assert same_columns(world.runtime.columns, before) == []


@given(ratios(EXACT + ANY), units)
def test_a_plan_that_is_dropped_leaves_no_trace_in_the_snapshot(
    nodes: list[float], wanted: Any
) -> None:
    world = World(nodes, wanted)
    slots = [slot for slot in world.place() if slot >= 0]
    world.cluster.ledger.mark_changed(slots)
    world.runtime.sync()
    true = Columns(world.cluster.ledger)
    true.sync()
    assert same_columns(world.runtime.columns, true) == []


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["", "cpu", "memory"])), max_size=12))
def test_real_amounts_by_column_are_those_by_slot(changes: list[tuple[int, str]]) -> None:
    feed = ClusterFeed(*(make_node(f"n{i}", cpu=f"{i + 1}") for i in range(6)))
    ledger, slots = feed.cluster.ledger, np.arange(6)
    for slot, name in changes:
        ledger.set_ratios(slot, {name: NodeRatio(2.0, 3.0, RatioBound.STATIC)} if name else {})
    for column in (CPU, MEMORY):
        promised = ledger.alloc[slots, column]
        by_slot = [
            ledger.promises.real(slot).get(column, amount)
            for slot, amount in enumerate(promised.tolist())
        ]
        assert ledger.promises.real_on(column, slots, promised).tolist() == by_slot


amounts = st.one_of(st.integers(0, 1 << 42), st.integers(0, 400).map(lambda n: n * 100))


@given(st.one_of(st.sampled_from(EXACT + ANY), st.floats(1.0, 10.0)), amounts, amounts, amounts)
def test_exclusive_amounts_take_and_give_back_no_more_and_no_less_than_their_bounds(
    ratio: float, held: int, more: int, shared: int
) -> None:
    promises, real = PromisedAmounts(), held + more + shared
    promises.set_ratios(0, {CPU: NodeRatio(ratio, 10.0, RatioBound.STATIC)})
    change = amplified(real, held, ratio) - amplified(real, held + more, ratio)
    lost, regained = (each(0, [(CPU, more)]) for each in (promises.lost, promises.regained))
    assert regained.get(CPU, 0) <= change <= lost.get(CPU, 0)


@given(ratios(EXACT + ANY), st.lists(st.integers(1, 4000), min_size=1, max_size=6))
def test_a_pod_waits_only_if_the_binder_would_refuse_it(
    nodes: list[float], sizes: list[int]
) -> None:
    world = World(nodes[:1], [([(f"{size}m", True)], 1) for size in sizes])
    for (row,), _ in world.units:
        ids = world.cluster.pods.class_id[[row]]
        fits, (slot,) = (
            world.fits(row, 0),
            world.runtime.place(PlacementRequest(ids, [0, 1], [1])).slots,
        )
        assert (slot == 0) == fits
        world.charged([row], [int(slot)])
        world.runtime.sync()


def fit_together(ratio: float, real: int, placed: "Sized") -> bool:
    """Return whether shared amounts fit beside exclusive ones, which count once: in integers."""
    exclusive = sum(amount for amount, alone in placed if alone)
    shared = sum(amount for amount, alone in placed if not alone)
    return exclusive <= real and shared <= max(int((real - exclusive) * ratio), real - exclusive)


UNITS = {"cpu": ("m", 1), "memory": ("Mi", 1 << 20)}
"""Amount of a resource in the notation of a test, and its size in the units of the ledger."""
any_ratio = st.one_of(st.sampled_from(EXACT + ANY), st.integers(100, 300).map(lambda n: n / 100))
Sized = list[tuple[int, bool]]


@st.composite
def gangs_that_fill_a_node(draw: st.DrawFn, ratio: float) -> list[Sized]:
    """Gangs that take all of a node of 4000, or one unit less or more, in any order."""
    cuts = sorted(draw(st.lists(st.integers(0, 80).map(lambda n: n * 50), max_size=6)))
    sizes = [b - a for a, b in pairwise([0, *cuts, 4000])]
    kinds = draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes)))
    pods = [(n, alone) for n, alone in zip(sizes, kinds, strict=True) if alone]
    exclusive = sum(n for n, _ in pods)
    pods.append((int((4000 - exclusive) * ratio) + draw(st.integers(-1, 1)), False))
    pods = draw(st.permutations([each for each in pods if each[0] > 0]))
    parts = sorted(draw(st.sets(st.integers(0, len(pods)), max_size=3)))
    gangs = [list(pods[a:b]) for a, b in pairwise([0, *parts, len(pods)])]
    return [gang for gang in gangs if gang]


@given(st.data(), st.sampled_from(list(UNITS)), any_ratio)
def test_a_gang_is_placed_on_a_node_exactly_if_it_fits_in_integers(
    data: st.DataObject, resource: str, ratio: float
) -> None:
    (suffix, size), wanted = UNITS[resource], data.draw(gangs_that_fill_a_node(ratio))
    units = [([(f"{n}{suffix}", alone) for n, alone in gang], 9) for gang in wanted]
    slots, placed = iter(World([ratio], units, resource).place()), Sized()
    for gang in ([(n * size, alone) for n, alone in gang] for gang in wanted):
        fits = fit_together(ratio, 4000 * size, [*placed, *gang])
        assert [next(slots) >= 0 for _ in gang] == [fits] * len(gang)
        placed += gang if fits else []

"""Resource offers: laws over random pools, fair division, exact sums."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.base.rng import Rng
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.sorting.sorter import ClientSorter, PoolTotals
from stretto.offers.allocator.subjects.agents import AgentInfo
from stretto.offers.allocator.subjects.frameworks import FrameworkInfo
from stretto.offers.allocator.subjects.settings import MESOS, SorterKind
from stretto.offers.allocator.values.kinds import ResourceIdentity
from stretto.offers.allocator.values.resources import Resources, resources_of, scalars
from stretto.offers.allocator.values.scalars import from_milli
from stretto_lab.chaos.offers.play import OfferPlay
from stretto_lab.chaos.seeds import run_seed

pytestmark = pytest.mark.timeout(240)

PATHS = ("a", "a/b", "a/c", "b", "b/c/d", "c")
AMOUNTS = st.integers(0, 5_000)
RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), max_size=4)


@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32))
def test_every_law_holds_after_every_step_of_a_random_pool(seed: int) -> None:
    assert run_seed(OfferPlay, seed, 40).breach == ""


@settings(max_examples=8)
@given(seed=st.integers(0, 1 << 32))
def test_the_same_seed_makes_the_same_decisions(seed: int) -> None:
    assert run_seed(OfferPlay, seed, 25) == run_seed(OfferPlay, seed, 25)


@settings(max_examples=20)
@given(nodes=st.integers(1, 60), weights=st.lists(st.integers(1, 5), min_size=2, max_size=5))
def test_equal_nodes_are_divided_by_weight_to_within_one_node(
    nodes: int, weights: list[int]
) -> None:
    allocator = make_allocator(Rng(1), MESOS)
    allocator.set_weights({f"r{i}": float(weight) for i, weight in enumerate(weights)})
    for i in range(len(weights)):
        allocator.add_framework(FrameworkInfo(f"{i}", frozenset({f"r{i}"})))
    for number in range(nodes):
        allocator.add_agent(AgentInfo(f"n{number}", "host", scalars(cpus=1000)))
    got = [0] * len(weights)
    for offer in allocator.cycle(1.0).offers:
        got[int(offer.framework)] += 1
    assert sum(got) == nodes
    for mine, weight in zip(got, weights, strict=True):
        for theirs, other in zip(got, weights, strict=True):
            assert (mine - 1) / weight <= theirs / other + 1e-9


def summed(cpus: int, mem: int, pairs: list[tuple[int, int]]) -> Resources:
    ports = [(ResourceIdentity("ports"), ((low, low + more),)) for low, more in pairs]
    return scalars(cpus=cpus, mem=mem) + resources_of(ports)


SUMS = st.builds(summed, AMOUNTS, AMOUNTS, RANGES)


@given(one=SUMS, other=SUMS)
def test_a_sum_contains_its_parts_and_gives_scalars_back_exactly(
    one: Resources, other: Resources
) -> None:
    whole = one + other
    assert whole.contains(one)
    assert whole.contains(other)
    assert dict((whole - other).quantities) == dict(one.quantities)
    assert (one - one, other + one) == (resources_of([]), whole)


def reference_order(held: dict[str, int], counts: dict[str, int], total: int) -> list[str]:
    """A full sort: each sibling by the share of its subtree, grants of the subtree, path."""

    def below(node: str, amounts: dict[str, int]) -> int:
        return sum(n for path, n in amounts.items() if path == node or path.startswith(f"{node}/"))

    def key(path: str) -> list[tuple[float, int, str]]:
        parts = path.split("/")
        nodes = ["/".join(parts[: i + 1]) for i in range(len(parts))]
        keys = [(from_milli(below(n, held)) / total, below(n, counts), n) for n in nodes]
        if any(other.startswith(f"{path}/") for other in held):
            keys.append((from_milli(held[path]) / total, counts[path], f"{path}/."))
        return keys

    return sorted(held, key=key)


@given(steps=st.lists(st.tuples(st.sampled_from(PATHS), st.integers(-3, 5)), max_size=30))
def test_the_order_that_is_kept_equals_a_full_sort(steps: list[tuple[str, int]]) -> None:
    totals = PoolTotals(frozenset())
    totals.change((("cpus", 100_000),), 1)
    sorter = ClientSorter(SorterKind.DRF, Rng(1), totals, {})
    for path in PATHS:
        sorter.add(path, path)
        sorter.set_active(path, active=True)
    held, counts = dict.fromkeys(PATHS, 0), dict.fromkeys(PATHS, 0)
    for path, change in steps:
        if change > 0:
            sorter.allocate(path, "agent", scalars(cpus=change * 1000))
            counts[path] += 1
        elif held[path] >= -change * 1000:
            sorter.adjust(path, "agent", scalars(cpus=-change * 1000), -1)
        else:
            continue
        held[path] += change * 1000
        assert list(sorter.order()) == reference_order(held, counts, 100)

"""Equal pods follow the shares of the zones for any order of node changes."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import NODE
from stretto.base.rng import Rng
from stretto.stores.store import Deletion
from stretto.testing import Harness, make_node, make_pod

#: Nodes of the ten zones: 120 in all, the largest nine times the smallest.
SIZES = [4, 6, 8, 8, 10, 10, 12, 12, 14, 36]
PODS = 2000


def zone_of(node: str) -> str:
    return node.split("-", maxsplit=1)[0]


def shares(harness: Harness, pods: int) -> dict[str, float]:
    """Pods of each zone, as a multiple of its share."""
    nodes = Counter(map(zone_of, harness.plane.cluster.nodes.by_name))
    placed = Counter(map(zone_of, harness.placements().values()))
    return {zone: placed[zone] * nodes.total() / (count * pods) for zone, count in nodes.items()}


def fleet(order: list[int], config: dict[str, object]) -> Harness:
    """The zones' nodes in an order, with a stranger after every third that goes again."""
    harness = Harness(config={"tier": "numpy", **config})
    names = [f"z{zone}-{n}" for zone, size in enumerate(SIZES) for n in range(size)]
    for step, index in enumerate(order):
        zone = zone_of(names[index])
        harness.create(NODE, make_node(names[index], cpu="64", zone=zone))
        if step % 3 == 0:
            harness.create(NODE, make_node(f"{zone}-gone{index}", cpu="64", zone=zone))
            harness.settle()
            harness.store.delete(NODE, [Deletion("", f"{zone}-gone{index}")])
    harness.settle()
    return harness


def like_pods(count: int, cpu: str = "100m") -> list[bytes]:
    """Of a tenth of a core, scores alone would spread them; of almost nothing, all score alike."""
    return [make_pod(f"p{number}", cpu=cpu, memory="1") for number in range(count)]


orders = st.permutations(range(sum(SIZES)))


@settings(max_examples=5)
@given(orders, st.sampled_from(["1m", "100m"]))
def test_no_zone_is_ten_percent_from_its_share(order: list[int], cpu: str) -> None:
    harness = fleet(order, {})
    harness.submit(*like_pods(PODS, cpu))
    harness.settle()
    assert {z: round(s, 2) for z, s in shares(harness, PODS).items() if abs(s - 1) > 0.1} == {}


@settings(max_examples=3)
@given(orders, st.sampled_from(["1m", "100m"]))
def test_shares_hold_with_two_shards(order: list[int], cpu: str) -> None:
    harness = fleet(order, {"shards": 2})
    harness.submit(*like_pods(PODS, cpu))
    harness.settle()
    assert {z: round(s, 2) for z, s in shares(harness, PODS).items() if abs(s - 1) > 0.1} == {}


def test_shares_hold_when_a_zone_has_hardly_more_nodes_than_there_are_shards() -> None:
    order = list(range(sum(SIZES)))
    Rng(0).shuffle(order)
    harness = fleet(order, {"shards": 3})
    harness.submit(*like_pods(PODS, "1m"))
    harness.settle()
    assert all(abs(share - 1) <= 0.1 for share in shares(harness, PODS).values())


def test_shares_follow_a_zone_that_grows_in_between() -> None:
    harness = fleet(list(range(sum(SIZES))), {})
    harness.submit(*like_pods(500))
    harness.settle()
    harness.create(NODE, *[make_node(f"z0-new{n}", cpu="64", zone="z0") for n in range(12)])
    before = Counter(map(zone_of, harness.placements().values()))["z0"]
    harness.submit(*[make_pod(f"q{n}", cpu="100m") for n in range(1320)])
    harness.settle()
    after = Counter(map(zone_of, harness.placements().values()))["z0"]
    assert after - before >= 0.9 * 1320 * 16 / 132


@pytest.mark.slow
@settings(max_examples=60)
@given(orders, st.integers(1, 2), st.sampled_from(["1m", "100m"]))
def test_shares_hold_in_many_orders(order: list[int], shards: int, cpu: str) -> None:
    harness = fleet(order, {"shards": shards})
    harness.submit(*like_pods(PODS, cpu))
    harness.settle()
    assert all(abs(share - 1) <= 0.1 for share in shares(harness, PODS).values())

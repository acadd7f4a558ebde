"""Partitions stay even within a block in every zone, and change little."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stretto.control.scheduler.even_shares import EvenShares, NodeBlocks
from stretto.control.scheduler.partition import Partitions
from stretto.state.rows.slots import BLOCK, SlotMap

SHARDS = st.sets(st.integers(0, 5), min_size=1)
CHANGES = st.lists(
    st.tuples(st.sampled_from(["add", "remove"]), st.integers(0, 3), st.integers(1, 300)),
    min_size=1,
    max_size=6,
)


def loads(slots: SlotMap, owners: np.ndarray, zone: int, shards: set[int]) -> list[int]:
    in_zone = slots.block_zone == zone
    return [int(slots.block_live[in_zone & (owners == shard)].sum()) for shard in sorted(shards)]


def change(slots: SlotMap, what: str, zone: int, count: int) -> None:
    for _ in range(count if what == "add" else 0):
        slots.add(f"zone-{zone}")
    for slot in np.flatnonzero(slots.live)[zone::4][: count if what == "remove" else 0]:
        slots.remove(int(slot))


@given(st.lists(st.tuples(CHANGES, SHARDS), min_size=1, max_size=4), st.integers(1, 4))
def test_every_zone_is_even_within_one_block(
    steps: list[tuple[list[tuple[str, int, int]], set[int]]], fan_out: int
) -> None:
    slots, partitions = SlotMap(fan_out), Partitions()
    for changes, shards in steps:
        for each in changes:
            change(slots, *each)
        owners = partitions.update(slots, sorted(shards))
        assert set(owners.tolist()) <= shards
        for zone in range(slots.zones):
            held = loads(slots, owners, zone, shards)
            assert max(held) - min(held) <= BLOCK


@given(st.lists(CHANGES, min_size=1, max_size=4), SHARDS, st.integers(0, 5))
def test_a_shard_that_comes_or_goes_moves_little_more_than_its_share(
    fleets: list[list[tuple[str, int, int]]], shards: set[int], other: int
) -> None:
    slots, partitions = SlotMap(3), Partitions()
    for changes in fleets:
        for each in changes:
            change(slots, *each)
    before = partitions.update(slots, sorted(shards)).copy()
    changed = shards ^ {other} or {other}
    after = partitions.update(slots, sorted(changed))
    stayed = np.isin(before, sorted(changed))
    moved = int(slots.block_live[stayed & (before != after)].sum())
    share = int(slots.block_live.sum()) // len(changed)
    assert moved <= (share if other in changed else 0) + 2 * BLOCK * len(changed) * slots.zones


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(-1, 4)), max_size=60),
    st.sets(st.integers(0, 3), min_size=1),
    st.sampled_from([0.0, 0.1]),
)
def test_dealt_pieces_are_even_within_the_heaviest_and_the_slack(
    pieces: list[tuple[int, int, int]], shards: set[int], slack: float
) -> None:
    zones, weights, before = ([piece[i] for piece in pieces] for i in range(3))
    owner = list(before)
    EvenShares(NodeBlocks(zones, weights, slack=slack), sorted(shards), owner).deal()
    assert set(owner) <= shards
    for zone in set(zones):
        mine = [piece for piece in range(len(pieces)) if zones[piece] == zone]
        held = [sum(weights[p] for p in mine if owner[p] == shard) for shard in shards]
        heaviest = max(weights[p] for p in mine)
        even = max(heaviest, int(slack * sum(held) / len(shards)))
        assert max(held) - min(held) <= even


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(-1, 4)), max_size=60),
    st.sets(st.integers(0, 3), min_size=1),
)
def test_what_was_dealt_out_stays_when_it_is_dealt_again(
    pieces: list[tuple[int, int, int]], shards: set[int]
) -> None:
    zones, weights, owner = ([piece[i] for piece in pieces] for i in range(3))
    EvenShares(NodeBlocks(zones, weights), sorted(shards), owner).deal()
    again = list(owner)
    EvenShares(NodeBlocks(zones, weights), sorted(shards), again).deal()
    assert again == owner


@given(CHANGES, SHARDS)
def test_the_same_history_gives_the_same_partitions(
    changes: list[tuple[str, int, int]], shards: set[int]
) -> None:
    found = []
    for order in (sorted(shards), sorted(shards, reverse=True)):
        slots = SlotMap(2)
        for each in changes:
            change(slots, *each)
        found.append(Partitions().update(slots, order).tolist())
    assert found[0] == found[1]

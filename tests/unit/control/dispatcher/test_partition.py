import numpy as np

from stretto.control.scheduler.partition import NO_OWNER, Partitions
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.slots import SlotMap


def a_fleet(nodes: int, zones: int = 2, shards: int = 2) -> SlotMap:
    slots = SlotMap(fan_out=shards)
    for number in range(nodes):
        slots.add(f"zone-{number % zones}")
    return slots


def nodes_of(slots: SlotMap, owners: np.ndarray, shard: int) -> int:
    return int(slots.block_live[owners == shard].sum())


def test_every_block_has_an_owner_among_the_shards() -> None:
    owners = Partitions().update(a_fleet(1000), [0, 1])
    assert set(owners.tolist()) == {0, 1}


def test_shards_share_the_nodes_equally() -> None:
    slots = a_fleet(1024, zones=4)
    owners = Partitions().update(slots, [0, 1])
    assert abs(nodes_of(slots, owners, 0) - nodes_of(slots, owners, 1)) <= 64


def test_every_shard_gets_nodes_of_every_zone() -> None:
    slots = a_fleet(400, zones=4, shards=2)
    owners = Partitions().update(slots, [0, 1])
    zones = {(int(zone), int(owner)) for zone, owner in zip(slots.block_zone, owners, strict=True)}
    assert len(zones) == 8


def test_small_zones_do_not_all_go_to_the_same_shard() -> None:
    slots = SlotMap()
    for number in range(400):
        slots.add(f"zone-{number % 40}")
    owners = Partitions().update(slots, [0, 1, 2, 3])
    assert [nodes_of(slots, owners, shard) for shard in range(4)] == [100] * 4


def test_without_shards_no_node_has_an_owner() -> None:
    assert set(Partitions().update(a_fleet(100), []).tolist()) == {NO_OWNER}


def test_nothing_moves_while_nothing_changes() -> None:
    slots, partitions = a_fleet(1000), Partitions()
    first = partitions.update(slots, [0, 1])
    assert partitions.update(slots, [1, 0]) is first
    assert partitions.moved == 0


def test_a_dead_shards_blocks_go_to_the_others_and_theirs_stay() -> None:
    slots, partitions = a_fleet(4096, zones=4, shards=4), Partitions()
    before = partitions.update(slots, [0, 1, 2, 3]).copy()
    after = partitions.update(slots, [0, 1, 3])
    kept = before != 2
    assert np.count_nonzero(before[kept] != after[kept]) <= 4


def test_a_new_shard_takes_its_share_and_no_more() -> None:
    slots, partitions = a_fleet(4096, zones=4, shards=4), Partitions()
    partitions.update(slots, [0, 1, 2])
    owners = partitions.update(slots, [0, 1, 2, 3])
    assert nodes_of(slots, owners, 3) >= 4096 // 4 - 4 * 64
    assert partitions.moved == int(np.count_nonzero(owners == 3))


def test_a_few_nodes_more_move_nothing() -> None:
    slots, partitions = a_fleet(4096, zones=4, shards=4), Partitions()
    partitions.update(slots, [0, 1, 2, 3])
    for number in range(100):
        slots.add(f"zone-{number % 4}")
    partitions.update(slots, [0, 1, 2, 3])
    assert partitions.moved == 0


def test_shares_are_equal_in_what_nodes_give_and_not_in_their_number() -> None:
    ledger = Ledger(fan_out=1)
    for number in range(8 * 64):
        large = number // 64 in (0, 2)
        ledger.add_node("z", {"cpu": 96_000 if large else 8_000, "memory": 1 << 35, "pods": 110})
    alloc, cpu = ledger.alloc, ledger.resources.column("cpu")

    def shares(owners: np.ndarray) -> list[int]:
        mine = np.repeat(owners, 64)
        return [int(alloc[mine == shard, cpu].sum()) for shard in (0, 1)]

    low, high = sorted(shares(Partitions().update(ledger.slots, [0, 1], ledger)))
    assert high - low <= 64 * 8_000
    low, high = sorted(shares(Partitions().update(ledger.slots, [0, 1])))
    assert high - low > 64 * 8_000


def test_a_node_more_moves_no_block_between_shares_that_are_even() -> None:
    ledger, partitions = Ledger(fan_out=2), Partitions()
    for number in range(1000):
        ledger.add_node(f"z{number % 3}", {"cpu": 1000 * (1 + number % 7), "memory": 1 << 33})
    partitions.update(ledger.slots, [0, 1, 2], ledger)
    ledger.add_node("z0", {"cpu": 64_000, "memory": 1 << 36})
    partitions.update(ledger.slots, [0, 1, 2], ledger)
    assert partitions.moved <= 1

import numpy as np

from stretto.state.rows.slots import BLOCK, SlotMap


def filled(nodes: int, zone: str = "a", fan_out: int = 1) -> tuple[SlotMap, list[int]]:
    slots = SlotMap(fan_out)
    return slots, [slots.add(zone) for _ in range(nodes)]


def test_there_is_nothing_at_first() -> None:
    slots = SlotMap()
    assert (slots.size, slots.blocks, slots.zones) == (0, 0, 0)


def test_slots_come_in_blocks_of_64() -> None:
    slots, _ = filled(65)
    assert (slots.size, slots.blocks, slots.block_live.tolist()) == (128, 2, [64, 1])


def test_the_first_slots_are_taken_in_order() -> None:
    assert filled(70)[1] == list(range(70))


def test_zones_never_share_a_block() -> None:
    slots, _ = filled(1)
    other = slots.add("b")
    assert (slots.block_zone[0], slots.block_zone[other // BLOCK], other) == (0, 1, BLOCK)
    assert slots.zone_live == [1, 1]


def test_lanes_of_a_zone_never_share_a_block() -> None:
    slots = SlotMap()
    found = {lane: {slots.add("a", lane) // BLOCK for _ in range(70)} for lane in (0, 1)}
    assert found[0].isdisjoint(found[1])
    assert slots.zone_live == [140]


def test_a_zone_keeps_its_number() -> None:
    slots, _ = filled(1)
    assert (slots.zone_number("a"), slots.zone_number("b"), slots.zone_names) == (0, 1, ["a", "b"])


def test_several_blocks_are_filled_side_by_side() -> None:
    slots, _ = filled(8, fan_out=4)
    assert slots.block_live.tolist() == [2, 2, 2, 2]


def test_the_emptiest_block_is_filled_first() -> None:
    slots, taken = filled(3 * BLOCK)
    for slot in taken[BLOCK : 2 * BLOCK - 1]:
        slots.remove(slot)
    slots.remove(taken[0])
    assert slots.add("a") // BLOCK == 1


def test_a_full_zone_gets_a_new_block() -> None:
    slots, _ = filled(BLOCK)
    assert (slots.add("a"), slots.blocks) == (BLOCK, 2)


def test_an_empty_slot_is_used_again_before_a_block_is_made() -> None:
    slots, _ = filled(5 * BLOCK)
    slots.remove(3)
    assert (slots.add("a"), slots.blocks) == (3, 5)


def test_a_generation_is_never_given_twice() -> None:
    slots, taken = filled(2)
    first = slots.generation[taken[1]]
    slots.remove(taken[1])
    again = slots.add("a")
    assert (again, slots.generation[again] > first) == (taken[1], True)


def test_every_change_raises_the_version() -> None:
    slots, taken = filled(1)
    before = slots.version
    slots.remove(taken[0])
    assert slots.version == before + 1


def test_removed_slots_do_not_live() -> None:
    slots, taken = filled(3)
    slots.remove(taken[1])
    assert np.flatnonzero(slots.live).tolist() == [0, 2]
    assert (slots.zone_live, slots.block_live.tolist()) == ([2], [2])


class Counted(list[list[int]]):
    """Free slots by block, counting the looks at them."""

    looks = 0

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        Counted.looks += 1
        return super().__getitem__(index)


def test_adding_and_removing_read_few_blocks_however_many_exist() -> None:
    slots, taken = filled(100 * BLOCK)
    slots._free = Counted(slots._free)
    for slot in taken[::BLOCK]:
        slots.remove(slot)
        slots.add("a")
    assert Counted.looks <= 6 * len(taken[::BLOCK])


def test_coming_and_going_does_not_fill_the_memory() -> None:
    slots, taken = filled(4 * BLOCK)
    for slot in taken * 3:
        slots.remove(slot)
        slots.add("a")
    assert len(slots._open[0]) <= 4 * BLOCK

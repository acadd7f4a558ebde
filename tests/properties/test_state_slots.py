"""Slots under any coming and going of nodes."""

from hypothesis import given
from hypothesis import strategies as st

from stretto.state.rows.slots import BLOCK, SlotMap

#: (zone to add to, or None to remove; which of the live ones)
moves = st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(0, 10**6)))
fan_outs = st.integers(1, 4)


class Moves:
    """Slots, and the same state in a plain dictionary."""

    def __init__(self, script: list[tuple[str | None, int]], fan_out: int) -> None:
        self.slots, self.live, self.seen = (
            SlotMap(fan_out),
            dict[int, tuple[str, int]](),
            list[int](),
        )
        for zone, which in script * 3:
            if zone is not None:
                slot = self.slots.add(zone)
                assert slot not in self.live
                self.live[slot] = zone, int(self.slots.generation[slot])
                self.seen.append(int(self.slots.generation[slot]))
            elif self.live:
                slot = sorted(self.live)[which % len(self.live)]
                self.slots.remove(slot)
                del self.live[slot]


@given(moves, fan_outs)
def test_a_live_slot_never_moves(script: list[tuple[str | None, int]], fan_out: int) -> None:
    played = Moves(script, fan_out)
    slots = played.slots
    assert sorted(played.live) == slots.live.nonzero()[0].tolist()
    for slot, (zone, generation) in played.live.items():
        assert slots.zone_names[slots.block_zone[slot // BLOCK]] == zone
        assert slots.generation[slot] == generation


@given(moves, fan_outs)
def test_generations_never_repeat(script: list[tuple[str | None, int]], fan_out: int) -> None:
    seen = Moves(script, fan_out).seen
    assert seen == sorted(set(seen))


@given(moves, fan_outs)
def test_counts_are_those_of_the_live(script: list[tuple[str | None, int]], fan_out: int) -> None:
    slots = Moves(script, fan_out).slots
    assert slots.size == len(slots.generation) == BLOCK * slots.blocks
    assert slots.block_live.tolist() == slots.live.reshape(-1, BLOCK).sum(axis=1).tolist()
    by_zone = [0] * slots.zones
    for block, live in enumerate(slots.block_live.tolist()):
        by_zone[slots.block_zone[block]] += live
    assert slots.zone_live == by_zone


@given(st.integers(1, 400), fan_outs)
def test_open_blocks_of_a_zone_are_filled_evenly(nodes: int, fan_out: int) -> None:
    slots = SlotMap(fan_out)
    for _ in range(nodes):
        slots.add("a")
    first = slots.block_live[:fan_out].tolist()
    assert max(first) - min(first) <= 1
    assert slots.blocks <= max(fan_out, -(-nodes // BLOCK))

"""A part of a cycle takes a few milliseconds."""

from stretto.offers.master.server.slices import FIRST_AGENTS, SLICE, CycleSlice


def test_a_part_shrinks_when_it_takes_too_long_and_grows_when_it_is_short() -> None:
    size = CycleSlice()
    size.adapt(2 * SLICE)
    assert size.agents == FIRST_AGENTS // 2
    for _ in range(3):
        size.adapt(SLICE / 4)
    assert size.agents == 4 * FIRST_AGENTS

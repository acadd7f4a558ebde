"""State machines: one table steps, refuses, checks and draws itself."""

from enum import Enum, IntEnum

import pytest

from stretto.base.errors import InvalidTransitionError
from stretto.base.fsm import TransitionTable


class Light(Enum):
    RED = "red"
    GREEN = "green"
    OFF = "off"


class Press(IntEnum):
    GO = 10
    STOP = 20
    CUT = 30


MOVES = {
    (Light.RED, Press.GO): Light.GREEN,
    (Light.GREEN, Press.STOP): Light.RED,
    (Light.GREEN, Press.CUT): Light.OFF,
}


def make_table(
    moves: dict[tuple[Light, Press], Light] | None = None,
    final: frozenset[Light] = frozenset({Light.OFF}),
) -> TransitionTable[Light, Press]:
    return TransitionTable("light", Light, Press, moves or MOVES, Light.RED, final)


def test_an_allowed_event_moves_on() -> None:
    assert make_table().next(Light.RED, Press.GO) is Light.GREEN


def test_a_forbidden_event_names_state_event_and_what_is_allowed() -> None:
    with pytest.raises(InvalidTransitionError) as caught:
        make_table().next(Light.GREEN, Press.GO)
    assert str(caught.value) == "light: GO in state GREEN, allowed: STOP, CUT"


def test_nothing_is_allowed_in_a_final_state() -> None:
    with pytest.raises(InvalidTransitionError, match="nothing"):
        make_table().next(Light.OFF, Press.GO)


def test_the_matrix_counts_members_not_values() -> None:
    assert make_table().matrix() == [[1, -1, -1], [-1, 0, 2], [-1, -1, -1]]


def test_the_matrix_agrees_with_the_single_step() -> None:
    table, states, events = make_table(), list(Light), list(Press)
    for s, row in enumerate(table.matrix()):
        for e, after in enumerate(row):
            assert (states[after] if after >= 0 else None) is MOVES.get((states[s], events[e]))


def test_a_table_draws_itself() -> None:
    assert make_table().mermaid() == (
        "stateDiagram-v2\n"
        "    [*] --> RED\n"
        "    RED --> GREEN : GO\n"
        "    GREEN --> RED : STOP\n"
        "    GREEN --> OFF : CUT\n"
        "    OFF --> [*]\n"
    )


def test_events_between_the_same_states_share_an_arrow() -> None:
    drawn = make_table({**MOVES, (Light.RED, Press.CUT): Light.GREEN}).mermaid()
    assert "RED --> GREEN : GO, CUT" in drawn


def test_a_state_that_cannot_be_reached_is_refused() -> None:
    moves = {**MOVES, (Light.GREEN, Press.CUT): Light.RED, (Light.OFF, Press.GO): Light.RED}
    with pytest.raises(ValueError, match="OFF cannot be reached"):
        make_table(moves, frozenset())


def test_a_dead_end_that_is_not_final_is_refused() -> None:
    with pytest.raises(ValueError, match="OFF has no transition out"):
        make_table(final=frozenset())


def test_a_final_state_with_a_way_out_is_refused() -> None:
    with pytest.raises(ValueError, match="OFF is final and has a transition out"):
        make_table({**MOVES, (Light.OFF, Press.GO): Light.RED})


def test_an_event_that_moves_nothing_is_refused() -> None:
    moves = {
        (Light.RED, Press.GO): Light.GREEN,
        (Light.GREEN, Press.GO): Light.OFF,
        (Light.OFF, Press.STOP): Light.RED,
    }
    with pytest.raises(ValueError, match="CUT appears in no transition"):
        make_table(moves, frozenset())

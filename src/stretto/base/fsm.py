"""State machines as one literal table, which checks, steps and draws itself.

A lifecycle that is spread over `if`s cannot be read, drawn or stepped in bulk. Here it is a
dictionary (state, event) → state. From it come the single step, the dense matrix by which a
column of a million states is stepped at once, and the diagram in the documentation.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from stretto.base.errors import InvalidTransitionError

S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)

#: What `TransitionTable.matrix` holds where a move is not allowed.
NOT_ALLOWED = -1


@dataclass(frozen=True)
class TransitionTable(Generic[S, E]):
    """One machine: immutable, checked when it is made.

    Raises:
        ValueError: a state cannot be reached, or has no way out though it is not final, or a
            final state has one, or an event appears in no move.
    """

    #: What the machine is called in messages and diagrams.
    name: str
    #: All states, in the order of the matrix' rows.
    states: type[S]
    #: All events, in the order of the matrix' columns.
    events: type[E]
    #: The moves; what is not here is not allowed.
    transitions: Mapping[tuple[S, E], S]
    #: Where a new one starts.
    initial: S
    #: Where it ends: no way out.
    final: Set[S] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        leaving = {state for state, _ in self.transitions}
        faults: dict[str, Set[Enum]] = {
            "cannot be reached": set(self.states) - self._reachable(),
            "has no way out and is not final": set(self.states) - leaving - self.final,
            "is final and has a way out": leaving & self.final,
            "moves nothing": set(self.events) - {event for _, event in self.transitions},
        }
        for fault, members in faults.items():
            if members:
                names = ", ".join(sorted(member.name for member in members))
                raise ValueError(f"state machine {self.name}: {names} {fault}")

    def next(self, state: S, event: E) -> S:
        """The state after an event.

        Raises:
            InvalidTransitionError: the table has no such move.
        """
        after = self.transitions.get((state, event))
        if after is None:
            raise InvalidTransitionError(self.name, state, event, self.allowed(state))
        return after

    def allowed(self, state: S) -> tuple[E, ...]:
        """The events that may happen in a state, in the order of the enum."""
        return tuple(event for event in self.events if (state, event) in self.transitions)

    def matrix(self) -> list[list[int]]:
        """The next state's ordinal by [state's ordinal][event's ordinal], -1 = not allowed.

        Ordinals count members from 0 in the order of the enum, whatever their values are.
        """
        ordinal = {state: index for index, state in enumerate(self.states)}
        return [
            [self._ordinal_after(ordinal, state, event) for event in self.events]
            for state in self.states
        ]

    def mermaid(self) -> str:
        """The machine as a Mermaid state diagram, the same text every time."""
        labels: dict[tuple[S, S], list[str]] = {}
        for state in self.states:
            for event in self.allowed(state):
                labels.setdefault((state, self.next(state, event)), []).append(event.name)
        lines = ["stateDiagram-v2", f"    [*] --> {self.initial.name}"]
        for (before, after), names in labels.items():
            lines.append(f"    {before.name} --> {after.name} : {', '.join(names)}")
        lines += [f"    {state.name} --> [*]" for state in self.states if state in self.final]
        return "\n".join(lines) + "\n"

    def _ordinal_after(self, ordinal: Mapping[S, int], state: S, event: E) -> int:
        after = self.transitions.get((state, event))
        return NOT_ALLOWED if after is None else ordinal[after]

    def _reachable(self) -> set[S]:
        seen: set[S] = set()
        frontier = {self.initial}
        while frontier:
            seen |= frontier
            frontier = {
                after for (before, _), after in self.transitions.items() if before in frontier
            } - seen
        return seen

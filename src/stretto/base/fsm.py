"""State machines as one literal table, with validation, stepping and diagrams.

A lifecycle that is spread over `if` statements cannot be read, drawn or stepped in bulk. Here a
lifecycle is a dictionary (state, event) → state. The single step, the dense matrix that steps a
column of a million states at once, and the diagram in the documentation are all derived from it.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from stretto.base.errors import InvalidTransitionError

S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)

#: Entry of `TransitionTable.matrix` for a transition that is not allowed.
NOT_ALLOWED = -1


@dataclass(frozen=True)
class TransitionTable(Generic[S, E]):
    """One state machine: immutable, and validated when it is constructed.

    Raises:
        ValueError: a state is unreachable, or is not final and has no transition out, or is final
            and has one, or an event appears in no transition.
    """

    #: Name of the machine in messages and diagrams.
    name: str
    #: All states, in the order of the matrix rows.
    states: type[S]
    #: All events, in the order of the matrix columns.
    events: type[E]
    #: The allowed transitions.
    transitions: Mapping[tuple[S, E], S]
    #: The initial state.
    initial: S
    #: The final states, which have no transition out.
    final: Set[S] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        leaving = {state for state, _ in self.transitions}
        faults: dict[str, Set[Enum]] = {
            "cannot be reached": set(self.states) - self._reachable(),
            "has no transition out and is not final": set(self.states) - leaving - self.final,
            "is final and has a transition out": leaving & self.final,
            "appears in no transition": set(self.events) - {event for _, event in self.transitions},
        }
        for fault, members in faults.items():
            if members:
                names = ", ".join(sorted(member.name for member in members))
                raise ValueError(f"state machine {self.name}: {names} {fault}")

    def next(self, state: S, event: E) -> S:
        """The state after an event.

        Raises:
            InvalidTransitionError: the table has no such transition.
        """
        after = self.transitions.get((state, event))
        if after is None:
            raise InvalidTransitionError(self.name, state, event, self.allowed(state))
        return after

    def allowed(self, state: S) -> tuple[E, ...]:
        """The events that are allowed in a state, in the order of the enum."""
        return tuple(event for event in self.events if (state, event) in self.transitions)

    def matrix(self) -> list[list[int]]:
        """Return ordinals of next states by [ordinal of state][ordinal of event]; -1: not allowed.

        Ordinals count the members from 0 in the order of the enum, independent of their values.
        """
        ordinal = {state: index for index, state in enumerate(self.states)}
        return [
            [self._ordinal_after(ordinal, state, event) for event in self.events]
            for state in self.states
        ]

    def mermaid(self) -> str:
        """Return the machine as a Mermaid state diagram; the text is deterministic."""
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

"""Phases of PodGroups: the transitions that pods and time cause, in one table.

A few counts determine the event of a group. As in Gödel, a running group stays scheduled although
it is below its minimum or late, and a timed-out group stays timed out.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from stretto.api.types.godel import PodGroupPhase
from stretto.state.rows.lifecycle import GROUP_LIFE, GroupEvent, GroupState

_PHASES: Final[Mapping[str, GroupState]] = {
    "": GroupState.NEW,
    PodGroupPhase.UNKNOWN: GroupState.NEW,
    PodGroupPhase.PENDING: GroupState.PENDING,
    PodGroupPhase.PRE_SCHEDULING: GroupState.PRE_SCHEDULING,
    PodGroupPhase.SCHEDULED: GroupState.SCHEDULED,
    PodGroupPhase.RUNNING: GroupState.SCHEDULED,
    PodGroupPhase.FINISHED: GroupState.SCHEDULED,
    PodGroupPhase.FAILED: GroupState.SCHEDULED,
    PodGroupPhase.TIMEOUT: GroupState.TIMEOUT,
}
PHASE_OF: Final[Mapping[GroupState, PodGroupPhase]] = {
    GroupState.PENDING: PodGroupPhase.PENDING,
    GroupState.PRE_SCHEDULING: PodGroupPhase.PRE_SCHEDULING,
    GroupState.SCHEDULED: PodGroupPhase.SCHEDULED,
    GroupState.TIMEOUT: PodGroupPhase.TIMEOUT,
}
"""``status.phase`` of each state; a new group has none."""


class GroupFacts(NamedTuple):
    """Counts of a group."""

    #: Number of pods that must run together.
    min_member: int
    #: Number of existing pods.
    created: int
    #: Number of pods with nodes.
    bound: int
    #: True if any of them runs or has completed.
    ran: bool = False
    #: True if the deadline of the group has passed.
    late: bool = False
    #: True if another component is about to write its final phase: the group does not time out
    #: meanwhile.
    locked: bool = False


def state_of(phase: str) -> GroupState:
    """State of a phase; phases of older versions mean that the group has run."""
    return _PHASES.get(phase, GroupState.NEW)


def moves(state: GroupState, facts: GroupFacts) -> Iterator[GroupState]:
    """The states that a group passes through now, one by one."""
    while (event := _event(state, facts)) is not None:
        state = GROUP_LIFE.next(state, event)
        yield state


def _event(state: GroupState, facts: GroupFacts) -> GroupEvent | None:
    """The next event of a group; ``None`` for none."""
    if state is GroupState.NEW:
        return GroupEvent.SEE
    if state in GROUP_LIFE.final:
        return None
    sound = facts.min_member >= 1  # an invalid minimum: wait for a corrected group
    if facts.ran or (sound and facts.bound >= facts.min_member):
        return GroupEvent.PLACE
    if facts.late and not facts.locked:
        return GroupEvent.EXPIRE
    enough = sound and facts.created >= facts.min_member
    if state is GroupState.PENDING and enough:
        return GroupEvent.GATHER
    if state is GroupState.PRE_SCHEDULING and not enough:
        return GroupEvent.LOSE
    return None

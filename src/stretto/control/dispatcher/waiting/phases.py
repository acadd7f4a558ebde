"""How far PodGroups are: the moves that pods and time make them do, by the one table.

Which event a group has seen is told by a few numbers; that a group which runs is scheduled although
it is below its minimum or late, and that one which timed out stays so, is Gödel's rule.
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
"""The word for each state in ``status.phase``; a new group has none."""


class GroupFacts(NamedTuple):
    """What there is of a group."""

    #: Pods that must run together.
    min_member: int
    #: Pods that exist.
    created: int
    #: Pods that have nodes.
    bound: int
    #: Whether any of them runs, or has ended.
    ran: bool = False
    #: Whether its time is over.
    late: bool = False
    #: Somebody is about to write its last phase: it does not time out meanwhile.
    locked: bool = False


def state_of(phase: str) -> GroupState:
    """The state that a phase in a status means; phases of former times mean that it ran."""
    return _PHASES.get(phase, GroupState.NEW)


def moves(state: GroupState, facts: GroupFacts) -> Iterator[GroupState]:
    """The states that a group goes through now, one by one."""
    while (event := _event(state, facts)) is not None:
        state = GROUP_LIFE.next(state, event)
        yield state


def _event(state: GroupState, facts: GroupFacts) -> GroupEvent | None:
    """What moves a group next; ``None`` where nothing does."""
    if state is GroupState.NEW:
        return GroupEvent.SEE
    if state in GROUP_LIFE.final:
        return None
    sound = facts.min_member >= 1  # of fewer nothing can be enough: the group waits to be mended
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

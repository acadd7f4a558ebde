"""The lifecycle table of pods, with those of units and PodGroups.

States and their order are Gödel's (``pending → dispatched → assumed → bound``), plus the waiting
and terminal states. Every transition of a pod is looked up here; ``POD_MATRIX`` steps columns of
states in bulk.
"""

from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.base.errors import InvalidTransitionError
from stretto.base.fsm import TransitionTable


class PodState(IntEnum):
    """Scheduling state of a pod."""

    #: Has a scheduling gate.
    GATED = 0
    #: In a queue of the dispatcher.
    PENDING = 1
    #: Sent to a shard.
    DISPATCHED = 2
    #: Claimed by a plan and charged to a node; the bind is in flight.
    ASSUMED = 3
    #: Bound to its node.
    BOUND = 4
    #: In back-off after a failed attempt.
    BACKOFF = 5
    #: Fits on no node now; waits for an event that may change this.
    UNSCHEDULABLE = 6
    #: Claimed and charged to a node like an assumed pod; its bind waits for the eviction of its
    #: victims.
    NOMINATED = 7
    #: Invalid or contradictory; waits for a correction by its owner.
    ABNORMAL = 8
    #: Finished or deleted.
    GONE = 9


class PodEvent(IntEnum):
    """Events that change the state of a pod."""

    UNGATE = 0
    GATE = 1
    DISPATCH = 2
    GIVE_BACK = 3
    ASSUME = 4
    REJECT = 5
    BIND = 6
    RELEASE = 7
    BACK_OFF = 8
    WAKE = 9
    PARK = 10
    NOMINATE = 11
    BREAK = 12
    CORRECT = 13
    END = 14


_S, _E = PodState, PodEvent


ON_NODES: Final = frozenset({int(PodState.ASSUMED), int(PodState.BOUND)})
"""States of pods with a node that they can use."""
CHARGED: Final = ON_NODES | {int(PodState.NOMINATED)}
"""States of pods that are charged to a node; a nominated pod waits there for its victims to end."""

POD_LIFE: Final = TransitionTable(
    name="pod",
    states=PodState,
    events=PodEvent,
    initial=_S.PENDING,
    final=frozenset({_S.GONE}),
    transitions={
        (_S.PENDING, _E.GATE): _S.GATED,
        (_S.GATED, _E.UNGATE): _S.PENDING,
        (_S.GATED, _E.BIND): _S.BOUND,
        (_S.GATED, _E.BREAK): _S.ABNORMAL,
        (_S.GATED, _E.END): _S.GONE,
        (_S.PENDING, _E.DISPATCH): _S.DISPATCHED,
        (_S.PENDING, _E.PARK): _S.UNSCHEDULABLE,
        (_S.PENDING, _E.BIND): _S.BOUND,
        (_S.PENDING, _E.BREAK): _S.ABNORMAL,
        (_S.PENDING, _E.END): _S.GONE,
        (_S.DISPATCHED, _E.GIVE_BACK): _S.PENDING,
        (_S.DISPATCHED, _E.ASSUME): _S.ASSUMED,
        (_S.DISPATCHED, _E.BACK_OFF): _S.BACKOFF,
        (_S.DISPATCHED, _E.PARK): _S.UNSCHEDULABLE,
        (_S.DISPATCHED, _E.NOMINATE): _S.NOMINATED,
        (_S.DISPATCHED, _E.BIND): _S.BOUND,
        (_S.DISPATCHED, _E.BREAK): _S.ABNORMAL,
        (_S.DISPATCHED, _E.END): _S.GONE,
        (_S.ASSUMED, _E.BIND): _S.BOUND,
        (_S.ASSUMED, _E.REJECT): _S.PENDING,
        (_S.ASSUMED, _E.END): _S.GONE,
        (_S.BOUND, _E.RELEASE): _S.PENDING,
        (_S.BOUND, _E.END): _S.GONE,
        (_S.BACKOFF, _E.WAKE): _S.PENDING,
        (_S.BACKOFF, _E.BIND): _S.BOUND,
        (_S.BACKOFF, _E.BREAK): _S.ABNORMAL,
        (_S.BACKOFF, _E.END): _S.GONE,
        (_S.UNSCHEDULABLE, _E.WAKE): _S.PENDING,
        (_S.UNSCHEDULABLE, _E.BIND): _S.BOUND,
        (_S.UNSCHEDULABLE, _E.BREAK): _S.ABNORMAL,
        (_S.UNSCHEDULABLE, _E.END): _S.GONE,
        (_S.NOMINATED, _E.ASSUME): _S.ASSUMED,
        (_S.NOMINATED, _E.REJECT): _S.PENDING,
        (_S.NOMINATED, _E.BIND): _S.BOUND,
        (_S.NOMINATED, _E.BREAK): _S.ABNORMAL,
        (_S.NOMINATED, _E.END): _S.GONE,
        (_S.ABNORMAL, _E.CORRECT): _S.PENDING,
        (_S.ABNORMAL, _E.BIND): _S.BOUND,
        (_S.ABNORMAL, _E.END): _S.GONE,
    },
)
"""Every valid transition of a pod; ``BIND`` from a waiting state is a bind by another scheduler."""

POD_MATRIX: Final[npt.NDArray[np.int8]] = np.array(POD_LIFE.matrix(), dtype=np.int8)
"""int8[state, event]: the next state, or -1 if the transition is not allowed."""


def step_pods(states: npt.NDArray[np.uint8], rows: npt.NDArray[np.int64], event: PodEvent) -> None:
    """Apply one event to many pods, in place.

    Args:
        states: uint8[row], the states of all pods.
        rows: the rows to move.
        event: the event.

    Raises:
        InvalidTransitionError: at least one row does not allow the event; no row has changed.
    """
    after = POD_MATRIX[states[rows], event]
    if after.size and after.min() < 0:
        wrong = rows[int(np.argmin(after))]
        POD_LIFE.next(PodState(int(states[wrong])), event)
        raise InvalidTransitionError(POD_LIFE.name, PodState(int(states[wrong])), event, ())
    states[rows] = after


class UnitState(IntEnum):
    """Scheduling state of a unit, which the dispatcher admits as a whole."""

    #: Fewer than ``min_member`` of its pods exist, or its PodGroup is unknown.
    FORMING = 0
    #: In its queue.
    QUEUED = 1
    #: Sent to a shard.
    DISPATCHED = 2
    #: In back-off after a failed attempt.
    BACKOFF = 3
    #: Fits on no node now; waits for an event that may change this.
    UNSCHEDULABLE = 4
    #: Every pod is claimed or bound.
    PLACED = 5
    #: Timed out, or given up by the profile's rules.
    FAILED = 6
    #: It has no pods left.
    GONE = 7


class UnitEvent(IntEnum):
    """Events that change the state of a unit."""

    COMPLETE = 0
    SHRINK = 1
    DISPATCH = 2
    PLACE = 3
    GIVE_BACK = 4
    BACK_OFF = 5
    PARK = 6
    WAKE = 7
    GROW = 8
    FAIL = 9
    REVIVE = 10
    END = 11


_U, _V = UnitState, UnitEvent

UNIT_LIFE: Final = TransitionTable(
    name="unit",
    states=UnitState,
    events=UnitEvent,
    initial=_U.FORMING,
    final=frozenset({_U.GONE}),
    transitions={
        (_U.FORMING, _V.COMPLETE): _U.QUEUED,
        (_U.FORMING, _V.PLACE): _U.PLACED,
        (_U.FORMING, _V.FAIL): _U.FAILED,
        (_U.FORMING, _V.END): _U.GONE,
        (_U.QUEUED, _V.SHRINK): _U.FORMING,
        (_U.QUEUED, _V.DISPATCH): _U.DISPATCHED,
        (_U.QUEUED, _V.PARK): _U.UNSCHEDULABLE,
        (_U.QUEUED, _V.PLACE): _U.PLACED,
        (_U.QUEUED, _V.FAIL): _U.FAILED,
        (_U.QUEUED, _V.END): _U.GONE,
        (_U.DISPATCHED, _V.PLACE): _U.PLACED,
        (_U.DISPATCHED, _V.GIVE_BACK): _U.QUEUED,
        (_U.DISPATCHED, _V.BACK_OFF): _U.BACKOFF,
        (_U.DISPATCHED, _V.PARK): _U.UNSCHEDULABLE,
        (_U.DISPATCHED, _V.SHRINK): _U.FORMING,
        (_U.DISPATCHED, _V.FAIL): _U.FAILED,
        (_U.DISPATCHED, _V.END): _U.GONE,
        (_U.BACKOFF, _V.WAKE): _U.QUEUED,
        (_U.BACKOFF, _V.SHRINK): _U.FORMING,
        (_U.BACKOFF, _V.PLACE): _U.PLACED,
        (_U.BACKOFF, _V.FAIL): _U.FAILED,
        (_U.BACKOFF, _V.END): _U.GONE,
        (_U.UNSCHEDULABLE, _V.WAKE): _U.QUEUED,
        (_U.UNSCHEDULABLE, _V.SHRINK): _U.FORMING,
        (_U.UNSCHEDULABLE, _V.PLACE): _U.PLACED,
        (_U.UNSCHEDULABLE, _V.FAIL): _U.FAILED,
        (_U.UNSCHEDULABLE, _V.END): _U.GONE,
        (_U.PLACED, _V.GROW): _U.QUEUED,
        (_U.PLACED, _V.SHRINK): _U.FORMING,
        (_U.PLACED, _V.END): _U.GONE,
        (_U.FAILED, _V.REVIVE): _U.QUEUED,
        (_U.FAILED, _V.END): _U.GONE,
    },
)
"""Every valid transition of a unit."""


class GroupState(IntEnum):
    """Phase of a PodGroup."""

    #: Not processed yet.
    NEW = 0
    #: Fewer than ``min_member`` of its pods exist.
    PENDING = 1
    #: Enough of its pods exist, but too few have nodes.
    PRE_SCHEDULING = 2
    #: Enough of its pods have had nodes, or one has run; permanent.
    SCHEDULED = 3
    #: It was not scheduled in time; permanent for this PodGroup.
    TIMEOUT = 4


class GroupEvent(IntEnum):
    """Events that change the phase of a PodGroup."""

    #: It is processed for the first time.
    SEE = 0
    #: Enough of its pods exist.
    GATHER = 1
    #: Too few of its pods exist.
    LOSE = 2
    #: Enough of its pods have nodes, or one runs or has ended.
    PLACE = 3
    #: The schedule timeout of the unit has passed.
    EXPIRE = 4


_G, _W = GroupState, GroupEvent

GROUP_LIFE: Final = TransitionTable(
    name="podgroup",
    states=GroupState,
    events=GroupEvent,
    initial=_G.NEW,
    final=frozenset({_G.SCHEDULED, _G.TIMEOUT}),
    transitions={
        (_G.NEW, _W.SEE): _G.PENDING,
        (_G.PENDING, _W.GATHER): _G.PRE_SCHEDULING,
        (_G.PENDING, _W.PLACE): _G.SCHEDULED,
        (_G.PENDING, _W.EXPIRE): _G.TIMEOUT,
        (_G.PRE_SCHEDULING, _W.LOSE): _G.PENDING,
        (_G.PRE_SCHEDULING, _W.PLACE): _G.SCHEDULED,
        (_G.PRE_SCHEDULING, _W.EXPIRE): _G.TIMEOUT,
    },
)
"""Every valid transition of a PodGroup, as in Gödel; one condition of its status per transition."""

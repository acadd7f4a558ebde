"""Paths through the state tables of pods and units, computed once.

A transition of a unit moves its pods from their current states. The events of each path are
listed here; the resulting states are read from ``state.rows.lifecycle`` at import, so a path that
the tables do not allow raises at import.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from stretto.state.rows.lifecycle import (
    POD_LIFE,
    UNIT_LIFE,
    PodEvent,
    PodState,
    UnitEvent,
    UnitState,
)


class UnitEffect(IntEnum):
    """Effect of a batch on a unit; the larger one decides."""

    #: Pods were deleted or changed.
    CHANGED = 0
    #: Pods that had a node are pending again, or changed their requests.
    RETURNED = 1
    #: Pods were added.
    GREW = 2


WAYS_TO_BACK_OFF: Final = {
    UnitState.DISPATCHED: (UnitEvent.BACK_OFF,),
    UnitState.QUEUED: (UnitEvent.DISPATCH, UnitEvent.BACK_OFF),
    UnitState.PLACED: (UnitEvent.GROW, UnitEvent.DISPATCH, UnitEvent.BACK_OFF),
    UnitState.UNSCHEDULABLE: (UnitEvent.WAKE, UnitEvent.DISPATCH, UnitEvent.BACK_OFF),
}
"""Events that take a unit into back-off, by its state.

The table allows back-off only at the end of an attempt, so a unit whose assumed pod was rejected
passes through an attempt.
"""

WAYS_TO_QUEUE: Final = {
    UnitState.FORMING: UnitEvent.COMPLETE,
    UnitState.DISPATCHED: UnitEvent.GIVE_BACK,
    UnitState.PLACED: UnitEvent.GROW,
    UnitState.UNSCHEDULABLE: UnitEvent.WAKE,
}
"""Event that takes a unit into its queue, by its state."""

PLACED: Final = UNIT_LIFE.next(UnitState.DISPATCHED, UnitEvent.PLACE)
"""State of a unit after all its pods were claimed."""

_PARKING: Final = {
    PodState.BACKOFF: (PodEvent.WAKE, PodEvent.PARK),
    PodState.PENDING: (PodEvent.PARK,),
    PodState.DISPATCHED: (PodEvent.PARK,),
}
_QUEUEING: Final = {
    PodState.DISPATCHED: (PodEvent.GIVE_BACK,),
    PodState.BACKOFF: (PodEvent.WAKE,),
    PodState.UNSCHEDULABLE: (PodEvent.WAKE,),
    PodState.ABNORMAL: (PodEvent.CORRECT,),
}
#: A pod that was rejected after its claim is already pending: only its unit backs off.
_DELAYING: Final = {PodState.DISPATCHED: (PodEvent.BACK_OFF,)}
_BREAKING: Final = {
    state: (event,) for state, event in POD_LIFE.transitions if event is PodEvent.BREAK
}


def _outcomes(paths: Mapping[PodState, tuple[PodEvent, ...]]) -> dict[int, int]:
    """Follow each path through the table of pods."""
    found = {}
    for state, events in paths.items():
        after = state
        for event in events:
            after = POD_LIFE.next(after, event)
        found[int(state)] = int(after)
    return found


PARKED: Final = _outcomes(_PARKING)
"""States of pods after their unit became unschedulable, by the states before."""
BACK_IN_QUEUE: Final = _outcomes(_QUEUEING)
"""States of pods after their unit was queued, by the states before."""
DELAYED: Final = _outcomes(_DELAYING)
"""States of pods after their unit entered back-off, by the states before."""
BROKEN: Final = _outcomes(_BREAKING)
"""States of pods after their unit was found inconsistent, by the states before."""

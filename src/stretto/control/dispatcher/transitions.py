"""Ways through the tables of pods and units, looked up once.

A unit's move takes its pods along from whatever state each is in. Which events lead there is
written here; where they lead is read from ``state.rows.lifecycle`` when the module is loaded, so a
way that the tables do not allow cannot exist.
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
    """What a batch does to a unit; the larger decides."""

    #: Pods went or changed.
    CHANGED = 0
    #: Pods that had a node want one again, or want it otherwise.
    RETURNED = 1
    #: New pods came.
    GREW = 2


WAYS_TO_BACK_OFF: Final = {
    UnitState.DISPATCHED: (UnitEvent.BACK_OFF,),
    UnitState.QUEUED: (UnitEvent.DISPATCH, UnitEvent.BACK_OFF),
    UnitState.PLACED: (UnitEvent.GROW, UnitEvent.DISPATCH, UnitEvent.BACK_OFF),
    UnitState.UNSCHEDULABLE: (UnitEvent.WAKE, UnitEvent.DISPATCH, UnitEvent.BACK_OFF),
}
"""Events by which a unit gets into back-off, by where it is.

The table knows back-off as the end of an attempt only, so a unit whose assumed pod was rejected
goes by way of an attempt.
"""

WAYS_TO_QUEUE: Final = {
    UnitState.FORMING: UnitEvent.COMPLETE,
    UnitState.DISPATCHED: UnitEvent.GIVE_BACK,
    UnitState.PLACED: UnitEvent.GROW,
    UnitState.UNSCHEDULABLE: UnitEvent.WAKE,
}
"""The event by which a unit gets into its queue, by where it is."""

PLACED: Final = UNIT_LIFE.next(UnitState.DISPATCHED, UnitEvent.PLACE)
"""Where a unit is after all its pods were claimed."""

_PARKING: Final = {
    PodState.BACKOFF: (PodEvent.WAKE, PodEvent.PARK),
    PodState.PENDING: (PodEvent.PARK,),
    PodState.DISPATCHED: (PodEvent.PARK,),
}
_QUEUEING: Final = {
    PodState.DISPATCHED: (PodEvent.GIVE_BACK,),
    PodState.BACKOFF: (PodEvent.WAKE,),
    PodState.UNSCHEDULABLE: (PodEvent.WAKE,),
    PodState.ABNORMAL: (PodEvent.MEND,),
}
#: A pod that was rejected after its claim is pending already and stays so: only its unit waits.
_DELAYING: Final = {PodState.DISPATCHED: (PodEvent.BACK_OFF,)}
_BREAKING: Final = {
    state: (event,) for state, event in POD_LIFE.transitions if event is PodEvent.BREAK
}


def _outcomes(paths: Mapping[PodState, tuple[PodEvent, ...]]) -> dict[int, int]:
    """Follow each path through the table of pods, once."""
    found = {}
    for state, events in paths.items():
        after = state
        for event in events:
            after = POD_LIFE.next(after, event)
        found[int(state)] = int(after)
    return found


PARKED: Final = _outcomes(_PARKING)
"""States of pods after their unit went to sleep, by the states before."""
BACK_IN_QUEUE: Final = _outcomes(_QUEUEING)
"""States of pods after their unit went into its queue, by the states before."""
DELAYED: Final = _outcomes(_DELAYING)
"""States of pods after their unit went into back-off, by the states before."""
BROKEN: Final = _outcomes(_BREAKING)
"""States of pods after their unit was found to contradict itself, by the states before."""

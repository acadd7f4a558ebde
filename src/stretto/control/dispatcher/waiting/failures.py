"""Failed units and the reasons of their failures."""

from enum import Enum
from typing import NamedTuple

from stretto.state.work.units import Unit


class FailureReason(Enum):
    """Reason of a failure."""

    #: The unit fits no node, and retries are disabled.
    NO_PLACE = "no place"
    #: The unit was not scheduled before its deadline.
    TIMED_OUT = "timed out"
    #: The PodGroup of the unit is inconsistent.
    ABNORMAL = "abnormal"


class UnitFailure(NamedTuple):
    """A failed unit."""

    #: The unit.
    unit: Unit
    #: Rows of its pods without a node.
    rows: tuple[int, ...]
    #: Machine-readable reason.
    reason: FailureReason
    #: Message for users.
    message: str

"""Failed units and the reasons."""

from enum import Enum
from typing import NamedTuple

from stretto.state.work.units import Unit


class FailureReason(Enum):
    """Reason of a failure."""

    #: It fits no node, and retries are disabled.
    NO_PLACE = "no place"
    #: It was not scheduled before its deadline.
    TIMED_OUT = "timed out"
    #: Its PodGroup is inconsistent.
    ABNORMAL = "abnormal"


class UnitFailure(NamedTuple):
    """A failed unit."""

    #: The unit.
    unit: Unit
    #: Its rows without a node.
    rows: tuple[int, ...]
    #: The reason, machine-readable.
    reason: FailureReason
    #: The message for users.
    message: str

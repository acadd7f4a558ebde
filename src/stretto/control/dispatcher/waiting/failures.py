"""Units that were given up, and why."""

from enum import Enum
from typing import NamedTuple

from stretto.state.work.units import Unit


class FailureReason(Enum):
    """Why a unit was given up."""

    #: It fits nowhere, and the configuration says not to try again.
    NO_PLACE = "no place"
    #: It was not scheduled before its deadline.
    TIMED_OUT = "timed out"
    #: It contradicts itself.
    ABNORMAL = "abnormal"


class UnitFailure(NamedTuple):
    """A unit that was given up."""

    #: The unit.
    unit: Unit
    #: Its rows that have no node.
    rows: tuple[int, ...]
    #: Why, for machines.
    reason: FailureReason
    #: Why, for humans.
    message: str

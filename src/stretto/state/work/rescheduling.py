"""When pods are moved so that room comes free in whole pieces: what a profile says of it."""

from enum import StrEnum

import msgspec


class ReschedulingGoal(StrEnum):
    """What is to come free."""

    #: Whole GPUs.
    GPUS = "gpus"
    #: Whole nodes.
    NODES = "nodes"


class ReschedulingRules(msgspec.Struct, frozen=True):
    """A plane that moves pods by itself, now and then."""

    #: Seconds between two looks.
    every: float
    #: What is to come free.
    goal: ReschedulingGoal = ReschedulingGoal.GPUS
    #: Moves at most that one look begins.
    moves: int = 10
    #: Whether it only works out what it would do, and counts it.
    dry_run: bool = False

"""Configuration of the rescheduler, which moves pods to free whole GPUs or nodes."""

from enum import StrEnum

import msgspec


class ReschedulingGoal(StrEnum):
    """The capacity that the rescheduler frees."""

    #: Whole GPUs.
    GPUS = "gpus"
    #: Whole nodes.
    NODES = "nodes"


class ReschedulingRules(msgspec.Struct, frozen=True):
    """Parameters of periodic rescheduling."""

    #: Seconds between two runs.
    every: float
    #: Capacity to free.
    goal: ReschedulingGoal = ReschedulingGoal.GPUS
    #: Maximum number of moves per run.
    moves: int = 10
    #: True if moves are only computed and counted.
    dry_run: bool = False

"""Configuration of the rescheduler, which moves pods to free whole GPUs or nodes."""

from enum import StrEnum

import msgspec


class ReschedulingGoal(StrEnum):
    """What the rescheduler frees."""

    #: Whole GPUs.
    GPUS = "gpus"
    #: Whole nodes.
    NODES = "nodes"


class ReschedulingRules(msgspec.Struct, frozen=True):
    """Parameters of periodic rescheduling."""

    #: Seconds between two runs.
    every: float
    #: What is freed.
    goal: ReschedulingGoal = ReschedulingGoal.GPUS
    #: Maximum number of moves per run.
    moves: int = 10
    #: Whether moves are only computed and counted.
    dry_run: bool = False

"""Frameworks in virtual time: what they want and how they answer offers."""

from enum import Enum
from math import inf

import msgspec

from stretto.offers.allocator.subjects.frameworks import FrameworkInfo
from stretto.sim.offers.demand import TaskDemand


class AnswerMode(Enum):
    """How a framework answers an offer."""

    #: As many tasks as the offer holds and the backlog has.
    GREEDY = "greedy"
    #: One task.
    ONE = "one"
    #: No answer.
    HOLD = "hold"
    #: A decline.
    DECLINE = "decline"


class FrameworkPlan(msgspec.Struct, frozen=True):
    """A framework and its work."""

    #: What it registers.
    info: FrameworkInfo
    #: Resources of one task.
    task: TaskDemand
    #: How it answers while it has work.
    mode: AnswerMode = AnswerMode.GREEDY
    #: Number of tasks that it wants to start; infinity for no end.
    backlog: float = inf
    #: Seconds that a task runs; infinity for a service.
    duration: float = inf
    #: Seconds between an offer and its answer.
    decision: float = 0.0
    #: Seconds of the filters of its declines.
    refuse: float = 5.0
    #: True if it suppresses offers once its backlog is empty.
    suppresses: bool = True
    #: True if it sends a REQUEST for one task, so that it receives no smaller offers.
    requests: bool = False

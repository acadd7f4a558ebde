"""Frameworks in virtual time: their demand and their answers to offers."""

from enum import Enum
from math import inf

import msgspec

from stretto.offers.allocator.subjects.frameworks import FrameworkInfo
from stretto.sim.offers.demand import TaskDemand


class AnswerMode(Enum):
    """Answers of a framework to an offer."""

    #: Start as many tasks as fit in the offer and are in the backlog.
    GREEDY = "greedy"
    #: Start one task.
    ONE = "one"
    #: No answer.
    HOLD = "hold"
    #: A decline.
    DECLINE = "decline"


class FrameworkPlan(msgspec.Struct, frozen=True):
    """A framework and its work."""

    #: Its registration.
    info: FrameworkInfo
    #: Resources of one task.
    task: TaskDemand
    #: Its answer while it has work.
    mode: AnswerMode = AnswerMode.GREEDY
    #: Number of tasks to start; infinity for no end.
    backlog: float = inf
    #: Seconds that a task runs; infinity for a service.
    duration: float = inf
    #: Seconds between an offer and its answer.
    decision: float = 0.0
    #: Lifetime of the filters of its declines, in seconds.
    refuse: float = 5.0
    #: True if it suppresses offers once its backlog is empty.
    suppresses: bool = True
    #: True if it sends a REQUEST for one task, so that it receives no smaller offers.
    requests: bool = False

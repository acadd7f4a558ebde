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
    #: Whether it suppresses offers once its backlog is empty.
    suppresses: bool = True
    #: Whether it sends a REQUEST for one task, so that it receives no smaller offers.
    requests: bool = False


def marathon_like(name: str, role: str, tasks: int = 4000) -> FrameworkPlan:
    """Services: many small tasks that never end, and quick answers."""
    demand = TaskDemand.of({"cpus": 0.2, "mem": 128})
    info = FrameworkInfo(name, frozenset({role}))
    return FrameworkPlan(info, demand, backlog=tasks, requests=True)


def jenkins_like(name: str, role: str, tasks: int = 5) -> FrameworkPlan:
    """Builds: a few short tasks, one for each offer."""
    demand = TaskDemand.of({"cpus": 0.5, "mem": 512})
    info = FrameworkInfo(name, frozenset({role}))
    plan = FrameworkPlan(info, demand, AnswerMode.ONE, backlog=tasks, duration=60.0)
    return msgspec.structs.replace(plan, requests=True)


def spark_like(name: str, role: str, tasks: int = 20) -> FrameworkPlan:
    """Batch: some larger tasks of minutes, as many as an offer holds."""
    demand = TaskDemand.of({"cpus": 1, "mem": 1024})
    info = FrameworkInfo(name, frozenset({role}))
    return FrameworkPlan(info, demand, backlog=tasks, duration=300.0, requests=True)

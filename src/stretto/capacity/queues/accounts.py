"""Held, requested and assigned amounts of the jobs of each queue."""

from collections.abc import Iterable
from enum import Enum
from typing import Final

import msgspec

from stretto.base.amounts import total_of
from stretto.capacity.queues.amounts import PODS, Amounts, beyond


class TaskStatus(Enum):
    """States of a task; the values are Volcano's."""

    #: It waits.
    PENDING = "Pending"
    #: Its node is chosen.
    ALLOCATED = "Allocated"
    #: Its node is chosen once others have left.
    PIPELINED = "Pipelined"
    #: Its binding is being written.
    BINDING = "Binding"
    #: It is bound.
    BOUND = "Bound"
    #: It runs.
    RUNNING = "Running"
    #: It ends.
    RELEASING = "Releasing"
    #: It has ended.
    SUCCEEDED = "Succeeded"
    #: It has failed.
    FAILED = "Failed"


class JobPhase(Enum):
    """States of a job; the values are Volcano's."""

    #: It may not start yet.
    PENDING = "Pending"
    #: It may start.
    INQUEUE = "Inqueue"
    #: Some of its tasks run.
    RUNNING = "Running"
    #: Its tasks are in unexpected states.
    UNKNOWN = "Unknown"
    #: It has ended.
    COMPLETED = "Completed"


HOLDING: Final = frozenset(
    (TaskStatus.ALLOCATED, TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING)
)
"""States in which a task holds its request."""


class QueuedTasks(msgspec.Struct, frozen=True):
    """Equal tasks of a job."""

    #: Their state.
    status: TaskStatus
    #: Request of one task.
    requests: Amounts = {}
    #: Tasks.
    count: int = 1

    @property
    def amounts(self) -> Amounts:
        """The requests of all of them, with one pod for each."""
        each = {**self.requests, PODS: 1.0}
        return {name: amount * self.count for name, amount in each.items()}


class QueuedJob(msgspec.Struct, frozen=True):
    """A job in a queue."""

    #: Its queue.
    queue: str
    #: Its state.
    phase: JobPhase
    #: Tasks without which it does not start.
    min_member: int = 0
    #: What it needs to start; empty if not stated.
    min_resources: Amounts = {}
    #: Its tasks.
    tasks: tuple[QueuedTasks, ...] = ()

    def account(self) -> "QueueAccount":
        """Held and requested amounts together."""
        holding = [each for each in self.tasks if each.status in HOLDING]
        waiting = [each for each in self.tasks if each.status is TaskStatus.PENDING]
        held = total_of(each.amounts for each in holding)
        has_started = (
            self.phase is JobPhase.RUNNING
            and sum(each.count for each in holding) >= self.min_member
        )
        starts = self.phase is JobPhase.INQUEUE or has_started
        return QueueAccount(
            held,
            total_of([held, *(each.amounts for each in waiting)]),
            beyond(held, self.min_resources),
            beyond(self.min_resources, held) if starts else {},
        )


class QueueAccount(msgspec.Struct, frozen=True):
    """Held and requested amounts of jobs."""

    #: Held amounts.
    allocated: Amounts = {}
    #: Held and requested amounts.
    request: Amounts = {}
    #: Held beyond what the jobs need to run.
    elastic: Amounts = {}
    #: Promised to jobs that may start.
    inqueue: Amounts = {}


def merge(accounts: Iterable[QueueAccount]) -> QueueAccount:
    """The sum of accounts."""
    found = list(accounts)
    return QueueAccount(
        total_of(each.allocated for each in found),
        total_of(each.request for each in found),
        total_of(each.elastic for each in found),
        total_of(each.inqueue for each in found),
    )


def accounts_by_queue(jobs: Iterable[QueuedJob]) -> dict[str, QueueAccount]:
    """The account of every queue that has jobs."""
    by_queue: dict[str, list[QueueAccount]] = {}
    for job in jobs:
        by_queue.setdefault(job.queue, []).append(job.account())
    return {queue: merge(found) for queue, found in by_queue.items()}

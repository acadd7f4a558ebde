"""Allocated, requested and assigned amounts of the jobs of each queue."""

from collections.abc import Iterable
from enum import Enum
from typing import Final

import msgspec

from stretto.base.amounts import total_of
from stretto_lab.models.volcano.amounts import CPU, MEMORY, PODS, Amounts, beyond


class TaskStatus(Enum):
    """States of a task; the values are Volcano's."""

    #: The task waits.
    PENDING = "Pending"
    #: The node is chosen.
    ALLOCATED = "Allocated"
    #: The node is chosen, but other tasks must end first.
    PIPELINED = "Pipelined"
    #: The bind is in flight.
    BINDING = "Binding"
    #: The task is bound.
    BOUND = "Bound"
    #: The task runs.
    RUNNING = "Running"
    #: The task is ending.
    RELEASING = "Releasing"
    #: The task has ended.
    SUCCEEDED = "Succeeded"
    #: The task has failed.
    FAILED = "Failed"


class JobPhase(Enum):
    """States of a job; the values are Volcano's."""

    #: The job may not start yet.
    PENDING = "Pending"
    #: The job may start.
    INQUEUE = "Inqueue"
    #: Some tasks of the job run.
    RUNNING = "Running"
    #: Tasks of the job are in unexpected states.
    UNKNOWN = "Unknown"
    #: The job has ended.
    COMPLETED = "Completed"


HOLDING: Final = frozenset(
    (TaskStatus.ALLOCATED, TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING)
)
"""States in which a task has allocated its request."""


class QueuedTasks(msgspec.Struct, frozen=True):
    """Equal tasks of a job."""

    #: State of the tasks.
    status: TaskStatus
    #: Request of one task.
    requests: Amounts = {}
    #: Number of tasks.
    count: int = 1

    @property
    def amounts(self) -> Amounts:
        """Requests of all of them, with one pod for each."""
        each = {**self.requests, PODS: 1.0}
        return {name: amount * self.count for name, amount in each.items()}


class QueuedJob(msgspec.Struct, frozen=True):
    """A job in a queue."""

    #: Name of the queue.
    queue: str
    #: State of the job.
    phase: JobPhase
    #: Minimum number of tasks for its start.
    min_member: int = 0
    #: Minimum amounts for its start; empty if the job does not set them.
    min_resources: Amounts = {}
    #: Tasks of the job.
    tasks: tuple[QueuedTasks, ...] = ()

    def account(self) -> "QueueAccount":
        """Sum allocated and requested amounts."""
        tasks = [each for each in self.tasks if each.count]
        holding = [each for each in tasks if each.status in HOLDING]
        waiting = [each for each in tasks if each.status is TaskStatus.PENDING]
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
            self._promised(held) if starts else {},
        )

    def _promised(self, held: Amounts) -> Amounts:
        """Amounts that the minimum needs beyond the allocated ones.

        A scalar resource of which nothing is allocated is present even if the minimum is 0.
        """
        return {
            name: amount
            for name, amount in beyond(self.min_resources, held).items()
            if amount or (name not in held and name not in (CPU, MEMORY, PODS))
        }


class QueueAccount(msgspec.Struct, frozen=True):
    """Allocated and requested amounts of jobs."""

    #: Allocated amounts.
    allocated: Amounts = {}
    #: Allocated and requested amounts.
    request: Amounts = {}
    #: Amounts allocated beyond the minimum of the jobs.
    elastic: Amounts = {}
    #: Amounts promised to jobs that may start.
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

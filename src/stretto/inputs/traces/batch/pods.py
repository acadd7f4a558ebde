"""The pods of the selected jobs: those of one user, group, queue or partition, or all."""

from collections.abc import Iterable, Sequence
from typing import Final

from stretto.base.errors import InputError, did_you_mean
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.inputs.traces.batch.jobs import BatchJob, BatchJobs, gang_of, limit_of, shares_of

VALUES: Final = ("user", "group", "queue", "partition")
"""Values of a job that can select jobs."""
_SHOWN: Final = 8
"""Maximum number of values in a message."""


def job_pods(jobs: Sequence[BatchJob], keys: BatchJobs) -> tuple[FleetPod, ...]:
    """The selected jobs as pods without knowledge of nodes; omitted jobs have none."""
    return pods_on(jobs, keys, ())


def pods_on(
    jobs: Sequence[BatchJob], keys: BatchJobs, nodes: Iterable[FleetNode]
) -> tuple[FleetPod, ...]:
    """The selected jobs as pods on nodes, job by job; omitted jobs have none.

    Raises:
        InputError: no job has the values of the selection, or a job has too many pods.
    """
    limit = limit_of(keys, nodes)
    return tuple(
        pod
        for job in selected(jobs, keys.only)
        if not job.omitted
        for pod in gang_of(job, shares_of(job, limit), keys.queues_by)
    )


def selected(jobs: Sequence[BatchJob], only: str) -> tuple[BatchJob, ...]:
    """The jobs with every value of a selection such as ``queue=ee9e8c,user=u1``.

    An empty selection matches all jobs.

    Raises:
        InputError: the selection is malformed, or no job has its values.
    """
    found = tuple(jobs)
    for part in only.split(",") if only else ():
        name, equals, value = part.strip().partition("=")
        if not equals or name not in VALUES:
            expected = f"values such as queue=ee9e8c, by {', '.join(VALUES)}"
            raise InputError("only", part, expected, did_you_mean(name, VALUES))
        kept = tuple(job for job in found if getattr(job, name) == value)
        if not kept:
            raise _no_job(found, name, value)
        found = kept
    return found


def _no_job(jobs: Sequence[BatchJob], name: str, value: str) -> InputError:
    """The error for a value that no job has."""
    known = sorted({getattr(job, name) for job in jobs} - {""})
    more = ", ..." if len(known) > _SHOWN else ""
    expected = f"a {name} of the jobs: {', '.join(known[:_SHOWN]) or 'none has one'}{more}"
    return InputError(f"only: {name}", value, expected, did_you_mean(value, known))

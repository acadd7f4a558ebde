"""The Philly trace: gang-scheduled GPU training jobs (Jeon et al., ATC 2019).

A job requests a number of GPUs at once and runs for a known time. Its pods are a gang: one pod per
GPU, all in one group. A job list has one of two forms: columns of Stretto, or those of the PCS
simulator (https://github.com/abdullahfsm/PCS), whose ``service`` is in GPU seconds.
"""

import re
from pathlib import Path
from typing import Final

import msgspec

from stretto.base.errors import InputError
from stretto.inputs.neutral.fleet import WHOLE_GPU, FleetPod
from stretto.inputs.neutral.tables import CsvLayout, CsvTable, read_table

JOB_LAYOUT: Final = CsvLayout(
    ("job_id", "submit_time_s", "num_gpus", "duration_s"), ("model_name", "estimate_s")
)
"""Columns of a job list."""
PCS_LAYOUT: Final = CsvLayout(
    ("app_id", "submit_time", "service", "num_jobs"), ("sleep_time", "model_name")
)
"""Columns of a job list of the PCS simulator."""
MAX_JOB_GPUS: Final = 10_000
"""Maximum number of GPUs of a job, more than the largest reported training gang."""
_DECIMAL: Final = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)
_MAX_TIME_S: Final = 1e10
"""Three centuries: a larger time is in milliseconds."""


class PhillyJobs(msgspec.Struct, frozen=True, kw_only=True):
    """A workload in philly format."""

    #: The file of jobs, relative to the scenario.
    jobs: str


class PhillyJob(msgspec.Struct, frozen=True, gc=False):
    """One training job."""

    #: Identity in the trace.
    job_id: str
    #: Second of its submission.
    submit_s: float
    #: GPUs that it requests at once.
    gpus: int
    #: Run time in seconds.
    duration_s: float
    #: Name of the trained model, a label.
    model: str = ""
    #: The user's estimate of the run time in seconds; ``None`` for the run time itself.
    estimate_s: float | None = None


def load_jobs(path: Path) -> tuple[PhillyJob, ...]:
    """The jobs of a list in either form, in its order."""
    table = read_table(path, JOB_LAYOUT, PCS_LAYOUT)
    if table.has("app_id"):
        return _pcs_jobs(table)
    rows = zip(
        table.names("job_id"),
        table.decimals("submit_time_s", 0, _MAX_TIME_S),
        table.integers("num_gpus", 1, MAX_JOB_GPUS),
        table.decimals("duration_s", 0, _MAX_TIME_S),
        table.texts("model_name"),
        _estimates(table),
        strict=True,
    )
    jobs = tuple(PhillyJob(*row) for row in rows)
    if not jobs:
        raise InputError(f"{path}, line 2", None, "at least one job", "add a row")
    return jobs


def _pcs_jobs(table: CsvTable) -> tuple[PhillyJob, ...]:
    """The jobs of a PCS list: its service is the run time times the number of GPUs."""
    table.some("job")
    rows = zip(
        table.names("app_id"),
        table.decimals("submit_time", 0, _MAX_TIME_S),
        table.decimals("service", 0, _MAX_TIME_S * MAX_JOB_GPUS),
        table.integers("num_jobs", 1, MAX_JOB_GPUS),
        table.texts("model_name"),
        strict=True,
    )
    return tuple(
        PhillyJob(name, submit, gpus, service / gpus, model)
        for name, submit, service, gpus, model in rows
    )


def _estimates(table: CsvTable) -> list[float | None]:
    """The optional estimates; an empty cell means the run time itself."""
    if not table.has("estimate_s"):
        return [None] * table.count
    found: list[float | None] = []
    for row, cell in enumerate(table.texts("estimate_s")):
        plain = _DECIMAL.fullmatch(cell)
        if cell and not (plain and float(cell) <= _MAX_TIME_S):
            table.refuse(row, "estimate_s", f"empty, or a number 0..{_MAX_TIME_S:.15g}")
        found.append(float(cell) if cell else None)
    return found


def job_pods(jobs: tuple[PhillyJob, ...], pod_gpus: int = 1) -> tuple[FleetPod, ...]:
    """The jobs as pods of at most ``pod_gpus`` GPUs each; the pods of a job share a group.

    A job that is larger than one pod consists of pods of ``pod_gpus`` GPUs; its last pod has the
    rest.
    """
    return tuple(
        FleetPod(
            name=f"job-{job.job_id}-{index}",
            cpu_milli=0,
            memory_mib=0,
            gpus=min(pod_gpus, job.gpus - index * pod_gpus),
            gpu_milli=WHOLE_GPU,
            arrival_s=job.submit_s,
            duration_s=job.duration_s,
            estimate_s=job.estimate_s,
            group=f"job-{job.job_id}" if job.gpus > pod_gpus else "",
        )
        for job in jobs
        for index in range(-(-job.gpus // pod_gpus))
    )

"""Microsoft's ``cluster_job_log``: training jobs of the Philly clusters with their attempts.

The file is one JSON list of jobs. The GPUs of a job are those of its first attempt with a
placement. Its run time is the sum of its attempts that have a start and an end: the time for which
it held GPUs. A job without such an attempt is omitted; one that still ran at the end of the log
counts with its earlier attempts. The queue is the virtual cluster. Times without a zone are used
unchanged. The servers of an attempt are not read; the nodes of the fleet determine how a job is
split.

Source: https://github.com/msr-fiddle/philly-traces (Jeon et al., ATC 2019, CC-BY-4.0)
"""

import re
from pathlib import Path
from typing import Final

import msgspec

from stretto.api.wire.refusals import refusal
from stretto.base.errors import InputError
from stretto.inputs.neutral.files import read_text
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.neutral.tables import CsvLayout, read_table
from stretto.inputs.traces.batch.jobs import (
    AMPLE_CPU_MILLI,
    AMPLE_MEMORY_MIB,
    MAX_SIZE,
    BatchJob,
    since_first,
)
from stretto.inputs.traces.batch.tables import UNKNOWN, moment, names, whole

MACHINE_LAYOUT: Final = CsvLayout(("machineId", "number of GPUs"), ("single GPU mem",), others=True)
"""Columns of ``cluster_machine_list``."""
NO_ATTEMPT: Final = "no attempt"
"""Reason for omitting a job that never started."""
NOT_TIMED: Final = "no attempt with start and end"
"""Reason for omitting a job without run time."""
NO_GPUS: Final = "no GPUs"
"""Reason for omitting a job without placement."""
_EXAMPLE: Final = "a date and time such as 2017-10-07 01:12:09"


class LoggedServer(msgspec.Struct, frozen=True):
    """GPUs of an attempt on one server."""

    #: Names of the GPUs.
    gpus: list[str] = []
    #: Name of the server.
    ip: str = ""


class LoggedAttempt(msgspec.Struct, frozen=True):
    """One attempt of a job."""

    #: Its start; null or ``None`` if it was not recorded.
    start_time: str | None = None
    #: Its end; null or ``None`` if it was not recorded.
    end_time: str | None = None
    #: Its servers.
    detail: list[LoggedServer] = []


class LoggedJob(msgspec.Struct, frozen=True):
    """One job of the log."""

    #: Its identity.
    jobid: str
    #: Time of its submission; null if it was not recorded.
    submitted_time: str | None
    #: Its attempts in order.
    attempts: list[LoggedAttempt]
    #: Hash of its virtual cluster.
    vc: str = ""
    #: Hash of its user.
    user: str | None = ""
    #: ``Pass``, ``Killed`` or ``Failed``.
    status: str = ""


def load_attempts(path: Path) -> tuple[BatchJob, ...]:
    """The jobs of a log (plain or gzip), in file order.

    Raises:
        InputError: the file is not a list of such jobs, or a time is malformed.
    """
    body = read_text(path).encode()
    try:
        logged = msgspec.json.decode(body, type=list[LoggedJob])
    except (msgspec.DecodeError, RecursionError) as error:
        raise refusal(error, body, str(path)) from error
    if not logged:
        raise InputError(str(path), "[]", "at least one job", "check the path or fetch it again")
    _check_ids(path, logged)
    submits = [_submitted(path, number, job) for number, job in enumerate(logged)]
    known = iter(since_first([each for each in submits if each is not None]))
    starts = [None if each is None else next(known) for each in submits]
    return tuple(
        _job(path, number, job, start)
        for number, (job, start) in enumerate(zip(logged, starts, strict=True))
    )


def machine_nodes(path: Path) -> tuple[FleetNode, ...]:
    """The servers of a ``cluster_machine_list``; their CPU and memory are ample."""
    table = read_table(path, MACHINE_LAYOUT)
    table.some("machine")
    rows = zip(names(table, "machineId"), whole(table, "number of GPUs", 0, 16), strict=True)
    return tuple(
        FleetNode(name, AMPLE_CPU_MILLI, AMPLE_MEMORY_MIB, gpus, "any" if gpus else "")
        for name, gpus in rows
    )


def _job(path: Path, number: int, job: LoggedJob, start: float | None) -> BatchJob:
    """One job in the neutral form."""
    spans = [_span(path, f"[{number}].attempts[{i}]", a) for i, a in enumerate(job.attempts)]
    timed = [span for span in spans if span is not None]
    placed = [gpus for each in job.attempts if (gpus := sum(len(d.gpus) for d in each.detail))]
    flaw = "" if start is not None else "no submission time"
    if not job.attempts:
        flaw = flaw or NO_ATTEMPT
    elif not timed:
        flaw = flaw or NOT_TIMED
    elif not placed:
        flaw = flaw or NO_GPUS
    return BatchJob(
        job_id=_short(job.jobid),
        submit_s=start or 0.0,
        duration_s=sum(timed),
        gpus=min(placed[0], MAX_SIZE) if placed else 0,
        user=job.user or "",
        queue=job.vc,
        omitted=flaw,
    )


def _check_ids(path: Path, jobs: list[LoggedJob]) -> None:
    """Refuse two jobs of one id."""
    first: dict[str, int] = {}
    for number, job in enumerate(jobs):
        before = first.setdefault(job.jobid, number)
        if before != number or not job.jobid:
            expected = f"an id of its own (job [{before}] has it already)"
            raise InputError(f"{path}: [{number}].jobid", job.jobid, expected, "rename one")


def _submitted(path: Path, number: int, job: LoggedJob) -> float | None:
    """The submission in seconds of the epoch; ``None`` if it was not recorded."""
    return _moment(path, f"[{number}].submitted_time", job.submitted_time)


def _span(path: Path, where: str, attempt: LoggedAttempt) -> float | None:
    """The seconds of an attempt; ``None`` if its start or its end was not recorded."""
    start = _moment(path, f"{where}.start_time", attempt.start_time)
    end = _moment(path, f"{where}.end_time", attempt.end_time)
    if start is None or end is None:
        return None
    if end < start:
        expected = f"a time not before start_time {attempt.start_time}"
        raise InputError(f"{path}: {where}.end_time", attempt.end_time, expected, "fix the job")
    return end - start


def _moment(path: Path, where: str, text: str | None) -> float | None:
    """A time in seconds of the epoch; ``None`` if it is unknown."""
    if text is None or text.strip() in UNKNOWN:
        return None
    found = moment(text.strip())
    if found is None:
        raise InputError(f"{path}: {where}", text, f"{_EXAMPLE}, or null", "fix the job or drop it")
    return found


def _short(job_id: str) -> str:
    """The id without its common prefix: ``1506638472019-14199``."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", job_id.removeprefix("application_")).strip("-") or job_id

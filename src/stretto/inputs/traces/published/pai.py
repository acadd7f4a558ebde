"""The GPU trace of Alibaba's platform for AI, as published (``cluster-trace-gpu-v2020``).

A task is a gang of ``inst_num`` pods with the planned CPU, memory and GPU of each; it arrives when
its job is submitted. The instance table, if there, gives each pod its machine, start and run time;
instances beyond ``inst_num`` are retries, which arrive alone at their start. Machines are nodes.
CPU and GPU are in percent of one (600 is 6 cores), memory is in GiB, times are in seconds. A GPU
task may use the GPU type that its user requested (group table), or without that table the type that
it was assigned.
"""

from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from stretto.inputs.neutral.bounds import EVERYTHING, TraceBounds, check_kept
from stretto.inputs.neutral.fleet import (
    MAX_CPU_MILLI,
    MAX_GPUS,
    MAX_MEMORY_MIB,
    WHOLE_GPU,
    Fleet,
    FleetNode,
    FleetPod,
)
from stretto.inputs.neutral.layouts import FileLayout
from stretto.inputs.neutral.rows import TraceRow, trace_rows
from stretto.inputs.traces.downloads import table_files

_STATUS: Final = "running|terminated|failed|waiting|interrupted|"
_TIME: Final = r"\d+(\.\d+)?|"
_AMOUNT: Final = r"\d+(\.\d+)?(e-?\d+)?|"


def _table(what: str, columns: str, name: str, cells: Mapping[str, str]) -> FileLayout:
    return FileLayout(
        what=what, required=tuple(columns.split()), header=False, cells=cells, names=(name,)
    )


TASKS: Final = _table(
    "task table",
    "job_name task_name inst_num status start_time end_time plan_cpu plan_mem plan_gpu gpu_type",
    "pai_task_table*",
    {"status": _STATUS, "start_time": _TIME, "plan_cpu": _AMOUNT},
)
"""One row for each task of a job."""
JOBS: Final = _table(
    "job table",
    "job_name inst_id user status start_time end_time",
    "pai_job_table*",
    {"status": _STATUS, "start_time": _TIME, "end_time": _TIME},
)
"""One row for each job."""
INSTANCES: Final = _table(
    "instance table",
    "job_name task_name inst_name worker_name inst_id status start_time end_time machine",
    "pai_instance_table*",
    {"status": _STATUS, "start_time": _TIME, "end_time": _TIME},
)
"""One row for each instance of a task."""
GROUPS: Final = _table(
    "group table",
    "inst_id user gpu_type_spec group workload",
    "pai_group_tag_table*",
    {"inst_id": "[0-9a-f]{16,}"},
)
"""One row for each job with the request of its user."""
MACHINES: Final = _table(
    "node list",
    "machine gpu_type cap_cpu cap_mem cap_gpu",
    "pai_machine_spec*",
    {"machine": "[0-9a-f]{8,}", "cap_cpu": _AMOUNT, "cap_mem": _AMOUNT, "cap_gpu": _AMOUNT},
)
"""One row for each machine."""
LAYOUTS: Final = (TASKS, JOBS, INSTANCES, MACHINES, GROUPS)
"""All tables that are read; the task table is required."""
_MAX_TIME_S: Final = 1e10
_MAX_INSTANCES: Final = 100_000


class PaiTables(msgspec.Struct, frozen=True, kw_only=True):
    """A workload in pai-2020 format."""

    #: The folder of the tables, or the task table alone, relative to the scenario.
    tables: str


class PaiMachines(msgspec.Struct, frozen=True, kw_only=True):
    """A fleet in pai-2020 format."""

    #: The machine table, or the folder of the tables, relative to the scenario.
    nodes: str


class _Job(NamedTuple):
    """A job of the job table."""

    #: Second of its submission.
    submit_s: float | None
    #: Its identity in the group table.
    inst_id: str


class _Task(NamedTuple):
    """A kept task."""

    #: Its job.
    job: str
    #: Its name in the job.
    name: str
    #: Number of its instances.
    instances: int
    #: Second of its launch; ``None`` if it never started.
    start_s: float | None
    #: Run time in seconds; ``None`` if it outlived the trace.
    duration_s: float | None
    #: One of its pods.
    pod: FleetPod


class _Instance(NamedTuple):
    """An instance of a kept task."""

    #: Second of its start; ``None`` if it never started.
    start_s: float | None
    #: Run time in seconds; ``None`` if it outlived the trace.
    duration_s: float | None
    #: Its machine; empty if unknown.
    machine: str


def load_pai(path: Path, bounds: TraceBounds = EVERYTHING) -> Fleet:
    """The machines and tasks of a download.

    Args:
        path: the folder of the tables, or the task table alone.
        bounds: the part that is kept; a job is a job of the trace.

    Raises:
        InputError: there is no task table, or a row cannot be used.
    """
    files = table_files(path, LAYOUTS)
    nodes = tuple(_nodes(files[MACHINES.what]))
    jobs = _jobs(files[JOBS.what], bounds)
    requested = (
        _requested(files[GROUPS.what], {job.inst_id for job in jobs.values()}) if jobs else None
    )
    reader = _TaskReader(jobs, requested, bounds)
    tasks = reader.read(files[TASKS.what], str(path))
    instances = _instances(files[INSTANCES.what], tasks, str(path))
    pods = [pod for task in tasks.values() for pod in _pods(task, instances)]
    check_kept(len(pods), str(path))
    notes = tuple(reader.notes())
    return Fleet(nodes, bounds.first_jobs(pods), path.name, "CC-BY-4.0", notes=notes)


def read_machines(path: Path) -> tuple[FleetNode, ...]:
    """The machines of a machine table, or of a folder with one.

    Raises:
        InputError: there is none, or a row cannot be used.
    """
    return tuple(_nodes(table_files(path, (MACHINES,))[MACHINES.what]))


class _TaskReader:
    """Reads the task table and counts tasks that cannot be scheduled."""

    def __init__(
        self, jobs: Mapping[str, _Job], requested: Mapping[str, str] | None, bounds: TraceBounds
    ) -> None:
        self._jobs, self._requested, self._bounds = jobs, requested, bounds
        self._without_time = 0
        self._too_many_gpus = 0

    def read(self, files: list[Path], where: str) -> dict[tuple[str, str], _Task]:
        """The kept tasks by job and name."""
        tasks: dict[tuple[str, str], _Task] = {}
        for row in trace_rows(files, TASKS):
            task = self._task(row)
            if task is not None:
                tasks[task.job, task.name] = task
                check_kept(len(tasks), where)
        return tasks

    def notes(self) -> Iterator[str]:
        """Sentences about omitted tasks."""
        if self._without_time:
            yield f"{self._without_time:,} tasks without a time are omitted"
        if self._too_many_gpus:
            yield f"{self._too_many_gpus:,} tasks with more than {MAX_GPUS} GPUs are omitted"

    def _task(self, row: TraceRow) -> _Task | None:
        name = row.name("job_name")
        job = self._jobs.get(name, _Job(None, ""))
        start, duration = _times(row)
        arrival = job.submit_s if job.submit_s is not None else start
        if arrival is None:
            self._without_time += 1
            return None
        end = arrival if start is None else inf if duration is None else start + duration
        if not self._bounds.keeps(name, arrival, end):
            return None
        percent = row.optional("plan_gpu", 0, 1e6) or 0.0
        if percent > 100 * MAX_GPUS:
            self._too_many_gpus += 1
            return None
        task = row.text("task_name") or "task"
        count = row.integer("inst_num", 0, _MAX_INSTANCES, default=1) or 1
        return _Task(name, task, count, start, duration, self._pod(row, job, percent, arrival))

    def _pod(self, row: TraceRow, job: _Job, percent: float, arrival: float) -> FleetPod:
        gpus, milli = _gpus(percent)
        model = (
            row.text("gpu_type")
            if self._requested is None
            else self._requested.get(job.inst_id, "")
        )
        memory = row.optional("plan_mem", 0, MAX_MEMORY_MIB / 1024) or 0.0
        return FleetPod(
            name="",
            cpu_milli=round(10 * (row.optional("plan_cpu", 0, MAX_CPU_MILLI / 10) or 0.0)),
            memory_mib=round(1024 * memory),
            gpus=gpus,
            gpu_milli=milli,
            gpu_models=(model,) if gpus and model and model.upper() != "CPU" else (),
            arrival_s=arrival,
            extra={"job": row.name("job_name")},
        )


def _gpus(percent: float) -> tuple[int, int]:
    """GPUs of a pod and milli of each, from percent of one GPU."""
    if percent <= 0:
        return 0, 0
    if percent < 100:
        return 1, max(1, round(10 * percent))
    return -int(-percent // 100), WHOLE_GPU


def _times(row: TraceRow) -> tuple[float | None, float | None]:
    """Start and run time; ``None`` if the trace has no time."""
    start = row.optional("start_time", 0, _MAX_TIME_S)
    end = row.optional("end_time", 0, _MAX_TIME_S)
    if start is None or end is None:
        return start, None
    return start, max(0.0, end - start)


def _jobs(files: list[Path], bounds: TraceBounds) -> dict[str, _Job]:
    """The kept jobs by name; empty without a job table."""
    return {
        row.name("job_name"): _Job(_times(row)[0], row.text("inst_id"))
        for row in trace_rows(files, JOBS)
        if bounds.samples(row.name("job_name"))
    }


def _requested(files: list[Path], jobs: set[str]) -> dict[str, str] | None:
    """The GPU type that a user requested, by ``inst_id``; ``None`` without a group table."""
    if not files:
        return None
    return {
        row.text("inst_id"): row.text("gpu_type_spec")
        for row in trace_rows(files, GROUPS)
        if row.text("gpu_type_spec") and row.text("inst_id") in jobs
    }


def _nodes(files: list[Path]) -> Iterator[FleetNode]:
    """The machines, each once."""
    seen: set[str] = set()
    for row in trace_rows(files, MACHINES):
        name = row.name("machine")
        if name in seen:
            continue
        seen.add(name)
        gpus = row.integer("cap_gpu", 0, MAX_GPUS, default=0)
        yield FleetNode(
            name=name,
            cpu_milli=round(1000 * row.number("cap_cpu", 0, MAX_CPU_MILLI / 1000)),
            memory_mib=round(1024 * row.number("cap_mem", 0, MAX_MEMORY_MIB / 1024)),
            gpus=gpus,
            gpu_model=(row.text("gpu_type") or "GPU") if gpus else "",
        )


def _instances(
    files: list[Path], tasks: Mapping[tuple[str, str], _Task], where: str
) -> dict[tuple[str, str], list[_Instance]]:
    """The instances of the kept tasks."""
    found: dict[tuple[str, str], list[_Instance]] = {}
    count = 0
    for row in trace_rows(files, INSTANCES):
        key = (row.name("job_name"), row.text("task_name") or "task")
        if key not in tasks:
            continue
        start, duration = _times(row)
        found.setdefault(key, []).append(_Instance(start, duration, row.text("machine")))
        count += 1
        check_kept(count, where)
    return found


def _pods(task: _Task, instances: Mapping[tuple[str, str], list[_Instance]]) -> Iterator[FleetPod]:
    """The pods of a task: a gang of its first instances, and one pod for each retry."""
    unknown = _Instance(None, task.duration_s, "")
    rows = sorted(
        instances.get((task.job, task.name), ()),
        key=lambda each: _MAX_TIME_S if each.start_s is None else each.start_s,
    )
    gang = f"{task.job}-{task.name}" if task.instances > 1 else ""
    for number in range(max(task.instances, len(rows))):
        each = rows[number] if number < len(rows) else unknown
        placed = bool(each.machine) and each.start_s is not None
        retry = number >= task.instances and each.start_s is not None
        yield msgspec.structs.replace(
            task.pod,
            name=f"{task.job}-{task.name}-{number}",
            arrival_s=each.start_s if retry else task.pod.arrival_s,
            start_s=each.start_s if placed else None,
            node=each.machine if placed else "",
            duration_s=each.duration_s,
            group="" if number >= task.instances else gang,
        )

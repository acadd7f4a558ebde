"""SenseTime's Helios logs: jobs of Slurm clusters with GPUs (Hu et al., SC 2021).

``cluster_log.csv`` has one row for each job. A job has a number of GPUs, CPUs and nodes, so it has
one pod for each node. Its queue is the virtual cluster. Times without a zone are used unchanged.
``cluster_gpu_number.csv`` lists the GPUs by day; the last day describes the nodes.

Source: https://github.com/S-Lab-System-Group/HeliosData (CC-BY-4.0)
"""

from pathlib import Path
from typing import Final

from stretto.base.errors import InputError
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.neutral.tables import CsvLayout, read_table
from stretto.inputs.traces.batch.jobs import (
    CORE,
    MAX_SIZE,
    MAX_TIME_S,
    BatchJob,
    pool_nodes,
    since_first,
)
from stretto.inputs.traces.batch.tables import moments, names, numbers, whole

LOG_LAYOUT: Final = CsvLayout(
    (
        "job_id",
        "user",
        "vc",
        "gpu_num",
        "cpu_num",
        "node_num",
        "submit_time",
        "duration",
    ),
    ("state", "start_time", "end_time", "queue"),
    others=True,
)
"""Columns of a job log that are read, and other known columns."""
GPUS_LAYOUT: Final = CsvLayout(("date", "total"), others=True)
"""Columns of a list of GPUs that are read; the other columns are virtual clusters."""
NODE_GPUS: Final = 8
"""GPUs of a Helios node (table 1 of the paper)."""
NEVER_RAN: Final = "no run time"
"""Reason for omitting a job without run time."""


def load_helios(path: Path) -> tuple[BatchJob, ...]:
    """The jobs of a log, in file order."""
    table = read_table(path, LOG_LAYOUT)
    table.some("job")
    rows = zip(
        names(table, "job_id"),
        since_first(moments(table, "submit_time")),
        numbers(table, "duration", MAX_TIME_S, unknown=-1),
        whole(table, "gpu_num", 0, MAX_SIZE),
        whole(table, "cpu_num", 0, MAX_SIZE),
        whole(table, "node_num", 0, MAX_SIZE),
        table.texts("user"),
        table.texts("vc"),
        strict=True,
    )
    return tuple(
        BatchJob(
            job_id=name,
            submit_s=submit,
            duration_s=max(run, 0.0),
            gpus=gpus,
            cpu_milli=CORE * cpus,
            nodes=nodes,
            user=user.strip(),
            queue=vc.strip(),
            omitted=NEVER_RAN if run < 0 else "",
        )
        for name, submit, run, gpus, cpus, nodes, user, vc in rows
    )


def helios_nodes(path: Path) -> tuple[FleetNode, ...]:
    """The nodes of the last day of a list of GPUs, with 8 GPUs each."""
    table = read_table(path, GPUS_LAYOUT)
    table.some("day")
    total = whole(table, "total", 0, MAX_SIZE)[-1]
    if not total:
        raise InputError(table.where(table.count - 1, "total"), 0, "at least one GPU")
    return pool_nodes(total, NODE_GPUS)

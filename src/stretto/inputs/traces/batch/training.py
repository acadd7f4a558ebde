"""Job lists of simulators of deep-learning clusters: Tiresias and ElasticFlow.

Both have a number of GPUs, a submission second and a run time for each job. Other columns (model,
iterations, batch size, deadline, interval) do not affect a simulation. Both describe a cluster by
one row: racks (switches), nodes of each rack, and GPUs, CPUs and memory in GB of each node.

Sources: https://github.com/SymbioticLab/Tiresias (Gu et al., NSDI 2019, Apache-2.0) and
https://github.com/pkusys/ElasticFlow (Gu et al., ASPLOS 2023).
"""

from pathlib import Path
from typing import Final

from stretto.base.errors import InputError
from stretto.inputs.neutral.fleet import MAX_CPU_MILLI, MAX_GPUS, MAX_MEMORY_MIB, FleetNode
from stretto.inputs.neutral.shapes import MAX_NODES
from stretto.inputs.neutral.tables import CsvLayout, CsvTable, read_table
from stretto.inputs.traces.batch.jobs import CORE, MAX_SIZE, MAX_TIME_S, BatchJob, since_first
from stretto.inputs.traces.batch.tables import names, numbers, whole

TIRESIAS_LAYOUT: Final = CsvLayout(
    ("job_id", "num_gpu", "submit_time", "iterations", "model_name", "duration"),
    ("interval",),
    others=True,
)
"""Columns of a Tiresias job list."""
ELASTIC_LAYOUT: Final = CsvLayout(
    ("job_id", "submit_time", "iteration", "model_name", "ddl", "num_gpu", "duration"),
    ("batch_size", "best_effort"),
    others=True,
)
"""Columns of an ElasticFlow job list."""
CLUSTER_LAYOUT: Final = CsvLayout(
    ("num_switch", "num_node_p_switch", "num_gpu_p_node", "num_cpu_p_node", "mem_p_node"),
    others=True,
)
"""Columns of the cluster file of both."""
NO_GPUS: Final = "no GPUs"
"""Reason for omitting a job without GPUs."""
_MIB_PER_GB: Final = 1024


def load_tiresias(path: Path) -> tuple[BatchJob, ...]:
    """The jobs of a Tiresias list, in file order."""
    return _jobs(read_table(path, TIRESIAS_LAYOUT))


def load_elasticflow(path: Path) -> tuple[BatchJob, ...]:
    """The jobs of an ElasticFlow list, in file order."""
    return _jobs(read_table(path, ELASTIC_LAYOUT))


def cluster_nodes(path: Path) -> tuple[FleetNode, ...]:
    """The nodes of a cluster file; the zone of a node is its rack."""
    table = read_table(path, CLUSTER_LAYOUT)
    table.some("cluster")
    found: list[FleetNode] = []
    rows = zip(
        whole(table, "num_switch", 1, MAX_NODES),
        whole(table, "num_node_p_switch", 1, MAX_NODES),
        whole(table, "num_gpu_p_node", 0, MAX_GPUS),
        whole(table, "num_cpu_p_node", 1, MAX_CPU_MILLI // CORE),
        whole(table, "mem_p_node", 1, MAX_MEMORY_MIB // _MIB_PER_GB),
        strict=True,
    )
    rack = 0
    for row, (racks, nodes, gpus, cpus, memory) in enumerate(rows):
        if racks * nodes > MAX_NODES:
            where = table.where(row)
            raise InputError(where, racks * nodes, f"at most {MAX_NODES:,} nodes")
        for number in range(rack, rack + racks):
            found.extend(
                FleetNode(
                    f"rack{number}-node{node:03d}",
                    CORE * cpus,
                    _MIB_PER_GB * memory,
                    gpus,
                    "any" if gpus else "",
                    zone=f"rack{number}",
                )
                for node in range(nodes)
            )
        rack += racks
    return tuple(found)


def _jobs(table: CsvTable) -> tuple[BatchJob, ...]:
    """The jobs of either list."""
    table.some("job")
    rows = zip(
        names(table, "job_id"),
        since_first(numbers(table, "submit_time", MAX_TIME_S)),
        whole(table, "num_gpu", 0, MAX_SIZE),
        numbers(table, "duration", MAX_TIME_S),
        strict=True,
    )
    return tuple(
        BatchJob(
            job_id=name,
            submit_s=submit,
            gpus=gpus,
            duration_s=run,
            omitted="" if gpus else NO_GPUS,
        )
        for name, submit, gpus, run in rows
    )

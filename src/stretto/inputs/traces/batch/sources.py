"""The formats of batch jobs: their readers and layouts."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.neutral.layouts import NODE_LIST, FileLayout, Syntax
from stretto.inputs.traces.batch.attempts import MACHINE_LAYOUT, load_attempts, machine_nodes
from stretto.inputs.traces.batch.columns import load_mapped
from stretto.inputs.traces.batch.helios import GPUS_LAYOUT, LOG_LAYOUT, helios_nodes, load_helios
from stretto.inputs.traces.batch.jobs import BatchJob, BatchJobs, BatchNodes
from stretto.inputs.traces.batch.maps import MappedJobs
from stretto.inputs.traces.batch.swf import FIELDS, swf_jobs, swf_nodes
from stretto.inputs.traces.batch.training import (
    CLUSTER_LAYOUT,
    ELASTIC_LAYOUT,
    TIRESIAS_LAYOUT,
    cluster_nodes,
    load_elasticflow,
    load_tiresias,
)

_NUMBER: Final = r"-?\d+(\.\d*)?"


class BatchSource(NamedTuple):
    """One format of batch jobs."""

    #: Reads a work list.
    read: Callable[[Path], tuple[BatchJob, ...]]
    #: Layouts of its files.
    layouts: tuple[FileLayout, ...]
    #: Reads the nodes that a work list describes; ``None`` if it describes none.
    own_nodes: Callable[[Path], tuple[FleetNode, ...]] | None = None
    #: Reads a node list; ``None`` for a format without node lists.
    nodes: Callable[[Path], tuple[FleetNode, ...]] | None = None
    #: Keys of a workload in a scenario.
    keys: type[BatchJobs] = BatchJobs
    #: (path, keys) to the jobs, for a format whose keys determine how the list is read.
    read_by: Callable[[Path, Any], tuple[BatchJob, ...]] | None = None
    #: Further keys that contain paths.
    paths: tuple[str, ...] = ()
    #: Further options of ``simulate``.
    options: frozenset[str] = frozenset()

    @property
    def node_keys(self) -> type[BatchNodes] | None:
        """Keys of a fleet in a scenario; ``None`` for a format without node lists."""
        return None if self.nodes is None else BatchNodes


SOURCES: Final[Mapping[str, BatchSource]] = {
    "swf": BatchSource(
        read=swf_jobs,
        layouts=(
            FileLayout(
                what="log",
                required=FIELDS,
                syntax=Syntax.SPACES,
                header=False,
                cells=dict.fromkeys(FIELDS, _NUMBER),
                names=("*.swf", "*.swf.gz"),
            ),
        ),
        own_nodes=swf_nodes,
        nodes=swf_nodes,
    ),
    "philly-log": BatchSource(
        read=load_attempts,
        layouts=(
            FileLayout(
                what="job log",
                required=("jobid", "vc", "user", "submitted_time", "status", "attempts"),
                syntax=Syntax.JSON,
                names=("cluster_job_log*",),
            ),
            FileLayout.of(NODE_LIST, MACHINE_LAYOUT),
        ),
        nodes=machine_nodes,
    ),
    "helios": BatchSource(
        read=load_helios,
        layouts=(
            FileLayout.of("job log", LOG_LAYOUT),
            FileLayout.of(NODE_LIST, GPUS_LAYOUT),
        ),
        nodes=helios_nodes,
    ),
    "tiresias": BatchSource(
        read=load_tiresias,
        layouts=(
            FileLayout.of("job list", TIRESIAS_LAYOUT),
            FileLayout.of(NODE_LIST, CLUSTER_LAYOUT),
        ),
        nodes=cluster_nodes,
    ),
    "elasticflow": BatchSource(
        read=load_elasticflow,
        layouts=(
            FileLayout.of("job list", ELASTIC_LAYOUT),
            FileLayout.of(NODE_LIST, CLUSTER_LAYOUT),
        ),
        nodes=cluster_nodes,
    ),
    "csv": BatchSource(
        read=lambda path: load_mapped(path, MappedJobs(jobs=str(path))),
        layouts=(),
        keys=MappedJobs,
        read_by=load_mapped,
        paths=("columns",),
        options=frozenset({"columns"}),
    ),
}
"""Every format of batch jobs by name."""

"""The table of trace formats, for scenarios, ``simulate`` and ``compare``.

A format is one entry: the reader of its work list, the keys it has in a scenario, the options of
``simulate`` that apply, and its virtual-time driver. A package adds a format under the entry-point
group ``stretto.trace_formats``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError
from stretto.base.extensions import OpenRegistry
from stretto.inputs.neutral.bounds import TraceBounds
from stretto.inputs.neutral.fleet import Fleet, FleetNode, FleetPod
from stretto.inputs.neutral.layouts import NODE_LIST, FileLayout
from stretto.inputs.traces.azure_vm import VM_LAYOUT, AzureVms, load_vms, vm_pods_of
from stretto.inputs.traces.batch.pods import job_pods as batch_pods
from stretto.inputs.traces.batch.pods import pods_on
from stretto.inputs.traces.batch.sources import SOURCES, BatchSource
from stretto.inputs.traces.openb.figures import bundled_openb
from stretto.inputs.traces.openb.reader import (
    NODE_LAYOUT,
    POD_LAYOUT,
    OpenbNodes,
    OpenbPods,
    load_nodes,
    load_pods,
)
from stretto.inputs.traces.philly import JOB_LAYOUT, PCS_LAYOUT, PhillyJobs, job_pods, load_jobs
from stretto.inputs.traces.published.sources import SOURCES as PUBLISHED
from stretto.inputs.traces.published.sources import PublishedSource

GROUP: Final = "stretto.trace_formats"
"""Entry-point group of installed formats; each entry is a ``TraceFormat``."""
HOSTS: Final = frozenset({"nodes", "nodes_like", "node_filter", "node_limit"})
"""Options of ``simulate`` that describe the nodes."""
RUNS_ON_HOSTS: Final = HOSTS | {"policy", "on_unschedulable"}
"""Options of ``simulate`` for a format whose pods run on nodes."""
RUNS_AS_BATCH: Final = HOSTS | {
    "policy",
    "queue",
    "queues_by",
    "gpus",
    "gpus_per_node",
    "only",
    "limit",
}
"""Options of ``simulate`` for a format of batch jobs."""

PodsOn = Callable[[tuple[Any, ...], Any, tuple[FleetNode, ...]], tuple[FleetPod, ...]]
"""(items, keys, nodes of the fleet) to pods."""


@dataclass(frozen=True)
class TraceFormat:
    """One trace format."""

    #: Keys of a workload of this format in a scenario.
    keys: type[msgspec.Struct]
    #: The key with the path of the work list.
    file: str
    #: (path, GPU models of the fleet or ``None``) to the items of the list in file order.
    read: Callable[[Path, set[str] | None], tuple[Any, ...]]
    #: (items, keys) to pods.
    pods: Callable[[tuple[Any, ...], Any], tuple[FleetPod, ...]]
    #: Layouts of the files; they recognize a file.
    layouts: tuple[FileLayout, ...] = ()
    #: (file or folder, kept part, keys) to nodes, pods and changes of nodes; ``None`` for a format
    #: with one work list.
    fleet: Callable[[Path, TraceBounds, Any], Fleet] | None = None
    #: Options of ``simulate`` that apply to this format.
    options: frozenset[str] = RUNS_ON_HOSTS
    #: Virtual-time driver as ``module:function``; the default runs pods on hosts.
    driver: str = "stretto.sim.traces.hosts:prepare"
    #: (path, keys) to the items, for a format whose keys determine how the list is read.
    read_by: Callable[[Path, Any], tuple[Any, ...]] | None = None
    #: Creates pods for the nodes of a fleet, for a format whose pods depend on them.
    pods_on: PodsOn | None = None
    #: Further keys that contain paths.
    paths: tuple[str, ...] = ()
    #: Reads the nodes that a work list describes; ``None`` if it describes none.
    own_nodes: Callable[[Path], tuple[FleetNode, ...]] | None = None
    #: Reads a node list; ``None`` for a format without nodes.
    nodes: Callable[[Path], tuple[FleetNode, ...]] | None = None
    #: Keys of a fleet of this format in a scenario; required together with ``nodes``.
    node_keys: type[msgspec.Struct] | None = None
    #: The fleet and pods of ``FORMAT: bundled``; ``None`` if none are bundled.
    bundled: Callable[[], Fleet] | None = None
    #: True if ``arrive_pct`` of a scenario draws its pods until they fill the fleet.
    fills: bool = False

    def check(self, path: Path, what: str) -> None:
        """Read a file as a whole; ``what`` is the name of its layout.

        Raises:
            InputError: the file cannot be used.
        """
        if what == NODE_LIST and self.nodes is not None and not path.is_dir():
            self.nodes(path)
        else:
            self.read(path, None)

    def items(self, path: Path, models: set[str] | None, keys: Any) -> tuple[Any, ...]:
        """The items of a work list, in file order."""
        return self.read(path, models) if self.read_by is None else self.read_by(path, keys)

    def pods_for(
        self, items: tuple[Any, ...], keys: Any, nodes: tuple[FleetNode, ...]
    ) -> tuple[FleetPod, ...]:
        """The pods of items; ``nodes`` are those of the fleet, or none if they are unknown."""
        return self.pods(items, keys) if self.pods_on is None else self.pods_on(items, keys, nodes)

    def located(self, keys: Any, path: Callable[[str], Path]) -> Any:
        """The keys with their paths resolved."""
        names = (self.file, *self.paths)
        texts = {name: getattr(keys, name) for name in names}
        found = {n: str(path(text)) for n, text in texts.items() if text and isinstance(text, str)}
        return msgspec.structs.replace(keys, **found)

    def keys_for(self, path: Path, **keys: Any) -> Any:
        """The keys of a work list; unknown keys are ignored."""
        known = {name: keys[name] for name in self.keys.__struct_fields__ if name in keys}
        return self.keys(**{self.file: str(path), **known})


def _published(source: PublishedSource) -> TraceFormat:
    """A trace of many files; its pods run on hosts."""
    return TraceFormat(
        keys=source.keys,
        file=source.file,
        read=lambda path, _: source.read(path, source.keys(**{source.file: str(path)})),
        read_by=source.read,
        pods=lambda pods, _: pods,
        layouts=source.layouts,
        fleet=source.fleet,
        nodes=source.nodes,
        node_keys=source.node_keys,
    )


def _batch(source: BatchSource) -> TraceFormat:
    """A format of batch jobs."""
    return TraceFormat(
        keys=source.keys,
        file="jobs",
        read=lambda path, _: source.read(path),
        pods=batch_pods,
        layouts=source.layouts,
        options=RUNS_AS_BATCH | source.options,
        driver="stretto.sim.traces.batch:prepare",
        read_by=source.read_by,
        pods_on=pods_on,
        paths=source.paths,
        own_nodes=source.own_nodes,
        nodes=source.nodes,
        node_keys=source.node_keys,
    )


TRACES: Final[OpenRegistry[TraceFormat]] = OpenRegistry(
    "trace format",
    {
        "openb": TraceFormat(
            keys=OpenbPods,
            file="pods",
            read=load_pods,
            pods=lambda pods, _: pods,
            layouts=(FileLayout.of("pod list", POD_LAYOUT), FileLayout.of(NODE_LIST, NODE_LAYOUT)),
            driver="stretto.sim.traces.openb:prepare",
            nodes=load_nodes,
            node_keys=OpenbNodes,
            bundled=bundled_openb,
            fills=True,
        ),
        "philly": TraceFormat(
            keys=PhillyJobs,
            file="jobs",
            read=lambda path, _: load_jobs(path),
            pods=lambda jobs, _: job_pods(jobs),
            layouts=(
                FileLayout.of("job list", JOB_LAYOUT),
                FileLayout.of("PCS job list", PCS_LAYOUT),
            ),
            options=frozenset({"gpus", "gpus_per_node", "queue"}),
            driver="stretto.sim.traces.philly:prepare",
        ),
        "azure-vm": TraceFormat(
            keys=AzureVms,
            file="vms",
            read=lambda path, _: load_vms(path),
            pods=vm_pods_of,
            layouts=(FileLayout.of("VM list", VM_LAYOUT),),
            options=RUNS_ON_HOSTS | {"lifetime", "gangs"},
            driver="stretto.sim.traces.azure:prepare",
        ),
        **{name: _published(source) for name, source in PUBLISHED.items()},
        **{name: _batch(source) for name, source in SOURCES.items()},
    },
    GROUP,
    TraceFormat,
)
"""Every format by name."""


def load_trace(name: str, path: Path, nodes: Path | None = None, **keys: Any) -> Fleet:
    """The fleet in the files of a named format.

    Args:
        name: the format.
        path: the work list.
        nodes: the node list; ``None`` reads the work list alone.
        **keys: further keys of the format, as in a scenario.

    Raises:
        UnknownNameError: there is no such format; the error lists the nearest names.
        InputError: a file cannot be used, or the format has no node lists.
    """
    found = TRACES.get(name)
    if nodes is not None and found.nodes is None:
        hint = "describe the nodes in another way"
        raise InputError("nodes", str(nodes), f"no node list: {name} has no nodes", hint)
    machines = found.nodes(nodes) if found.nodes is not None and nodes is not None else ()
    models = {node.gpu_model for node in machines if node.gpu_model} if machines else None
    known = found.keys_for(path, **keys)
    pods = found.pods_for(found.items(path, models, known), known, machines)
    files = f"{nodes.name}, {path.name}" if nodes is not None else path.name
    return Fleet(machines, pods, f"{files} ({name} format)")

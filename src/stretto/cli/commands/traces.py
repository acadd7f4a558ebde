"""Simulation of traces for ``stretto simulate``: its options, and one runner per format."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stretto.base.errors import InputError
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.inputs.neutral.fleet import FleetNode
    from stretto.sim.engine import Arrivals, UnfitPolicy
    from stretto.sim.result import SimulationResult

FORMATS: Final = ("openb", "philly", "azure-vm")
"""Trace formats with times."""
DEFAULT_GPUS: Final = 64
"""Default GPUs of the pool."""


@dataclass(frozen=True)
class SimulateOptions:
    """Options of ``simulate``; ``None`` if not given."""

    #: A recording; ``None`` for a trace.
    recording: Path | None
    #: Format of the trace; ``None`` for a recording.
    format: str | None
    #: The list of pods, jobs or VMs.
    pods: Path | None
    #: A node list in openb format.
    nodes: Path | None
    #: Nodes as ``SHAPE:N``.
    nodes_like: str | None
    #: Required values of nodes, as ``K=V,...``.
    node_filter: str | None
    #: Maximum number of nodes.
    node_limit: int | None
    #: The policy.
    policy: str | None
    #: ``wait`` or ``reject`` for pods that do not fit.
    on_unschedulable: str | None
    #: GPUs of the pool.
    gpus: int | None
    #: Order of the queue.
    queue: str | None
    #: ``min``, ``mid`` or ``max`` of a lifetime bin.
    lifetime: str | None
    #: Whether the VMs of a batch are a gang.
    gangs: bool
    #: Whether unplaced pods are an error.
    require_all: bool
    #: Profile; empty for the default one.
    profile: str
    #: Scheduler shards.
    shards: int
    #: Nodes to add.
    add_nodes: tuple[str, ...]
    #: Nodes to drain.
    drain: tuple[str, ...]
    #: Pods to add.
    burst: tuple[str, ...]
    #: Changed queues.
    queue_share: tuple[str, ...]
    #: Files with rules that the profile may name.
    plugin: tuple[Path, ...]

    @property
    def trace(self) -> Path:
        """The list of pods, jobs or VMs; the options were checked to have one."""
        assert self.pods is not None
        return self.pods

    @property
    def trace_format(self) -> str:
        """Format of the trace."""
        assert self.format is not None
        return self.format


def simulate_trace(common: CommandContext, opts: SimulateOptions) -> "SimulationResult[Any]":
    """Simulate the trace of the options with the runner of its format."""
    return _RUNS[opts.trace_format](common, opts)


def _nodes(opts: SimulateOptions) -> "tuple[tuple[FleetNode, ...], set[str]]":
    """The nodes after filter and limit, and the GPU models of all nodes."""
    from stretto.inputs.neutral.shapes import matching_nodes, nodes_like
    from stretto.inputs.traces.openb.reader import load_nodes

    if opts.nodes is not None and opts.nodes_like is not None:
        raise InputError("--nodes-like", opts.nodes_like, "--nodes or --nodes-like, not both")
    if opts.nodes is not None:
        found = load_nodes(opts.nodes)
    elif opts.nodes_like is not None:
        found = nodes_like(opts.nodes_like, where="--nodes-like")
    else:
        hint = "give --nodes FILE, or --nodes-like 64cpu-256gib:200"
        raise InputError("--nodes", None, "the nodes", hint)
    models = {node.gpu_model for node in found if node.gpus}
    if opts.node_filter or opts.node_limit:
        found = matching_nodes(found, opts.node_filter or "", opts.node_limit, "--node-")
    return found, models


def _openb(common: CommandContext, opts: SimulateOptions) -> "SimulationResult[Any]":
    """Simulate the pods of an openb trace."""
    from stretto.inputs.neutral.fleet import Fleet
    from stretto.inputs.traces.openb.reader import load_pods
    from stretto.sim.traces.openb import DEFAULT_POLICY, ReplayStudy, replay_openb

    nodes, models = _nodes(opts)
    fleet = Fleet(nodes, load_pods(opts.trace, models), opts.trace.name)
    study = ReplayStudy(opts.policy or DEFAULT_POLICY, _unfit(opts), common.seed)
    return _run(common, len(fleet.pods), lambda progress: replay_openb(fleet, study, progress))


def _philly(common: CommandContext, opts: SimulateOptions) -> "SimulationResult[Any]":
    """Simulate the jobs of a Philly trace on one pool of GPUs."""
    from stretto.inputs.traces.philly import load_jobs
    from stretto.sim.traces.philly import simulate_philly

    jobs = load_jobs(opts.trace)
    gpus = DEFAULT_GPUS if opts.gpus is None else opts.gpus
    total = sum(job.gpus for job in jobs if job.gpus <= gpus)
    queue = opts.queue or "fifo"
    return _run(common, total, lambda progress: simulate_philly(jobs, gpus, queue, progress))


def _azure(common: CommandContext, opts: SimulateOptions) -> "SimulationResult[Any]":
    """Simulate the virtual machines of an Azure trace on hosts."""
    from stretto.inputs.traces.azure_vm import Lifetime, load_vms
    from stretto.sim.traces.azure import DEFAULT_POLICY, AzureStudy, simulate_azure

    hosts, _ = _nodes(opts)
    vms = load_vms(opts.trace)
    study = AzureStudy(
        lifetime=Lifetime(opts.lifetime or "min"),
        gangs=opts.gangs,
        policy=opts.policy or DEFAULT_POLICY,
        unfit=_unfit(opts),
        seed=common.seed,
    )
    return _run(common, len(vms), lambda progress: simulate_azure(vms, hosts, study, progress))


_RUNS: Final[Mapping[str, Callable[[CommandContext, SimulateOptions], "SimulationResult[Any]"]]] = {
    "openb": _openb,
    "philly": _philly,
    "azure-vm": _azure,
}


def _unfit(opts: SimulateOptions) -> "UnfitPolicy":
    from stretto.sim.engine import UnfitPolicy

    return UnfitPolicy(opts.on_unschedulable or "wait")


def _run(
    common: CommandContext, total: int, start: "Callable[[Arrivals], SimulationResult[Any]]"
) -> "SimulationResult[Any]":
    """Run with a progress display."""
    with common.console.progress("simulate", total) as bar:
        return start(bar.update)

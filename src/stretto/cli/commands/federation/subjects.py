"""The input of ``stretto federation simulate``: a fleet file, a trace, or both, and the changes."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stretto.base.errors import InputError
from stretto.cli.commands.federation.source import FleetOptions, fleet_path

if TYPE_CHECKING:
    from stretto.cli.parts.traces.options import SimulateOptions
    from stretto.inputs.neutral.fleet import FleetNode, FleetPod
    from stretto.inputs.traces.formats import TraceFormat
    from stretto.sim.fleet.comparison.changes import WhatIf
    from stretto.sim.fleet.comparison.run import FleetSubject


@dataclass(frozen=True, kw_only=True)
class FleetSimulateOptions(FleetOptions):
    """Options of ``federation simulate``."""

    #: A trace; ``None`` for none.
    trace: Path | None
    #: Format of the trace; ``None`` for detection by content.
    format: str | None
    #: The node list of the trace.
    nodes: Path | None
    #: Nodes as ``SHAPE:N``.
    nodes_like: str | None
    #: GPUs of a pool of nodes.
    gpus: int | None
    #: GPUs of each node of the pool.
    gpus_per_node: int | None
    #: Maximum number of nodes.
    node_limit: int | None
    #: Clusters that share the nodes of the trace: ``N`` or ``NAME=SHARE,...``.
    clusters: str | None
    #: Maximum number of jobs.
    limit: int | None
    #: Seconds after which pods of a trace that fit on no node move; ``None`` for never.
    migrate_after: float | None
    #: True if the pods of a gang of a trace start together.
    gangs: bool
    #: Policies to compare; empty for all.
    policy: tuple[str, ...]
    #: Clusters that stop answering.
    lose: tuple[str, ...]
    #: Clusters from which all pods move.
    drain: tuple[str, ...]
    #: Clusters that join, as ``NAME:NODES:CPU``.
    add: tuple[str, ...]
    #: Seconds from the start to these changes.
    at: float


def what_if_of(opts: FleetSimulateOptions) -> "WhatIf":
    """Return the changes during the run.

    Raises:
        InputError: a cluster that joins is malformed.
    """
    from stretto.sim.fleet.comparison.changes import WhatIf
    from stretto.sim.fleet.description import ClusterShape

    added = tuple(ClusterShape(name, nodes, cpu) for name, nodes, cpu in map(_shape, opts.add))
    return WhatIf(opts.lose, opts.drain, added, opts.at)


def _shape(text: str) -> tuple[str, int, int]:
    """Return the name of a cluster, its number of nodes and the CPUs of each node.

    Raises:
        InputError: the text is malformed.
    """
    name, *numbers = text.split(":")
    if not name or len(numbers) != 2 or not all(each.isdigit() for each in numbers):
        raise InputError("--add", text, "NAME:NODES:CPU, such as south:4:16")
    return name, int(numbers[0]), int(numbers[1])


def subject_of(opts: FleetSimulateOptions) -> "tuple[str, FleetSubject]":
    """Return the compared fleet, with its title.

    Raises:
        InputError: the fleet or the trace is malformed, or options contradict each other.
    """
    import msgspec

    from stretto.sim.fleet.comparison.run import FleetSubject
    from stretto.sim.fleet.description import FleetDescription, read_fleet

    if opts.trace is None:
        _refuse_without_trace(opts)
        scenario = read_fleet(fleet_path(opts.on))
        seconds = max(scenario.federation.seconds, opts.at + 60.0)
        fleet = msgspec.structs.replace(scenario.federation, seconds=seconds)
        return scenario.name, FleetSubject(fleet)
    if opts.reads_host:
        trace = _trace(opts, _shares(opts.clusters or "3"))
        return opts.trace.name, FleetSubject(FleetDescription(()), trace, opts.migrate_after)
    if opts.clusters is not None:
        raise InputError("--clusters", opts.clusters, "no such option with --on FILE")
    scenario = read_fleet(fleet_path(opts.on))
    title = f"{opts.trace.name} on {scenario.name}"
    return title, FleetSubject(scenario.federation, _trace(opts, {}), opts.migrate_after)


def _refuse_without_trace(opts: FleetSimulateOptions) -> None:
    """Refuse trace options without a trace.

    Raises:
        InputError: a trace option is given, or there is no fleet.
    """
    given = (
        "format", "nodes", "nodes_like", "gpus", "gpus_per_node", "node_limit", "clusters",
        "limit", "migrate_after",
    )  # fmt: skip
    for name in given:
        if getattr(opts, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError(option, getattr(opts, name), "a trace as FILE", "name its file")
    if opts.gangs:
        raise InputError("--gangs", True, "a trace as FILE", "name its file")
    if opts.reads_host:
        raise InputError("--on", opts.on, "a fleet file or a trace", "a host cannot be simulated")


def _trace(opts: FleetSimulateOptions, shares: dict[str, int]) -> Any:
    """Return the trace of the options over clusters; without shares, over those of a fleet file."""
    from stretto.cli.parts.traces.options import SimulateOptions, checked_format, opened_trace
    from stretto.sim.fleet.comparison.trace import fleet_trace

    found = opened_trace(
        SimulateOptions(
            format=opts.format,
            pods=opts.trace,
            nodes=opts.nodes,
            nodes_like=opts.nodes_like,
            gpus=opts.gpus,
            gpus_per_node=opts.gpus_per_node,
            node_limit=opts.node_limit,
        )
    )
    format_ = checked_format(found)
    nodes, pods = _work(found, format_, jobs=opts.limit, has_nodes=not shares)
    return fleet_trace(nodes if shares else (), pods, shares, gangs=opts.gangs)


def _work(
    opts: "SimulateOptions", trace: "TraceFormat", *, jobs: int | None, has_nodes: bool
) -> "tuple[tuple[FleetNode, ...], tuple[FleetPod, ...]]":
    """Return the nodes and the pods of the trace of the options.

    Args:
        opts: the options.
        trace: the format.
        jobs: maximum number of jobs; ``None`` for all.
        has_nodes: true if the nodes come from elsewhere and not from the trace.

    Raises:
        InputError: the trace cannot be read, or nothing describes its nodes.
    """
    from stretto.cli.parts.traces.simulation import trace_nodes
    from stretto.inputs.neutral.bounds import TraceBounds

    bounds, keys = TraceBounds(jobs=jobs), trace.keys_for(opts.trace)
    if trace.fleet is not None and opts.nodes is None and opts.nodes_like is None:
        fleet = trace.fleet(opts.trace, bounds, keys)
        return fleet.nodes, fleet.pods
    nodes, models = ((), set()) if has_nodes else trace_nodes(opts, trace)
    items = trace.items(opts.trace, models or None, keys)
    return nodes, bounds.first_jobs(trace.pods_for(items, keys, nodes))


def _shares(text: str) -> dict[str, int]:
    """Return the shares by cluster.

    Raises:
        InputError: the text is malformed.
    """
    if text.isdigit() and 0 < int(text) <= 1000:
        return {f"cluster-{at}": 1 for at in range(1, int(text) + 1)}
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, share = part.strip().partition("=")
        if not name or not share.isdigit() or not int(share) or name in found:
            raise InputError("--clusters", text, "N up to 1000, or NAME=SHARE,... as east=2,west=1")
        found[name] = int(share)
    return found

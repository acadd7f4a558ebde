"""``stretto federation simulate``: policies over a fleet file or a trace, and what if."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stretto.base.errors import InputError, UnknownNameError
from stretto.cli import options, sinks
from stretto.cli.commands.federation.source import FleetOptions, fleet_options, fleet_path
from stretto.cli.options import CommandContext
from stretto.cli.output.formats import ListColumn, ListedRows, check_format, write_list

if TYPE_CHECKING:
    from stretto.sim.fleet.comparison.changes import WhatIf
    from stretto.sim.fleet.comparison.outcomes import PolicyOutcome
    from stretto.sim.fleet.comparison.run import FleetSubject


@dataclass(frozen=True, kw_only=True)
class FleetSimulateOptions(FleetOptions):
    """Options of ``federation simulate``."""

    #: A trace; ``None`` for none.
    trace: Path | None
    #: Format of the trace; ``None`` to recognise it.
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
    #: Only the first jobs, up to this number.
    limit: int | None
    #: Seconds after which pods of a trace that no node takes move; ``None`` for never.
    migrate_after: float | None
    #: Policies to compare; empty for all.
    policy: tuple[str, ...]
    #: Clusters that no longer answer.
    lose: tuple[str, ...]
    #: Clusters that repel all pods.
    drain: tuple[str, ...]
    #: Clusters that join: NAME:NODES:CPU.
    add: tuple[str, ...]
    #: Seconds after the start at which that happens.
    at: float


_TRACE = (
    click.argument("trace", required=False, type=options.ExistingPath(path_type=Path)),
    click.option("--format", metavar="NAME", help="Format of the trace [by content]."),
    click.option("--nodes", type=options.INPUT_FILE, metavar="FILE", help="Its node list."),
    click.option("--nodes-like", metavar="SHAPE:N", help="Its nodes, such as 64cpu-256gib:200."),
    click.option("--gpus", type=options.POSITIVE, metavar="N", help="Its nodes: a pool of GPUs."),
    click.option("--gpus-per-node", type=options.POSITIVE, metavar="N", help="GPUs of each node."),
    click.option("--node-limit", type=options.POSITIVE, metavar="N", help="Only the first N."),
    click.option(
        "--clusters",
        metavar="N|NAME=SHARE,...",
        help="Clusters that share its nodes, such as 3 or east=2,west=1 [3].",
    ),
    click.option("--limit", type=options.POSITIVE, metavar="N", help="Only its first N jobs."),
    click.option(
        "--migrate-after",
        type=options.ABOVE_0,
        metavar="SECONDS",
        help="Move its pods that no node takes for so long [never].",
    ),
)


def _trace_options(body: Any) -> Any:
    for each in reversed(_TRACE):
        body = each(body)
    return body


@options.command(
    "simulate",
    FleetSimulateOptions,
    example="""
        stretto federation simulate --on federation
        stretto federation simulate --on federation --lose west --at 10 -o json
        stretto federation simulate --on federation --add south:4:8 --policy stretto
        stretto federation simulate pods.csv --nodes nodes.csv --clusters east=2,west=1 --limit 500
    """,
    out=True,
)
@_trace_options
@click.option(
    "--policy",
    multiple=True,
    metavar="NAME",
    help="static, dynamic, nodes or stretto; may be repeated [all].",
)
@click.option("--lose", multiple=True, metavar="CLUSTER", help="A cluster that stops answering.")
@click.option("--drain", multiple=True, metavar="CLUSTER", help="A cluster that repels all pods.")
@click.option("--add", multiple=True, metavar="NAME:NODES:CPU", help="A cluster that joins.")
@click.option(
    "--at",
    type=options.FiniteRange(min=0),
    default=10.0,
    metavar="SECONDS",
    help="When that happens, after the start [10].",
)
@fleet_options
def simulate(common: CommandContext, opts: FleetSimulateOptions) -> None:
    """Compare ways of division, with the schedulers of the members in the loop.

    The fleet is a fleet file (--on), or the nodes of a trace shared by clusters. The jobs of a
    trace are Deployments that clusters share: they arrive and end at its times. With --on FILE and
    a trace, the jobs run on the clusters of the file.

    static and dynamic are KubeAdmiral's planners with the policies' weights and with free CPU;
    stretto is the default, nodes counts the capacity of every node. --lose, --drain and --add show
    what would happen; lost clusters are failed over. --out writes plots.
    """
    import msgspec

    from stretto.sim.fleet.comparison.policies import FleetPolicy
    from stretto.sim.fleet.comparison.run import compare

    check_format(opts.output)
    if common.out is not None:
        from stretto.sim.plots.figures import check_plots

        check_plots()
    known = [each.value for each in FleetPolicy]
    for name in opts.policy:
        if name not in known:
            raise UnknownNameError("policy", name, known)
    policies = [FleetPolicy(name) for name in opts.policy or known]
    what_if = _what_if(opts)
    title, subject = _subject(opts)
    with common.console.progress("simulate", len(policies)) as bar:
        found = compare(subject, policies, what_if, bar.update)
    fields = {"name": title, "policies": msgspec.to_builtins(found)}
    rows = ListedRows(
        _columns(found), [each.policy for each in found], "stretto.federation.simulate/v1", fields
    )
    write_list(common.console, opts.output, rows)
    if common.out is not None:
        from stretto.sim.fleet.comparison.plots import fleet_plots

        for name, content in fleet_plots(title, found, what_if).items():
            sinks.write_whole(common.out / name, content)


# ---------------------------------------------------------------- input


def _what_if(opts: FleetSimulateOptions) -> "WhatIf":
    from stretto.sim.fleet.comparison.changes import WhatIf
    from stretto.sim.fleet.description import ClusterShape

    added = tuple(ClusterShape(name, nodes, cpu) for name, nodes, cpu in map(_shape, opts.add))
    return WhatIf(opts.lose, opts.drain, added, opts.at)


def _shape(text: str) -> tuple[str, int, int]:
    """Name, nodes and CPUs of a node.

    Raises:
        InputError: the text is malformed.
    """
    name, *numbers = text.split(":")
    if not name or len(numbers) != 2 or not all(each.isdigit() for each in numbers):
        raise InputError("--add", text, "NAME:NODES:CPU, such as south:4:16")
    return name, int(numbers[0]), int(numbers[1])


def _subject(opts: FleetSimulateOptions) -> "tuple[str, FleetSubject]":
    """What is compared, with its title.

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
    """Refuse options of a trace where there is none.

    Raises:
        InputError: one is given, or there is no fleet either.
    """
    given = (
        "format", "nodes", "nodes_like", "gpus", "gpus_per_node", "node_limit", "clusters",
        "limit", "migrate_after",
    )  # fmt: skip
    for name in given:
        if getattr(opts, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError(option, getattr(opts, name), "a trace as FILE", "name its file")
    if opts.reads_host:
        raise InputError("--on", opts.on, "a fleet file or a trace", "a host cannot be simulated")


def _trace(opts: FleetSimulateOptions, shares: dict[str, int]) -> Any:
    """The trace of the options over clusters; over those of a fleet file without shares."""
    from stretto.cli.commands.traces import (
        SimulateOptions,
        checked_format,
        opened_trace,
        trace_work,
    )
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
    nodes, pods = trace_work(found, format_, jobs=opts.limit, has_nodes=not shares)
    return fleet_trace(nodes if shares else (), pods, shares)


def _shares(text: str) -> dict[str, int]:
    """Clusters with their shares.

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


# ---------------------------------------------------------------- output


def _columns(found: "Sequence[PolicyOutcome]") -> list[ListColumn]:
    """One row for each policy."""
    columns = [
        ListColumn("policy", [each.policy for each in found]),
        ListColumn("running", [each.running for each in found]),
        ListColumn("pending", [each.pending for each in found]),
        ListColumn("mean pending", [each.mean_pending for each in found], 1),
        ListColumn("moves", [each.moves for each in found]),
    ]
    jobs = [each.jobs for each in found]
    counted = [each for each in jobs if each is not None]
    if counted:
        columns += [
            ListColumn("ended", [f"{each.ended}/{each.arrived}" for each in counted]),
            ListColumn("mean wait", [_seconds(each.mean_wait_s) for each in counted]),
        ]
    clusters = sorted({name for each in found for name in each.filled})
    for name in clusters:
        fill = [each.mean_filled if counted else each.filled for each in found]
        columns.append(ListColumn(name, [f"{each.get(name, 0.0):.0%}" for each in fill], 2))
    return columns


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:g} s"

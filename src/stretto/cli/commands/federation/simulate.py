"""``stretto federation simulate``: compares policies and changes over a fleet file or a trace."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stretto.base.errors import UnknownNameError
from stretto.cli import options, sinks
from stretto.cli.commands.federation.source import fleet_options
from stretto.cli.commands.federation.subjects import (
    FleetSimulateOptions,
    subject_of,
    what_if_of,
)
from stretto.cli.options import CommandContext
from stretto.cli.output.formats import ListColumn, ListedRows, check_format, write_list

if TYPE_CHECKING:
    from stretto.sim.fleet.comparison.outcomes import PolicyOutcome


_TRACE = (
    click.argument("trace", required=False, type=options.ExistingPath(path_type=Path)),
    options.TRACE_FORMAT,
    click.option(
        "--nodes", type=options.INPUT_FILE, metavar="FILE", help="Node list of the trace."
    ),
    click.option(
        "--nodes-like", metavar="SHAPE:N", help="Nodes of the trace, such as 64cpu-256gib:200."
    ),
    click.option(
        "--gpus",
        type=options.POSITIVE,
        metavar="N",
        help="Nodes of the trace: a pool of this many GPUs.",
    ),
    click.option("--gpus-per-node", type=options.POSITIVE, metavar="N", help="GPUs of each node."),
    click.option(
        "--node-limit",
        type=options.POSITIVE,
        metavar="N",
        help="Only the first N nodes of the trace.",
    ),
    click.option(
        "--clusters",
        metavar="N|NAME=SHARE,...",
        help="Clusters that share the nodes of the trace, such as 3 or east=2,west=1 [3].",
    ),
    click.option(
        "--limit", type=options.POSITIVE, metavar="N", help="Only the first N jobs of the trace."
    ),
    click.option(
        "--migrate-after",
        type=options.ABOVE_0,
        metavar="SECONDS",
        help="Move pods that fit on no node of their cluster for this time [never].",
    ),
    click.option("--gangs", is_flag=True, help="Pods of a gang start together, in one cluster."),
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
@click.option(
    "--drain", multiple=True, metavar="CLUSTER", help="A cluster from which all pods are moved."
)
@click.option("--add", multiple=True, metavar="NAME:NODES:CPU", help="A cluster that joins.")
@click.option(
    "--at",
    type=options.FiniteRange(min=0),
    default=10.0,
    metavar="SECONDS",
    help="Seconds from the start to --lose, --drain and --add [10].",
)
@fleet_options
def simulate(common: CommandContext, opts: FleetSimulateOptions) -> None:
    """Compare ways of division, with the schedulers of the members in the loop.

    The fleet is a fleet file (--on), or the nodes of a trace shared by clusters. The jobs of a
    trace are Deployments that clusters share: they arrive and end at its times. With --on FILE and
    a trace, the jobs run on the clusters of the file.

    static and dynamic are KubeAdmiral's planners with the weights of the policies and with free
    CPU; stretto is the default; nodes counts the capacity of every node. --lose, --drain and --add
    change the fleet; the workloads of lost clusters fail over. --out writes plots.
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
    what_if = what_if_of(opts)
    title, subject = subject_of(opts)
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


def _columns(found: "Sequence[PolicyOutcome]") -> list[ListColumn]:
    """Return the columns of the table with one row for each policy."""
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

"""``stretto federation simulate``: policies over a fleet file, and what if."""

from dataclasses import dataclass

import click

from stretto.base.errors import InputError, UnknownNameError
from stretto.cli import options
from stretto.cli.commands.federation.source import FleetOptions, fleet_options, fleet_path
from stretto.cli.options import CommandContext
from stretto.cli.output.formats import ListColumn, ListedRows, check_format, write_list


@dataclass(frozen=True, kw_only=True)
class FleetSimulateOptions(FleetOptions):
    """Options of ``federation simulate``."""

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


@options.command(
    "simulate",
    FleetSimulateOptions,
    example="""
        stretto federation simulate --on federation
        stretto federation simulate --on federation --lose west --at 10 -o json
        stretto federation simulate --on federation --add south:4:8 --policy stretto
    """,
)
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
    """Compare ways of division over a fleet file, with the schedulers of its members in the loop.

    static and dynamic are KubeAdmiral's planners with the policies' weights and with free CPU;
    stretto is the default, nodes counts the capacity of every node. --lose, --drain and --add show
    what would happen; lost clusters are failed over.
    """
    import msgspec

    from stretto.sim.fleet.comparison import FleetPolicy, WhatIf, compare
    from stretto.sim.fleet.description import ClusterShape, read_fleet

    check_format(opts.output)
    if opts.reads_host:
        raise InputError("--on", opts.on, "a fleet file", "a host cannot be simulated")
    known = [each.value for each in FleetPolicy]
    for name in opts.policy:
        if name not in known:
            raise UnknownNameError("policy", name, known)
    policies = [FleetPolicy(name) for name in opts.policy or known]
    added = tuple(ClusterShape(name, nodes, cpu) for name, nodes, cpu in map(_shape, opts.add))
    scenario = read_fleet(fleet_path(opts.on))
    what_if = WhatIf(opts.lose, opts.drain, added, opts.at)
    fleet = msgspec.structs.replace(
        scenario.federation, seconds=max(scenario.federation.seconds, opts.at + 60.0)
    )
    found = compare(fleet, policies, what_if)
    clusters = sorted({name for each in found for name in each.filled})
    columns = [
        ListColumn("policy", [each.policy for each in found]),
        ListColumn("running", [each.running for each in found]),
        ListColumn("pending", [each.pending for each in found]),
        ListColumn("mean pending", [each.mean_pending for each in found], 1),
        ListColumn("moves", [each.moves for each in found]),
        *(
            ListColumn(name, [f"{each.filled.get(name, 0.0):.0%}" for each in found], 2)
            for name in clusters
        ),
    ]
    names = [each.policy for each in found]
    fields = {"name": scenario.name, "policies": msgspec.to_builtins(found)}
    rows = ListedRows(columns, names, "stretto.federation.simulate/v1", fields)
    write_list(common.console, opts.output, rows)


def _shape(text: str) -> tuple[str, int, int]:
    """Name, nodes and CPUs of a node.

    Raises:
        InputError: the text is malformed.
    """
    name, *numbers = text.split(":")
    if not name or len(numbers) != 2 or not all(each.isdigit() for each in numbers):
        raise InputError("--add", text, "NAME:NODES:CPU, such as south:4:16")
    return name, int(numbers[0]), int(numbers[1])

"""``stretto federation story``: all decisions about an object during the run of a fleet file."""

from dataclasses import dataclass

import click

from stretto.base.errors import InputError, NotFoundError
from stretto.cli import options
from stretto.cli.commands.federation.source import FleetOptions, fleet_options, fleet_path
from stretto.cli.options import CommandContext
from stretto.cli.output.formats import ListColumn, ListedRows, check_format, write_list


@dataclass(frozen=True, kw_only=True)
class FleetStoryOptions(FleetOptions):
    """Options of ``federation story``."""

    #: The object: NAME or NAMESPACE/NAME; empty for all objects and clusters.
    name: str


@options.command(
    "story",
    FleetStoryOptions,
    example="""
        stretto federation story web --on federation
        stretto federation story --on federation -o json
    """,
)
@click.argument("name", required=False, default="")
@fleet_options
def story(common: CommandContext, opts: FleetStoryOptions) -> None:
    """Show every step of an object while a fleet file runs: placed, written, rolled out, waiting.

    NAME is NAME or NAMESPACE/NAME [all objects and clusters].
    """
    import msgspec

    from stretto.sim.fleet.building import built
    from stretto.sim.fleet.description import read_fleet
    from stretto.sim.fleet.history import FleetHistory

    check_format(opts.output)
    if opts.reads_host:
        hint = "a host keeps no history: kubectl get events"
        raise InputError("--on", opts.on, "a fleet file", hint)
    scenario = read_fleet(fleet_path(opts.on))
    made = built(scenario.federation)
    history = FleetHistory(made.clock)
    made.federation.loop.add_controllers([history])
    made.run_until(made.clock.monotonic() + scenario.federation.seconds)
    wanted = ("", opts.name, f"default/{opts.name}", f"cluster {opts.name}")
    steps = [each for each in history.steps if not opts.name or each.subject in wanted]
    if not steps:
        known = ", ".join(sorted({each.subject for each in history.steps})[:5])
        raise NotFoundError(opts.name, "nothing happened to such an object", f"known: {known}")
    columns = [
        ListColumn("second", [each.at_s for each in steps]),
        ListColumn("object", [each.subject for each in steps]),
        ListColumn("event", [each.event for each in steps]),
        ListColumn("detail", [each.detail for each in steps]),
    ]
    names = [f"{each.subject}/{each.event}" for each in steps]
    fields = {"name": opts.name, "steps": msgspec.to_builtins(steps)}
    rows = ListedRows(columns, names, "stretto.federation.story/v1", fields)
    write_list(common.console, opts.output, rows)

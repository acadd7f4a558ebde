"""``stretto federation rollout``: the progress of a rollout in every cluster."""

from dataclasses import dataclass

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.commands.federation.source import FleetOptions, fleet_options, opened_fleet
from stretto.cli.options import CommandContext
from stretto.cli.output.formats import ListColumn, ListedRows, check_format, write_list


@dataclass(frozen=True, kw_only=True)
class FleetRolloutOptions(FleetOptions):
    """Options of ``federation rollout``."""

    #: The Deployment: NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME.
    name: str


@options.command(
    "rollout",
    FleetRolloutOptions,
    example="""
        stretto federation rollout web
        stretto federation rollout web --on federation -o json
    """,
)
@click.argument("name")
@fleet_options
def rollout(common: CommandContext, opts: FleetRolloutOptions) -> None:
    """Show the progress of each cluster, the remaining budget and the awaited conditions.

    A host has no data about the pods of its members: with --on cluster, only the notes of the
    controllers are shown.
    """
    import msgspec

    from stretto.federation.answers.rollouts import rollout_facts
    from stretto.federation.controllers.rollouts.course import FleetRollouts
    from stretto.federation.controllers.rollouts.reading import MemberDeployments

    check_format(opts.output)
    with opened_fleet(opts) as fleet:
        item = fleet.reader().find(opts.name)
        rollouts = FleetRollouts(MemberDeployments(fleet.fleet), fleet.clock)
        found = rollout_facts(rollouts, item)
    if found is None:
        expected = "a Deployment that rolls over all clusters"
        raise InputError("NAME", opts.name, expected, "others roll in each cluster by themselves")
    if opts.output in ("table", "wide"):
        common.console.data(
            f"{found.name}: {found.verdict}; budget left: "
            f"{found.surge_left} above, {found.unavailable_left} unavailable"
        )
    each = found.clusters
    columns = [
        ListColumn("cluster", [row.cluster for row in each]),
        ListColumn("wanted", [row.wanted for row in each]),
        ListColumn("updated", [row.updated for row in each]),
        ListColumn("available", [row.available for row in each]),
        ListColumn("old", [row.old for row in each]),
        ListColumn("waits for", [row.waits_for for row in each]),
    ]
    names = [row.cluster for row in each]
    fields = msgspec.to_builtins(found)
    rows = ListedRows(columns, names, "stretto.federation.rollout/v1", fields)
    write_list(common.console, opts.output, rows)

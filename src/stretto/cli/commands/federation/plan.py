"""``stretto federation plan``: the clusters of objects, without writing anything."""

from dataclasses import dataclass
from pathlib import Path

import click

from stretto.base.errors import DoesNotFitError
from stretto.cli import options
from stretto.cli.commands.federation.source import FleetOptions, fleet_options, opened_fleet
from stretto.cli.options import CommandContext, ExistingPath
from stretto.cli.output.formats import ListColumn, ListedRows, check_format, write_list
from stretto.cli.views.fleet_run import note_unknown, placement


@dataclass(frozen=True, kw_only=True)
class FleetPlanOptions(FleetOptions):
    """Options of ``federation plan``."""

    #: Files or folders of manifests.
    manifests: tuple[Path, ...]


@options.command(
    "plan",
    FleetPlanOptions,
    example="""
        stretto federation plan examples/federation --on federation
        stretto federation plan web.yaml policy.yaml
    """,
)
@click.argument(
    "manifests", nargs=-1, required=True, type=ExistingPath(exists=True, path_type=Path)
)
@fleet_options
def plan(common: CommandContext, opts: FleetPlanOptions) -> None:
    """Show where native objects and their policies would go; exit 3 if something would not fit.

    MANIFESTS are files or folders of YAML. They are added to a copy of the host; nothing is
    written. Replicas in a cluster that is not ready are marked with a question mark: they stay
    there, and their state is unknown.
    """
    import msgspec

    from stretto.sim.fleet.manifests import read_objects
    from stretto.sim.fleet.parts import FleetParts
    from stretto.sim.fleet.trial import trial

    check_format(opts.output)
    bodies = read_objects(opts.manifests)
    with opened_fleet(opts) as fleet:
        found = trial(fleet.fleet, fleet.clock.now(), bodies, FleetParts(webhooks=fleet.webhooks))
    columns = [
        ListColumn("object", [f"{each.kind} {each.name}" for each in found]),
        ListColumn("clusters", [placement(each) for each in found]),
        ListColumn("waiting", [sum(each.waiting.values()) + each.unplaced for each in found]),
        ListColumn("problem", [each.problem for each in found]),
    ]
    names = [f"{each.kind.lower()}/{each.name}" for each in found]
    fields = {"objects": msgspec.to_builtins(found)}
    rows = ListedRows(columns, names, "stretto.federation.plan/v1", fields)
    write_list(common.console, opts.output, rows)
    note_unknown(common.console, found)
    missing = [each for each in found if not each.fits]
    if missing:
        first = missing[0]
        waits = sum(first.waiting.values()) + first.unplaced
        why = first.problem or f"{waits} replicas of {first.name} fit nowhere"
        hint = f"stretto federation explain {first.name}"
        raise DoesNotFitError(f"{len(missing)} of {len(found)} objects", why, hint)

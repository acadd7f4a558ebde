"""``stretto federation migrate``: move objects out of a cluster within a budget, or back."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from stretto.base.errors import DoesNotFitError, InputError, NotFoundError
from stretto.cli import options
from stretto.cli.commands.federation.source import (
    FleetOptions,
    OpenedFleet,
    fleet_options,
    opened_fleet,
)
from stretto.cli.options import CommandContext
from stretto.cli.output.formats import ListColumn, ListedRows, check_format, write_list
from stretto.cli.views.fleet_run import counts

if TYPE_CHECKING:
    from stretto.federation.answers.records import MigrationRow
    from stretto.federation.controllers.keys import FederatedItem
    from stretto.reconcile.cache import StoredObject


@dataclass(frozen=True, kw_only=True)
class MigrateOptions(FleetOptions):
    """Options of ``federation migrate``."""

    #: The objects; empty for all objects of the cluster.
    names: tuple[str, ...]
    #: The cluster that they leave.
    cluster: str
    #: Hours until the objects may return.
    hours: float
    #: Maximum number of replicas to move; ``None`` for no limit.
    at_most: int | None
    #: True if the moves are written; otherwise it is a dry run.
    apply: bool
    #: True if earlier migrations are reverted.
    undo: bool


@options.command(
    "migrate",
    MigrateOptions,
    example="""
        stretto federation migrate --from east --on federation
        stretto federation migrate web --from east --at-most 100 --apply
        stretto federation migrate web --undo --apply
    """,
)
@click.argument("names", nargs=-1)
@click.option(
    "--from",
    "cluster",
    default="",
    metavar="CLUSTER",
    help="The cluster from which to move the objects.",
)
@click.option(
    "--hours",
    type=options.FiniteRange(min=0.01),
    default=24.0,
    metavar="H",
    help="Hours until the objects may return [24].",
)
@click.option(
    "--at-most", type=options.WholeRange(min=0), metavar="N", help="Maximum replicas to move [all]."
)
@click.option(
    "--apply", is_flag=True, help="Write to the host; without --apply, the moves are only shown."
)
@click.option("--undo", is_flag=True, help="Revert an earlier migration.")
@fleet_options
def migrate(common: CommandContext, opts: MigrateOptions) -> None:
    """Move objects out of a cluster: a dry run by default, within a budget, reversible.

    Without --apply nothing is written. The rolling window of each object limits how fast its
    replicas move. NAMES are objects (NAME, NAMESPACE/NAME, KIND/NAMESPACE/NAME) [all of the
    cluster].
    """
    from stretto.federation.answers import migrations

    check_format(opts.output)
    if opts.undo == bool(opts.cluster):
        raise InputError("--from", opts.cluster or None, "a cluster, or --undo")
    if opts.apply and not opts.reads_host:
        hint = "a fleet file runs in memory: remove --apply"
        raise InputError("--apply", opts.on, "a host to write to", hint)
    with opened_fleet(opts) as fleet:
        if opts.undo:
            _undo(common, opts, fleet)
            return
        reader = fleet.reader()
        if fleet.fleet.cluster(opts.cluster) is None:
            known = ", ".join(each.record.name for each in fleet.fleet.clusters)
            raise NotFoundError(opts.cluster, "no cluster has this name", f"clusters: {known}")
        items = [reader.find(name) for name in opts.names] or reader.items()
        until = fleet.clock.now() + 3600 * opts.hours
        found = migrations.migration_rows(reader, items, opts.cluster, until)
        chosen = migrations.within_budget(found, opts.at_most)
        _show(common, opts, chosen, len(found) - len(chosen))
        stuck = [each for each in chosen if each.waiting]
        if stuck:
            what = f"{sum(each.waiting for each in stuck):,} replicas"
            why = f"no other cluster holds them: {stuck[0].name} and {len(stuck) - 1} more objects"
            raise DoesNotFitError(what, why, "migrate fewer objects (--at-most), or add nodes")
        if opts.apply:
            by_name = {row.name for row in chosen}
            for item, source in _sources(fleet, items):
                if _title(item) in by_name:
                    _patch(fleet, source, migrations.migrating(source, opts.cluster, until))
            common.console.note(f"{len(chosen)} objects leave {opts.cluster}; undo: --undo --apply")
        else:
            common.console.note("nothing is written; --apply writes it")


def _undo(common: CommandContext, opts: MigrateOptions, fleet: OpenedFleet) -> None:
    """Revert earlier migrations."""
    from stretto.federation.answers.migrations import undone

    reader = fleet.reader()
    items = [reader.find(name) for name in opts.names] or reader.items()
    count = 0
    for _, source in _sources(fleet, items):
        change = undone(source)
        if change is not None:
            count += 1
            if opts.apply:
                _patch(fleet, source, change)
    verb = "restored" if opts.apply else "would be restored; --apply writes it"
    common.console.data(f"{count} migrations {verb}")


def _sources(
    fleet: OpenedFleet, items: "list[FederatedItem]"
) -> "list[tuple[FederatedItem, StoredObject]]":
    found = []
    for item in items:
        name = item.federated.spec["template"]["metadata"]["name"]
        source = fleet.fleet.sources(item.type).get(item.federated.record.namespace, name)
        if source is not None:
            found.append((item, source))
    return found


def _patch(fleet: OpenedFleet, source: "StoredObject", change: dict[str, object]) -> None:
    from stretto.reconcile import writes

    writes.patch(fleet.fleet.host.store, source, change)


def _title(item: "FederatedItem") -> str:
    from stretto.federation.answers.subjects import title

    return title(item)


def _show(
    common: CommandContext, opts: MigrateOptions, rows: "list[MigrationRow]", left: int
) -> None:
    import msgspec

    columns = [
        ListColumn("object", [each.name for each in rows]),
        ListColumn("now", [counts(each.before) for each in rows]),
        ListColumn("then", [counts(each.after) for each in rows]),
        ListColumn("moves", [each.moves for each in rows]),
        ListColumn("fits nowhere", [each.waiting for each in rows], 1),
    ]
    fields = {"cluster": opts.cluster, "objects": msgspec.to_builtins(rows), "beyond_budget": left}
    names = [each.name for each in rows]
    listed = ListedRows(columns, names, "stretto.federation.migrate/v1", fields)
    write_list(common.console, opts.output, listed)
    if left:
        common.console.note(f"{left} objects are beyond the budget of {opts.at_most} replicas")

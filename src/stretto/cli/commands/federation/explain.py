"""``stretto federation explain``: why an object is, or is not, in a cluster."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from stretto.base.errors import UnknownNameError
from stretto.cli import options
from stretto.cli.commands.federation.source import FleetOptions, fleet_options, opened_fleet
from stretto.cli.options import CommandContext
from stretto.cli.output.formats import ListColumn, ListedRows, check_format, write_list

if TYPE_CHECKING:
    from stretto.federation.answers.records import ClusterVerdict


@dataclass(frozen=True, kw_only=True)
class FleetExplainOptions(FleetOptions):
    """Options of ``federation explain``."""

    #: The object: NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME.
    name: str
    #: The only cluster to explain; empty for all.
    cluster: str


@options.command(
    "explain",
    FleetExplainOptions,
    example="""
        stretto federation explain web
        stretto federation explain deployment/default/web east --on federation
    """,
)
@click.argument("name")
@click.argument("cluster", required=False, default="")
@fleet_options
def explain(common: CommandContext, opts: FleetExplainOptions) -> None:
    """Explain why an object is, or is not, in each cluster, and what would change that.

    NAME is NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME; CLUSTER limits the answer to one cluster.
    """
    import msgspec

    from stretto.federation.answers.verdicts import verdicts

    check_format(opts.output)
    with opened_fleet(opts) as fleet:
        reader = fleet.reader()
        found = verdicts(reader, reader.decision(reader.find(opts.name)))
    known = [each.cluster for each in found]
    if opts.cluster and opts.cluster not in known:
        raise UnknownNameError("cluster", opts.cluster, known)
    found = [each for each in found if opts.cluster in ("", each.cluster)]
    columns = [
        ListColumn("cluster", [each.cluster for each in found]),
        ListColumn("chosen", ["yes" if each.chosen else "no" for each in found]),
        ListColumn("replicas", [_replicas(each) for each in found]),
        ListColumn("score", [each.score for each in found], 2),
        ListColumn("why", [each.why for each in found]),
        ListColumn("cure", [each.cure for each in found], 1),
    ]
    fields = {"name": opts.name, "clusters": msgspec.to_builtins(found)}
    rows = ListedRows(columns, known, "stretto.federation.explain/v1", fields)
    write_list(common.console, opts.output, rows)


def _replicas(verdict: "ClusterVerdict") -> int | str | None:
    return "all" if verdict.chosen and verdict.replicas is None else verdict.replicas

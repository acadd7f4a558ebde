"""``stretto federation explain``: the reason why an object or a pod is, or is not, in a cluster."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from stretto.base.errors import InputError, NotFoundError, UnknownNameError
from stretto.cli import options
from stretto.cli.commands.federation.source import (
    FleetOptions,
    OpenedFleet,
    fleet_options,
    opened_fleet,
)
from stretto.cli.options import CommandContext
from stretto.cli.output.formats import ListColumn, ListedRows, check_format, write_list

if TYPE_CHECKING:
    from stretto.federation.answers.records import ClusterVerdict
    from stretto.federation.answers.subjects import FleetReader
    from stretto.federation.controllers.keys import FederatedItem

_SCHEMA = "stretto.federation.explain/v1"


@dataclass(frozen=True, kw_only=True)
class FleetExplainOptions(FleetOptions):
    """Options of ``federation explain``."""

    #: The object or the pod: NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME.
    name: str
    #: The cluster to explain; empty for all.
    cluster: str


@options.command(
    "explain",
    FleetExplainOptions,
    example="""
        stretto federation explain web
        stretto federation explain deployment/default/web east --on federation
        stretto federation explain pod/default/web-5d9c7b-x2x1k
    """,
)
@click.argument("name")
@click.argument("cluster", required=False, default="")
@fleet_options
def explain(common: CommandContext, opts: FleetExplainOptions) -> None:
    """Explain why an object is, or is not, in each cluster, and list changes that would help.

    NAME is NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME; CLUSTER limits the answer to one cluster.
    The name of a pod of a member explains its workload in each cluster, and then why the pod is on
    its node or pending.
    """
    check_format(opts.output)
    with opened_fleet(opts) as fleet:
        reader = fleet.reader()
        for name, problem in fleet.fleet.kind_problems.items():
            common.console.warn(f"FederatedTypeConfig {name}: {problem}")
        item = _object(reader, opts.name)
        if item is None:
            _explain_pod(common, opts, fleet, reader)
        else:
            _note_problems(common, item)
            _write(common, opts, _verdicts(common, reader, item, opts.cluster), {})


def _note_problems(common: CommandContext, item: "FederatedItem") -> None:
    """Note the failed conditions of an object, which its verdicts do not contain."""
    from stretto.federation.answers.placements import problems
    from stretto.federation.problems import SCHEDULED

    for each in problems(item):
        if each.type != SCHEDULED:
            common.console.note(f"{each.type} is false: {each.message}")


def _object(reader: "FleetReader", name: str) -> "FederatedItem | None":
    """Return the federated object with a name; ``None`` if there is none, or if it is a pod."""
    if name.partition("/")[0].lower() in ("pod", "pods"):
        return None
    try:
        return reader.find(name)
    except NotFoundError:
        return None


def _explain_pod(
    common: CommandContext, opts: FleetExplainOptions, fleet: OpenedFleet, reader: "FleetReader"
) -> None:
    """Explain the workload of a pod in each cluster, and the pod in its own cluster."""
    from stretto.cli.commands.federation.pods import explained_pod
    from stretto.cli.views.explanation import show_explanation

    found = explained_pod(fleet, reader, opts.name, opts.cluster, common.seed)
    common.console.note(f"{found.sentence}.")
    verdicts = _verdicts(common, reader, found.item, "") if found.item is not None else []
    _write(common, opts, verdicts, found.fields())
    if opts.output in ("table", "wide"):
        show_explanation(common.console, found.answer)


def _verdicts(
    common: CommandContext, reader: "FleetReader", item: "FederatedItem", cluster: str
) -> "list[ClusterVerdict]":
    """Return the verdict of each cluster on an object; only of ``cluster`` if given.

    Raises:
        UnknownNameError: there is no such cluster.
    """
    from stretto.federation.answers.subjects import UndecidedError
    from stretto.federation.answers.verdicts import undecided, verdicts

    try:
        found = verdicts(reader, reader.decision(item))
    except (UndecidedError, InputError) as error:
        found = undecided(reader, item, str(error))
    for problem in reader.left_out:
        common.console.warn(f"{problem}; its plugins are left out of this answer")
    known = [each.cluster for each in found]
    if cluster and cluster not in known:
        raise UnknownNameError("cluster", cluster, known)
    return [each for each in found if cluster in ("", each.cluster)]


def _write(
    common: CommandContext,
    opts: FleetExplainOptions,
    found: "list[ClusterVerdict]",
    more: dict[str, Any],
) -> None:
    """Write the verdicts and the facts about a pod."""
    import msgspec

    columns = [
        ListColumn("cluster", [each.cluster for each in found]),
        ListColumn("chosen", ["yes" if each.chosen else "no" for each in found]),
        ListColumn("replicas", [_replicas(each) for each in found]),
        ListColumn("score", [each.score for each in found], 2),
        ListColumn("why", [each.why for each in found]),
        ListColumn("cure", [each.cure for each in found], 1),
    ]
    fields = {"name": opts.name, "clusters": msgspec.to_builtins(found), **more}
    rows = ListedRows(columns, [each.cluster for each in found], _SCHEMA, fields)
    write_list(common.console, opts.output, rows)


def _replicas(verdict: "ClusterVerdict") -> int | str | None:
    return "all" if verdict.chosen and verdict.replicas is None else verdict.replicas

"""``stretto get``: lists of pods, nodes, units, queues and runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from stretto.base.errors import InputError, NotFoundError
from stretto.cli import options
from stretto.cli.options import CommandContext
from stretto.cli.output import formats
from stretto.cli.sources.states import NAMESPACE, StateOptions, state_options

if TYPE_CHECKING:
    from stretto.cli.output.formats import ListedRows
    from stretto.cli.sources.scenes import OpenedScene
    from stretto.explain.inventory.pods import PodRow

RESOURCES: Final = {
    "pods": ("pod", "po"),
    "nodes": ("node", "no"),
    "units": ("unit", "podgroups", "podgroup", "pg"),
    "queues": ("queue", "q"),
    "runs": ("run",),
}
"""The resources, with their other names."""
_ALIASES: Final = {name: plural for plural, names in RESOURCES.items() for name in (plural, *names)}
_FILTERS: Final = {
    "--pending": ("pods", "units", "queues", "runs"),
    "--node": ("pods",),
    "--selector": ("pods", "nodes"),
}
"""The resources that each filter applies to."""


@dataclass(frozen=True)
class GetOptions(StateOptions):
    """Options of ``get``."""

    #: The resource.
    resource: str
    #: Names; empty for all.
    names: tuple[str, ...]
    #: Whether to list only what is pending.
    pending: bool
    #: Node of the pods; empty for any.
    node: str
    #: Label selector; empty for everything.
    selector: str
    #: Whether to list all namespaces.
    all_namespaces: bool
    #: Output format.
    output: str
    #: Files with rules that the profile may name.
    plugin: tuple[Any, ...]


class ResourceName(click.Choice[str]):
    """The name of a resource, in singular, plural or short form."""

    def __init__(self) -> None:
        super().__init__(list(RESOURCES))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The plural."""
        return super().convert(_ALIASES.get(str(value).lower(), value), param, ctx)


@options.command(
    "get",
    GetOptions,
    example="""
        stretto get pods --pending
        stretto get pods -n shop -l app=web -o wide --on cluster
        stretto get nodes --on sqlite:run.db -o json
        stretto get pods --node cpu-0001 -o jsonpath='{.items[*].name}'
        stretto get runs
    """,
)
@click.argument("resource", type=ResourceName(), metavar="pods|nodes|units|queues|runs")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=options.completes("objects"))
@click.option("--pending", is_flag=True, help="Only pending pods, or what has pending pods.")
@click.option(
    "--node",
    default="",
    metavar="NAME",
    shell_complete=options.completes("nodes"),
    help="Only pods on this node.",
)
@NAMESPACE
@click.option("-A", "--all-namespaces", is_flag=True, help="Pods and units of all namespaces.")
@click.option(
    "-l", "--selector", default="", metavar="LABELS", help="Only with these labels: app=web,!old."
)
@click.option(
    "-o", "--output", default="table", metavar=formats.METAVAR, help="Output format [table]."
)
@options.PLUGIN
@state_options
def get(common: CommandContext, opts: GetOptions) -> None:
    """List pods, nodes, units, queues or runs of a state.

    Pods and units of the namespace `default` are listed unless -n or -A is given. Pending pods are
    listed with the reason, for which a copy of the state is scheduled; nothing is written.
    """
    formats.check_format(opts.output)
    _check_filters(opts)
    formats.write_list(common.console, opts.output, _LISTS[opts.resource](common, opts))


def _check_filters(opts: GetOptions) -> None:
    """Refuse filters that the resource does not have.

    Raises:
        InputError: one was given.
    """
    given = {
        "--pending": "given" if opts.pending else "",
        "--node": opts.node,
        "--selector": opts.selector,
    }
    for name, resources in _FILTERS.items():
        if given[name] and opts.resource not in resources:
            expected = f"a list of {' or '.join(resources)}"
            raise InputError(name, given[name], expected, f"{opts.resource} have no such filter")


# ---------------------------------------------------------------- pods and units


def _pods(common: CommandContext, opts: GetOptions) -> "ListedRows":
    import msgspec

    from stretto.cli.sources.scenes import opened_scene
    from stretto.cli.views.lists import listed_pods
    from stretto.explain.inventory.lists import PodList

    with opened_scene(common, opts, opts.plugin) as opened:
        rows = _chosen_pods(common, opts, opened)
    if opts.pending:
        rows = [each for each in rows if not each.node and each.status != "ended"]
    _require(common, "pod", [each.key for each in rows], opts)
    fields = msgspec.to_builtins(PodList(opened.title, tuple(rows)))
    return listed_pods(rows, fields)


def _chosen_pods(
    common: CommandContext, opts: GetOptions, opened: "OpenedScene", *, by_name: bool = True
) -> "list[PodRow]":
    """The pods of the namespace that match the filters."""
    from stretto.api.wire.kinds import POD
    from stretto.api.wire.selectors import parse_labels
    from stretto.explain.inventory.pods import labels_of, pod_rows

    names = set(opts.names) if by_name else set()
    namespace = opts.namespace or opened.namespace or "default"
    wanted = parse_labels(opts.selector, "--selector")
    found, elsewhere = [], 0
    for each in opened.records:
        if each.kind != POD or (opts.node and each.node != opts.node):
            continue
        if opts.selector and not wanted.matches(labels_of(each)):
            continue
        key = f"{each.namespace}/{each.name}"
        if names and not ({key, f"pod/{key}"} & names or each.name in names):
            continue
        if each.namespace != namespace and not opts.all_namespaces and key not in names:
            elsewhere += not opts.pending or not each.node
            continue
        found.append(each)
    if elsewhere and not opts.namespace:
        common.console.note(f"namespace {namespace}; {elsewhere:,} more in others (-A lists them)")
    return pod_rows(opened.scene, found, opened.at)


def _units(common: CommandContext, opts: GetOptions) -> "ListedRows":
    import msgspec

    from stretto.cli.sources.scenes import opened_scene
    from stretto.cli.views.lists import listed_units
    from stretto.explain.inventory.lists import UnitList
    from stretto.explain.inventory.units import unit_rows

    with opened_scene(common, opts, opts.plugin) as opened:
        pods = _chosen_pods(common, opts, opened, by_name=False)
        least: dict[str, int | None] = {}
        table = opened.scene.cluster.pods
        for row in table.rows().tolist():
            unit = opened.scene.notes.unit_of(row)
            if unit is not None:
                least[unit.key] = unit.min_member
    rows = [
        each
        for each in unit_rows(pods, least)
        if not opts.names or {each.name, each.name.rpartition("/")[2]} & set(opts.names)
    ]
    if opts.pending:
        rows = [each for each in rows if each.pending]
    _require(common, "unit", [each.name for each in rows], opts)
    return listed_units(rows, msgspec.to_builtins(UnitList(opened.title, tuple(rows))))


# ---------------------------------------------------------------- the others


def _nodes(common: CommandContext, opts: GetOptions) -> "ListedRows":
    import msgspec

    from stretto.api.wire.kinds import NODE
    from stretto.api.wire.selectors import parse_labels
    from stretto.cli.sources.scenes import opened_scene
    from stretto.cli.views.lists import listed_nodes
    from stretto.explain.inventory.lists import NodeList
    from stretto.explain.inventory.nodes import node_rows

    wanted = parse_labels(opts.selector, "--selector")
    names = {each.removeprefix("node/") for each in opts.names}
    with opened_scene(common, opts, opts.plugin) as opened:
        chosen = [
            each
            for each in opened.records
            if each.kind == NODE and (not names or each.name in names)
        ]
        rows = node_rows(opened.scene, chosen)
    rows = [each for each in rows if not opts.selector or wanted.matches(each.labels)]
    _require(common, "node", [each.name for each in rows], opts)
    return listed_nodes(rows, msgspec.to_builtins(NodeList(opened.title, tuple(rows))))


def _queues(common: CommandContext, opts: GetOptions) -> "ListedRows":
    import msgspec

    from stretto.cli.sources.states import read_state
    from stretto.cli.views.lists import listed_queues
    from stretto.explain.inventory.lists import QueueList
    from stretto.explain.why.queues import with_implicit_queues
    from stretto.plane.copy import PlaneCopy

    state = read_state(common, opts).state
    copy = PlaneCopy(state.counting_use())
    copy.look()
    found = with_implicit_queues(copy.plane.dispatcher.views.queues(), state.records)
    names = {each.removeprefix("queue/") for each in opts.names}
    rows = [each for each in found if not names or each.name in names]
    rows = [each for each in rows if each.pending or not opts.pending]
    _require(common, "queue", [each.name for each in rows], opts)
    return listed_queues(rows, msgspec.to_builtins(QueueList(state.title, tuple(rows))))


def _runs(common: CommandContext, opts: GetOptions) -> "ListedRows":
    import msgspec

    from stretto.cli.views.lists import listed_runs
    from stretto.explain.inventory.lists import RunList
    from stretto.explain.inventory.runs import run_rows
    from stretto.explain.records.records import RunRecords

    records = RunRecords()
    rows = [each for each in run_rows(records, opts.names) if each.pending or not opts.pending]
    if not rows:
        common.console.note(
            f"no run record in {records.folder}; create one: stretto run quickstart"
        )
    return listed_runs(rows, msgspec.to_builtins(RunList(str(records.folder), tuple(rows))))


def _require(common: CommandContext, word: str, found: list[str], opts: GetOptions) -> None:
    """Note an empty list; refuse names that the list lacks.

    Raises:
        NotFoundError: a name is missing; the nearest names are shown.
    """
    ends = {part for each in found for part in (each, each.rpartition("/")[2])}
    for name in opts.names:
        if name.removeprefix(f"{word}/") not in ends and name not in ends:
            reason = "none matches the filters" if opts.pending or opts.node else "no such name"
            raise NotFoundError(f"{word} {name}", reason, f"list all: stretto get {word}s -A")
    if not found:
        common.console.note(f"no {word}s match")


_LISTS: Final[dict[str, Callable[[CommandContext, GetOptions], "ListedRows"]]] = {
    "pods": _pods,
    "nodes": _nodes,
    "units": _units,
    "queues": _queues,
    "runs": _runs,
}

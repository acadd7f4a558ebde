"""``stretto get``: lists of pods, nodes, units, queues and runs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.lists.objects import listed_nodes_of, listed_runs_of
from stretto.cli.lists.pods import listed_pods_of, listed_units_of
from stretto.cli.lists.queues import listed_queues_of
from stretto.cli.lists.request import GetOptions
from stretto.cli.options import CommandContext
from stretto.cli.output import formats
from stretto.cli.sources.states import NAMESPACE, state_options

if TYPE_CHECKING:
    from stretto.cli.output.formats import ListedRows

RESOURCES: Final = {
    "pods": ("pod", "po"),
    "nodes": ("node", "no"),
    "units": ("unit", "podgroups", "podgroup", "pg"),
    "queues": ("queue", "q"),
    "runs": ("run",),
}
"""The resources, with their aliases."""
_ALIASES: Final = {name: plural for plural, names in RESOURCES.items() for name in (plural, *names)}
_FILTERS: Final = {
    "--pending": ("pods", "units", "queues", "runs"),
    "--node": ("pods",),
    "--selector": ("pods", "nodes"),
}
"""Resources that support each filter."""


class ResourceName(click.Choice[str]):
    """The name of a resource, in singular, plural or short form."""

    def __init__(self) -> None:
        super().__init__(list(RESOURCES))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the plural."""
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
@click.option(
    "--pending", is_flag=True, help="Only pending pods, or only objects with pending pods."
)
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
@formats.OUTPUT
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
    """Refuse filters that the resource does not support.

    Raises:
        InputError: such a filter is given.
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


_LISTS: Final[dict[str, Callable[[CommandContext, GetOptions], "ListedRows"]]] = {
    "pods": listed_pods_of,
    "nodes": listed_nodes_of,
    "units": listed_units_of,
    "queues": listed_queues_of,
    "runs": lambda common, opts: listed_runs_of(common, opts.names, pending=opts.pending),
}

"""``stretto dashboard``: pages over a run, a scenario, a store, a recording or a live cluster."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from stretto.base.errors import MissingExtraError
from stretto.cli import options
from stretto.cli.interrupts import DeferredInterrupt
from stretto.cli.options import CommandContext
from stretto.cli.parts.dashboards.surroundings import PoolOptions, pool_options, with_pools
from stretto.cli.sources.states import StateOptions, state_options

PORT: Final = 8421
"""Default port of the dashboard."""


@dataclass(frozen=True)
class DashboardOptions(StateOptions, PoolOptions):
    """Options of ``dashboard``."""

    #: The port on the loopback address; 0 for a free port.
    port: int
    #: True if the default browser is opened.
    browse: bool
    #: Files with rules that the profile may name.
    plugin: tuple[Path, ...]


@options.command(
    "dashboard",
    DashboardOptions,
    example="""
        stretto dashboard --on examples/quickstart.yaml
        stretto dashboard --on cluster --port 0 --browse
        stretto dashboard --on cluster --fleet cluster:host --master http://127.0.0.1:5050
    """,
)
@click.option(
    "--port",
    type=options.WholeRange(0, 65_535),
    default=PORT,
    metavar="N",
    help=f"Port on 127.0.0.1; 0 selects a free one [{PORT}].",
)
@click.option("--browse", is_flag=True, help="Open the default browser.")
@pool_options
@options.PLUGIN
@state_options
def dashboard(common: CommandContext, opts: DashboardOptions) -> None:
    """Serve pages about a state: nodes, pods with the reasons, queues, units, plans.

    The state is a run (the latest one by default), a scenario, a store, a recording or a cluster;
    a cluster is followed live. The pages are served on the loopback address; the printed address
    contains a token that a browser needs once. Nothing is written. Ctrl-C ends the command.
    """
    try:
        from stretto.serving.sockets import LOOPBACK, listening, serve
        from stretto.web.dashboard.app import dashboard_app
        from stretto.web.dashboard.guard import Access
    except ImportError as error:
        raise MissingExtraError("the dashboard", "web") from error
    from stretto.base.tokens import new_token
    from stretto.cli.sources.previews import preview_parts
    from stretto.cli.sources.views import view_source

    previews = preview_parts(common, opts, opts.plugin)
    with (
        DeferredInterrupt() as held,
        listening(LOOPBACK, opts.port) as listener,
        with_pools(previews, opts, opts.kubeconfig) as parts,
        view_source(common, opts, opts.plugin) as source,
    ):
        token = new_token()
        address = f"http://{LOOPBACK}:{listener.getsockname()[1]}/?token={token}"
        common.console.data(f"{source.title}: {address}")
        if opts.browse:
            import webbrowser

            webbrowser.open(address)
        serve(dashboard_app(source, parts, Access(token=token)), listener, held.check)

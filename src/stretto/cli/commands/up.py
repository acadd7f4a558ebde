"""``stretto up``: the Kubernetes API with simulated nodes, controllers and a scheduler."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.kernels.tier import tier_of
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.base.clock import Clock
    from stretto.base.rng import Rng
    from stretto.plane.config import PlaneConfig
    from stretto.stores.store import Store

SHAPE: Final = "64cpu-256gib"
"""Shape of the nodes where none is named."""
NAMES: Final = ("default-scheduler", "stretto-scheduler")
"""Scheduler names that the included scheduler answers to."""


@dataclass(frozen=True, kw_only=True)
class UpOptions:
    """Options of ``up``."""

    #: Number of simulated nodes.
    nodes: int
    #: Shape of the nodes.
    like: str
    #: ``memory`` or ``sqlite:PATH``.
    store: str
    #: Port; 0 takes a free one.
    port: int
    #: Where the kubeconfig is written.
    kubeconfig: Path
    #: ``included`` or ``external``.
    controllers: str
    #: ``included`` or ``external``.
    scheduler: str
    #: Cluster seconds per second.
    speed: float
    #: Scheduling profile.
    profile: str
    #: Kernel tier.
    tier: str


@options.command(
    "up",
    UpOptions,
    example="""
        stretto up --nodes 100 --like 64cpu-256gib-8gpu
        stretto up --nodes 10 --store sqlite:cluster.db --speed 60
        KUBECONFIG=stretto.kubeconfig kubectl create deployment web --image nginx --replicas 100
    """,
    result=False,
)
@click.option(
    "--nodes", default=3, type=options.WholeRange(0, 100_000), metavar="N", help="Nodes [3]."
)
@click.option("--like", default=SHAPE, metavar="SHAPE", help=f"Shape of the nodes [{SHAPE}].")
@click.option(
    "--store", default="memory", metavar="memory|sqlite:PATH", help="Store of the objects [memory]."
)
@click.option(
    "--port", default=0, type=options.WholeRange(0, 65535), metavar="N", help="Port [a free one]."
)
@click.option(
    "--kubeconfig",
    default="stretto.kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Where to write the kubeconfig [stretto.kubeconfig].",
)
@click.option(
    "--controllers",
    default="included",
    type=click.Choice(["included", "external"]),
    help="Controllers of workloads: here, or a kube-controller-manager [included].",
)
@click.option(
    "--scheduler",
    default="included",
    type=click.Choice(["included", "external"]),
    help="Scheduler: here, or another process [included].",
)
@click.option(
    "--speed",
    default=1.0,
    type=options.FiniteRange(0.001, 1e6),
    metavar="X",
    help="Cluster seconds per second [1].",
)
@click.option("--profile", default="default", metavar="NAME|FILE", help="Scheduling profile.")
@options.TIER
def up(common: CommandContext, opts: UpOptions) -> None:
    """Serve the Kubernetes API on this machine, with simulated nodes, in one process.

    kubectl, client libraries and operators work as with a cluster; pods start, run and end on
    simulated nodes. The server listens on the loopback address and accepts only the token in the
    kubeconfig that it writes. Ctrl-C stops it; objects in a SQLite store stay.
    """
    from stretto.base.clock import PacedClock, WallClock
    from stretto.base.rng import Rng
    from stretto.base.tokens import new_token, unique_seed
    from stretto.web.api.authn.users import TokenTable, User
    from stretto.web.api.server import ApiServer, ApiSettings
    from stretto.web.application import api_routes, application
    from stretto.web.local.access import write_kubeconfig
    from stretto.web.local.cluster import LocalClusterProcess, LocalParts
    from stretto.web.local.pages import BASE, dashboard_routes
    from stretto.web.local.serving import LocalServer
    from stretto.web.serving import listening

    clock = PacedClock(WallClock(), opts.speed) if opts.speed != 1.0 else WallClock()
    rng = Rng(unique_seed())
    nodes = _nodes(opts)
    listener = listening("127.0.0.1", opts.port)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    store = _store(opts.store, clock, rng)
    try:
        token = new_token()
        admin = User("admin", "admin", ("system:masters",))
        server = ApiServer(
            store, ApiSettings(clock, rng.child("api"), TokenTable({token: admin}), admin)
        )
        parts = LocalParts(
            nodes,
            controllers=opts.controllers == "included",
            plane=_plane(common, opts) if opts.scheduler == "included" else None,
        )
        cluster = LocalClusterProcess(server, store, clock, parts)
        write_kubeconfig(opts.kubeconfig, address, token)
        pages = [] if cluster.plane is None else dashboard_routes(cluster.plane, token)
        app = application([*pages, *api_routes(server.handle)])
        page = f"{address}{BASE}/?token={token}" if pages else ""
        process = LocalServer(app, cluster, opts.speed)
        process.run(listener, lambda: _announce(common, opts, address, page))
        cluster.close()
    finally:
        store.close()
    common.console.note("stopped")


def _announce(common: CommandContext, opts: UpOptions, address: str, page: str) -> None:
    nodes = f"{opts.nodes:,} node{'' if opts.nodes == 1 else 's'}"
    common.console.note(f"serving {address} with {nodes}; Ctrl-C stops")
    if page:
        common.console.note(f"dashboard: {page}")
    common.console.data(f"export KUBECONFIG={opts.kubeconfig.absolute()}")


def _nodes(opts: UpOptions) -> list[bytes]:
    """The simulated nodes as JSON.

    Raises:
        InputError: the shape is malformed.
    """
    from stretto.inputs.neutral.shapes import nodes_like
    from stretto.inputs.objects.objects import node_body

    if ":" in opts.like:
        raise InputError("--like", opts.like, "one shape without a count", "use --nodes N")
    if not opts.nodes:
        return []
    return [node_body(each) for each in nodes_like(f"{opts.like}:{opts.nodes}", where="--like")]


def _store(text: str, clock: "Clock", rng: "Rng") -> "Store":
    """The store of the objects.

    Raises:
        InputError: it is neither ``memory`` nor ``sqlite:PATH``, or the path cannot be used.
    """
    from stretto.stores.embedded.memory import MemoryStore
    from stretto.stores.embedded.sqlite import SqliteStore

    if text == "memory":
        return MemoryStore(clock, rng)
    kind, _, path = text.partition(":")
    if kind != "sqlite" or not path:
        raise InputError("--store", text, "memory or sqlite:PATH")
    return SqliteStore(Path(path), clock, rng)


def _plane(common: CommandContext, opts: UpOptions) -> "PlaneConfig":
    """The configuration of the included scheduler."""
    from stretto.daemons.scheduler import REPORT, plane_config
    from stretto.framework.profile.profile import load_profile

    tier = tier_of(opts.tier, common.console.note)
    return plane_config(load_profile(opts.profile), NAMES, 1, tier, REPORT)

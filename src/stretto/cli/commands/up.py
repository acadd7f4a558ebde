"""``stretto up``: the Kubernetes API with simulated nodes, controllers and a scheduler."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.interrupts import DeferredInterrupt
from stretto.cli.kernels.tier import tier_of
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.base.clock import Clock
    from stretto.base.rng import Rng
    from stretto.plane.config import PlaneConfig
    from stretto.stores.store import Store
    from stretto.web.local.api import AuditOptions
    from stretto.web.views.parts import DashboardParts

SHAPE: Final = "64cpu-256gib"
"""Default shape of the nodes."""
STORE: Final = "memory"
"""Default store."""
INCLUDED: Final = "included"
"""Value of the options of a part that runs in this process."""
_HEARTBEATS: Final = 20
"""Maximum number of heartbeats per second of all nodes together: each one is a write."""
PROFILE: Final = "default"
"""Default profile."""
AUDIT_MAX_SIZE: Final = 100
"""Default size in megabytes after which the audit log is rotated."""
AUDIT_MAX_BACKUP: Final = 100
"""Default number of older audit logs."""
AUDIT_MAX_AGE: Final = 366
"""Default number of days for which older audit logs are kept."""
AUTO, ON, OFF = "auto", "on", "off"
"""Values of the option for events of simulated kubelets."""
EVENT_NODES: Final = 1_000
"""Maximum number of nodes whose kubelets write events by default."""
_REPORT_EVERY: Final = 0.05
"""Seconds between two reports about pods: simulated pods run milliseconds after they are bound."""
NAMES: Final = ("default-scheduler", "stretto-scheduler")
"""Values of ``schedulerName`` for the included scheduler."""


@dataclass(frozen=True, kw_only=True)
class UpOptions:
    """Options of ``up``."""

    #: Kubeconfig of a cluster for which only the dashboard is served; ``None`` for a local cluster.
    join: Path | None
    #: Number of simulated nodes; ``None`` for 3 nodes of a shape, or for all nodes of a file.
    nodes: int | None
    #: Shape of the nodes, or a file with nodes.
    like: str
    #: ``memory`` or ``sqlite:PATH``.
    store: str
    #: Port of the API; 0 selects a free one.
    port: int
    #: Port of the dashboard; 0 selects a free one.
    dashboard_port: int
    #: Folder of certificates and keys; ``None`` for a folder next to the objects.
    keys: Path | None
    #: Path of the written kubeconfig.
    kubeconfig: Path
    #: Controllers of workloads: ``included`` or ``external``.
    controllers: str
    #: Scheduler: ``included`` or ``external``.
    scheduler: str
    #: Events of simulated kubelets: ``on``, ``off``, or ``auto`` (on for few nodes).
    kubelet_events: str
    #: Cluster seconds per second.
    speed: float
    #: Scheduling profile.
    profile: str
    #: Kernel tier.
    tier: str
    #: File of the audit log; ``None`` for none.
    audit_log: Path | None
    #: File of the audit policy; ``None`` records the metadata of all requests.
    audit_policy: Path | None
    #: Megabytes after which the audit log is rotated; 0 for never.
    audit_log_maxsize: int
    #: Number of older audit logs that are kept; 0 for all.
    audit_log_maxbackup: int
    #: Days for which older audit logs are kept; 0 for no limit.
    audit_log_maxage: int


@options.command(
    "up",
    UpOptions,
    example="""
        stretto up --nodes 100 --like 64cpu-256gib-8gpu
        stretto up --like openb --nodes 100
        stretto up --nodes 10 --store sqlite:cluster.db --speed 60
        stretto up --join ~/.kube/config
        KUBECONFIG=stretto.kubeconfig kubectl create deployment web --image nginx --replicas 100
    """,
    result=False,
)
@click.option(
    "--join",
    type=options.INPUT_FILE,
    metavar="KUBECONFIG",
    help="Serve only the dashboard, for the cluster of this kubeconfig.",
)
@click.option(
    "--nodes",
    default=None,
    type=options.WholeRange(0, 100_000),
    metavar="N",
    help="Nodes [3, or all of a file].",
)
@click.option(
    "--like",
    default=SHAPE,
    metavar="SHAPE|FILE",
    help=f"Shape of the nodes, or a scenario, recording or run with nodes [{SHAPE}].",
)
@click.option(
    "--store", default=STORE, metavar="memory|sqlite:PATH", help="Store of the objects [memory]."
)
@click.option(
    "--port", default=0, type=options.WholeRange(0, 65535), metavar="N", help="Port [a free one]."
)
@click.option(
    "--dashboard-port",
    default=0,
    type=options.WholeRange(0, 65535),
    metavar="N",
    help="Port of the dashboard [a free one].",
)
@click.option(
    "--keys",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Certificates and keys [PATH.keys of sqlite:PATH; else a temporary folder].",
)
@click.option(
    "--kubeconfig",
    default="stretto.kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Path of the written kubeconfig [stretto.kubeconfig].",
)
@click.option(
    "--controllers",
    default=INCLUDED,
    type=click.Choice(["included", "external"]),
    help="Controllers of workloads: here, or a kube-controller-manager [included].",
)
@click.option(
    "--scheduler",
    default=INCLUDED,
    type=click.Choice(["included", "external"]),
    help="Scheduler: here, or another process [included].",
)
@click.option(
    "--kubelet-events",
    default=AUTO,
    type=click.Choice([AUTO, ON, OFF]),
    help=f"Events of kubelets about containers; {AUTO}: up to {EVENT_NODES:,} nodes [{AUTO}].",
)
@click.option(
    "--speed",
    default=1.0,
    type=options.FiniteRange(0.001, 1e6),
    metavar="X",
    help="Cluster seconds per second [1].",
)
@click.option("--profile", default=PROFILE, metavar="NAME|FILE", help="Scheduling profile.")
@options.TIER
@click.option(
    "--audit-log",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Record requests in this file.",
)
@click.option(
    "--audit-policy",
    type=options.INPUT_FILE,
    metavar="FILE",
    help="Audit policy [the metadata of all requests].",
)
@click.option(
    "--audit-log-maxsize",
    default=AUDIT_MAX_SIZE,
    type=options.WholeRange(0, 1_000_000),
    metavar="N",
    help="Megabytes after which the audit log is rotated; 0: never [100].",
)
@click.option(
    "--audit-log-maxbackup",
    default=AUDIT_MAX_BACKUP,
    type=options.WholeRange(0, 1_000_000),
    metavar="N",
    help="Older audit logs that are kept; 0: all [100].",
)
@click.option(
    "--audit-log-maxage",
    default=AUDIT_MAX_AGE,
    type=options.WholeRange(0, 1_000_000),
    metavar="DAYS",
    help="Days for which older audit logs are kept; 0: without a limit [366].",
)
def up(common: CommandContext, opts: UpOptions) -> None:
    """Serve the Kubernetes API on this machine, with simulated nodes, in one process.

    kubectl, client libraries and operators work as with a cluster; pods start, run and end on
    simulated nodes. The server listens on the loopback address with TLS. The written kubeconfig
    contains the certificate authority and the token of an administrator. Ctrl-C stops the server;
    objects in a SQLite store are kept.

    With --join, only the dashboard runs: it follows the cluster of a kubeconfig, and its actions
    have the permissions of the kubeconfig's user.
    """
    if opts.join is not None:
        from stretto.cli.parts.dashboards.cluster import check_alone, serve_joined

        check_alone(opts.join, _local_words(opts))
        profile = "" if opts.profile == PROFILE else opts.profile
        serve_joined(common, opts.join, profile, opts.dashboard_port)
        return
    from stretto.base.clock import PacedClock, WallClock
    from stretto.base.rng import Rng
    from stretto.base.tokens import unique_seed
    from stretto.cli.sources.local_nodes import local_nodes
    from stretto.web.local.cluster import LocalParts
    from stretto.web.local.keys import open_keys
    from stretto.web.local.pages import LocalPages
    from stretto.web.local.process import LocalOptions, serve_local

    audit, nodes = _audit(opts), local_nodes(opts.like, opts.nodes)
    clock = PacedClock(WallClock(), opts.speed) if opts.speed != 1.0 else WallClock()
    rng, scheduler = Rng(unique_seed()), None
    if opts.scheduler == INCLUDED:
        scheduler = included_scheduler(opts.profile, tier_of(opts.tier, common.console.note))
    parts = LocalParts(
        nodes,
        controllers=opts.controllers == INCLUDED,
        plane=scheduler,
        heartbeat_s=_heartbeat(opts, len(nodes)),
        kubelet_events=_writes_events(opts, len(nodes)),
    )
    with DeferredInterrupt() as held, _keys_folder(opts) as folder:
        store, keys = _store(opts.store, clock, rng), open_keys(folder)
        try:
            local = LocalOptions(
                parts,
                keys,
                opts.kubeconfig,
                opts.port,
                opts.speed,
                LocalPages(opts.dashboard_port, _previews(opts, store), keys.dashboard_token),
                held.check,
                audit,
            )
            serve_local(
                store, clock, rng, local, lambda *found: _announce(common, opts, len(nodes), *found)
            )
        finally:
            store.close()
    common.console.note("stopped")


def _local_words(opts: UpOptions) -> list[str]:
    """Return the options of a local cluster that differ from their defaults."""
    stated = {
        "--nodes": opts.nodes is not None,
        "--like": opts.like != SHAPE,
        "--store": opts.store != STORE,
        "--port": opts.port != 0,
        "--keys": opts.keys is not None,
        "--controllers": opts.controllers != INCLUDED,
        "--scheduler": opts.scheduler != INCLUDED,
        "--kubelet-events": opts.kubelet_events != AUTO,
        "--speed": opts.speed != 1.0,
        "--audit-log": opts.audit_log is not None,
        "--audit-policy": opts.audit_policy is not None,
    }
    return [*(name for name, differs in stated.items() if differs), *_audit_limits(opts)]


def _audit_limits(opts: UpOptions) -> dict[str, int]:
    """Return the limits of the audit log that differ from their defaults, by option."""
    limits = {
        "--audit-log-maxsize": (opts.audit_log_maxsize, AUDIT_MAX_SIZE),
        "--audit-log-maxbackup": (opts.audit_log_maxbackup, AUDIT_MAX_BACKUP),
        "--audit-log-maxage": (opts.audit_log_maxage, AUDIT_MAX_AGE),
    }
    return {name: stated for name, (stated, default) in limits.items() if stated != default}


@contextmanager
def _keys_folder(opts: UpOptions) -> Iterator[Path]:
    """Return the folder of certificates and keys."""
    kind, _, path = opts.store.partition(":")
    if opts.keys is not None:
        yield opts.keys
    elif kind == "sqlite":
        yield Path(f"{path}.keys")
    else:
        with TemporaryDirectory(prefix="stretto-") as made:
            yield Path(made)


def _announce(common: CommandContext, opts: UpOptions, count: int, address: str, page: str) -> None:
    nodes = f"{count:,} node{'' if count == 1 else 's'}"
    common.console.note(f"serving {address} with {nodes}; Ctrl-C stops")
    if page:
        common.console.note(f"dashboard: {page}")
    common.console.data(f"export KUBECONFIG={opts.kubeconfig.absolute()}")


def _writes_events(opts: UpOptions, nodes: int) -> bool:
    """Return whether simulated kubelets write events: three objects per started container."""
    return opts.kubelet_events == ON or (opts.kubelet_events == AUTO and nodes <= EVENT_NODES)


def _heartbeat(opts: UpOptions, nodes: int) -> float:
    """Return the cluster seconds between two heartbeats of a node: 10 s of real time, or longer.

    The interval grows with the number of nodes. A kube-controller-manager expects a heartbeat
    within 40 s.
    """
    longest = 30.0 if opts.controllers != INCLUDED else float("inf")
    return min(max(10.0, nodes / _HEARTBEATS), longest) * max(1.0, opts.speed)


def _store(text: str, clock: "Clock", rng: "Rng") -> "Store":
    """Open the store of the objects.

    Raises:
        InputError: the text is neither ``memory`` nor ``sqlite:PATH``, or the path cannot be used.
    """
    from stretto.stores.embedded.memory import MemoryStore
    from stretto.stores.embedded.sqlite import SqliteStore

    if text == "memory":
        return MemoryStore(clock, rng)
    kind, _, path = text.partition(":")
    if kind != "sqlite" or not path:
        raise InputError("--store", text, "memory or sqlite:PATH")
    return SqliteStore(Path(path), clock, rng, grouped=True)


def _audit(opts: UpOptions) -> "AuditOptions | None":
    """Return the audit log; ``None`` for none.

    Raises:
        InputError: the policy has no log, or is malformed.
    """
    from stretto.web.audit.files import AuditFiles
    from stretto.web.audit.policy import METADATA_ONLY, read_policy
    from stretto.web.local.api import AuditOptions

    if opts.audit_log is None:
        if opts.audit_policy is not None:
            raise InputError("--audit-policy", str(opts.audit_policy), "--audit-log in addition")
        for name, value in _audit_limits(opts).items():
            raise InputError(name, value, "--audit-log in addition")
        return None
    policy = METADATA_ONLY if opts.audit_policy is None else read_policy(opts.audit_policy)
    files = AuditFiles(
        opts.audit_log, opts.audit_log_maxsize, opts.audit_log_maxbackup, opts.audit_log_maxage
    )
    return AuditOptions(files, policy)


def _previews(opts: UpOptions, store: "Store") -> "DashboardParts":
    """Return the plans of the dashboard.

    Each uses a copy of the objects at the time of the request.
    """
    from stretto.cli.sources.previews import (
        defragmenter_on,
        drainer_on,
        estimator_on,
        planner_on,
    )
    from stretto.cli.sources.run_studies import kept_studies
    from stretto.cli.sources.states import StateContents
    from stretto.plane.copy import PlaneSettings, StoreState
    from stretto.sim.states.clusters import listed
    from stretto.web.dashboard.requests import from_event_loop
    from stretto.web.views.parts import DashboardParts

    settings = PlaneSettings(scheduler_names=frozenset(NAMES))

    def read() -> StateContents:
        records = from_event_loop(lambda: listed(store)).records
        return StateContents(StoreState("local cluster", records, opts.profile, settings), "")

    return DashboardParts(
        kept_studies(),
        planner_on(read),
        defragmenter_on(read),
        estimator_on(read),
        drainer_on(read),
    )


def included_scheduler(profile_name: str, tier: str) -> "PlaneConfig":
    """Return the configuration of the included scheduler, which counts use for the page of queues.

    Args:
        profile_name: name or path of the profile.
        tier: kernel tier.

    Raises:
        InputError: the profile is unknown or invalid.
    """
    import msgspec

    from stretto.control.queues.config import dispatcher_config
    from stretto.daemons.scheduler import REPORT, plane_config
    from stretto.framework.profile.profile import load_profile

    profile = load_profile(profile_name)
    dispatcher = replace(dispatcher_config(profile), always_counts=True)
    report = msgspec.structs.replace(REPORT, every=_REPORT_EVERY)
    config = plane_config(profile, NAMES, 1, tier, report)
    return msgspec.structs.replace(config, dispatcher=dispatcher)

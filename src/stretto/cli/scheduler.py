"""``stretto scheduler``: the whole scheduler beside a cluster, in one process."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto.cli import options
from stretto.cli.interrupts import HeldBack, on_hangup
from stretto.cli.options import Common

if TYPE_CHECKING:
    from stretto.daemons.probes import Certificate
    from stretto.daemons.scheduler import Make
    from stretto.framework.profile import Profile
    from stretto.plane import PlaneConfig


PEM: Final = click.Path(dir_okay=False, path_type=Path)
"""A file of a certificate or key: read when it is served with, and again when it changes."""


@dataclass(frozen=True)
class SchedulerOptions:
    """Options of ``scheduler``."""

    #: Kubeconfig; ``None`` takes the pod's own account, or what kubectl would take.
    kubeconfig: Path | None
    #: Context of the kubeconfig; empty for its current one.
    context: str
    #: Names that it answers to; empty takes the profile's.
    scheduler_name: tuple[str, ...]
    #: Profile by name or file.
    profile: str
    #: Scheduler shards.
    shards: int
    #: Where probes and metrics are served; empty for nowhere.
    bind_address: str
    #: Certificate to serve them with over TLS; ``None`` for plain HTTP on loopback.
    tls_cert_file: Path | None
    #: Its key.
    tls_private_key_file: Path | None
    #: Whether a lease decides who schedules.
    leader_elect: bool
    #: ``namespace/name`` of the lease.
    lease: str
    #: Whether pods that wait get conditions and events.
    report: bool
    #: ``text`` or ``json``.
    log_format: str
    #: Kernels: ``auto``, ``numba`` or ``numpy``.
    tier: str


@options.command(
    "scheduler",
    SchedulerOptions,
    example="""
        stretto scheduler --kubeconfig ~/.kube/config
        stretto scheduler --scheduler-name batch --profile packing.yaml --log-format json
    """,
)
@click.option(
    "--kubeconfig",
    type=options.INPUT_FILE,
    metavar="FILE",
    help="Way into the cluster [the pod's service account, or kubectl's own rules].",
)
@click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig.")
@click.option(
    "--scheduler-name",
    multiple=True,
    metavar="NAME",
    help="Schedule pods of this schedulerName; may be given again [the profile's].",
)
@click.option("--profile", default="default", metavar="NAME|FILE", help="Scheduling profile.")
@click.option("--shards", default=1, type=click.IntRange(1, 64), metavar="N", help="Shards [1].")
@click.option(
    "--bind-address",
    default="127.0.0.1:10259",
    metavar="HOST:PORT",
    help="Serve /livez, /readyz, /healthz and /metrics; empty for nowhere [127.0.0.1:10259].",
)
@click.option(
    "--tls-cert-file",
    type=PEM,
    metavar="FILE",
    help="Serve them over TLS, as any address but loopback must; metrics then need a token.",
)
@click.option("--tls-private-key-file", type=PEM, metavar="FILE", help="Its private key.")
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    help="Schedule only while holding the lease [yes].",
)
@click.option(
    "--lease",
    default="kube-system/stretto-scheduler",
    metavar="NS/NAME",
    help="The lease [kube-system/stretto-scheduler].",
)
@click.option("--report/--no-report", default=True, help="Tell in the cluster why pods wait [yes].")
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", help="Form of the log."
)
@click.option(
    "--tier",
    type=click.Choice(["auto", "numba", "numpy"]),
    default="auto",
    help="Kernels: compiled (numba), plain (numpy), or what is installed [auto].",
)
def scheduler(common: Common, asked: SchedulerOptions) -> None:
    """Schedule the pods of a Kubernetes cluster that ask for it by schedulerName.

    Pods of other schedulers are never touched; what they hold is counted. Several may run: the
    holder of the lease schedules and the others stand by. SIGTERM or Ctrl-C stops it in good order.
    A profile that is a file is taken up when it changes, and at SIGHUP.
    """
    serve(common, asked)


def serve(common: Common, asked: SchedulerOptions, make: "Make | None" = None) -> None:
    """Run a daemon until it is asked to stop: the whole plane, or what ``make`` makes of it."""
    from stretto.base.clock import WallClock
    from stretto.base.errors import InputError
    from stretto.base.rng import Rng
    from stretto.control.lease import Elector, LeaseConfig
    from stretto.daemons.logs import Log, LogFormat
    from stretto.daemons.profiles import ProfileFile
    from stretto.daemons.scheduler import LINE, SchedulerConfig, SchedulerDaemon
    from stretto.framework.profile import load_profile
    from stretto.plane import Plane
    from stretto.stores.kube.access import access_from
    from stretto.stores.kube.store import KubeStore

    clock = WallClock()
    log = Log(clock, LogFormat(asked.log_format))
    profiles = ProfileFile(asked.profile, load_profile, clock, log)
    identity = f"{socket.gethostname()}_{os.getpid()}_{clock.now():.6f}"
    rng = Rng(common.seed).child(identity)
    plane = _plane(asked, profiles.good)
    certificate = _certificate(asked)
    config = SchedulerConfig(plane, asked.bind_address, certificate, make or Plane)
    namespace, _, name = asked.lease.partition("/")
    if not namespace or not name:
        raise InputError("--lease", asked.lease, "NAMESPACE/NAME")
    store = KubeStore(access_from(asked.kubeconfig, asked.context), rng, LINE)
    try:
        elector = None
        if asked.leader_elect:
            elector = Elector(store, LeaseConfig(namespace, name, identity), clock)
        daemon = SchedulerDaemon(config, store, elector, clock, log)
        daemon.follow(profiles, lambda profile: _plane(asked, profile))
        names = ",".join(sorted(plane.cluster.scheduler_names))
        log.info("scheduling", names=names, profile=profiles.good.name, identity=identity)
        with HeldBack() as held, on_hangup(profiles.ask):
            daemon.run(lambda: held.waiting is not None)
    finally:
        store.close()
    log.info("stopped")


def _plane(asked: SchedulerOptions, profile: "Profile") -> "PlaneConfig":
    """What a plane is built from under a profile."""
    from stretto.daemons.scheduler import plane_config

    return plane_config(
        profile, asked.scheduler_name, asked.shards, asked.tier, report=asked.report
    )


def _certificate(asked: SchedulerOptions) -> "Certificate | None":
    """The certificate and its key; both or none."""
    from stretto.base.errors import InputError
    from stretto.daemons.probes import Certificate

    cert, key = asked.tls_cert_file, asked.tls_private_key_file
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        missing = "--tls-cert-file" if cert is None else "--tls-private-key-file"
        raise InputError(missing, None, "a file: a certificate and its key go together")
    return Certificate(cert, key)

"""``stretto scheduler``: the whole scheduler beside a cluster, in one process."""

import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from stretto.cli import options
from stretto.cli.daemon_options import DaemonOptions, daemon_options
from stretto.cli.interrupts import DeferredInterrupt, on_hangup
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.daemons.probes import ServingCertificate
    from stretto.daemons.scheduler import Make
    from stretto.framework.profile.profile import Profile
    from stretto.plane import PlaneConfig


@dataclass(frozen=True, kw_only=True)
class SchedulerOptions(DaemonOptions):
    """Options of ``scheduler``."""

    #: Scheduler shards.
    shards: int


@options.command(
    "scheduler",
    SchedulerOptions,
    example="""
        stretto scheduler --kubeconfig ~/.kube/config
        stretto scheduler --scheduler-name batch --profile packing.yaml --log-format json
    """,
)
@daemon_options(10259, "kube-system/stretto-scheduler")
@click.option("--shards", default=1, type=click.IntRange(1, 64), metavar="N", help="Shards [1].")
def scheduler(common: CommandContext, asked: SchedulerOptions) -> None:
    """Schedule the pods of a Kubernetes cluster that ask for it by schedulerName.

    Pods of other schedulers are never placed nor asked to leave; what they hold is counted. Several
    may run: the holder of the lease schedules and the others stand by. SIGTERM or Ctrl-C stops it
    in good order. A profile that is a file is taken up when it changes, and at SIGHUP.
    """
    serve(common, asked, shards=asked.shards)


def serve(
    common: CommandContext, asked: DaemonOptions, make: "Make | None" = None, shards: int = 1
) -> None:
    """Run a daemon until it is asked to stop: the whole plane, or what ``make`` makes of it."""
    from stretto.base.clock import WallClock
    from stretto.base.errors import InputError
    from stretto.base.rng import Rng
    from stretto.daemons.logs import Log, LogFormat
    from stretto.daemons.profiles import ProfileFile
    from stretto.daemons.scheduler import LINE, SchedulerConfig, SchedulerDaemon
    from stretto.framework.profile.profile import load_profile
    from stretto.plane import Plane
    from stretto.stores.kube.login.access import access_from
    from stretto.stores.kube.store import KubeStore
    from stretto.stores.lease import LeaderElector, LeaseConfig

    clock = WallClock()
    log = Log(clock, LogFormat(asked.log_format))
    profiles = ProfileFile(asked.profile, load_profile, clock, log)
    identity = f"{socket.gethostname()}_{os.getpid()}_{clock.now():.6f}"
    rng = Rng(common.seed).child(identity)
    plane = _plane(asked, shards, profiles.good)
    certificate = _certificate(asked)
    config = SchedulerConfig(plane, asked.bind_address, certificate, make or Plane)
    namespace, _, name = asked.lease.partition("/")
    if not namespace or not name:
        raise InputError("--lease", asked.lease, "NAMESPACE/NAME")
    store = KubeStore(access_from(asked.kubeconfig, asked.context), rng, LINE)
    try:
        elector = None
        if asked.leader_elect:
            lease = LeaseConfig.of_duration(asked.lease_duration, namespace, name, identity)
            elector = LeaderElector(store, lease, clock)
        daemon = SchedulerDaemon(config, store, elector, clock, log)
        daemon.follow(profiles, lambda profile: _plane(asked, shards, profile))
        names = ",".join(sorted(plane.cluster.scheduler_names))
        log.info("scheduling", names=names, profile=profiles.good.name, identity=identity)
        with DeferredInterrupt() as held, on_hangup(profiles.ask):
            daemon.run(lambda: held.waiting is not None)
    finally:
        store.close()
    log.info("stopped")


def _plane(asked: DaemonOptions, shards: int, profile: "Profile") -> "PlaneConfig":
    """What a plane is built from under a profile."""
    from stretto.daemons.scheduler import plane_config

    return plane_config(profile, asked.scheduler_name, shards, asked.tier, report=asked.report)


def _certificate(asked: DaemonOptions) -> "ServingCertificate | None":
    """The certificate and its key; both or none."""
    from stretto.base.errors import InputError
    from stretto.daemons.probes import ServingCertificate

    cert, key = asked.tls_cert_file, asked.tls_private_key_file
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        missing = "--tls-cert-file" if cert is None else "--tls-private-key-file"
        raise InputError(missing, None, "a file: a certificate and its key go together")
    return ServingCertificate(cert, key)

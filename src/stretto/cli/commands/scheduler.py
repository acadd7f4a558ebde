"""``stretto scheduler``: the complete scheduler of a cluster, in one process."""

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from stretto.cli import options
from stretto.cli.daemon_options import DaemonOptions, daemon_options
from stretto.cli.interrupts import DeferredInterrupt, on_hangup
from stretto.cli.kernels.tier import kernels_are_ready, tier_of
from stretto.cli.options import CommandContext
from stretto.cli.parts.leading import candidate, process_identity
from stretto.cli.sources.stores import scheduler_store

if TYPE_CHECKING:
    from stretto.daemons.scheduler import Make


@dataclass(frozen=True, kw_only=True)
class SchedulerOptions(DaemonOptions):
    """Options of ``scheduler``."""

    #: Number of shards.
    shards: int


@options.command(
    "scheduler",
    SchedulerOptions,
    example="""
        stretto scheduler --kubeconfig ~/.kube/config
        stretto scheduler --scheduler-name batch --profile packing.yaml --log-format json
    """,
    result=False,
)
@daemon_options(10259, "kube-system/stretto-scheduler")
@click.option(
    "--shards", default=1, type=options.WholeRange(1, 64), metavar="N", help="Number of shards [1]."
)
def scheduler(common: CommandContext, opts: SchedulerOptions) -> None:
    """Schedule the pods of a Kubernetes cluster that name it in schedulerName.

    Pods of other schedulers are never placed or evicted, but their usage counts. Several instances
    can run: the holder of the lease schedules, the others are standbys. SIGTERM or Ctrl-C stops it
    gracefully. A profile file is reloaded when it changes and on SIGHUP.
    """
    serve(common, opts, shards=opts.shards)


def serve(
    common: CommandContext, opts: DaemonOptions, make: "Make | None" = None, shards: int = 1
) -> None:
    """Run a daemon until it is stopped: the complete plane, or the daemon that ``make`` creates."""
    from stretto.base.clock import WallClock
    from stretto.base.rng import Rng
    from stretto.daemons.scheduler import SchedulerConfig, SchedulerDaemon
    from stretto.plane.plane import Plane

    clock = WallClock()
    log = opts.log(clock)
    profiles = opts.profile_file(clock, log)
    identity = process_identity(socket.gethostname(), clock)
    rng = Rng(common.seed).child(identity)
    tier = tier_of(opts.tier, log.info)
    plane = opts.plane_config(profiles.good, shards, tier)
    certificate = opts.certificate()
    config = SchedulerConfig(plane, opts.bind_address, certificate, make or Plane)
    lease, duration = opts.lease_name(), opts.lease_duration if opts.leader_elect else None
    store = scheduler_store(opts.kubeconfig, opts.context, rng)
    try:
        elector = candidate(store, clock, lease, identity, duration)
        daemon = SchedulerDaemon(config, store, elector, clock, log)
        daemon.follow(profiles, lambda profile: opts.plane_config(profile, shards, tier))
        if opts.tier == "auto":
            daemon.use_kernels_when(kernels_are_ready)
        names = ",".join(sorted(plane.cluster.scheduler_names))
        log.info("scheduling", names=names, profile=profiles.good.name, identity=identity)
        with DeferredInterrupt() as interrupt, on_hangup(profiles.request):
            daemon.run(lambda: interrupt.pending is not None)
    finally:
        store.close()
    log.info("stopped")

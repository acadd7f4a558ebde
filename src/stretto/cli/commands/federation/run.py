"""``stretto federation run``: the controllers of a federation over a host and its members."""

import os
import socket

from stretto.cli import options
from stretto.cli.commands.federation.controllers import (
    LEASE,
    ControllerOptions,
    controller_options,
)
from stretto.cli.daemon_options import process_options
from stretto.cli.interrupts import DeferredInterrupt
from stretto.cli.options import CommandContext


@options.command(
    "run",
    ControllerOptions,
    example="""
        stretto federation run --kubeconfig ~/.kube/host
        stretto federation run --on cluster:host --shards 3 --shard 0
        stretto federation run --controllers sync,aggregate --bind-address 127.0.0.1:10652
    """,
    result=False,
)
@controller_options
@process_options(10651, LEASE)
def run(common: CommandContext, opts: ControllerOptions) -> None:
    """Run the controllers of a federation: the host is an API server, the members join it.

    Several instances can run: the holder of the lease acts, the others are standbys. --controllers
    and --shards spread the work over processes, each with a lease of its own. SIGTERM or Ctrl-C
    stops it gracefully: writes in flight are answered first. deploy/federation has the manifests.
    """
    from stretto.base.clock import WallClock
    from stretto.base.rng import Rng
    from stretto.cli.sources.stores import scheduler_store
    from stretto.daemons.federation.daemon import FederationConfig, FederationDaemon
    from stretto.stores.lease import LeaderElector, LeaseConfig

    clock = WallClock()
    log = opts.log(clock)
    share, settings = opts.share(), opts.settings()
    config = FederationConfig(settings, share, opts.bind_address, opts.certificate())
    namespace, name = opts.lease_place()
    identity = f"{socket.gethostname()}_{os.getpid()}_{clock.now():.6f}"
    host = scheduler_store(opts.kubeconfig, opts.context(), Rng(common.seed).child(identity))
    try:
        elector = None
        if opts.leader_elect:
            lease = LeaseConfig.of_duration(opts.lease_duration, namespace, name, identity)
            elector = LeaderElector(host, lease, clock)
        daemon = FederationDaemon(config, host, elector, clock, log)
        shown = ",".join(sorted(share.controllers)) if share.controllers is not None else "all"
        log.info("federating", controllers=shown, shard=share.shard, shards=share.shards)
        with DeferredInterrupt() as interrupt:
            daemon.run(lambda: interrupt.pending is not None)
    finally:
        host.close()
    log.info("stopped")

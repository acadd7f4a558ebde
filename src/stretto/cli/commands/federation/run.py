"""``stretto federation run``: the controllers of a federation over a host and its members."""

from contextlib import closing

from stretto.cli import options
from stretto.cli.commands.federation.controllers import (
    LEASE,
    ControllerOptions,
    controller_options,
)
from stretto.cli.daemon_options import process_options
from stretto.cli.options import CommandContext
from stretto.cli.parts.leading import ControllerProcess


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
    from stretto.daemons.federation.daemon import FederationTerms

    clock = WallClock()
    log = opts.log(clock)
    share = opts.share()
    shards = opts.lease_base(), share.shards
    process = ControllerProcess(opts, opts.context(), opts.lease_place(), common.seed, shards)
    shown = ",".join(sorted(share.controllers)) if share.controllers is not None else "all"
    log.info("federating", controllers=shown, shard=share.shard, shards=share.shards)
    with closing(FederationTerms(opts.settings(), clock, log, share)) as terms:
        process.run(terms.start, clock, log)

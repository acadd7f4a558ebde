"""Runs controllers as the process of a command, until a signal stops it."""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.cli.daemon_options import ProcessOptions
from stretto.cli.interrupts import DeferredInterrupt

if TYPE_CHECKING:
    from stretto.base.clock import Clock
    from stretto.daemons.controllers.daemon import LeaderTools, LeadingControllers
    from stretto.daemons.logs import Log


@dataclass(frozen=True)
class ControllerProcess:
    """A process of controllers beside a cluster."""

    #: Access, probes and lease.
    options: ProcessOptions
    #: Context of the kubeconfig; empty for its current one.
    context: str
    #: Namespace and name of the lease.
    lease: tuple[str, str]
    #: Seed of the command.
    seed: int

    def run(
        self, start: "Callable[[LeaderTools], LeadingControllers]", clock: "Clock", log: "Log"
    ) -> None:
        """Run controllers while this process leads, until it is stopped.

        Args:
            start: makes the controllers of a term of leadership.
            clock: time.
            log: where the process reports.
        """
        from stretto.base.rng import Rng
        from stretto.cli.sources.stores import scheduler_store
        from stretto.daemons.controllers.daemon import ControllerDaemon, PageAddress
        from stretto.stores.lease import LeaderElector, LeaseConfig

        opts = self.options
        pages = PageAddress(opts.bind_address, opts.certificate())
        identity = f"{socket.gethostname()}_{os.getpid()}_{clock.now():.6f}"
        store = scheduler_store(opts.kubeconfig, self.context, Rng(self.seed).child(identity))
        try:
            elector = None
            if opts.leader_elect:
                lease = LeaseConfig.of_duration(opts.lease_duration, *self.lease, identity)
                elector = LeaderElector(store, lease, clock)
            daemon = ControllerDaemon(start, store, elector, clock, log)
            with DeferredInterrupt() as interrupt:
                daemon.run(lambda: interrupt.pending is not None, pages)
        finally:
            store.close()
        log.info("stopped")

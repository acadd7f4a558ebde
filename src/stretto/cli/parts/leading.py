"""Processes that lead with a lease: their candidates, and controllers that run until a signal."""

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
    from stretto.stores.kube.store import KubeStore
    from stretto.stores.lease import LeaderElector


@dataclass(frozen=True)
class ControllerProcess:
    """A process with controllers of a cluster."""

    #: Options for access, probes and lease.
    options: ProcessOptions
    #: Context of the kubeconfig; empty for its current one.
    context: str
    #: Namespace and name of the lease.
    lease: tuple[str, str]
    #: Seed of the command.
    seed: int
    #: Base of the names of the leases of all shards, and the number of shards; ``None`` for a
    #: process that is not divided.
    shards: tuple[str, int] | None = None

    def run(
        self, start: "Callable[[LeaderTools], LeadingControllers]", clock: "Clock", log: "Log"
    ) -> None:
        """Run controllers while this process leads, until it is stopped.

        Args:
            start: creates the controllers of a term of leadership.
            clock: the clock.
            log: the log of the process.
        """
        from stretto.base.rng import Rng
        from stretto.cli.sources.stores import scheduler_store
        from stretto.daemons.controllers.daemon import ControllerDaemon, PageAddress

        opts = self.options
        pages = PageAddress(opts.bind_address, opts.certificate())
        identity = process_identity(socket.gethostname(), clock)
        store = scheduler_store(opts.kubeconfig, self.context, Rng(self.seed).child(identity))
        try:
            elector = self._elector(store, clock, identity)
            daemon = ControllerDaemon(start, store, elector, clock, log)
            with DeferredInterrupt() as interrupt:
                daemon.run(lambda: interrupt.pending is not None, pages)
        finally:
            store.close()
        log.info("stopped")

    def _elector(self, store: "KubeStore", clock: "Clock", identity: str) -> "LeaderElector | None":
        """Return the candidate; ``None`` for a process that always leads."""
        from stretto.stores.lease import LeaderElector, LeaseConfig
        from stretto.stores.shards import ShardCountGuard

        duration = self.options.lease_duration if self.options.leader_elect else None
        if self.shards is None or duration is None:
            return candidate(store, clock, self.lease, identity, duration)
        config = LeaseConfig.of_duration(duration, *self.lease, identity)
        guard = ShardCountGuard(store, config, self.shards, clock)
        return LeaderElector(store, config, clock, guard)


def process_identity(place: str, clock: "Clock") -> str:
    """Return a name that is unique in a cluster: from place, process number and time."""
    return f"{place}_{os.getpid()}_{clock.now():.6f}"


def candidate(
    store: "KubeStore",
    clock: "Clock",
    lease: tuple[str, str],
    identity: str,
    duration: float | None,
) -> "LeaderElector | None":
    """Return the candidate of a process for a lease; ``None`` for a process that always leads.

    Args:
        store: the cluster.
        clock: the clock.
        lease: namespace and name of the lease.
        identity: name of the process.
        duration: seconds without a renewal after which a standby acquires the lease; ``None`` for
            no lease.

    Raises:
        InputError: the duration is too short.
    """
    from stretto.stores.lease import LeaderElector, LeaseConfig

    if duration is None:
        return None
    return LeaderElector(store, LeaseConfig.of_duration(duration, *lease, identity), clock)

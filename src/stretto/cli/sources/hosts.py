"""Opens the host of a federation: its API server as a fleet without members."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stretto.base.clock import Clock
    from stretto.federation.fleet import ClusterFleet


@contextmanager
def opened_host(kubeconfig: Path | None, context: str, clock: "Clock") -> Iterator["ClusterFleet"]:
    """Open a host for the duration of the block.

    Raises:
        InputError: the kubeconfig is invalid.
    """
    from stretto.cli.sources.stores import cluster_store
    from stretto.federation.fleet import HOST, ClusterFleet
    from stretto.federation.settings import FederationSettings
    from stretto.reconcile.loop import ReconcileLoop

    store, _ = cluster_store(kubeconfig, context, read_timeout=6.0)
    try:
        cache = ReconcileLoop(clock).add_store(HOST, store)
        fleet = ClusterFleet(cache, FederationSettings())
        cache.poll(clock.monotonic())
        yield fleet
    finally:
        store.close()

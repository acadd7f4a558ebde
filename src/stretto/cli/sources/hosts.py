"""Opens a fleet: the API server of a host without its members, or a fleet file at its end."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stretto.base.clock import Clock
    from stretto.federation.fleet import ClusterFleet
    from stretto.sim.fleet.fleet import EmbeddedFleet
    from stretto.stores.webhooks import WebhookClient


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


def embedded_fleet(path: Path, webhooks: "WebhookClient") -> tuple[str, "EmbeddedFleet"]:
    """Run a fleet file to its end; return its name and the fleet.

    Args:
        path: the file.
        webhooks: client for the webhooks of scheduling profiles.

    Raises:
        InputError: the file is malformed.
    """
    from stretto.sim.fleet.building import built
    from stretto.sim.fleet.description import read_fleet
    from stretto.sim.fleet.parts import FleetParts

    scenario = read_fleet(path)
    made = built(scenario.federation, parts=FleetParts(webhooks=webhooks))
    made.run_until(made.clock.monotonic() + scenario.federation.seconds)
    return scenario.name, made

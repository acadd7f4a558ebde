"""The controllers of a federation, for a daemon over its host.

A new leader starts its controllers without any state: they list the host and all members before
they decide. The controllers and shards of a federation may run in several processes, each with its
own lease.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.capacity.autoscaling.controller import AutoscalerController
from stretto.daemons.controllers.daemon import LeaderTools
from stretto.daemons.federation.measures import families
from stretto.daemons.logs import Log
from stretto.explain.metrics.tally import MetricFamily
from stretto.federation.assembly import Federation, FederationParts
from stretto.federation.bootstrap import bootstrap
from stretto.federation.connection.kube import KubeConnector
from stretto.federation.controllers.exchange.former import delete_former_reports
from stretto.federation.settings import FederationSettings
from stretto.federation.shares import WHOLE, ControllerShare
from stretto.reconcile.loop import ReconcileLoop
from stretto.stores.kube.webhooks import HttpWebhookClient

THREADS: Final = 16
"""Maximum number of members that join or leave at the same time."""


class FederationTerms:
    """Starts the controllers of a federation for each term of leadership."""

    def __init__(
        self,
        settings: FederationSettings,
        clock: Clock,
        log: Log,
        share: ControllerShare = WHOLE,
    ) -> None:
        """Create the terms; no controller is started.

        Args:
            settings: behaviour of the controllers.
            clock: time.
            log: receives the CRDs that the host lacked.
            share: the part of the work of this process.
        """
        self._settings = settings
        self._share = share
        self._clock = clock
        self._log = log
        self._webhooks = HttpWebhookClient(clock)

    def start(self, tools: LeaderTools) -> "FederationControllers":
        """Start controllers without any state.

        Raises:
            NotAllowedError: a required permission is missing.
            NotFoundError: the host does not serve the kinds of a federation.
        """
        for made in bootstrap(tools.store, self._settings.namespace):
            self._log.info(f"created {made}")
        stay = delete_former_reports(tools.store, self._settings.namespace, self._share)
        self._log.trouble("reports of shards", stay)
        clock = self._clock
        parts = FederationParts(
            self._webhooks,
            THREADS,
            tools.wake,
            self._share,
            lambda cache, ports: AutoscalerController(cache, clock, ports),
        )
        connector = KubeConnector(Rng(0).child("members"), may_write=tools.leads)
        return FederationControllers(
            Federation(tools.store, self._clock, self._settings, connector, parts)
        )

    def close(self) -> None:
        """Close the connections of webhooks."""
        self._webhooks.close()


class FederationControllers:
    """The controllers of a federation in one term of leadership."""

    def __init__(self, federation: Federation) -> None:
        """Run the controllers of a federation."""
        self._federation = federation

    @property
    def loop(self) -> ReconcileLoop:
        """The loop that runs the controllers."""
        return self._federation.loop

    def in_flight(self) -> bool:
        """Return whether a member has not answered a write yet."""
        return bool(self._federation.deliveries.unanswered)

    def synced(self) -> Mapping[str, int]:
        """The number of clusters."""
        return {"clusters": len(list(self._federation.fleet.clusters))}

    def families(self, now: float) -> Iterator[MetricFamily]:
        """All metrics at a monotonic time in seconds."""
        return families(self._federation, now)

    def troubles(self) -> Iterator[tuple[str, str]]:
        """Members that refuse reads, and a status that only other shards have read."""
        yield "status of clusters", self._federation.agreement.trouble
        for name, member in self._federation.fleet.connected():
            for kind, text in member.refused.items():
                yield f"list {kind.resource} of {name}", text

    def close(self) -> None:
        """Disconnect the members."""
        self._federation.close()

"""The controllers of a federation as a daemon over a host, while it leads.

A new leader starts its controllers with nothing remembered: they list the host and all members
before they decide. On a stop request the daemon begins no further work, waits for the answers of
writes in flight, and releases the lease. The controllers and shards of a federation may be spread
over processes, each with a lease of its own.
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Final

import msgspec

from stretto.base.clock import Clock
from stretto.base.errors import StrettoError, UnreachableError
from stretto.base.rng import Rng
from stretto.daemons.access_check import ReviewGuard
from stretto.daemons.federation.measures import families
from stretto.daemons.leader import LeaderThread
from stretto.daemons.logs import Log
from stretto.daemons.probes import ProbePage, ProbeServer, ServedPages, ServingCertificate
from stretto.daemons.pulse import DaemonPulse
from stretto.daemons.retrying_store import RetryingStore, StoppedError
from stretto.explain.metrics.exposition import PublishedMetrics
from stretto.explain.metrics.tally import MetricFamily
from stretto.federation.assembly import Federation, FederationParts
from stretto.federation.bootstrap import bootstrap
from stretto.federation.connection.kube import KubeConnector
from stretto.federation.settings import FederationSettings
from stretto.federation.shares import WHOLE, ControllerShare
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.webhooks import HttpWebhookClient
from stretto.stores.lease import LeaderElector
from stretto.stores.store import Store

AT_ONCE: Final = 200
"""Reconciliations between two checks of the lease and of the stop request."""
LONGEST_SLEEP: Final = 0.5
"""Longest wait in seconds without a check of the stop request."""
STANDBY_EVERY: Final = 0.1
"""Seconds between checks of the lease while another process leads."""
RESTART_AFTER: Final = 1.0
"""Seconds before the controllers are started again after an unexpected error."""
PUBLISH_EVERY: Final = 2.0
"""Seconds between updates of the metrics."""
FINISH_WITHIN: Final = 8.0
"""Seconds for the answers of writes in flight after a stop request."""
THREADS: Final = 16
"""Members that join or leave at the same time."""


class FederationConfig(msgspec.Struct, frozen=True):
    """Configuration of a federation daemon."""

    #: Behaviour of the controllers.
    settings: FederationSettings = FederationSettings()
    #: The part of the work that this process does.
    share: ControllerShare = WHOLE
    #: Address of probes and metrics; empty for none.
    address: str = ""
    #: Their serving certificate; ``None`` for plain HTTP on loopback.
    certificate: ServingCertificate | None = None


class FederationDaemon:
    """One process of a federation."""

    def __init__(
        self,
        config: FederationConfig,
        host: KubeStore,
        elector: LeaderElector | None,
        clock: Clock,
        log: Log,
    ) -> None:
        """A daemon that is idle before ``run``; without an elector it always leads."""
        #: The port of the probes while it runs; 0 before, and if none are served.
        self.port = 0
        self._config = config
        self._host = host
        self._elector = elector
        self._clock = clock
        self._log = log
        self._published = PublishedMetrics()
        self._pulse = DaemonPulse(clock)
        self._leading: LeaderThread | None = None
        self._webhooks = HttpWebhookClient(clock)
        self._news = threading.Event()
        self._federation: Federation | None = None
        self._is_synced = False
        self._has_worked = False
        self._should_stop: Callable[[], bool] = lambda: False

    def run(self, should_stop: Callable[[], bool]) -> None:
        """Run the controllers until a stop request.

        Args:
            should_stop: called in every round.

        Raises:
            NotAllowedError: a required permission is missing.
            NotFoundError: the host does not serve the kinds of a federation.
            InputError: the kubeconfig or the address is unusable.
        """
        self._should_stop = should_stop
        with ExitStack() as stack:
            stack.callback(self._webhooks.close)
            if self._config.address:
                self.port = stack.enter_context(self._probes()).port
            if self._elector is not None:
                self._host.fence(self._elector.leads)
                leading = LeaderThread(self._elector, self._clock, self._log, self._host.is_quiet)
                self._leading = stack.enter_context(leading)
                self._pulse.follow(leading)
            while not should_stop():
                self._round()

    # ------------------------------------------------------------ rounds

    def _round(self) -> None:
        """Stand by, or lead until the lease or the daemon ends."""
        self._pulse.beat()
        if self._leading is not None:
            self._leading.check()
        if not self._leads():
            if self._elector is not None and self._elector.barred is not None:
                raise self._elector.barred
            self._publish(())
            self._clock.sleep(STANDBY_EVERY)
            return
        self._log.info("leading: listing the host before the first decision")
        steady = RetryingStore(self._host, self._clock, self._check, self._log.trouble)
        try:
            for made in bootstrap(steady, self._config.settings.namespace):
                self._log.info(f"created {made}")
            self._lead(steady)
        except StoppedError:
            self._log.info("stopping" if self._should_stop() else "no longer leading")
        except StrettoError as error:
            if not self._has_worked and not isinstance(error, UnreachableError):
                raise
            self._log.error(f"starting the controllers again: {error}")
            self._clock.sleep(RESTART_AFTER)
        finally:
            self._end()

    def _lead(self, host: Store) -> None:
        """Run the controllers until the lease or the daemon ends."""
        federation = self._federation = self._started(host)
        publish_at = float("-inf")
        while True:
            if self._should_stop():
                self._finish(federation)
            self._check()
            done = federation.loop.step(AT_ONCE)
            if not self._is_synced:
                self._is_synced = self._has_worked = True
                self._log.info("synced", clusters=len(list(federation.fleet.clusters)))
            now = self._clock.monotonic()
            if now >= publish_at:
                publish_at = now + PUBLISH_EVERY
                self._publish(families(federation, now))
                self._report_troubles(federation)
            if not done:
                due = federation.loop.next_due()
                wait = LONGEST_SLEEP if due is None else min(LONGEST_SLEEP, due - now)
                self._news.wait(max(0.0, wait))
            self._news.clear()

    def _started(self, host: Store) -> Federation:
        """Controllers that remember nothing."""
        config = self._config
        parts = FederationParts(self._webhooks, THREADS, self._news.set, config.share)
        connector = KubeConnector(Rng(0).child("members"), may_write=self._leads)
        return Federation(host, self._clock, config.settings, connector, parts)

    def _finish(self, federation: Federation) -> None:
        """Begin no further work, and wait for the answers of writes in flight.

        Raises:
            StoppedError: all are answered, or the time is over.
        """
        until = self._clock.monotonic() + FINISH_WITHIN
        while federation.deliveries.unanswered and self._clock.monotonic() < until:
            self._news.wait(0.1)
            self._news.clear()
        raise StoppedError

    def _end(self) -> None:
        """Discard the controllers with all that they remember."""
        self._is_synced = False
        self._publish(())
        self._host.abandon()  # otherwise it would be sent in the next term
        if self._federation is not None:
            self._federation.close()
            self._federation = None

    def _report_troubles(self, federation: Federation) -> None:
        """Log watches of the host that have no stream, and members that refuse to be read."""
        for resource, trouble in self._host.troubles().items():
            self._log.trouble(f"watch {resource} of the host", trouble)
        for name, member in federation.fleet.connected():
            for kind, text in member.refused.items():
                self._log.trouble(f"list {kind.resource} of {name}", text)

    def _publish(self, metrics: Iterable[MetricFamily]) -> None:
        self._published.publish(metrics)

    # ------------------------------------------------------------ status

    def _leads(self) -> bool:
        return self._elector is None or self._elector.leads()

    def _check(self) -> None:
        """Raise if the controllers must be discarded, or a read must not wait any longer."""
        self._pulse.beat()
        if not self._leads() or (self._should_stop() and not self._is_synced):
            raise StoppedError

    def _probes(self) -> ProbeServer:
        """The server of probes and metrics."""
        guard = ReviewGuard(self._host, self._clock)
        certificate = self._config.certificate
        pages = self._pulse.pages(self._ready, self._published.text)
        served = ServedPages(pages, frozenset({"/metrics"}), certificate, guard)
        return ProbeServer(self._config.address, served)

    def _ready(self) -> ProbePage:
        return self._pulse.ready(self._host.troubles(), synced=self._is_synced)

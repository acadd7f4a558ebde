"""Daemon that runs controllers over a cluster while it leads.

A new leader starts its controllers without any state: they list the cluster before they decide.
After a stop request the daemon starts no further work, waits for the answers of writes in flight,
and releases the lease.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Final, NamedTuple, Protocol

from stretto.api.types.capacity.metrics import PodMetrics
from stretto.api.wire.kinds import POD_METRICS
from stretto.base.clock import Clock
from stretto.base.errors import StrettoError, UnreachableError
from stretto.daemons.access_check import ReviewGuard
from stretto.daemons.leader import LeaderThread
from stretto.daemons.logs import Log
from stretto.daemons.probes import ProbePage, ProbeServer, ServedPages, ServingCertificate
from stretto.daemons.pulse import DaemonPulse
from stretto.daemons.retrying_store import RetryingStore, StoppedError
from stretto.explain.metrics.exposition import PublishedMetrics
from stretto.explain.metrics.tally import MetricFamily
from stretto.reconcile.loop import ReconcileLoop
from stretto.reconcile.usage import Answer
from stretto.stores.kube.store import KubeStore
from stretto.stores.lease import LeaderElector
from stretto.stores.store import Store

AT_ONCE: Final = 200
"""Number of reconciliations between two checks of the lease and of the stop request."""
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


class LeaderTools(NamedTuple):
    """Dependencies of the controllers of one term of leadership."""

    #: The cluster; its reads wait while the server is unreachable.
    store: Store
    #: Wakes the daemon, from any thread.
    wake: Callable[[], None]
    #: True if this process still leads.
    leads: Callable[[], bool]
    #: Requests the use of the pods of a namespace from metrics.k8s.io; the answer arrives later.
    usage: Callable[[str], Answer]


class LeadingControllers(Protocol):
    """The controllers of one term of leadership."""

    @property
    def loop(self) -> ReconcileLoop:
        """The loop that runs the controllers."""
        ...

    def in_flight(self) -> bool:
        """Return whether a write has no answer yet."""
        ...

    def synced(self) -> Mapping[str, int]:
        """Numbers for the log after the first step."""
        ...

    def families(self, now: float) -> Iterable[MetricFamily]:
        """All metrics at a monotonic time in seconds."""
        ...

    def troubles(self) -> Iterable[tuple[str, str]]:
        """Resources that cannot be read, each with the reason."""
        ...

    def close(self) -> None:
        """Discard all state."""
        ...


class PageAddress(NamedTuple):
    """Address of the server of probes and metrics."""

    #: Address; empty: no pages are served.
    address: str = ""
    #: Their serving certificate; ``None`` for plain HTTP on loopback.
    certificate: ServingCertificate | None = None


class ControllerDaemon:
    """One process of controllers; idle before ``run``."""

    def __init__(
        self,
        start: Callable[[LeaderTools], LeadingControllers],
        host: KubeStore,
        elector: LeaderElector | None,
        clock: Clock,
        log: Log,
    ) -> None:
        """Create a daemon over a cluster.

        Args:
            start: creates the controllers of a term; it raises the reason if they must not run.
            host: the cluster.
            elector: candidate for the lease; without an elector the daemon always leads.
            clock: time.
            log: receives the reports.
        """
        #: The port of the probes while it runs; 0 before, and if none are served.
        self.port = 0
        self._start = start
        self._host = host
        self._elector = elector
        self._clock = clock
        self._log = log
        self._published = PublishedMetrics()
        self._pulse = DaemonPulse(clock)
        self._leading: LeaderThread | None = None
        self._news = threading.Event()
        self._term: LeadingControllers | None = None
        self._is_synced = False
        self._has_worked = False
        self._should_stop: Callable[[], bool] = lambda: False

    def run(self, should_stop: Callable[[], bool], pages: PageAddress = PageAddress()) -> None:  # noqa: B008
        """Run the controllers until a stop request.

        Args:
            should_stop: called in every round.
            pages: address of probes and metrics.

        Raises:
            NotAllowedError: a required permission is missing.
            NotFoundError: the cluster does not serve a required kind.
            InputError: the kubeconfig or the address is unusable.
        """
        self._should_stop = should_stop
        with ExitStack() as stack:
            if pages.address:
                self.port = stack.enter_context(self._probes(pages)).port
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
            self._published.publish(())
            self._clock.sleep(STANDBY_EVERY)
            return
        self._log.info("leading: listing the cluster before the first decision")
        steady = RetryingStore(self._host, self._clock, self._check, self._log.trouble)
        try:
            tools = LeaderTools(steady, self._news.set, self._leads, self._usage)
            self._lead(self._start(tools))
        except StoppedError:
            self._log.info("stopping" if self._should_stop() else "no longer leading")
        except StrettoError as error:
            if not self._has_worked and not isinstance(error, UnreachableError):
                raise
            self._log.error(f"restarting the controllers: {error}")
            self._clock.sleep(RESTART_AFTER)
        finally:
            self._end()

    def _lead(self, term: LeadingControllers) -> None:
        """Run the controllers until the lease or the daemon ends."""
        self._term = term
        publish_at = float("-inf")
        while True:
            if self._should_stop():
                self._finish(term)
            self._check()
            done = term.loop.step(AT_ONCE)
            if not self._is_synced:
                self._is_synced = self._has_worked = True
                self._log.info("synced", **term.synced())
            now = self._clock.monotonic()
            if now >= publish_at:
                publish_at = now + PUBLISH_EVERY
                self._published.publish(term.families(now))
                self._report_troubles(term)
            if not done:
                due = term.loop.next_due()
                wait = LONGEST_SLEEP if due is None else min(LONGEST_SLEEP, due - now)
                self._news.wait(max(0.0, wait))
            self._news.clear()

    def _finish(self, term: LeadingControllers) -> None:
        """Start no further work, and wait for the answers of writes in flight.

        Raises:
            StoppedError: all writes are answered, or the time limit is reached.
        """
        until = self._clock.monotonic() + FINISH_WITHIN
        while term.in_flight() and self._clock.monotonic() < until:
            self._news.wait(0.1)
            self._news.clear()
        raise StoppedError

    def _end(self) -> None:
        """Discard the controllers with all their state."""
        self._is_synced = False
        self._published.publish(())
        self._host.abandon()  # otherwise it would be sent in the next term
        if self._term is not None:
            self._term.close()
            self._term = None

    def _report_troubles(self, term: LeadingControllers) -> None:
        """Log watches without a stream, and resources that the controllers cannot read."""
        for resource, trouble in self._host.troubles().items():
            self._log.trouble(f"watch {resource}", trouble)
        for what, text in term.troubles():
            self._log.trouble(what, text)

    # ------------------------------------------------------------ status

    def _leads(self) -> bool:
        return self._elector is None or self._elector.leads()

    def _check(self) -> None:
        """Raise if the controllers must be discarded or a waiting read must end."""
        self._pulse.beat()
        if not self._leads() or (self._should_stop() and not self._is_synced):
            raise StoppedError

    def _probes(self, pages: PageAddress) -> ProbeServer:
        """The server of probes and metrics."""
        guard = ReviewGuard(self._host, self._clock)
        found = self._pulse.pages(self._ready, self._published.text)
        served = ServedPages(found, frozenset({"/metrics"}), pages.certificate, guard)
        return ProbeServer(pages.address, served)

    def _usage(self, namespace: str) -> Answer:
        """Request the use of the pods of a namespace."""
        return self._host.inquiries.computed(POD_METRICS, namespace, PodMetrics)

    def _ready(self) -> ProbePage:
        return self._pulse.ready(self._host.troubles(), synced=self._is_synced)

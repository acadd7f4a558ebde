"""The scheduler as a daemon: a plane over an API server, while it leads.

A new leader builds a new plane, which lists every kind before it decides. A plane that has lost the
lease is discarded with its state. Each pod costs one write, its binding; reports of pending pods
have their own lane. After a stop request the daemon makes no new decision, waits for the answers of
binds in flight, and releases the lease. A changed profile has the same effect: the binds in flight
are settled, then a new plane lists every kind.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Final

import msgspec

from stretto.base import collector
from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.control.reporting.reporter import ReportConfig
from stretto.daemons.access_check import ReviewGuard
from stretto.daemons.group_forms import with_served_groups
from stretto.daemons.leader import LeaderThread
from stretto.daemons.logs import Log
from stretto.daemons.metrics import metrics_of
from stretto.daemons.probes import ProbePage, ProbeServer, ServedPages, ServingCertificate
from stretto.daemons.profiles import ProfileFile
from stretto.daemons.pulse import DaemonPulse
from stretto.daemons.retrying_store import RetryingStore, StoppedError
from stretto.explain.metrics.exposition import PublishedMetrics
from stretto.explain.metrics.metrics import Metrics
from stretto.explain.metrics.tally import MetricFamily
from stretto.framework.profile.profile import Profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.plane.warming import load_kernels
from stretto.state.cluster.config import ClusterConfig
from stretto.stores.kube.store import KubeStore
from stretto.stores.lease import LeaderElector
from stretto.stores.store import Store

LONGEST_SLEEP: Final = 0.5
"""Longest wait in seconds without a check of the stop request."""
SHORTEST_SLEEP: Final = 0.005
"""Minimum pause of an idle loop in seconds."""
REBUILD_AFTER: Final = 1.0
"""Seconds before a new plane after an unexpected error."""
PUBLISH_EVERY: Final = 2.0
"""Seconds between updates of the metrics."""
FINISH_WITHIN: Final = 8.0
"""Seconds to settle unanswered binds after a stop request."""
EVICT_OVER_COMMITTED_AFTER: Final = 15.0
"""Seconds of over-commitment before evictions, unless the profile sets them. By then kubelets have
rejected the surplus."""
COMPARE_EVERY: Final = 300.0
"""Seconds between comparisons with a fresh list, which repair lost events."""
REPORT: Final = ReportConfig(at_once=32, every=0.5, keep_events=float("inf"))
"""Settings of reports about pods. Batches are small, because binds wait for them in one thread.

The server deletes old events itself.
"""


LOOK_FOR_KERNELS_EVERY: Final = 2.0
"""Seconds between checks whether another process has compiled the kernels."""


Make = Callable[[PlaneConfig, Store, Clock], Plane]
"""Creates the plane over a store: the whole scheduler or the part of one role."""


class SchedulerConfig(msgspec.Struct, frozen=True):
    """Configuration of a scheduler daemon."""

    #: The plane that a leader builds.
    plane: PlaneConfig
    #: Address of probes and metrics; empty for none.
    address: str = ""
    #: Their serving certificate; ``None`` for plain HTTP on loopback.
    certificate: ServingCertificate | None = None
    #: Creates the plane that a leader steps.
    make: Make = Plane


class _RenewedError(Exception):
    """The plane must be replaced: the profile has changed, or compiled kernels are available."""


def plane_config(
    profile: Profile, names: Sequence[str], shards: int, tier: str, report: ReportConfig | None
) -> PlaneConfig:
    """Configuration of a plane for a cluster.

    Args:
        profile: the rules.
        names: scheduler names that replace those of the profile, if any.
        shards: number of scheduler shards.
        tier: kernel tier.
        report: settings of reports about pods; ``None``: no reports.
    """
    answers_to = tuple(names) or profile.scheduler_names
    after = profile.evict_over_committed_after
    after = EVICT_OVER_COMMITTED_AFTER if after is None else after
    return PlaneConfig(
        profile=msgspec.structs.replace(
            profile, scheduler_names=answers_to, evict_over_committed_after=after
        ),
        shards=shards,
        cluster=ClusterConfig(scheduler_names=frozenset(answers_to)),
        tier=tier,
        compare_every=COMPARE_EVERY,
        report=report,
    )


class SchedulerDaemon:
    """One process of the scheduler."""

    def __init__(
        self,
        config: SchedulerConfig,
        store: KubeStore,
        elector: LeaderElector | None,
        clock: Clock,
        log: Log,
    ) -> None:
        """Create an idle daemon; without an elector it always leads."""
        #: The port of the probes while it runs; 0 before, and if none are served.
        self.port = 0
        self._config = config
        self._store = store
        self._elector = elector
        self._leading: LeaderThread | None = None
        self._clock = clock
        self._log = log
        self._published = PublishedMetrics()
        self._stop = threading.Event()
        self._pulse = DaemonPulse(clock)
        self._is_synced = False
        self._has_worked = False
        self._finish_until = float("inf")
        self._should_stop: Callable[[], bool] = lambda: False
        self._profiles: ProfileFile | None = None
        self._compiled: Callable[[], bool] = lambda: False
        self._look_for_kernels_at = clock.monotonic()
        self._remake: Callable[[Profile], PlaneConfig] = lambda _: config.plane

    def follow(self, profiles: ProfileFile, remake: Callable[[Profile], PlaneConfig]) -> None:
        """Build a new plane when the profile changes.

        Args:
            profiles: the current profile.
            remake: returns the plane configuration for a profile.
        """
        self._profiles, self._remake = profiles, remake

    def use_kernels_when(self, compiled: Callable[[], bool]) -> None:
        """Build a new plane on the compiled tier once the kernels are compiled.

        Args:
            compiled: returns whether the tier ``numba`` can be used without a compilation.
        """
        self._compiled = compiled

    def stop(self) -> None:
        """Request an orderly stop."""
        self._stop.set()

    def run(self, should_stop: Callable[[], bool] = lambda: False) -> None:
        """Schedule until a stop request.

        Args:
            should_stop: called in every round.

        Raises:
            NotAllowedError: a required permission is missing.
            InputError: the kubeconfig or the address is unusable.
        """
        self._should_stop = should_stop
        self._warm_up()
        with ExitStack() as stack:
            if self._config.address:
                self.port = stack.enter_context(self._probes()).port
            if self._elector is not None:
                self._store.fence(self._elector.leads)
                quiet = self._store.is_quiet
                leading = LeaderThread(self._elector, self._clock, self._log, quiet)
                self._leading = stack.enter_context(leading)
                self._pulse.follow(leading)
            while not self._is_over():
                self._round()

    def _probes(self) -> ProbeServer:
        """The server of probes and metrics."""
        guard = ReviewGuard(self._store, self._clock)
        certificate = self._config.certificate
        pages = self._pulse.pages(self._ready, self._published.text)
        served = ServedPages(pages, frozenset({"/metrics"}), certificate, guard)
        return ProbeServer(self._config.address, served)

    def _warm_up(self) -> None:
        """Load (or compile) the kernels before the first decision."""
        load_kernels(self._config.plane, self._clock)

    # ------------------------------------------------------------ rounds

    def _round(self) -> None:
        """Stand by, or lead until the lease, the plane or the daemon ends."""
        self._pulse.beat()
        self._adopt_changes()
        if self._leading is not None:
            self._leading.check()
        if not self._leads():
            self._publish(())
            self._clock.sleep(0.1)
            return
        self._log.info("leading: listing all objects before the first decision")
        self._store.prepare()
        steady = RetryingStore(self._store, self._clock, self._check, self._log.trouble)
        config = with_served_groups(self._config.plane, steady)
        for kind in config.group_forms:
            self._log.info(f"reading {kind.resource}")
        plane = self._config.make(config, steady, self._clock)
        metrics = metrics_of(plane)
        try:
            with collector.Pace() as pace:
                self._lead(plane, metrics, pace)
        except StoppedError:
            self._log.info("stopping" if self._is_over() else "no longer leading")
        except _RenewedError:
            self._log.info("building a new plane: the profile or the kernel tier has changed")
        except StrettoError as error:
            if not self._has_worked:
                raise
            self._log.error(f"restarting with a fresh list: {error}")
            self._clock.sleep(REBUILD_AFTER)
        finally:
            self._is_synced = False
            self._publish(())
            self._store.abandon()  # otherwise it would be sent in the next term
            plane.close()

    def _lead(self, plane: Plane, metrics: Metrics, pace: collector.Pace) -> None:
        """Step the plane until its end, then settle unanswered binds."""
        publish_at = float("-inf")
        while True:
            if self._is_over():
                self._finish(plane)
            if self._adopt_changes():
                self._settle(plane, self._clock.monotonic() + FINISH_WITHIN)
                raise _RenewedError
            self._check()
            moved = plane.step()
            if plane.pump.synced and not self._is_synced:
                self._is_synced = self._has_worked = True
                collector.settle()
                nodes, pods = len(plane.cluster.nodes.by_name), len(plane.cluster.pods.rows())
                self._log.info("synced", nodes=nodes, pods=pods)
                for resource in self._store.absent():
                    self._log.info("not installed, so not watched yet", resource=resource)
            now = self._clock.monotonic()
            if now >= publish_at:
                publish_at = now + PUBLISH_EVERY
                self._publish(metrics.families())
                for resource, trouble in self._store.troubles().items():
                    self._log.trouble(f"watch {resource}", trouble)
            pace.spare(idle=not moved)
            if not moved:
                self._store.wait(min(LONGEST_SLEEP, max(SHORTEST_SLEEP, plane.next_due() - now)))

    def _finish(self, plane: Plane) -> None:
        """Make no new decision, and settle the unanswered binds."""
        self._finish_until = self._clock.monotonic() + FINISH_WITHIN
        self._settle(plane, self._finish_until)
        raise StoppedError

    def _settle(self, plane: Plane, until: float) -> None:
        """Read the results of unanswered binds until a deadline."""
        while plane.pump.synced and plane.binder.is_waiting:
            now = self._clock.monotonic()
            if now > until:
                return
            self._check()
            plane.pump.poll(now)
            plane.dispatcher.answers.settle(plane.binder.resolve_unanswered(now), now)
            self._store.wait(0.1)

    def _adopt_changes(self) -> bool:
        """Return whether the profile or the kernel tier of new planes has changed."""
        has_kernels = self._has_new_kernels()
        if has_kernels:
            self._replace_plane(msgspec.structs.replace(self._config.plane, tier="numba"))
            self._log.info("the kernels are compiled; decisions use them from now on")
            self._warm_up()
        if self._profiles is None or not self._profiles.look():
            return has_kernels
        plane = self._remake(self._profiles.good)
        self._replace_plane(msgspec.structs.replace(plane, tier=self._config.plane.tier))
        return True

    def _replace_plane(self, plane: PlaneConfig) -> None:
        self._config = msgspec.structs.replace(self._config, plane=plane)

    def _has_new_kernels(self) -> bool:
        """Return whether kernels were compiled since the plane was built.

        The check is made every ``LOOK_FOR_KERNELS_EVERY`` seconds.
        """
        now = self._clock.monotonic()
        if self._config.plane.tier == "numba" or now < self._look_for_kernels_at:
            return False
        self._look_for_kernels_at = now + LOOK_FOR_KERNELS_EVERY
        return self._compiled()

    def _publish(self, families: Iterable[MetricFamily]) -> None:
        """Publish the given metrics and those of the daemon itself."""
        own = self._profiles.families() if self._profiles is not None else ()
        self._published.publish([*families, *own])

    # ------------------------------------------------------------ status

    def _leads(self) -> bool:
        return self._elector is None or self._elector.leads()

    def _is_over(self) -> bool:
        return self._stop.is_set() or self._should_stop()

    def _check(self) -> None:
        """Raise if the plane must be discarded."""
        now = self._pulse.beat()
        if not self._leads() or now > self._finish_until:
            raise StoppedError
        if self._is_over() and (not self._is_synced or self._store.troubles()):
            raise StoppedError

    def _ready(self) -> ProbePage:
        return self._pulse.ready(self._store.troubles(), synced=self._is_synced)

"""The scheduler as a daemon: a plane over an API server, for as long as it leads.

A new leader builds a new plane, which lists everything afresh before it decides; a plane whose
leader has lost the lease is thrown away with all that it believed. One write a pod goes out, the
binding; what waits is told in a lane of its own. Asked to stop, it decides nothing more, sees that
the claims in doubt are answered, and gives the lease up. A profile that changes is taken up the
same way: what is in doubt is answered, then a new plane lists everything afresh.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Final

import msgspec

from stretto.api.wire.kinds import NODE, POD
from stretto.base import collector
from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.base.rng import Rng
from stretto.control.lease import LeaderElector
from stretto.control.reporting.reporter import ReportConfig
from stretto.daemons.access_check import ReviewGuard
from stretto.daemons.leader import LeaderThread
from stretto.daemons.logs import Log
from stretto.daemons.metrics import metrics_of
from stretto.daemons.probes import Pages, ProbePage, ProbeServer, ServedPages, ServingCertificate
from stretto.daemons.profiles import ProfileFile
from stretto.daemons.retrying_store import RetryingStore, StoppedError
from stretto.explain.metrics.exposition import PublishedMetrics
from stretto.explain.metrics.metrics import Metrics
from stretto.explain.metrics.tally import MetricFamily
from stretto.framework.profile.profile import Profile
from stretto.plane import Plane, PlaneConfig
from stretto.state.cluster.config import ClusterConfig
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.transport.options import KubeOptions
from stretto.stores.store import Store

LONGEST_NAP: Final = 0.5
"""Seconds without a look at whether to stop."""
SHORTEST_NAP: Final = 0.005
"""Seconds that an idle loop gives away at least."""
REBUILD_AFTER: Final = 1.0
"""Seconds before a new plane, when something that nobody expected has ended the last."""
PUBLISH_EVERY: Final = 2.0
"""Seconds between looks at the plane for the metrics."""
ALIVE_WITHIN: Final = 60.0
"""Seconds after which a loop, or the thread of the lease, that does not come round is dead."""
FINISH_WITHIN: Final = 8.0
"""Seconds for claims in doubt when asked to stop."""
RELIEVE_AFTER: Final = 15.0
"""Seconds for which a node may give more than it has, unless the profile says otherwise: kubelets
have turned away by then what is too much."""
COMPARE_EVERY: Final = 300.0
"""Seconds between comparisons with a fresh list: a lost event heals by then."""
REPORT: Final = ReportConfig(at_once=32, every=0.5, keep_events=float("inf"))
"""What is told of pods that wait. A batch is small, because binds wait for it in one thread; the
server lets events go by itself."""


LINE: Final = KubeOptions(connect=2.0, answer=4.0)
"""Times of the line: together no more than the longest write that the lease allows for."""


_WARM_NODE: Final = (
    b'{"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "pods": "9"}}}'
)
_WARM_POD: Final = (
    b'{"metadata": {"name": "p"}, "spec": {"schedulerName": "%s", "containers": [{"name": "c",'
    b' "resources": {"requests": {"cpu": "1m"}}}]}}'
)
_WARM_STEPS: Final = 16


Make = Callable[[PlaneConfig, Store, Clock], Plane]
"""Makes the plane over a store: the whole of it, or the part that one role runs."""


class SchedulerConfig(msgspec.Struct, frozen=True):
    """What a scheduler daemon is built from."""

    #: The plane that a leader builds.
    plane: PlaneConfig
    #: Where probes and metrics are served; empty for nowhere.
    address: str = ""
    #: What they are served with over TLS; ``None`` for plain HTTP on loopback.
    certificate: ServingCertificate | None = None
    #: Makes the plane that a leader steps.
    make: Make = Plane


class _RenewedError(Exception):
    """The plane must go, because the rules are others now."""


def plane_config(
    profile: Profile, names: Sequence[str], shards: int, tier: str, *, report: bool
) -> PlaneConfig:
    """A plane for a cluster.

    Args:
        profile: the rules.
        names: scheduler names to answer to, in place of the profile's where given.
        shards: scheduler shards.
        tier: kernel tier.
        report: whether pods that wait are told of.
    """
    answers_to = tuple(names) or profile.scheduler_names
    relief = RELIEVE_AFTER if profile.relief is None else profile.relief
    return PlaneConfig(
        profile=msgspec.structs.replace(profile, scheduler_names=answers_to, relief=relief),
        shards=shards,
        cluster=ClusterConfig(scheduler_names=frozenset(answers_to)),
        tier=tier,
        compare_every=COMPARE_EVERY,
        report=REPORT if report else None,
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
        """A daemon that does nothing before it runs; without an elector it always leads."""
        #: The port of the probes, once it runs; 0 before, or where none are served.
        self.port = 0
        self._config = config
        self._store = store
        self._elector = elector
        self._leading: LeaderThread | None = None
        self._clock = clock
        self._log = log
        self._published = PublishedMetrics()
        self._stop = threading.Event()
        self._round_at = clock.monotonic()
        self._is_synced = False
        self._has_worked = False
        self._finish_until = float("inf")
        self._asked: Callable[[], bool] = lambda: False
        self._profiles: ProfileFile | None = None
        self._remake: Callable[[Profile], PlaneConfig] = lambda _: config.plane

    def follow(self, profiles: ProfileFile, remake: Callable[[Profile], PlaneConfig]) -> None:
        """Take a profile up whenever it becomes another one.

        Args:
            profiles: the profile, as it is now.
            remake: what a plane is built from under a profile.
        """
        self._profiles, self._remake = profiles, remake

    def stop(self) -> None:
        """Ask it to end; it does so in good order."""
        self._stop.set()

    def run(self, asked_to_stop: Callable[[], bool] = lambda: False) -> None:
        """Schedule until it is asked to stop.

        Args:
            asked_to_stop: asked at every round.

        Raises:
            NotAllowedError: a right is missing that it cannot work without.
            InputError: the kubeconfig or the address cannot be used.
        """
        self._asked = asked_to_stop
        self._warm_up()
        with ExitStack() as stack:
            if self._config.address:
                self.port = stack.enter_context(self._probes()).port
            if self._elector is not None:
                self._store.fence(self._elector.leads)
                quiet = self._store.is_quiet
                leading = LeaderThread(self._elector, self._clock, self._log, quiet)
                self._leading = stack.enter_context(leading)
            while not self._is_over():
                self._round()

    def _probes(self) -> ProbeServer:
        """The server of probes and metrics."""
        guard = ReviewGuard(self._store, self._clock)
        certificate = self._config.certificate
        served = ServedPages(self._pages(), frozenset({"/metrics"}), certificate, guard)
        return ProbeServer(self._config.address, served)

    def _warm_up(self) -> None:
        """Load (or compile) the kernels before anybody waits for a decision: place one pod."""
        rng = Rng(self._config.plane.seed)
        store = MemoryStore(self._clock, rng)
        name = min(self._config.plane.cluster.scheduler_names)
        store.create(NODE, [_WARM_NODE])
        store.create(POD, [_WARM_POD % name.encode()])
        plane = Plane(self._config.plane, store, self._clock)
        plane.run_until_idle(_WARM_STEPS)
        plane.close()

    # ------------------------------------------------------------ rounds

    def _round(self) -> None:
        """Stand by, or lead until that ends."""
        self._round_at = self._clock.monotonic()
        self._adopt_profile()
        if self._leading is not None:
            self._leading.check()
        if not self._leads():
            if self._elector is not None and self._elector.barred is not None:
                raise self._elector.barred
            self._publish(())
            self._clock.sleep(0.1)
            return
        self._log.info("leading: listing everything before the first decision")
        self._store.prepare()
        steady = RetryingStore(self._store, self._clock, self._check, self._log.trouble)
        plane = self._config.make(self._config.plane, steady, self._clock)
        metrics = metrics_of(plane)
        try:
            with collector.Pace() as pace:
                self._lead(plane, metrics, pace)
        except StoppedError:
            self._log.info("stopping" if self._is_over() else "no longer leading")
        except _RenewedError:
            self._log.info("beginning anew under the new profile")
        except StrettoError as error:
            if not self._has_worked:
                raise
            self._log.error(f"beginning anew with a fresh list: {error}")
            self._clock.sleep(REBUILD_AFTER)
        finally:
            self._is_synced = False
            self._publish(())
            self._store.abandon()  # or it would be sent as soon as we lead again
            plane.close()

    def _lead(self, plane: Plane, metrics: Metrics, pace: collector.Pace) -> None:
        """Step until it must end; then see to what is in doubt."""
        publish_at = float("-inf")
        while True:
            if self._is_over():
                self._finish(plane)
            if self._adopt_profile():
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
                    self._log.info("not installed, so not followed yet", resource=resource)
            now = self._clock.monotonic()
            if now >= publish_at:
                publish_at = now + PUBLISH_EVERY
                self._publish(metrics.families())
                for resource, trouble in self._store.troubles().items():
                    self._log.trouble(f"watch {resource}", trouble)
            pace.spare(idle=not moved)
            if not moved:
                self._store.wait(min(LONGEST_NAP, max(SHORTEST_NAP, plane.next_due() - now)))

    def _finish(self, plane: Plane) -> None:
        """Decide nothing more; hear what became of the binds that went unanswered."""
        self._finish_until = self._clock.monotonic() + FINISH_WITHIN
        self._settle(plane, self._finish_until)
        raise StoppedError

    def _settle(self, plane: Plane, until: float) -> None:
        """Hear what became of the binds that went unanswered; by then they have landed or not."""
        while plane.pump.synced and plane.binder.is_waiting:
            now = self._clock.monotonic()
            if now > until:
                return
            self._check()
            plane.pump.poll(now)
            plane.dispatcher.settle(plane.binder.resolve_unanswered(now), now)
            self._store.wait(0.1)

    def _adopt_profile(self) -> bool:
        """Whether the profile has become another one; planes are built from it from now on."""
        if self._profiles is None or not self._profiles.look():
            return False
        plane = self._remake(self._profiles.good)
        self._config = msgspec.structs.replace(self._config, plane=plane)
        return True

    def _publish(self, families: Iterable[MetricFamily]) -> None:
        """Show some figures, and those of the daemon itself."""
        own = self._profiles.families() if self._profiles is not None else ()
        self._published.publish([*families, *own])

    # ------------------------------------------------------------ questions

    def _leads(self) -> bool:
        return self._elector is None or self._elector.leads()

    def _is_over(self) -> bool:
        return self._stop.is_set() or self._asked()

    def _check(self) -> None:
        """Raise where the plane must go."""
        now = self._round_at = self._clock.monotonic()
        if not self._leads() or now > self._finish_until:
            raise StoppedError
        if self._is_over() and (not self._is_synced or self._store.troubles()):
            raise StoppedError

    def _pages(self) -> Pages:
        return {
            "/livez": self._alive,
            "/healthz": self._alive,
            "/readyz": self._ready,
            "/metrics": lambda: ProbePage(True, self._published.text()),
        }

    def _alive(self) -> ProbePage:
        """Alive while the loop comes round, leading or not, and the lease is tried."""
        late = self._clock.monotonic() - self._round_at
        if late > ALIVE_WITHIN:
            return ProbePage(False, f"the loop has not come round for {late:.0f} s\n")
        trouble = self._leading.trouble(ALIVE_WITHIN) if self._leading is not None else ""
        return ProbePage(not trouble, f"{trouble or 'ok'}\n")

    def _ready(self) -> ProbePage:
        """Ready to schedule, or to take over."""
        alive = self._alive()
        if not alive.is_well:
            return alive
        if self._elector is not None and not self._elector.leads():
            if self._elector.trouble:
                return ProbePage(False, f"the lease: {self._elector.trouble}\n")
            return ProbePage(True, f"standing by for {self._elector.holder or 'nobody'}\n")
        troubles = [f"{name}: {text}\n" for name, text in self._store.troubles().items()]
        if not self._is_synced:
            return ProbePage(False, "".join(["not synced yet\n", *troubles]))
        return ProbePage(not troubles, "".join(troubles) or "ok\n")

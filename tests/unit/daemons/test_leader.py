"""The thread that keeps the lease: while it is tried the daemon is alive, and not after that."""

import io
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.daemons.leader import LeaderThread
from stretto.daemons.logs import Log, LogFormat
from stretto.daemons.pulse import ALIVE_WITHIN
from stretto.daemons.scheduler import SchedulerConfig, SchedulerDaemon
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.lease import LeaderElector, LeaseConfig

MOMENT = 5.0
"""Maximum seconds for a thread to react on a busy machine."""


class Line:
    """A connection that runs the test's action before every read of the lease."""

    def __init__(self, clock: ManualClock) -> None:
        self.first: Callable[[], object] = lambda: None
        self.looks = threading.Semaphore(0)
        self.is_quiet = lambda: True
        self.may_write: Callable[[], bool] = lambda: True
        self.inner = MemoryStore(clock, Rng(1))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def get(self, *words: Any) -> Any:
        self.looks.release()
        self.first()
        return self.inner.get(*words)

    def fence(self, may_write: Callable[[], bool]) -> None:
        self.may_write = may_write


class Bench:
    """A candidate for a lease, with all that it needs."""

    def __init__(self) -> None:
        self.clock = ManualClock(100.0)
        self.line = Line(self.clock)
        config = LeaseConfig("kube-system", "stretto", "me", every=0.01)
        self.elector = LeaderElector(self.line, config, self.clock)
        self.log = Log(self.clock, LogFormat.TEXT, io.StringIO())
        self.leading = LeaderThread(self.elector, self.clock, self.log, lambda: True)

    def look(self) -> None:
        """Wait until the lease is looked at; what is due later is due now."""
        self.clock.advance(1)
        assert self.line.looks.acquire(timeout=MOMENT)


def fail() -> None:
    raise RuntimeError("a bug")


def test_a_live_or_a_stopped_thread_is_no_trouble() -> None:
    bench = Bench()
    with bench.leading:
        bench.look()
        assert bench.leading.trouble(ALIVE_WITHIN) == ""
    assert bench.leading.trouble(ALIVE_WITHIN) == ""


def test_a_dead_thread_is_reported_and_stops_all_writes() -> None:
    bench = Bench()
    bench.elector.tick()
    assert bench.elector.leads()
    bench.line.first = fail
    with bench.leading:
        bench.leading._thread.join(MOMENT)
        assert "has ended: RuntimeError('a bug')" in bench.leading.trouble(ALIVE_WITHIN)
        with pytest.raises(RuntimeError, match="a bug"):
            bench.leading.check()
        bench.clock.advance(bench.elector.config.renew_within)
        assert not bench.elector.leads()  # which the fence checks before every write


def test_a_blocked_thread_is_reported_and_stops_all_writes() -> None:
    bench, free = Bench(), threading.Event()
    bench.elector.tick()
    bench.line.first = free.wait
    with bench.leading:
        try:
            bench.look()
            bench.look()
            bench.clock.advance(ALIVE_WITHIN + 1)
            assert "no attempt to renew the lease for 6" in bench.leading.trouble(ALIVE_WITHIN)
            assert not bench.elector.leads()
        finally:
            free.set()


def test_a_daemon_with_an_expired_lease_exits_and_reports_why() -> None:
    bench = Bench()
    config = SchedulerConfig(PlaneConfig(load_profile("default"), tier="numpy"))
    line: Any = bench.line
    daemon = SchedulerDaemon(config, line, bench.elector, bench.clock, bench.log)
    bench.line.first = fail
    with pytest.raises(RuntimeError, match="a bug"):
        daemon.run(lambda: bool(time.sleep(0.001)))

"""A daemon changes to the compiled kernels between two steps, once they exist."""

import io
from typing import Any

import msgspec
import pytest

from stretto.base.clock import Clock, ManualClock
from stretto.base.rng import Rng
from stretto.daemons.logs import Log, LogFormat
from stretto.daemons.scheduler import SchedulerConfig, SchedulerDaemon
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Store


class QuietStore(MemoryStore):
    """A store in memory with the connection interface of a daemon; waiting advances time."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock, Rng(1))
        self._time = clock

    def wait(self, seconds: float) -> None:
        self._time.advance(seconds)

    def prepare(self) -> None:
        pass

    def abandon(self) -> None:
        pass

    def troubles(self) -> dict[str, str]:
        return {}

    def absent(self) -> list[str]:
        return []


class Desk:
    """A daemon that always leads, and the tiers of the planes that it has built."""

    def __init__(self) -> None:
        self.tiers: list[str] = []
        self.warmed: list[str] = []
        self.rounds = 0
        clock = ManualClock(100.0)
        plane = PlaneConfig(load_profile("default"), tier="numpy")
        store: Any = QuietStore(clock)
        config = SchedulerConfig(plane, make=self.make)
        self.daemon = SchedulerDaemon(
            config, store, None, clock, Log(clock, LogFormat.TEXT, io.StringIO())
        )

    def make(self, config: PlaneConfig, store: Store, clock: Clock) -> Plane:
        """A plane that notes its tier and decides on NumPy: no test compiles kernels."""
        self.tiers.append(config.tier)
        return Plane(msgspec.structs.replace(config, tier="numpy"), store, clock)

    def run(self, rounds: int) -> None:
        """Run for some looks at whether to stop."""

        def should_stop() -> bool:
            self.rounds += 1
            return self.rounds > rounds

        self.daemon.run(should_stop)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk()

    def warm_up(daemon: SchedulerDaemon) -> None:
        desk.warmed.append(daemon._config.plane.tier)

    monkeypatch.setattr(SchedulerDaemon, "_warm_up", warm_up)
    return desk


def test_a_new_plane_uses_the_kernels_once_they_are_compiled(desk: Desk) -> None:
    answers = iter([False, False, True])
    desk.daemon.use_kernels_when(lambda: next(answers))
    desk.run(60)
    assert desk.tiers == ["numpy", "numba"]
    assert desk.warmed == ["numpy", "numba"]


def test_without_compiled_kernels_the_plane_stays(desk: Desk) -> None:
    desk.daemon.use_kernels_when(lambda: False)
    desk.run(60)
    assert desk.tiers == ["numpy"]


def test_a_daemon_on_the_numpy_tier_by_request_never_searches_kernels(desk: Desk) -> None:
    desk.run(60)
    assert desk.tiers == ["numpy"]

"""The master over an API server: its process ends when its work has ended."""

import asyncio
import io
from collections.abc import Callable
from typing import cast

import pytest

from stretto.base.clock import ManualClock
from stretto.daemons.logs import Log, LogFormat
from stretto.daemons.master import ClusterMasterConfig, MasterDaemon
from stretto.framework.profile.profile import load_profile
from stretto.offers.allocator.subjects.settings import AllocatorSettings
from stretto.offers.master.core.settings import MasterSettings
from stretto.offers.master.server.serve import ServerSettings
from stretto.offers.nodes.pods import PodSettings
from stretto.plane.config import PlaneConfig
from stretto.stores.kube.store import KubeStore
from stretto.stores.lease import LeaderElector, LeaseConfig

MOMENT = 5.0
"""Maximum seconds for the end on a busy machine."""


class BrokenStore:
    """A store that fails unexpectedly when a term begins."""

    is_quiet = staticmethod(lambda: True)

    def subscribe(self, _: object) -> Callable[[], None]:
        return lambda: None

    def fence(self, _: object) -> None:
        pass

    def prepare(self) -> None:
        raise ValueError("unexpected")


class BrokenElector:
    """A candidate that never leads."""

    config = LeaseConfig("kube-system", "stretto", "me")
    barred = None
    holder = ""

    def leads(self) -> bool:
        return False

    def tick(self) -> None:
        raise OSError("broken")

    def release(self, _: object) -> None:
        pass


def run(elector: object = None) -> None:
    plane = PlaneConfig(load_profile("default"))
    server = ServerSettings(port=0)
    parts = MasterSettings("m"), AllocatorSettings(), server, PodSettings()
    clock = ManualClock(1.0)
    log = Log(clock, LogFormat.TEXT, io.StringIO())
    store = cast("KubeStore", BrokenStore())
    candidate = cast("LeaderElector | None", elector)
    daemon = MasterDaemon(ClusterMasterConfig(plane, *parts), store, candidate, clock, log)
    asyncio.run(ended(daemon))


async def ended(daemon: MasterDaemon) -> None:
    """Wait until the daemon ends by itself."""
    running = asyncio.create_task(daemon.run())
    done, _ = await asyncio.wait((running,), timeout=MOMENT)
    assert done
    await running


def test_an_unexpected_error_of_a_term_ends_the_process() -> None:
    with pytest.raises(ValueError, match="unexpected"):
        run()


def test_the_end_of_the_thread_that_renews_the_lease_ends_the_process() -> None:
    with pytest.raises(OSError, match="broken"):
        run(BrokenElector())

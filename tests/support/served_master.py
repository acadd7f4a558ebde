"""A master in this process, served over HTTP on a free port."""

import asyncio
from collections.abc import Awaitable, Callable

from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.subjects.settings import MESOS
from stretto.offers.master.core.settings import MasterSettings
from stretto.offers.master.master import Master
from stretto.offers.master.server.host import MasterHost
from stretto.offers.master.server.serve import ServerSettings, application
from stretto.serving.accepting import SocketServer
from stretto.serving.configuration import server_config
from stretto.serving.sockets import listening

MOMENT = 20.0
"""Maximum seconds on a busy machine."""


def served(scene: Callable[[int], Awaitable[None]]) -> None:
    """Play a scene with the port of a master in this process."""

    async def play() -> None:
        clock, rng = WallClock(), Rng(1)
        settings = MasterSettings(id="m", allocation_interval=0.05)
        host = MasterHost(Master(settings, make_allocator(rng, MESOS), clock, rng), clock)
        timers = asyncio.create_task(host.run_timers())
        with listening("127.0.0.1", 0) as listener:
            app = application(host, ServerSettings(), clock)
            server = SocketServer(server_config(app))
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            await asyncio.wait_for(scene(listener.getsockname()[1]), MOMENT)
            server.should_exit = True
            host.close()
            await serving
        timers.cancel()

    asyncio.run(play())

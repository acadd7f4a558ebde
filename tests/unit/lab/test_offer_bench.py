"""The load of a master: HTTP by hand, a framework and an agent against a master in this process."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from click.testing import CliRunner

from stretto.base.clock import WallClock
from stretto.base.errors import UnreachableError
from stretto.base.rng import Rng
from stretto.cli.main import cli
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.subjects.settings import MESOS
from stretto.offers.master.core.settings import MasterSettings
from stretto.offers.master.master import Master
from stretto.offers.master.server.host import MasterHost
from stretto.offers.master.server.serve import ServerSettings, application
from stretto.serving.configuration import server_config
from stretto.serving.sockets import listening
from stretto_lab.bench_offers.clients import LoadAgent, LoadFramework, Tally
from stretto_lab.bench_offers.wire import MasterConnection

MOMENT = 10.0
"""Maximum seconds on a busy machine."""


def served(scene: Callable[[int], Awaitable[None]]) -> None:
    """Play a scene with the port of a master in this process."""
    import uvicorn

    async def play() -> None:
        clock, rng = WallClock(), Rng(1)
        settings = MasterSettings(id="m", allocation_interval=0.05)
        host = MasterHost(Master(settings, make_allocator(rng, MESOS), clock, rng), clock)
        timers = asyncio.create_task(host.run_timers())
        with listening("127.0.0.1", 0) as listener:
            app = application(host, ServerSettings(), clock)
            server = uvicorn.Server(server_config(app))
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            await asyncio.wait_for(scene(listener.getsockname()[1]), MOMENT)
            server.should_exit = True
            host.close()
            await serving
        timers.cancel()

    asyncio.run(play())


def test_a_framework_launches_tasks_and_an_agent_ends_them() -> None:
    async def scene(port: int) -> None:
        tally, now = Tally(), WallClock().monotonic
        clients = [LoadAgent(port, 0, Rng(1)), LoadFramework(port, 0, tally, now)]
        running = [asyncio.create_task(each.run()) for each in clients]
        for _ in range(1000):
            await asyncio.sleep(0.01)
            if tally.ends.get("TASK_FINISHED"):
                break
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for client in clients:
            client.close()
        assert (tally.refused, tally.offers > 0, len(tally.accepts) > 0) == (0, True, True)

    served(scene)


def test_an_answer_that_is_no_stream_is_named() -> None:
    async def scene(port: int) -> None:
        connection = MasterConnection(port)
        with pytest.raises(UnreachableError, match="status 400"):
            async for _ in connection.records("/api/v1/scheduler", {}, {}, {}):
                pass
        connection.close()

    served(scene)


def test_a_tally_counts_from_its_restart_on() -> None:
    tally = Tally()
    tally.answered(202)
    tally.answered(400)
    tally.ended("TASK_FINISHED")
    tally.restart()
    tally.answered(202)
    assert (tally.calls, tally.refused, tally.ends) == (1, 0, {})


@pytest.mark.parametrize("words", [["--frameworks", "0"], ["--seconds", "nan"], ["--agents", "x"]])
def test_malformed_sizes_are_usage_errors(words: list[str]) -> None:
    result = CliRunner().invoke(cli, ["bench", "offers", *words])
    assert result.exit_code == 2
    assert words[0] in result.output

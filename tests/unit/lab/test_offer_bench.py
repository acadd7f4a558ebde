"""The load of a master: HTTP by hand, a framework and an agent against a master in this process."""

import asyncio

import pytest
from click.testing import CliRunner

from stretto.base.clock import WallClock
from stretto.base.errors import UnreachableError
from stretto.base.rng import Rng
from stretto.cli.main import cli
from stretto_lab.bench.offers.clients import LoadAgent, LoadFramework, Tally
from stretto_lab.bench.offers.wire import MasterConnection
from tests.support.served_master import served


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

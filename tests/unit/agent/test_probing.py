"""Probes of tasks: commands, HTTP and TCP, with and without a result."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from stretto.agent.tasks.probing import checks, health
from stretto.agent.tasks.probing.probes import ProbeSite, run_command

Check = dict[str, Any]
ANSWER = b"HTTP/1.1 503 Busy\r\n\r\n"


def site(tmp_path: Path) -> ProbeSite:
    return ProbeSite(tmp_path)


def with_server(answer: bytes, play: Callable[[int], Awaitable[Any]]) -> Any:
    """Return the result of a probe of a server that sends a response to each connection."""

    async def served(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()

    async def main() -> Any:
        async with await asyncio.start_server(served, "127.0.0.1", 0) as server:
            return await play(server.sockets[0].getsockname()[1])

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("check", "found"),
    [
        ({"type": "COMMAND", "command": {"command": {"value": "exit 7"}}}, {"exit_code": 7}),
        ({"type": "COMMAND", "command": {"command": {"value": "sleep 9"}}}, {}),
        ({"type": "HTTP", "http": {"port": 1}}, {}),
        ({"type": "TCP", "tcp": {"port": 1}}, {"succeeded": False}),
        ({"type": "TCP", "tcp": {"port": 99_999_999}}, {"succeeded": False}),
        ({"type": "HTTP", "http": {"port": 99_999_999}}, {}),
    ],
)
def test_a_check_has_a_result_or_none(tmp_path: Path, check: Check, found: Check) -> None:
    status = asyncio.run(checks.check_once(check, site(tmp_path), 0.3))
    assert status == {"type": check["type"], check["type"].lower(): found}


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_command_whose_probe_is_cancelled_again_leaves_nothing_open(tmp_path: Path) -> None:
    async def main() -> None:
        command = {"value": "touch started; sleep 60"}
        probe = asyncio.create_task(run_command(command, site(tmp_path), 60.0))
        for _ in range(1000):
            await asyncio.sleep(0 if (tmp_path / "started").exists() else 0.01)
        for _ in range(3):
            probe.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await probe

    asyncio.run(main())
    gc.collect()


def test_a_check_over_http_has_the_status_of_the_answer(tmp_path: Path) -> None:
    status = with_server(
        ANSWER,
        lambda port: checks.check_once(
            {"type": "HTTP", "http": {"port": port}}, site(tmp_path), 1.0
        ),
    )
    assert status == {"type": "HTTP", "http": {"status_code": 503}}


def test_a_server_that_answers_nonsense_is_unhealthy(tmp_path: Path) -> None:
    assert not with_server(
        b"hello\r\n",
        lambda port: health.is_healthy(
            {"type": "HTTP", "http": {"port": port}}, site(tmp_path), 1.0
        ),
    )


def test_the_statuses_of_a_health_check_replace_the_usual_ones(tmp_path: Path) -> None:
    assert with_server(
        ANSWER,
        lambda port: health.is_healthy(
            {"type": "HTTP", "http": {"port": port, "statuses": [503]}}, site(tmp_path), 1.0
        ),
    )

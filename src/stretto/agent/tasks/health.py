"""Health checks of tasks: commands, HTTP and TCP."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from stretto.agent.tasks.containers import processes
from stretto.offers.messages.schema import Message

_LIMIT: Final = 10.0


class HealthTimes(msgspec.Struct, frozen=True):
    """Times of a health check in seconds, with Mesos' defaults."""

    #: Before the first check.
    delay_seconds: float = 15.0
    #: Between two checks.
    interval_seconds: float = 10.0
    #: For one check.
    timeout_seconds: float = 20.0
    #: After the start, in which failures do not count.
    grace_period_seconds: float = 10.0
    #: Failures in a row after which the task is killed; 0 for never.
    consecutive_failures: int = 3


async def watch(check: Message, env: dict[str, str], report: Callable[[bool], None]) -> None:
    """Check until cancelled, or until too many failures in a row.

    ``report`` is called with each change of the health, and with each failure.
    """
    times = msgspec.convert(
        {key: value for key, value in check.items() if key.endswith(("_seconds", "_failures"))},
        HealthTimes,
    )
    await asyncio.sleep(times.delay_seconds)
    failures, healthy, passed = 0, None, times.delay_seconds
    while True:
        good = await probe(check, env, times.timeout_seconds or _LIMIT)
        if good:
            failures = 0
            if healthy is not True:
                report(True)
        elif passed >= times.grace_period_seconds or healthy:
            failures += 1
            report(False)
            if 0 < times.consecutive_failures <= failures:
                return
        healthy = good or (healthy if passed < times.grace_period_seconds else False)
        await asyncio.sleep(times.interval_seconds)
        passed += times.interval_seconds


async def probe(check: Message, env: dict[str, str], seconds: float) -> bool:
    """One check, which fails after some seconds."""
    try:
        async with asyncio.timeout(seconds):
            if check.get("type") == "COMMAND":
                return await _command(check["command"], env)
            if check.get("type") == "TCP":
                _, writer = await asyncio.open_connection("127.0.0.1", check["tcp"]["port"])
                writer.close()
                return True
            return await _http(check.get("http", {}))
    except (OSError, TimeoutError, ValueError):
        return False


async def _command(command: Message, env: dict[str, str]) -> bool:
    line = processes.command_line(command)
    process = await asyncio.create_subprocess_exec(
        *line,
        env=processes.environment(command, env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        return await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()


async def _http(http: Message) -> bool:
    port, path = http["port"], http.get("path", "/")
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        await writer.drain()
        status = int((await reader.readline()).split()[1])
    finally:
        writer.close()
    wanted = http.get("statuses")
    return status in wanted if wanted else 200 <= status < 400

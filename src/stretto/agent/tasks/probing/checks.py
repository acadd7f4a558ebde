"""Checks: probes whose results a framework reads; a result does not affect the task."""

import asyncio
from collections.abc import Callable

import msgspec

from stretto.agent.tasks.probing.probes import (
    ProbeResult,
    ProbeSite,
    connect_tcp,
    get_http,
    run_command,
)
from stretto.offers.messages.schema import Message


class CheckTimes(msgspec.Struct, frozen=True):
    """Times of a check in seconds, with Mesos' defaults."""

    #: Delay before the first check.
    delay_seconds: float = 15.0
    #: Time between two checks.
    interval_seconds: float = 10.0
    #: Time limit of one check; 0: no limit.
    timeout_seconds: float = 20.0


def empty_status(check: Message) -> Message:
    """The CheckStatusInfo of a check without a result."""
    return {"type": check["type"], check["type"].lower(): {}}


async def watch(check: Message, site: ProbeSite, report: Callable[[Message], None]) -> None:
    """Check until cancelled; ``report`` receives each CheckStatusInfo that differs."""
    times = msgspec.convert(
        {key: value for key, value in check.items() if key.endswith("_seconds")}, CheckTimes
    )
    last = empty_status(check)
    await asyncio.sleep(times.delay_seconds)
    while True:
        status = await check_once(check, site, times.timeout_seconds)
        if status != last:
            last = status
            report(status)
        await asyncio.sleep(times.interval_seconds)


async def check_once(check: Message, site: ProbeSite, seconds: float) -> Message:
    """Return the CheckStatusInfo of one check; a check that exceeds its time has no result."""
    found = await _probe(check, site, seconds)
    known = {name: value for name, value in found._asdict().items() if value is not None}
    return {"type": check["type"], check["type"].lower(): known}


async def _probe(check: Message, site: ProbeSite, seconds: float) -> ProbeResult:
    if check["type"] == "COMMAND":
        return await run_command(check["command"]["command"], site, seconds)
    if check["type"] == "TCP":
        return await connect_tcp(check["tcp"], seconds)
    return await get_http(check["http"], seconds)

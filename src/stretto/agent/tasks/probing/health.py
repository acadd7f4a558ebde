"""Health checks: a task whose checks fail several times in a row is unhealthy and is killed."""

import asyncio
from collections.abc import Callable

import msgspec

from stretto.agent.tasks.probing.probes import ProbeSite, connect_tcp, get_http, run_command
from stretto.offers.messages.schema import Message


class HealthTimes(msgspec.Struct, frozen=True):
    """Times of a health check in seconds, with Mesos' defaults."""

    #: Delay before the first check.
    delay_seconds: float = 15.0
    #: Time between two checks.
    interval_seconds: float = 10.0
    #: Time limit of one check; 0: no limit.
    timeout_seconds: float = 20.0
    #: Time after the start in which failures do not count.
    grace_period_seconds: float = 10.0
    #: Number of failures in a row after which the task is killed; 0: never.
    consecutive_failures: int = 3


async def watch(check: Message, site: ProbeSite, report: Callable[[bool], None]) -> None:
    """Check until cancelled, or until too many failures in a row.

    ``report`` is called for each change of the health, and for each failure.
    """
    times = msgspec.convert(
        {key: value for key, value in check.items() if key.endswith(("_seconds", "_failures"))},
        HealthTimes,
    )
    await asyncio.sleep(times.delay_seconds)
    failures, healthy, passed = 0, None, times.delay_seconds
    while True:
        good = await is_healthy(check, site, times.timeout_seconds)
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


async def is_healthy(check: Message, site: ProbeSite, seconds: float) -> bool:
    """Run one health check with a time limit in seconds; return whether it passed."""
    if check["type"] == "COMMAND":
        return (await run_command(check["command"], site, seconds)).exit_code == 0
    if check["type"] == "TCP":
        return (await connect_tcp(check["tcp"], seconds)).succeeded is True
    http = check["http"]
    status, wanted = (await get_http(http, seconds)).status_code, http.get("statuses")
    if status is None:
        return False
    return status in wanted if wanted else 200 <= status < 400

"""A master in its own process, under the load of frameworks and agents in this process."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec
import numpy as np
import psutil

from stretto.base.clock import Clock
from stretto.base.errors import TimeoutExpiredError
from stretto.base.rng import Rng
from stretto_lab.bench.offers.clients import LoadAgent, LoadFramework, Tally
from stretto_lab.bench.offers.options import OfferBenchOptions
from stretto_lab.bench.offers.wire import HOST

STARTS_WITHIN: Final = 60.0
"""Seconds within which a new master must answer."""
PROGRAM: Final = "from stretto.cli.start import main; main()"


class OfferBenchResult(msgspec.Struct, frozen=True):
    """Counters of a master in the measured time."""

    #: Calls of frameworks per second that were accepted.
    calls_per_s: float
    #: Median milliseconds from an ACCEPT to its answer.
    accept_p50_ms: float
    #: 99th percentile of these milliseconds.
    accept_p99_ms: float
    #: Offers per second.
    offers_per_s: float
    #: Finished tasks per second.
    tasks_per_s: float
    #: Tasks by last state.
    tasks: dict[str, int]
    #: Calls that were not accepted.
    refused: int
    #: Calls per second of CPU time of the master, which is its capacity on a dedicated core.
    calls_per_cpu_s: float
    #: Share of one core that the master used.
    master_cores: float
    #: Share of one core that frameworks and agents used.
    load_cores: float
    #: Resident memory of the master at the end, in megabytes.
    master_mb: float


def run_offer_bench(opts: OfferBenchOptions, clock: Clock, seed: int) -> OfferBenchResult:
    """Measure a new master.

    Raises:
        TimeoutExpiredError: the master does not start.
    """
    with _master(opts, clock) as (port, process):
        return asyncio.run(_measure(opts, (port, process), clock.monotonic, Rng(seed)))


async def _measure(
    opts: OfferBenchOptions,
    master: tuple[int, psutil.Process],
    now: Callable[[], float],
    rng: Rng,
) -> OfferBenchResult:
    port, process = master
    tally, me = Tally(), psutil.Process()
    agents = [LoadAgent(port, n, rng.child("agent", n)) for n in range(opts.agents)]
    frameworks = [LoadFramework(port, n, tally, now) for n in range(opts.frameworks)]
    clients: list[LoadAgent | LoadFramework] = [*agents, *frameworks]
    running = [asyncio.create_task(each.run()) for each in clients]
    await _raise_first(running, opts.warm_up)
    tally.restart()
    began, used, own = now(), _cpu(process), _cpu(me)
    await _raise_first(running, opts.seconds)
    took, used = now() - began, _cpu(process) - used
    found = OfferBenchResult(
        calls_per_s=tally.calls / took,
        accept_p50_ms=_percentile(tally.accepts, 50),
        accept_p99_ms=_percentile(tally.accepts, 99),
        offers_per_s=tally.offers / took,
        tasks_per_s=tally.ends.get("TASK_FINISHED", 0) / took,
        tasks=dict(tally.ends),
        refused=tally.refused,
        calls_per_cpu_s=tally.calls / used if used else float("nan"),
        master_cores=used / took,
        load_cores=(_cpu(me) - own) / took,
        master_mb=process.memory_info().rss / 1e6,
    )
    for each in running:
        each.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    for client in clients:
        client.close()
    return found


async def _raise_first(running: list[asyncio.Task[None]], seconds: float) -> None:
    """Run the clients for some seconds; an error of one ends the bench."""
    done, _ = await asyncio.wait(running, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for each in done:
        each.result()


def _percentile(seconds: list[float], percent: float) -> float:
    """A percentile in milliseconds; NaN without values."""
    return 1000 * float(np.percentile(seconds, percent)) if seconds else float("nan")


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


@contextmanager
def _master(opts: OfferBenchOptions, clock: Clock) -> Iterator[tuple[int, psutil.Process]]:
    """A running master, and its port."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    command = [sys.executable, "-c", PROGRAM, "master", "--port", str(port)]
    command += ["--mesos"] if opts.mesos else []
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(port, clock)
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()


def _wait(port: int, clock: Clock) -> None:
    until = clock.monotonic() + STARTS_WITHIN
    while clock.monotonic() < until:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        clock.sleep(0.1)
    raise TimeoutExpiredError("the master", f"it does not listen after {STARTS_WITHIN:g} s")

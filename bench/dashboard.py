"""Cost of viewers of the dashboard for a scheduler that is fully loaded.

    python bench/dashboard.py [--nodes N] [--viewers N] [--rounds N] [--seconds S]

As in ``stretto up``, one event loop schedules as fast as it can and serves the dashboard. Another
process reads the frames of the node grid for all viewers. Rounds without and with viewers
alternate. The main figure is the ratio of the medians of pods placed per second of CPU time of the
serving process; the CPU time of the process that it starts to send frames is recorded beside it.
Readers count in neither. Results go to ``bench/results/dashboard-COMMIT.json``.
"""

import argparse
import asyncio
import multiprocessing
import os
import selectors
import socket
import statistics
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import uvicorn
from record import commit, machine, store

from stretto.api.wire.kinds import DEFAULT_NAMESPACE, NODE, POD
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.daemons.scheduler import REPORT, plane_config
from stretto.framework.profile.profile import load_profile
from stretto.plane.plane import Plane
from stretto.serving.configuration import server_config
from stretto.serving.sockets import LOOPBACK, listening
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion
from stretto.testing import make_node, make_pod
from stretto.web.dashboard.app import dashboard_app
from stretto.web.views.sources import PlaneSource

WAVE = 2000
"""Pods that are created, placed and deleted together."""
HEAD = struct.Struct("<IQ")
"""Header of a frame, before its cells."""
SENDER = b"stretto.serving.broadcast.process"
"""In the command line of the process that sends frames."""


class LoadedScheduler:
    """A scheduler over many nodes that always has pods to place."""

    def __init__(self, nodes: int) -> None:
        """Create the nodes and the dashboard's view of them."""
        clock = WallClock()
        self._store = MemoryStore(clock, Rng(0))
        for low in range(0, nodes, 1000):
            names = range(low, min(low + 1000, nodes))
            bodies = [make_node(f"n{i:05}", cpu="64", zone=f"z{i % 3}") for i in names]
            self._store.create(NODE, bodies)
        config = plane_config(load_profile("default"), (), 1, "auto", REPORT)
        self._plane = Plane(config, self._store, clock)
        #: What the dashboard shows.
        self.source = PlaneSource("bench", self._plane)
        self._number = 0

    async def rate(self, seconds: float) -> float:
        """Pods placed per second of CPU time of this process, over so many seconds."""
        placed, making = 0, 0.0
        start, end = time.process_time(), time.monotonic() + seconds
        while time.monotonic() < end:
            before = time.process_time()
            names = [f"p{self._number + i}" for i in range(WAVE)]
            self._number += WAVE
            self._store.create(POD, [make_pod(name, cpu="500m") for name in names])
            making += time.process_time() - before
            await self._settle()
            before = time.process_time()
            placed += sum(1 for each in self._store.list(POD).records if each.node)
            self._store.delete(POD, [Deletion(DEFAULT_NAMESPACE, name) for name in names])
            making += time.process_time() - before
            await self._settle()
        return placed / (time.process_time() - start - making)

    async def _settle(self) -> None:
        while True:
            if not self._plane.step():
                return
            await asyncio.sleep(0)


@asynccontextmanager
async def served(source: PlaneSource) -> AsyncIterator[int]:
    """The port of the dashboard, while the block runs."""
    with listening(LOOPBACK, 0) as listener:
        server = uvicorn.Server(server_config(dashboard_app(source)))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        yield listener.getsockname()[1]
        server.should_exit = True
        await serving


def senders_cpu() -> float:
    """CPU seconds of the processes that this one has started to send frames."""
    total = 0.0
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            process = Path("/proc", pid)
            if SENDER in (process / "cmdline").read_bytes():
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def view(port: int, viewers: int, seconds: float, found: "multiprocessing.Queue[int]") -> None:
    """Read frames for all viewers from plain sockets; reports 0, then the bytes that arrived."""
    request = f"GET /live/frames?column=cpu HTTP/1.1\r\nHost: {LOOPBACK}\r\n\r\n".encode()
    total = 0
    with selectors.DefaultSelector() as selector:
        for _ in range(viewers):
            viewer = socket.create_connection((LOOPBACK, port))
            viewer.sendall(request)
            viewer.recv(1 << 16)
            viewer.setblocking(False)
            selector.register(viewer, selectors.EVENT_READ)
        for key in selector.get_map().values():  # frames of the time in which the others connected
            with suppress(BlockingIOError):
                while key.fileobj.recv(1 << 20):  # type: ignore[union-attr]
                    pass
        found.put(0)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for key, _ in selector.select(0.2):
                total += len(key.fileobj.recv(1 << 20))  # type: ignore[union-attr]
    found.put(total)


class Measured(NamedTuple):
    """Figures of all rounds."""

    #: Pods per second of CPU time without viewers.
    alone: list[float]
    #: The same with viewers.
    watched: list[float]
    #: CPU time of the sending process, as a part of a core.
    sending: list[float]
    #: Frames per second of each viewer.
    frames: list[float]


async def measured(scheduler: LoadedScheduler, options: argparse.Namespace) -> Measured:
    """Alternate rounds without and with viewers."""
    found = Measured([], [], [], [])
    context = multiprocessing.get_context("spawn")
    await scheduler.rate(3.0)
    async with served(scheduler.source) as port:
        for _ in range(options.rounds):
            found.alone.append(await scheduler.rate(options.seconds))
            received = context.Queue()
            words = (port, options.viewers, options.seconds, received)
            viewers = context.Process(target=view, args=words, daemon=True)
            viewers.start()
            while received.empty():  # the viewers connect
                await scheduler.rate(0.1)
            received.get()
            wall, cpu = time.monotonic(), senders_cpu()
            found.watched.append(await scheduler.rate(options.seconds))
            found.sending.append((senders_cpu() - cpu) / (time.monotonic() - wall))
            while received.empty():
                await scheduler.rate(0.1)
            bytes_each = received.get() / options.viewers / (options.nodes + HEAD.size)
            found.frames.append(bytes_each / options.seconds)
            viewers.join()
    return found


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0)
    options = parser.parse_args()
    host = machine()
    found = asyncio.run(measured(LoadedScheduler(options.nodes), options))
    ratio = statistics.median(found.watched) / statistics.median(found.alone)
    record = {
        "commit": commit(),
        "machine": host,
        "nodes": options.nodes,
        "viewers": options.viewers,
        "pods_per_cpu_s_alone": [round(each) for each in found.alone],
        "pods_per_cpu_s_watched": [round(each) for each in found.watched],
        "ratio": round(ratio, 4),
        "sending_part_of_a_core": round(statistics.median(found.sending), 4),
        "frames_per_viewer_s": round(statistics.median(found.frames), 2),
        "bytes_per_frame": options.nodes + HEAD.size,
    }
    print(record)
    store("dashboard", record)


if __name__ == "__main__":
    main()

"""Cost of viewers of the dashboard for a scheduler that is fully loaded.

    python bench/dashboard.py [--nodes N] [--viewers N] [--rounds N] [--seconds S]

One process schedules as fast as it can and serves the dashboard from a second thread. Another
process reads the frames of the node grid for all viewers. Rounds without and with viewers
alternate. Two figures are recorded: the ratio of the medians of pods placed per second of CPU time
of the scheduling thread, and the CPU time of the serving thread as a part of the time, which is the
most that it can take from a scheduler in the same interpreter. Readers in the other process count
in neither. Results go to ``bench/results/dashboard-COMMIT.json``.
"""

import argparse
import multiprocessing
import selectors
import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from record import commit, machine, store

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.daemons.scheduler import REPORT, plane_config
from stretto.framework.profile.profile import load_profile
from stretto.inputs.objects.objects import NAMESPACE
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

    def rate(self, seconds: float) -> float:
        """Pods placed per second of CPU time of this thread, over so many seconds."""
        placed, cpu = 0, 0.0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            names = [f"p{self._number + i}" for i in range(WAVE)]
            self._number += WAVE
            self._store.create(POD, [make_pod(name, cpu="500m") for name in names])
            before = time.thread_time()
            self._settle()
            cpu += time.thread_time() - before
            placed += sum(1 for each in self._store.list(POD).records if each.node)
            self._store.delete(POD, [Deletion(NAMESPACE, name) for name in names])
            self._settle()
        return placed / cpu

    def _settle(self) -> None:
        while True:
            with self.source.lock:
                if not self._plane.step():
                    return


@contextmanager
def served(source: PlaneSource) -> Iterator[int]:
    """The port of the dashboard, while the block runs."""
    import uvicorn

    with listening(LOOPBACK, 0) as listener:
        server = uvicorn.Server(server_config(dashboard_app(source)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


def view(port: int, viewers: int, seconds: float, found: "multiprocessing.Queue[int]") -> None:
    """Read frames for all viewers from plain sockets; reports the bytes that arrived."""
    request = f"GET /live/frames?column=cpu HTTP/1.1\r\nHost: {LOOPBACK}\r\n\r\n".encode()
    total = 0
    with selectors.DefaultSelector() as selector:
        for _ in range(viewers):
            viewer = socket.create_connection((LOOPBACK, port))
            viewer.sendall(request)
            viewer.setblocking(False)
            selector.register(viewer, selectors.EVENT_READ)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for key, _ in selector.select(0.2):
                total += len(key.fileobj.recv(1 << 20))  # type: ignore[union-attr]
    found.put(total)


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0)
    options = parser.parse_args()
    host = machine()
    scheduler = LoadedScheduler(options.nodes)
    scheduler.rate(3.0)
    alone: list[float] = []
    watched: list[float] = []
    serving: list[float] = []
    frames: list[float] = []
    context = multiprocessing.get_context("spawn")
    with served(scheduler.source) as port:
        for _ in range(options.rounds):
            alone.append(scheduler.rate(options.seconds))
            found = context.Queue()
            words = (port, options.viewers, options.seconds + 2, found)
            viewers = context.Process(target=view, args=words, daemon=True)
            viewers.start()
            time.sleep(2.0)
            wall, whole, own = time.monotonic(), time.process_time(), time.thread_time()
            watched.append(scheduler.rate(options.seconds))
            served_s = time.process_time() - whole - (time.thread_time() - own)
            serving.append(served_s / (time.monotonic() - wall))
            received = found.get() / (options.nodes + HEAD.size)
            viewers.join()
            frames.append(received / options.viewers / (options.seconds + 2))
    ratio = statistics.median(watched) / statistics.median(alone)
    record = {
        "commit": commit(),
        "machine": host,
        "nodes": options.nodes,
        "viewers": options.viewers,
        "pods_per_cpu_s_alone": [round(each) for each in alone],
        "pods_per_cpu_s_watched": [round(each) for each in watched],
        "ratio": round(ratio, 4),
        "serving_part_of_a_core": round(statistics.median(serving), 4),
        "frames_per_viewer_s": round(statistics.median(frames), 2),
        "bytes_per_frame": options.nodes + HEAD.size,
    }
    print(record)
    store("dashboard", record)


if __name__ == "__main__":
    main()

"""Memory and processor time of `stretto up` with many idle watches and with slow ones, over TLS.

    python bench/idle_watches.py --watches 10000
    python bench/idle_watches.py --watches 100 --pods 6000

Opens watches of pods with a SQLite store, waits, and creates a few pods. With ``--pods`` no watch
reads while these pods are created, and each one must receive all events afterwards. Prints one JSON
object. Both processes need a descriptor for each watch.
"""

import argparse
import http.client
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from api_server import FORMATS, PODS, Target, WatchedEvents, cpu_seconds, local_api, pod, request
from receivers import SealedWatches

QUIET_S: Final = 12.0
"""Seconds without events: more than two intervals of the timers of watches."""
EVENTS: Final = 4
"""Pods that idle watches receive, one after the other."""
EVENT: Final = 1000
"""Bytes that the event of a pod has at least."""


def resident_mib(target: Target) -> float:
    """Memory of the server in MiB."""
    lines = Path(f"/proc/{target.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def create(target: Target, numbers: Sequence[int]) -> None:
    """Create pods one after the other.

    Raises:
        RuntimeError: the server refuses a pod.
    """
    connection = http.client.HTTPSConnection("127.0.0.1", target.port, context=target.trust())
    headers = {"Authorization": f"Bearer {target.token}", "Content-Type": "application/json"}
    for number in numbers:
        connection.request("POST", PODS, pod(number), headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 201:
            raise RuntimeError(f"POST {PODS}: {text[:300]!r}")
    connection.close()


def receive(watches: SealedWatches, events: int, start: float) -> float:
    """Receive the events of new pods in all watches; returns the seconds since the start."""
    latest = time.perf_counter() + 60
    watches.receive(lambda: min(watches.sizes) >= events * EVENT, latest)
    return time.perf_counter() - start


def idle(target: Target, watches: SealedWatches) -> dict[str, Any]:
    """Figures of watches without events, and of single events."""
    start, before = time.perf_counter(), cpu_seconds(target.pid)
    watches.receive(lambda: False, start + QUIET_S)
    cores = (cpu_seconds(target.pid) - before) / (time.perf_counter() - start)
    costs, delays = [], []
    for number in range(EVENTS):
        watches.reset()
        start, before = time.perf_counter(), cpu_seconds(target.pid)
        create(target, [number])
        delays.append(round(receive(watches, 1, start), 2))
        costs.append(round((cpu_seconds(target.pid) - before) / len(watches.sizes) * 1e6, 1))
    return {"idle_cores": round(cores, 3), "event_us_each": costs, "event_s": delays}


def slow(target: Target, watches: SealedWatches, pods: int) -> dict[str, Any]:
    """Memory of the server while no watch reads, at each fourth of the pods."""
    memory, part = [], pods // 4
    for at in range(4):
        create(target, range(at * part, (at + 1) * part))
        memory.append(round(resident_mib(target)))
    seconds = receive(watches, 4 * part, time.perf_counter())
    watches.receive(lambda: False, time.perf_counter() + 1)
    sizes = watches.sizes
    return {
        "pods": pods,
        "unread_mib": memory,
        "read_s": round(seconds, 1),
        "least_bytes": min(sizes),
        "most_bytes": max(sizes),
    }


def measured(target: Target, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one server."""
    before, start = resident_mib(target), cpu_seconds(target.pid)
    wanted = request(target, WatchedEvents(PODS, FORMATS["json"]))
    watches = SealedWatches(target.port, target.authority, wanted, options.watches)
    watches.receive(lambda: False, time.perf_counter() + 2)
    watches.reset()
    found: dict[str, Any] = {
        "watches": options.watches,
        "load": round(os.getloadavg()[0], 1),
        "open_ms_each": round((cpu_seconds(target.pid) - start) / options.watches * 1e3, 2),
        "kib_each": round((resident_mib(target) - before) * 1024 / options.watches, 1),
    }
    more = slow(target, watches, options.pods) if options.pods else idle(target, watches)
    return found | more | {"mib_at_end": round(resident_mib(target))}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watches", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=0, help="pods that no watch reads at first")
    parser.add_argument("--folder", type=Path, help="where the store is [a temporary folder]")
    options = parser.parse_args()
    with local_api(options) as target:
        print(json.dumps(measured(target, options), indent=1))


if __name__ == "__main__":
    main()

"""Processor time that the API server takes to send events to many watches over TLS.

    python bench/api_rounds.py [--watchers N] [--events N ...] [--rounds N]

One process serves the API over TLS from memory and creates some pods at once, so that each watch
receives their events in one round. A second process receives the bytes and does not decrypt them.
Prints one JSON object: for each number of events, the processor time of the server for each watch
and round, and for each event of a watch. Processor time depends less on other processes of the
machine than rates do; the lowest of all rounds depends least on them.
"""

import argparse
import asyncio
import json
import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

import uvloop
from receivers import SealedWatches
from record import machine

from stretto.api.wire.kinds import POD
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.serving.accepting import SocketServer
from stretto.serving.configuration import server_config
from stretto.serving.sockets import LOOPBACK, listening
from stretto.stores.embedded.memory import MemoryStore
from stretto.testing import make_pod
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.application import application
from stretto.web.local.keys import open_keys

REQUEST: Final = (
    b"GET /api/v1/namespaces/default/pods?watch=1 HTTP/1.1\r\n"
    b"host: 127.0.0.1\r\nauthorization: Bearer secret\r\n\r\n"
)
ROUND_S: Final = 0.1
"""Seconds of a round: longer than it takes on a busy machine."""


def receive(port: int, authority: str, watchers: int, pipe: Any) -> None:
    """Open watches, and receive their bytes until the process is ended."""
    watches = SealedWatches(port, authority, REQUEST, watchers)
    pipe.send("connected")
    watches.receive(lambda: False)


@contextmanager
def receiver(*words: Any) -> Iterator[Any]:
    """Yield a pipe to a process that receives."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=receive, args=(*words, there), daemon=True)
    process.start()
    try:
        yield here
    finally:
        process.kill()
        process.join()


async def measured(options: argparse.Namespace, folder: Path) -> list[dict[str, float]]:
    """The figures of each number of events."""
    keys, clock = open_keys(folder / "keys"), WallClock()
    store, tokens = MemoryStore(clock, Rng(0)), {"secret": User("a", "a", ("system:masters",))}
    api = ApiServer(store, ApiSettings(clock, Rng(1), TokenTable(tokens)))
    server = SocketServer(server_config(application(api.attempt), keys.tls))
    numbers, loop = count(), asyncio.get_running_loop()

    async def round_of(events: int) -> float:
        pods = [make_pod(f"p{next(numbers)}") for _ in range(events)]
        store.create(POD, pods)
        start = time.process_time()
        await asyncio.sleep(ROUND_S)
        return time.process_time() - start

    with listening(LOOPBACK, 0) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        words = listener.getsockname()[1], str(keys.authority.cert), options.watchers
        with receiver(*words) as pipe:
            await loop.run_in_executor(None, pipe.recv)
            await asyncio.sleep(1.0)
            found = []
            for events in options.events:
                rounds = [await round_of(events) for _ in range(options.rounds)]
                found.append(figures(events, options.watchers, rounds))
        server.should_exit = server.force_exit = True
        await serving
    return found


def figures(events: int, watchers: int, rounds: Sequence[float]) -> dict[str, float]:
    """The figures of some rounds with a number of events each."""
    low, median = (each / watchers * 1e6 for each in (min(rounds), statistics.median(rounds)))
    return {
        "events": events,
        "round_us_lowest": round(low, 1),
        "round_us_median": round(median, 1),
        "event_us_lowest": round(low / events, 2),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watchers", type=int, default=500)
    parser.add_argument("--events", type=int, nargs="+", default=[1, 10, 60, 200])
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    host = machine()
    with tempfile.TemporaryDirectory() as folder:
        found = uvloop.run(measured(options, Path(folder)))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    shown = {"machine": host, "watchers": options.watchers, "resident_mib": round(most)}
    print(json.dumps({**shown, "rounds": found}, indent=1))


if __name__ == "__main__":
    main()

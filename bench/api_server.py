"""Requests per second of `stretto up` with a SQLite store, with its load generator beside it.

    python bench/api_server.py --pods 5000 --clients 64
    python bench/api_server.py --watchers 500 --rate 1000 --seconds 10
    python bench/api_server.py --server kube-apiserver

Starts a server without controllers and scheduler, and sends requests over TLS from one process with
many connections: creations of pods of one template, bindings, lists of all pods, whole and in
pages, and creations of pods that all differ.

With watchers, objects are created at a rate instead, and each watcher receives an event for each
one. One watcher, whose events and delays are noted, is in the process that creates. The others are
divided over further processes, which count the bytes of their events and do not decrypt them.
Prints one JSON object. The processor time of the server for each request is comparable between busy
machines.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import uvloop
import yaml
from receivers import SealedWatches

from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.credentials import ADMIN

PODS = "/api/v1/namespaces/default/pods"
PAGE = 500


class EventFormat(NamedTuple):
    """Format of the events of a watch."""

    #: The media type.
    accept: str
    #: Bytes that each event of a new object contains once.
    mark: bytes
    #: Name of an object; a chunk of the response may begin inside of one.
    name: re.Pattern[bytes]


FORMATS = {
    "json": EventFormat("application/json", b'"ADDED"', re.compile(rb'"name":"(p[0-9]+)"')),
    "protobuf": EventFormat(
        "application/vnd.kubernetes.protobuf;stream=watch",
        b"\n\x05ADDED",
        re.compile(rb"\n[\x02-\x08](p[0-9]+)[\x12\x1a]"),
    ),
}
"""Formats of watches: that of kubectl and most clients, and that of informers in Go."""
SIZE = re.compile(rb"[0-9a-fA-F]+")
"""The line before a chunk."""
QUIET_S = 1.0
"""Seconds after which the answers to all requests for watches have arrived."""
FRAMES = 256
"""Bytes, less than an event, by which watches of the same events in other chunks may differ."""
SHARED = 64
"""Bytes of a read that are searched again with the next one: more than a mark or a name has."""
CREATORS = 128
"""Connections that create pods while others watch."""
HEADERS = "host: 127.0.0.1\r\nuser-agent: bench/1\r\n"


class Target(NamedTuple):
    """A running server."""

    #: Port.
    port: int
    #: Bearer token.
    token: str
    #: File of the authority of its certificate.
    authority: str
    #: Process.
    pid: int

    def trust(self) -> ssl.SSLContext:
        """A context that trusts the server."""
        return ssl.create_default_context(cafile=self.authority)


class Connection:
    """One connection that sends one request after the other."""

    def __init__(self, target: Target, pair: Any) -> None:
        self._reader, self._writer = pair
        self._token = target.token

    async def send(self, method: str, path: str, body: bytes = b"") -> bytes:
        """The body of an answer.

        Raises:
            RuntimeError: the server refuses the request.
        """
        head = f"{method} {path} HTTP/1.1\r\n{HEADERS}authorization: Bearer {self._token}\r\n"
        if body:
            head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self._writer.write(f"{head}\r\n".encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        lines = answer.decode("latin-1").lower().split("\r\n")
        lengths = [int(each[15:]) for each in lines if each.startswith("content-length:")]
        content = await (self._reader.readexactly(lengths[0]) if lengths else self._chunks())
        if not lines[0].split()[1].startswith("2"):
            raise RuntimeError(f"{method} {path}: {content[:300]!r}")
        return content

    async def _chunks(self) -> bytes:
        """A body of unknown length."""
        found = bytearray()
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            found += await self._reader.readexactly(size)
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return bytes(found)


def pod(number: int) -> bytes:
    """A pod as JSON."""
    container = {
        "name": "web",
        "image": "nginx",
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        "ports": [{"containerPort": 80}],
    }
    metadata = {"name": f"p{number}", "labels": {"app": "web"}}
    spec = {"containers": [container]}
    fields = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return json.dumps(fields).encode()


def varied_pod(number: int) -> bytes:
    """A pod as JSON that differs from all others in labels, environment and requests."""
    container = {
        "name": "web",
        "image": f"nginx:{number % 50}",
        "env": [{"name": "SHARD", "value": str(number)}],
        "resources": {"requests": {"cpu": f"{number % 900 + 100}m", "memory": f"{number}Mi"}},
        "ports": [{"containerPort": number % 60_000 + 1}],
    }
    metadata = {"name": f"v{number}", "labels": {"app": "web", "shard": str(number)}}
    spec = {"containers": [container]}
    fields = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return json.dumps(fields).encode()


def config_map(number: int) -> bytes:
    """A ConfigMap of one small value as JSON."""
    fields = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"p{number}"}}
    return json.dumps({**fields, "data": {"key": "value"}}).encode()


def binding(number: int) -> bytes:
    """A binding as JSON."""
    target = {"kind": "Node", "name": f"n{number % 100}"}
    metadata = {"name": f"p{number}"}
    fields = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
    return json.dumps(fields).encode()


async def opened(target: Target, count: int) -> list[Any]:
    """Open connections; returns their readers and writers."""
    trust = target.trust()
    return [
        await asyncio.open_connection("127.0.0.1", target.port, ssl=trust, limit=1 << 28)
        for _ in range(count)
    ]


async def repeated(
    target: Target, clients: int, requests: Sequence[tuple[str, bytes]]
) -> dict[str, float]:
    """Send POST requests over many connections; returns what they took."""
    pairs = await opened(target, clients)
    connections = [Connection(target, pair) for pair in pairs]
    waiting = iter(requests)

    async def work(connection: Connection) -> None:
        for path, body in waiting:
            await connection.send("POST", path, body)

    before, start = cpu_seconds(target.pid), time.perf_counter()
    await asyncio.gather(*(work(each) for each in connections))
    seconds, used = time.perf_counter() - start, cpu_seconds(target.pid) - before
    for _, writer in pairs:
        writer.close()
    count = len(requests)
    return {"per_second": round(count / seconds), "server_cpu_us": round(used / count * 1e6)}


async def listed(target: Target) -> dict[str, float]:
    """List all pods at once and in pages; returns seconds."""
    (pair,) = await opened(target, 1)
    connection = Connection(target, pair)
    start = time.perf_counter()
    await connection.send("GET", PODS)
    whole = time.perf_counter() - start
    longest, token = 0.0, ""
    while True:
        start = time.perf_counter()
        suffix = f"&continue={token}" if token else ""
        page = await connection.send("GET", f"{PODS}?limit={PAGE}{suffix}")
        longest = max(longest, time.perf_counter() - start)
        token = json.loads(page)["metadata"].get("continue", "")
        if not token:
            break
    pair[1].close()
    return {"list_s": round(whole, 3), "slowest_page_s": round(longest, 3)}


class WatchedKind(NamedTuple):
    """Objects that are created while others watch."""

    #: Path of the collection.
    path: str
    #: The object of a number as JSON.
    make: Callable[[int], bytes]


class WatchedEvents(NamedTuple):
    """The events of a watch."""

    #: Path of the collection.
    path: str
    #: Their format.
    format: EventFormat


KINDS = {
    "pods": WatchedKind(PODS, pod),
    "configmaps": WatchedKind("/api/v1/namespaces/default/configmaps", config_map),
}
"""Kinds whose watches are measured, by their plural."""


class Watcher(asyncio.Protocol):
    """Notes the events of one watch."""

    def __init__(self, target: Target, watched: WatchedEvents) -> None:
        self._request = request(target, watched)
        self._watched = watched
        self._line = b""
        self._left = 0
        self._rest = b""
        #: When the event of a pod arrived, by its name.
        self.arrivals: dict[str, float] = {}
        #: Events so far.
        self.events = 0
        #: Bytes of events so far.
        self.size = 0
        #: Bytes of the response so far.
        self.whole = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Request the watch."""
        cast(asyncio.WriteTransport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        """Note what arrived."""
        self.whole += len(data)
        at = 0
        while at < len(data):
            if not self._left:
                at = self._read_line(data, at)
                continue
            end = min(at + self._left, len(data))
            self._left -= end - at
            self.size += end - at
            self._note(data[at:end])
            at = end

    def _read_line(self, data: bytes, at: int) -> int:
        """Read a line of the head or before a chunk; returns where the rest begins."""
        end = data.find(b"\n", at) + 1 or len(data)
        self._line += data[at:end]
        if self._line.endswith(b"\n"):
            line, self._line = self._line.strip(), b""
            self._left = int(line, 16) if SIZE.fullmatch(line) else 0
        return end

    def _note(self, data: bytes) -> None:
        """Note the arrival of events; a mark or a name that two reads share counts once."""
        mark, name = self._watched.format.mark, self._watched.format.name
        data = self._rest + data
        self.events += data.count(mark) - self._rest.count(mark)
        self._rest = data[-SHARED:]
        for found in name.finditer(data):
            self.arrivals.setdefault(found[1].decode(), time.perf_counter())


def request(target: Target, watched: WatchedEvents) -> bytes:
    """The request of a watch."""
    head = f"GET {watched.path}?watch=1 HTTP/1.1\r\n{HEADERS}"
    head += f"accept: {watched.format.accept}\r\n"
    return f"{head}authorization: Bearer {target.token}\r\n\r\n".encode()


class Received(NamedTuple):
    """What the watchers of one process have received."""

    #: Bytes of each watcher.
    sizes: Sequence[int]
    #: When the last event arrived, on the clock of all processes.
    end: float


async def observed(target: Target, watched: WatchedEvents) -> Watcher:
    """Start the watch whose events are noted."""
    found = Watcher(target, watched)
    await asyncio.get_running_loop().create_connection(
        lambda: found, "127.0.0.1", target.port, ssl=target.trust()
    )
    return found


def share(target: Target, watched: WatchedEvents, watchers: int, pipe: Any) -> None:
    """Receive the events of some watchers in a process of its own."""
    words = target.port, target.authority, request(target, watched), watchers
    watches = SealedWatches(*words)
    watches.receive(lambda: False, time.perf_counter() + QUIET_S)
    watches.reset()
    pipe.send("connected")
    watches.receive(pipe.poll)
    size, latest = pipe.recv()
    watches.receive(lambda: min(watches.sizes) >= size, latest)
    pipe.send(Received(watches.sizes, time.perf_counter()))


def events_of(options: argparse.Namespace) -> WatchedEvents:
    """The events that the watchers receive."""
    return WatchedEvents(KINDS[options.kind].path, FORMATS[options.format])


def shares(target: Target, options: argparse.Namespace) -> list[Any]:
    """Start the processes of all watchers but one; returns the pipes to them."""
    spawn, events, rest = multiprocessing.get_context("spawn"), events_of(options), []
    count, processes = options.watchers - 1, min(options.processes, options.watchers - 1)
    for at in range(processes):
        here, there = spawn.Pipe()
        part = count * (at + 1) // processes - count * at // processes
        spawn.Process(target=share, args=(target, events, part, there), daemon=True).start()
        rest.append(here)
    for each in rest:
        each.recv()
    return rest


async def created(target: Target, options: argparse.Namespace) -> tuple[float, dict[str, float]]:
    """Create objects at a rate; returns the start, and when each object was sent."""
    kind, rate, sent = KINDS[options.kind], options.rate, dict[str, float]()
    bodies = [kind.make(number) for number in range(int(rate * options.seconds))]
    connections = [Connection(target, each) for each in await opened(target, CREATORS)]
    start = time.perf_counter()

    async def create(connection: Connection, first: int) -> None:
        for number in range(first, len(bodies), CREATORS):
            await asyncio.sleep(max(0.0, start + number / rate - time.perf_counter()))
            sent[f"p{number}"] = time.perf_counter()
            await connection.send("POST", kind.path, bodies[number])

    await asyncio.gather(*(create(each, at) for at, each in enumerate(connections)))
    return start, sent


async def watched(target: Target, options: argparse.Namespace) -> dict[str, Any]:
    """Create objects at a rate while many watchers receive them; returns rates and delays."""
    loop, pipes = asyncio.get_running_loop(), shares(target, options)
    own = await observed(target, events_of(options))
    await asyncio.sleep(QUIET_S)
    before, head = cpu_seconds(target.pid), own.whole
    start, sent = await created(target, options)
    seconds, count = time.perf_counter() - start, len(sent)
    latest = start + seconds + 5 * options.seconds
    while own.events < count and time.perf_counter() < latest:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    size = own.whole - head  # all watches receive these bytes
    for each in pipes:
        each.send((size - FRAMES, latest))
    parts = [Received([size], time.perf_counter())]
    parts += [await loop.run_in_executor(None, each.recv) for each in pipes]
    took = max(each.end for each in parts) - start
    sizes, arrivals = [each for part in parts for each in part.sizes], own.arrivals
    lost = sum(-(-max(0, size - FRAMES - each) * own.events // size) for each in sizes)
    delivered = own.events * len(sizes) - lost
    delays = sorted(arrivals[name] - at for name, at in sent.items() if name in arrivals)
    return {
        "watchers": options.watchers,
        "processes": len(pipes) + 1,
        "kind": options.kind,
        "format": options.format,
        "created_per_second": round(count / seconds),
        "delivered_per_second": round(delivered / took),
        "missing": count * options.watchers - delivered,
        "delay_p50_ms": round(1e3 * delays[len(delays) // 2], 1),
        "delay_p99_ms": round(1e3 * delays[int(0.99 * len(delays))], 1),
        "megabytes_per_second": round(sum(sizes) / took / 1e6, 1),
        "server_cores": round((cpu_seconds(target.pid) - before) / took, 2),
    }


def cpu_seconds(pid: int) -> float:
    """Processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def local_api(options: argparse.Namespace) -> Iterator[Target]:
    """Run ``stretto up`` with a store in a temporary folder."""
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        folder = Path(scratch)
        kubeconfig = folder / "kubeconfig"
        command = [sys.executable, "-m", "stretto.cli.main", "up", "--nodes", "0"]
        command += ["--controllers", "external", "--scheduler", "external"]
        command += ["--store", f"sqlite:{folder / 'store.db'}", "--kubeconfig", str(kubeconfig)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not kubeconfig.exists():
                time.sleep(0.05)
            config = yaml.safe_load(kubeconfig.read_text())
            port = int(config["clusters"][0]["cluster"]["server"].rpartition(":")[2])
            authority = str(folder / "store.db.keys" / "ca.crt")
            yield Target(port, config["users"][0]["user"]["token"], authority, process.pid)
        finally:
            process.terminate()
            process.wait()


@contextmanager
def real_api(_options: argparse.Namespace) -> Iterator[Target]:
    """Run kube-apiserver with etcd."""
    with ControlPlane() as plane:
        secrets, process = plane.credentials, plane["kube-apiserver"]
        yield Target(plane.port, secrets.tokens[ADMIN], str(secrets.ca.cert), process.pid)


SERVERS = {"stretto": local_api, "kube-apiserver": real_api}
"""Servers that can be measured, by their name."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", choices=SERVERS, default="stretto")
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--folder", type=Path, help="where the store is [a temporary folder]")
    parser.add_argument("--watchers", type=int, default=0, help="measure watches instead")
    parser.add_argument("--kind", choices=KINDS, default="pods", help="objects, for watchers")
    parser.add_argument("--format", choices=FORMATS, default="json", help="events, for watchers")
    parser.add_argument("--rate", type=float, default=1000.0, help="per second, for watchers")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long, for watchers")
    cores = max(1, (os.cpu_count() or 1) - 2)
    parser.add_argument("--processes", type=int, default=cores, help="of all watchers but one")
    options = parser.parse_args()
    with SERVERS[options.server](options) as target:
        found = uvloop.run(_measured(target, options))
    print(json.dumps({"server": options.server, **found}, indent=1))


async def _measured(target: Target, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one run."""
    if options.watchers:
        return await watched(target, options)

    async def posted(make: Callable[[int], tuple[str, bytes]]) -> dict[str, float]:
        requests = [make(number) for number in range(options.pods)]
        return await repeated(target, options.clients, requests)

    found: dict[str, Any] = {"pods": options.pods, "clients": options.clients}
    found["creates"] = await posted(lambda number: (PODS, pod(number)))
    found["binds"] = await posted(lambda number: (f"{PODS}/p{number}/binding", binding(number)))
    found |= await listed(target)
    found["creates_varied"] = await posted(lambda number: (PODS, varied_pod(number)))
    return found


if __name__ == "__main__":
    main()

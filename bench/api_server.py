"""Requests per second of `stretto up` with a SQLite store, with its load generator beside it.

    python bench/api_server.py --pods 5000 --clients 64

Starts a server without controllers and scheduler, and sends requests over TLS from one process with
many connections: creations of pods, bindings, and lists of all pods, whole and in pages. Prints one
JSON object. The processor time of the server for each request is comparable between busy machines.
"""

import argparse
import asyncio
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

PODS = "/api/v1/namespaces/default/pods"
PAGE = 500
HEADERS = "host: 127.0.0.1\r\nuser-agent: bench/1\r\naccept: application/json\r\n"


class Target(NamedTuple):
    """A running server."""

    #: Port.
    port: int
    #: Bearer token.
    token: str
    #: Trusts the server.
    trust: ssl.SSLContext
    #: Process.
    pid: int


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


def binding(number: int) -> bytes:
    """A binding as JSON."""
    target = {"kind": "Node", "name": f"n{number % 100}"}
    metadata = {"name": f"p{number}"}
    fields = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
    return json.dumps(fields).encode()


async def repeated(
    target: Target, clients: int, requests: Sequence[tuple[str, bytes]]
) -> dict[str, float]:
    """Send POST requests over many connections; returns what they took."""
    pairs = [
        await asyncio.open_connection("127.0.0.1", target.port, ssl=target.trust, limit=1 << 28)
        for _ in range(clients)
    ]
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
    pair = await asyncio.open_connection("127.0.0.1", target.port, ssl=target.trust, limit=1 << 28)
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


def cpu_seconds(pid: int) -> float:
    """Processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def started(folder: Path) -> tuple[subprocess.Popen[bytes], Target]:
    """A server with a store in a folder."""
    kubeconfig = folder / "kubeconfig"
    command = [sys.executable, "-m", "stretto.cli.main", "up", "--nodes", "0"]
    command += ["--controllers", "external", "--scheduler", "external"]
    command += ["--store", f"sqlite:{folder / 'store.db'}", "--kubeconfig", str(kubeconfig)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not kubeconfig.exists():
        time.sleep(0.05)
    config = yaml.safe_load(kubeconfig.read_text())
    port = int(config["clusters"][0]["cluster"]["server"].rpartition(":")[2])
    trust = ssl.create_default_context(cafile=str(folder / "store.db.keys" / "ca.crt"))
    return process, Target(port, config["users"][0]["user"]["token"], trust, process.pid)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--folder", type=Path, help="where the store is [a temporary folder]")
    options = parser.parse_args()
    numbers = range(options.pods)
    makers: dict[str, Callable[[int], tuple[str, bytes]]] = {
        "creates": lambda number: (PODS, pod(number)),
        "binds": lambda number: (f"{PODS}/p{number}/binding", binding(number)),
    }
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        process, target = started(Path(folder))
        found: dict[str, Any] = {"pods": options.pods, "clients": options.clients}
        try:
            for name, make in makers.items():
                requests = [make(number) for number in numbers]
                found[name] = asyncio.run(repeated(target, options.clients, requests))
            found |= asyncio.run(listed(target))
        finally:
            process.terminate()
            process.wait()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

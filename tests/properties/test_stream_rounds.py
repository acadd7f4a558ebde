"""Rounds of streams: each client receives every change once, in order, however slow clients are."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiStream
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.api.webhooks.reviews import ReviewMemory
from stretto.web.barrier import NO_BARRIER
from stretto.web.streaming import HttpStreams

MAPS = "/api/v1/namespaces/default/configmaps"
CLIENTS = 3
Action = tuple[str, int]

ACTIONS = st.lists(
    st.tuples(st.sampled_from(["write", "block", "open", "wait"]), st.integers(0, CLIENTS - 1)),
    min_size=4,
    max_size=20,
)


class Client:
    """A client that reads or does not, and what it has received."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.reads.set()
        self.body = b""

    @property
    def is_ready(self) -> bool:
        return self.reads.is_set()

    @property
    def names(self) -> list[str]:
        """Names in the events, in the order of their arrival."""
        return [json.loads(line)["object"]["metadata"]["name"] for line in self.body.splitlines()]

    def write(self, pieces: Sequence[bytes]) -> bool:
        """Receive a chunk from a round, if the client reads."""
        if not self.is_ready:
            return False
        _, _, rest = b"".join(pieces).partition(b"\r\n")
        self.body += rest.removesuffix(b"\r\n")
        return True

    def on_shutdown(self, call: Any) -> None:
        """Do nothing: the server of a test does not stop."""

    async def send(self, message: Any) -> None:
        """Receive a message of the task once the client reads."""
        await self.reads.wait()
        self.body += message.get("body", b"")

    async def receive(self) -> dict[str, Any]:
        """Stay connected."""
        await asyncio.Event().wait()
        return {}


async def unanswered(_: Any) -> Any:
    """Answer no webhook."""


class Site:
    """A server whose clients watch the ConfigMaps of a namespace."""

    def __init__(self) -> None:
        clock = ManualClock(1_790_000_000.0)
        self.server = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))
        self.clients = [Client() for _ in range(CLIENTS)]
        self.written: list[str] = []
        self.streams = HttpStreams(NO_BARRIER, unanswered)
        self.tasks = [asyncio.ensure_future(self.serve(each)) for each in self.clients]

    async def serve(self, client: Client) -> None:
        """Serve one watch."""
        stream = self.server.handle(ApiRequest("GET", f"{MAPS}?watch=1"))
        assert isinstance(stream, ApiStream)
        await self.streams.serve(stream, ReviewMemory(), client.receive, client.send, client)

    def write(self) -> None:
        """Create a ConfigMap."""
        name = f"m{len(self.written)}"
        body = json.dumps({"metadata": {"name": name}}).encode()
        self.server.handle(ApiRequest("POST", MAPS, {"content-type": "application/json"}, body))
        self.written.append(name)

    async def take(self, action: Action) -> None:
        """Take one action."""
        word, client = action
        if word == "write":
            self.write()
        elif word == "block":
            self.clients[client].reads.clear()
        elif word == "open":
            self.clients[client].reads.set()
        else:
            await self.settle()

    async def settle(self) -> None:
        """Wait until the clients that read have as many events as there are objects."""
        for _ in range(1000):
            await asyncio.sleep(0.001)
            reading = [each for each in self.clients if each.is_ready]
            if all(len(each.names) >= len(self.written) for each in reading):
                break

    async def rest(self) -> None:
        """Let all clients read everything."""
        for each in self.clients:
            each.reads.set()
        await self.settle()


def received(actions: Sequence[Action]) -> tuple[list[str], list[list[str]]]:
    """Return the written names, and those that each client has received."""

    async def run() -> tuple[list[str], list[list[str]]]:
        site = Site()
        await site.settle()
        for each in [("write", 0), ("wait", 0), *actions]:  # the streams share a feed from then on
            await site.take(each)
        await site.rest()
        for task in site.tasks:
            task.cancel()
        return site.written, [each.names for each in site.clients]

    return asyncio.run(run())


@settings(deadline=None)
@given(ACTIONS)
def test_each_client_receives_every_change_once_and_in_order(actions: list[Action]) -> None:
    written, names = received(actions)
    assert names == [written] * CLIENTS

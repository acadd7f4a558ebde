"""The process that sends feeds: what readers receive, and when it starts and ends."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stretto.serving.broadcast.broadcaster import Broadcast, Broadcaster, Message
from stretto.serving.broadcast.process import Member
from stretto.serving.broadcast.response import BroadcastResponse
from stretto.serving.configuration import server_config
from stretto.serving.sockets import LOOPBACK, listening


class Scene:
    """A broadcaster with one feed, whose messages a test states, and its readers."""

    def __init__(self) -> None:
        self.broadcaster = Broadcaster()
        self.feed = Broadcast("feed", self._messages, "text/plain")
        self.started = 0
        self._said: asyncio.Queue[Message] = asyncio.Queue()
        self._readers: list[socket.socket] = []

    def say(self, text: str, *, is_state: bool = True) -> None:
        """Send a message."""
        self._said.put_nowait(Message(text.encode(), is_state))

    def reader(self) -> socket.socket:
        """The far end of a connection that is handed over."""
        ours, served = socket.socketpair()
        ours.setblocking(False)
        self._readers.append(ours)
        self.broadcaster.hand_over(served, self.feed)
        return ours

    def close(self) -> None:
        """End everything."""
        self.broadcaster.close()
        for each in self._readers:
            each.close()

    async def _messages(self) -> AsyncIterator[Message]:
        self.started += 1
        while True:
            yield await self._said.get()


async def read(reader: socket.socket) -> bytes:
    """The next bytes; empty at the end of the connection."""
    async with asyncio.timeout(20):
        return await asyncio.get_running_loop().sock_recv(reader, 1 << 16)


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    while True:
        if condition():
            return
        await asyncio.sleep(0.01)


def played(act: Callable[[Scene], Awaitable[None]]) -> None:
    """Run a test in an event loop."""

    async def run() -> None:
        with closing(Scene()) as scene:
            await act(scene)

    asyncio.run(run())


def test_all_readers_receive_a_message_that_is_made_once() -> None:
    async def act(scene: Scene) -> None:
        readers = [scene.reader() for _ in range(3)]
        scene.say("hello")
        assert [await read(each) for each in readers] == [b"5\r\nhello\r\n"] * 3
        assert scene.started == 1

    played(act)


def test_a_later_reader_begins_with_the_state_and_not_with_a_passing_message() -> None:
    async def act(scene: Scene) -> None:
        first = scene.reader()
        scene.say("state")
        await read(first)
        scene.say("idle", is_state=False)
        await read(first)
        assert await read(scene.reader()) == b"5\r\nstate\r\n"

    played(act)


def test_a_feed_without_readers_ends_and_starts_again_for_the_next_one() -> None:
    async def act(scene: Scene) -> None:
        while scene.started < 2:
            reader = scene.reader()
            scene.say("state")
            # A slow process has not noticed the last end: two states may come at once.
            assert (await read(reader)).startswith(b"5\r\nstate\r\n")
            reader.close()
            await asyncio.sleep(0.01)

    played(act)


def test_after_a_kill_connections_end_and_the_next_one_starts_another_process() -> None:
    async def act(scene: Scene) -> None:
        reader = scene.reader()
        scene.say("one")
        await read(reader)
        process = scene.broadcaster.process
        assert process
        os.kill(process, signal.SIGKILL)
        assert await read(reader) == b""
        await until(lambda: scene.broadcaster.process != process)
        again = scene.reader()
        scene.say("two")
        assert await read(again) == b"3\r\ntwo\r\n"

    played(act)


def test_closing_the_broadcaster_ends_the_connections_and_the_process() -> None:
    async def act(scene: Scene) -> None:
        reader = scene.reader()
        scene.broadcaster.close()
        assert await read(reader) == b""
        assert scene.broadcaster.process is None

    played(act)


def test_the_process_ends_when_its_server_is_gone() -> None:
    server, theirs = socket.socketpair()
    with theirs:
        running = subprocess.Popen(
            [sys.executable, "-m", "stretto.serving.broadcast.process", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
        )
    server.close()
    assert running.wait(20) == 0


def test_a_slow_reader_loses_messages_and_receives_the_newest_one() -> None:
    theirs, ours = socket.socketpair()
    member, large, received = Member(ours, 1), bytes(1 << 22), bytearray()
    with theirs, ours:
        for text in (large, b"lost", b"newest"):
            member.offer(text)
        while len(received) < len(large) + 6:
            received += theirs.recv(1 << 20)
            member.advance()
    assert bytes(received).lstrip(b"\0") == b"newest"


def test_a_response_keeps_its_head_when_its_connection_is_handed_over() -> None:
    async def act(scene: Scene) -> None:
        async with served(scene) as (server, address):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            scene.say("hello")
            assert await reader.readuntil(b"hello\r\n") == b"5\r\nhello\r\n"
            assert b"content-type: text/plain" in head
            assert not server.server_state.connections
            writer.close()

    played(act)


@asynccontextmanager
async def served(scene: Scene) -> AsyncIterator[tuple[uvicorn.Server, tuple[str, int]]]:
    """A server that responds with the feed, and its address."""

    async def answer(request: Request) -> Response:
        return BroadcastResponse(scene.broadcaster, scene.feed)

    with listening(LOOPBACK, 0) as listener:
        server = uvicorn.Server(server_config(Starlette(routes=[Route("/", answer)])))
        serving = asyncio.create_task(server.serve([listener]))
        yield server, listener.getsockname()
        server.should_exit = True
        await serving

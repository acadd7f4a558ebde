"""The parent's side: start the broadcasting process and write to its channels.

The server creates each message once and copies it once into a socket, independent of the number of
connections.
"""

import asyncio
import socket
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable
from dataclasses import dataclass
from typing import Final, NamedTuple

from stretto.serving.broadcast.packets import ENDED, HEAD, Packet
from stretto.serving.chunks import chunk

_PROCESS: Final = (sys.executable, "-P", "-m", "stretto.serving.broadcast.process")
_ENDED_AT_ONCE: Final = 1024
"""Maximum number of closed connections that one turn reads."""


class Message(NamedTuple):
    """One message to all readers of a broadcast."""

    #: The bytes.
    data: bytes
    #: True if readers that join before the next message receive it too.
    is_state: bool = True


class Broadcast(NamedTuple):
    """A stream of messages for many clients."""

    #: Identity of the broadcast: equal for equal broadcasts.
    name: Hashable
    #: Starts the stream of messages from the current state.
    messages: Callable[[], AsyncIterator[Message]]
    #: Media type of the stream.
    media_type: str


class Broadcaster:
    """Sender of broadcasts from a separate process.

    The process starts with the first connection and ends with ``close`` or with this process. If
    the process is killed, its connections end; the next connection starts a new process.
    """

    def __init__(self) -> None:
        """Create the broadcaster; the process does not start yet."""
        self._link: _ProcessLink | None = None

    @property
    def process(self) -> int | None:
        """The process id; ``None`` if the process is not running."""
        return None if self._link is None else self._link.process

    def hand_over(self, connection: socket.socket, broadcast: Broadcast) -> None:
        """Pass a connection whose response has begun to the process, which sends a broadcast.

        Args:
            connection: the connection; its descriptor in this process is closed.
            broadcast: the messages, sent as HTTP chunks.

        Raises:
            OSError: the process cannot be started.
        """
        try:
            link = self._usable()
        except OSError:
            connection.close()
            raise
        link.join(connection, broadcast)

    def close(self) -> None:
        """End the process and its connections."""
        if self._link is not None:
            self._link.end()
            self._link = None

    def _usable(self) -> "_ProcessLink":
        if self._link is None or not self._link.is_usable:
            self.close()
            self._link = _ProcessLink()
        return self._link


@dataclass(eq=False)
class _Channel:
    """Channel of the process: one broadcast and its connections."""

    #: Number of the channel in packets.
    number: int
    #: Task that creates and sends the messages.
    task: "asyncio.Task[None]"
    #: Number of connections that have joined and not ended.
    readers: int = 0

    def joined(self) -> None:
        """Count a connection that joins."""
        self.readers += 1

    def left(self) -> int:
        """Count a connection that ends; return the number of the remaining ones."""
        self.readers -= 1
        return self.readers


class _ProcessLink:
    """One run of the process; used in the event loop that started it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        with theirs:
            descriptor = theirs.fileno()
            self._process = subprocess.Popen(
                [*_PROCESS, str(descriptor)], pass_fds=[descriptor], stdin=subprocess.DEVNULL
            )
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._heed)
        self._channels: dict[Hashable, _Channel] = {}
        self._names: dict[int, Hashable] = {}
        self._last = 0
        self._unsent: deque[tuple[memoryview, tuple[socket.socket, ...]]] = deque()
        self._taken = asyncio.Event()
        self._taken.set()

    @property
    def process(self) -> int | None:
        """The process id; ``None`` if the process has ended."""
        return None if self._socket.fileno() < 0 else self._process.pid

    @property
    def is_usable(self) -> bool:
        """Return whether the process and the event loop still run."""
        return self._socket.fileno() >= 0 and self._loop is asyncio.get_running_loop()

    def join(self, connection: socket.socket, broadcast: Broadcast) -> None:
        """Add a connection to the channel of a broadcast."""
        channel = self._channels.get(broadcast.name) or self._open(broadcast)
        channel.joined()
        self._write(HEAD.pack(Packet.JOIN, channel.number, 0), connection)

    def end(self) -> None:
        """End the process; it may have ended already."""
        if self._socket.fileno() < 0:
            return
        if not self._loop.is_closed():
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            for number in list(self._names):
                self._close(number)
        self._socket.close()
        self._process.kill()
        self._process.wait()
        for _, connections in self._unsent:
            for connection in connections:
                connection.close()

    def _open(self, broadcast: Broadcast) -> _Channel:
        self._last += 1
        task = self._loop.create_task(self._send(self._last, broadcast))
        channel = self._channels[broadcast.name] = _Channel(self._last, task)
        self._names[channel.number] = broadcast.name
        return channel

    def _close(self, number: int) -> None:
        """Close a channel; the next connection opens a new one."""
        channel = self._channels.pop(self._names.pop(number, None), None)
        if channel is not None:
            channel.task.cancel()

    async def _send(self, number: int, broadcast: Broadcast) -> None:
        """Send the messages until the channel is closed, each after the previous one is sent."""
        try:
            async for message in broadcast.messages():
                kind = Packet.NEWEST if message.is_state else Packet.PASSING
                data = chunk(message.data)
                self._write(HEAD.pack(kind, number, len(data)) + data)
                await self._taken.wait()
        finally:
            self._close(number)
            self._write(HEAD.pack(Packet.END, number, 0))

    def _write(self, packet: bytes, *connections: socket.socket) -> None:
        self._unsent.append((memoryview(packet), connections))
        if len(self._unsent) == 1:
            self._flush()

    def _flush(self) -> None:
        """Send as many bytes as the socket accepts now."""
        while self._unsent and self._socket.fileno() >= 0:
            packet, connections = self._unsent[0]
            try:
                sent = socket.send_fds(self._socket, [packet], [c.fileno() for c in connections])
            except BlockingIOError:
                self._taken.clear()
                self._loop.add_writer(self._socket, self._flush)
                return
            except ConnectionError:  # the process has ended; this link ends too
                sent = len(packet)
            for connection in connections:
                connection.close()
            if sent < len(packet):
                self._unsent[0] = packet[sent:], ()
            else:
                self._unsent.popleft()
        if not self._taken.is_set():
            self._taken.set()
            self._loop.remove_writer(self._socket)

    def _heed(self) -> None:
        """Count the connections that have ended; detect the end of the process."""
        try:
            data = self._socket.recv(_ENDED_AT_ONCE * ENDED.size)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if not data:
            self.end()
            return
        for (number,) in ENDED.iter_unpack(data):
            channel = self._channels.get(self._names.get(number))
            if channel is not None and not channel.left():
                self._close(number)

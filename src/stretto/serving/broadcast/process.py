"""The process that sends broadcasts: ``python -m stretto.serving.broadcast.process DESCRIPTOR``.

A slow connection receives the newest message when it can accept one: older messages are dropped,
and at most two are stored. The process ends when its parent closes the socket or terminates.
"""

import selectors
import signal
import socket
import sys
from collections import deque
from contextlib import suppress
from typing import Final

from stretto.serving.broadcast.packets import ENDED, HEAD, Packet

_READ: Final = 1 << 20
"""Maximum number of bytes per read from the server."""
_DESCRIPTORS: Final = 64
"""Maximum number of descriptors per read; the kernel sends at most those of one packet."""


class Member:
    """One connection of a channel."""

    def __init__(self, connection: socket.socket, channel: int) -> None:
        """Serve a connection as a member of a channel."""
        connection.setblocking(False)
        #: The connection.
        self.connection = connection
        #: Number of its channel.
        self.channel = channel
        self._rest = memoryview(b"")
        self._next = b""

    @property
    def is_behind(self) -> bool:
        """Return whether part of a message waits until the client reads."""
        return bool(self._rest)

    def offer(self, message: bytes) -> None:
        """Send a message; it replaces a waiting message.

        Raises:
            OSError: the connection has ended.
        """
        self._next = message
        self.advance()

    def advance(self) -> None:
        """Send as many bytes as the connection accepts.

        Raises:
            OSError: the connection has ended.
        """
        while self._rest or self._next:
            if not self._rest:
                self._rest, self._next = memoryview(self._next), b""
            try:
                sent = self.connection.send(self._rest)
            except BlockingIOError:
                return
            self._rest = self._rest[sent:]

    def heed(self) -> None:
        """Discard what the client sends.

        Raises:
            OSError: the connection has ended.
        """
        with suppress(BlockingIOError):
            if not self.connection.recv(1 << 16):
                raise ConnectionError


class BroadcastProcess:
    """Broadcasting process: it reads packets and sends their messages to the channels."""

    def __init__(self, server: socket.socket) -> None:
        """Broadcast the messages of a server."""
        self._server = server
        self._selector = selectors.DefaultSelector()
        self._selector.register(server, selectors.EVENT_READ)
        self._received = bytearray()
        self._descriptors: deque[int] = deque()
        self._members: dict[int, list[Member]] = {}
        self._newest: dict[int, bytes] = {}

    def run(self) -> None:
        """Broadcast until the server closes its socket."""
        while True:
            for key, events in self._selector.select():
                if key.data is not None:
                    self._serve(key.data, events)
                elif not self._receive():
                    return

    def _receive(self) -> bool:
        """Handle the packets that have arrived; False at the end of the socket."""
        data, descriptors, _, _ = socket.recv_fds(self._server, _READ, _DESCRIPTORS)
        self._received += data
        self._descriptors.extend(descriptors)
        start = 0
        while len(self._received) >= start + HEAD.size:
            kind, channel, length = HEAD.unpack_from(self._received, start)
            end = start + HEAD.size + length
            if len(self._received) < end:
                break
            self._handle(Packet(kind), channel, bytes(self._received[end - length : end]))
            start = end
        del self._received[:start]
        return bool(data)

    def _handle(self, kind: Packet, channel: int, message: bytes) -> None:
        if kind is Packet.JOIN:
            self._join(channel)
        elif kind is Packet.END:
            self._newest.pop(channel, None)
            for member in list(self._members.get(channel, ())):
                self._leave(member)
        else:
            if kind is Packet.NEWEST:
                self._newest[channel] = message
            for member in list(self._members.get(channel, ())):
                self._offer(member, message)

    def _join(self, channel: int) -> None:
        if not self._descriptors:  # this process has reached its limit of descriptors
            self._server.sendall(ENDED.pack(channel))
            return
        member = Member(socket.socket(fileno=self._descriptors.popleft()), channel)
        self._members.setdefault(channel, []).append(member)
        self._selector.register(member.connection, selectors.EVENT_READ, member)
        if channel in self._newest:
            self._offer(member, self._newest[channel])

    def _offer(self, member: Member, message: bytes) -> None:
        try:
            member.offer(message)
        except OSError:
            self._leave(member)
        else:
            self._watch(member)

    def _serve(self, member: Member, events: int) -> None:
        """Send and receive as much as possible now."""
        if member.connection.fileno() < 0:  # the connection has closed since these events were read
            return
        try:
            if events & selectors.EVENT_READ:
                member.heed()
            if events & selectors.EVENT_WRITE:
                member.advance()
        except OSError:
            self._leave(member)
        else:
            self._watch(member)

    def _watch(self, member: Member) -> None:
        """Register the events that a member waits for."""
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if member.is_behind else 0)
        if self._selector.get_key(member.connection).events != wanted:
            self._selector.modify(member.connection, wanted, member)

    def _leave(self, member: Member) -> None:
        self._selector.unregister(member.connection)
        member.connection.close()
        members = self._members[member.channel]
        members.remove(member)
        if not members:
            del self._members[member.channel]
        self._server.sendall(ENDED.pack(member.channel))


def main() -> None:
    """Broadcast the packets of the descriptor on the command line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which ends this process
    with socket.socket(fileno=int(sys.argv[1])) as server, suppress(ConnectionError):
        BroadcastProcess(server).run()


if __name__ == "__main__":
    main()

"""Connections to agents.

An agent of this package keeps a stream open and reads its messages from it. A Mesos agent listens:
the master posts each message to its address, as libprocess does.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from stretto.offers.master.server.streams import RecordQueue
from stretto.offers.master.state.outbox import AgentMessage
from stretto.offers.messages import binary, text
from stretto.offers.messages.records import frame

TIMEOUT: Final = 10.0
"""Time limit of a connection to a listening agent, in seconds."""


class AgentLinks:
    """One link per agent, created for the first message."""

    def __init__(self, own_pid: str, lost: Callable[[str], None]) -> None:
        """Initialize with the master's address; ``lost`` receives the pid of each ended link."""
        self._own = own_pid
        self._lost = lost
        self._streams: dict[str, RecordQueue] = {}
        self._posts: dict[str, asyncio.Queue[AgentMessage]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, pid: str) -> RecordQueue:
        """Open the stream of an agent; an older one ends."""
        older = self._streams.pop(pid, None)
        if older is not None:
            older.end()
        queue = self._streams[pid] = RecordQueue()
        return queue

    def closed(self, pid: str, queue: RecordQueue) -> None:
        """Handle a closed stream of an agent."""
        if self._streams.get(pid) is queue:
            del self._streams[pid]
            self._lost(pid)

    def send(self, message: AgentMessage) -> None:
        """Send a message; messages to the same agent keep their order."""
        stream = self._streams.get(message.pid)
        if stream is not None:
            body = {"name": message.name, "message": message.message}
            stream.put(frame(text.write(body)))
            return
        if message.pid not in self._posts:
            self._posts[message.pid] = asyncio.Queue()
            task = asyncio.get_running_loop().create_task(self._post_all(message.pid))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._posts[message.pid].put_nowait(message)

    async def _post_all(self, pid: str) -> None:
        """Post the messages to a listening agent over one connection."""
        queue = self._posts[pid]
        host, _, port = pid.rpartition("@")[2].rpartition(":")
        writer: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(TIMEOUT):
                _, writer = await asyncio.open_connection(host, int(port))
            while True:
                writer.write(self._request(pid, await queue.get()))
                await writer.drain()
        except (OSError, ValueError, TimeoutError):
            self._lost(pid)
        finally:
            self._posts.pop(pid, None)
            if writer is not None:
                writer.close()

    def _request(self, pid: str, message: AgentMessage) -> bytes:
        body = binary.write(f"agent.{message.name}", message.message)
        process = pid.partition("@")[0]
        head = (
            f"POST /{process}/mesos.internal.{message.name} HTTP/1.1\r\n"
            f"User-Agent: libprocess/{self._own}\r\nLibprocess-From: {self._own}\r\n"
            f"Connection: Keep-Alive\r\nHost: \r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

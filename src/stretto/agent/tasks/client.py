"""HTTP client of the master: single posts, and the stream of messages to this agent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from stretto.agent.tasks.settings import TaskAgentSettings
from stretto.offers.messages.records import RecordReader

TIMEOUT: Final = 10.0
"""Timeout in seconds for a connection, and for the answer to a post."""


STREAM: Final = "/api/v1/agent"
"""Path of the stream of messages to an agent."""


class MasterError(Exception):
    """The master refused a message; the text contains the reason."""


class MasterClient:
    """Client of one master."""

    def __init__(self, settings: TaskAgentSettings) -> None:
        """Use the address and the credential of the settings."""
        self._settings = settings
        self._pid = settings.pid

    async def post(self, name: str, message: dict[str, Any]) -> None:
        """Send one message of this agent.

        Raises:
            OSError: the master cannot be reached.
            MasterError: the master refuses the message.
        """
        async with self._sent(f"/master/mesos.internal.{name}", name, message, 202):
            pass

    async def messages(self, name: str, message: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Open the stream with a registration; yield messages until it ends.

        The agent is registered at the IP address of this connection: agents of several machines may
        have the same port.

        Raises:
            OSError: the master cannot be reached.
            MasterError: the master refuses the registration.
        """
        document = {"name": name, "message": message}
        async with self._sent(STREAM, name, document, 200) as reader:
            records = RecordReader()
            while chunk := await _read_chunk(reader):
                for record in records.feed(chunk):
                    yield msgspec.json.decode(record)

    @asynccontextmanager
    async def _sent(
        self, path: str, name: str, document: dict[str, Any], accepted: int
    ) -> AsyncIterator[asyncio.StreamReader]:
        """Send a document; yield the body of the answer.

        Args:
            path: path of the request.
            name: name of the message, for errors.
            document: the body of the request.
            accepted: status of an answer that accepts it.
        """
        async with asyncio.timeout(TIMEOUT):
            reader, writer = await self._connect()
        if path == STREAM:
            self._pid = self._settings.pid_at(writer.get_extra_info("sockname")[0])
        try:
            async with asyncio.timeout(TIMEOUT):
                body = msgspec.json.encode(document)
                writer.write(self._head(path, body) + body)
                await writer.drain()
                status, headers = await _read_head(reader)
                if status != accepted:
                    text = await reader.read(int(headers.get("content-length", "0")))
                    raise MasterError(f"{name}: {status} {text.decode(errors='replace')}")
            yield reader
        finally:
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        settings = self._settings
        return await asyncio.open_connection(
            settings.master_host, settings.master_port, ssl=settings.trust
        )

    def _head(self, path: str, body: bytes) -> bytes:
        lines = [
            f"POST {path} HTTP/1.1",
            f"Host: {self._settings.master_host}:{self._settings.master_port}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            f"Libprocess-From: {self._pid}",
        ]
        if self._settings.authorization:
            lines.append(f"Authorization: {self._settings.authorization}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise ConnectionError("the master closed the connection") from error
    status, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return int(status.split(" ")[1]), {key.lower(): value.strip() for key, _, value in pairs}


async def _read_chunk(reader: asyncio.StreamReader) -> bytes:
    """The next chunk; empty at the end of the stream."""
    try:
        size = int((await reader.readuntil(b"\r\n")).strip(), 16)
        data = await reader.readexactly(size + 2)
    except (asyncio.IncompleteReadError, ValueError):
        return b""
    return data[:-2]

"""HTTP/1.1 for the load: calls on a persistent connection, and streams of records."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec

from stretto.base.errors import UnreachableError
from stretto.offers.messages.records import RecordReader

HOST: Final = "127.0.0.1"
_ENCODER: Final = msgspec.json.Encoder()


class MasterConnection:
    """One connection to a master."""

    def __init__(self, port: int) -> None:
        """Initialize; the first request connects."""
        self._port = port
        self._pipe: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: Any, headers: Mapping[str, str]) -> int:
        """Post JSON; return the status of the answer.

        Raises:
            UnreachableError: the master has closed the connection.
        """
        reader = await self._send(path, body, headers)
        status, answered = await _head(reader)
        await reader.readexactly(int(answered.get("content-length", "0")))
        return status

    async def records(
        self, path: str, body: Any, headers: Mapping[str, str], answered: dict[str, str]
    ) -> AsyncIterator[Any]:
        """Post JSON, and read the records of the answer, decoded.

        Args:
            path: the path.
            body: the body.
            headers: further headers.
            answered: receives the headers of the answer.

        Raises:
            UnreachableError: the master does not answer with a stream.
        """
        reader = await self._send(path, body, headers)
        status, found = await _head(reader)
        if status != 200:
            raise UnreachableError(f"POST {path}", f"status {status} instead of a stream")
        answered |= found
        records = RecordReader()
        while size := int((await reader.readline()).strip() or b"0", 16):
            for record in records.feed(await reader.readexactly(size)):
                yield msgspec.json.decode(record)
            await reader.readline()

    def close(self) -> None:
        """Close the connection."""
        if self._pipe is not None:
            self._pipe[1].close()

    async def _send(self, path: str, body: Any, headers: Mapping[str, str]) -> asyncio.StreamReader:
        if self._pipe is None:
            self._pipe = await asyncio.open_connection(HOST, self._port, limit=1 << 24)
        reader, writer = self._pipe
        data = _ENCODER.encode(body)
        lines = [f"POST {path} HTTP/1.1", f"Host: {HOST}", "Content-Type: application/json"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines.append(f"Content-Length: {len(data)}")
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        await writer.drain()
        return reader


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Status and headers of an answer, the latter in lower case."""
    try:
        text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError as error:
        raise UnreachableError("the master", "the master has closed a connection") from error
    first, *lines = text.split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return int(first.split(" ", 2)[1]), {name.lower(): value.strip() for name, _, value in pairs}

"""Open event streams: a bounded queue of records for each."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

MAX_RECORDS: Final = 20_000
"""Records that wait for a slow client before its stream is closed."""


class RecordQueue:
    """Records of one stream on their way to its client."""

    def __init__(self) -> None:
        self._records: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._ended = False

    def put(self, record: bytes) -> bool:
        """Add a record; False if the client is too slow, and the stream ends."""
        if self._ended:
            return True
        if self._records.qsize() >= MAX_RECORDS:
            self.end()
            return False
        self._records.put_nowait(record)
        return True

    def end(self) -> None:
        """End the stream after the records that wait."""
        self._ended = True
        self._records.put_nowait(None)

    async def records(self) -> AsyncIterator[bytes]:
        """Records as they come, until the end; each becomes one HTTP chunk."""
        while (record := await self._records.get()) is not None:
            yield record

"""Open event streams: a bounded queue of records for each."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

MAX_RECORDS: Final = 20_000
"""Maximum number of queued records of a slow client; one more closes its stream."""


class RecordQueue:
    """Queued records of one stream."""

    def __init__(self) -> None:
        self._records: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._ended = False

    def put(self, record: bytes) -> bool:
        """Add a record; false if the client is too slow, so that the stream ends."""
        if self._ended:
            return True
        if self._records.qsize() >= MAX_RECORDS:
            self.end()
            return False
        self._records.put_nowait(record)
        return True

    def end(self) -> None:
        """End the stream after the queued records."""
        self._ended = True
        self._records.put_nowait(None)

    async def records(self) -> AsyncIterator[bytes]:
        """Records until the end of the stream; each becomes one HTTP chunk."""
        while (record := await self._records.get()) is not None:
            yield record

"""One timer for all streams: a tick resumes them together, in one turn of the event loop.

With one timer per stream, the event loop waits for the interpreter lock once per stream, and a busy
scheduler in the same process releases the lock at most every 5 ms. Ticks are due at fixed
intervals, so that such waits do not reduce their number.
"""

import asyncio


class Ticker:
    """Timer that resumes all waiting streams, at most once per interval."""

    def __init__(self, interval: float) -> None:
        """Tick while streams wait; ``interval`` is in seconds."""
        self._interval = interval
        self._due = 0.0
        self._next: asyncio.Event | None = None

    async def wait(self) -> None:
        """Wait for the next tick."""
        if self._next is None:
            self._next = asyncio.Event()
            loop = asyncio.get_running_loop()
            self._due = max(self._due + self._interval, loop.time())
            loop.call_at(self._due, self._tick)
        await self._next.wait()

    def _tick(self) -> None:
        waiting, self._next = self._next, None
        if waiting is not None:
            waiting.set()

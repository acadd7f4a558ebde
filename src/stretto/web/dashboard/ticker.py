"""One timer for all viewers: a tick wakes them together, in one turn of the event loop.

A timer of its own for each viewer would make the event loop wait for the interpreter once for each
of them, and a busy scheduler in the same process gives it up at most every 5 ms.
"""

import asyncio


class Ticker:
    """Wakes all that waits, at most once in an interval."""

    def __init__(self, interval: float) -> None:
        """Tick while something waits; ``interval`` is in seconds."""
        self._interval = interval
        self._next: asyncio.Event | None = None

    async def wait(self) -> None:
        """Wait for the next tick."""
        if self._next is None:
            self._next = asyncio.Event()
            asyncio.get_running_loop().call_later(self._interval, self._tick)
        await self._next.wait()

    def _tick(self) -> None:
        waiting, self._next = self._next, None
        if waiting is not None:
            waiting.set()

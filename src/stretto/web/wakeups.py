"""Wake-ups of the tasks that send streams: hundreds of them wait for the same change."""

import asyncio
from collections import deque
from typing import Final

_NEVER: Final = float("inf")
LONGEST_PAUSE: Final = 0.01
"""Seconds that a round of wake-ups waits at most for requests."""


class WakeupGroup:
    """Flags that are set together, in one turn of an event loop.

    A request that has written waits in the same turn until its write is durable. The tasks of the
    next turn therefore need not wait for it. After each round the next one waits as long as this
    one took, but not longer than ``LONGEST_PAUSE``: the streams leave half of the time to requests,
    and a later round sends several changes at once.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Create a group for the tasks of an event loop."""
        #: The event loop.
        self.loop = loop
        self._due: deque[Wakeup] = deque()
        self._is_scheduled = False
        self._earliest = 0.0

    def add(self, wakeup: "Wakeup") -> None:
        """Set a flag in the next round; any thread may call this."""
        self._due.append(wakeup)
        if not self._is_scheduled:
            self._is_scheduled = True
            self.loop.call_soon_threadsafe(self._schedule)

    def _schedule(self) -> None:
        if self.loop.time() < self._earliest:
            self.loop.call_at(self._earliest, self._run)
        else:
            self._run()

    def _run(self) -> None:
        self._is_scheduled = False  # before the loop: a flag that is added later needs a new round
        while self._due:
            self._due.popleft().set()
        start = self.loop.time()
        self.loop.call_soon(self._pause, start)  # after the tasks that wait for the flags

    def _pause(self, start: float) -> None:
        now = self.loop.time()
        self._earliest = now + min(now - start, LONGEST_PAUSE)


class Wakeup:
    """A flag that wakes the one task that waits for it.

    It is also set at regular intervals and at a deadline, by timers that run on while the task
    works. A wait costs less than one for an event of asyncio with a timer of its own.
    """

    def __init__(self, group: WakeupGroup, interval: float, deadline: float = _NEVER) -> None:
        """Create a flag that is not set.

        Args:
            group: the group with which the flag is set.
            interval: seconds between two times at which the flag is set by itself.
            deadline: time of the event loop at which the flag is set by itself, too.
        """
        self._group = group
        self._interval = interval
        self._is_set = False
        self._waiter: asyncio.Future[None] | None = None
        self._timer = group.loop.call_later(interval, self._tick)
        self._end = None if deadline == _NEVER else group.loop.call_at(deadline, self.set)

    @property
    def is_set(self) -> bool:
        """Return whether the flag is set."""
        return self._is_set

    def wake(self) -> None:
        """Set the flag in the next turn; any thread may call this."""
        self._group.add(self)

    def set(self) -> None:
        """Set the flag and wake the task."""
        self._is_set = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def clear(self) -> None:
        """Reset the flag."""
        self._is_set = False

    async def wait(self) -> None:
        """Wait until the flag is set."""
        if not self._is_set:
            self._waiter = self._group.loop.create_future()
            await self._waiter

    def close(self) -> None:
        """Stop the timers."""
        self._timer.cancel()
        if self._end is not None:
            self._end.cancel()

    def _tick(self) -> None:
        self._timer = self._group.loop.call_later(self._interval, self._tick)
        self.set()

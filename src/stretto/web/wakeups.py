"""Wake-ups of streams: hundreds of them wait for the same change, and are served in one round."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

from stretto.base.errors import StrettoError

_NEVER: Final = float("inf")
LONGEST_PAUSE: Final = 0.05
"""Seconds that a round of wake-ups waits at most."""

Round = Callable[[], AbstractContextManager[object]]
"""Encloses a round of wake-ups."""
Direct = Callable[["Wakeup"], bool]
"""Sends what is due for a stream whose task waits; the wake-up is called at the next change.

The result is ``False`` if the task must go on instead.
"""


class Woken(Protocol):
    """What a round wakes."""

    def advance(self) -> None:
        """Send what is due."""
        ...

    def fail(self, error: StrettoError) -> None:
        """Raise an error instead."""
        ...


def _leave_to_task(wakeup: "Wakeup") -> bool:
    """Let the task of a stream go on."""
    del wakeup
    return False


class WakeupGroup:
    """Flags that are set together, in one turn of an event loop.

    After each round the next one waits as long as this one took, at most ``LONGEST_PAUSE``.
    Requests have half of the time, and a later round sends several changes at once: a write to a
    socket costs more than the encryption of ten changes. Changes that few streams watch wait for
    less than a millisecond. Under more load rounds become longer and their events cheaper, until
    both are in balance.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, enclosing: Round = nullcontext) -> None:
        """Create a group for the tasks of an event loop.

        Args:
            loop: the event loop.
            enclosing: encloses each round; if it raises, the tasks of the round receive the error.
        """
        #: The event loop.
        self.loop = loop
        self._enclosing = enclosing
        self._due: deque[Woken] = deque()
        self._is_scheduled = False
        self._earliest = 0.0

    def add(self, woken: Woken) -> None:
        """Wake a stream, or several, in the next round; any thread may call this."""
        self._due.append(woken)
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
        start = self.loop.time()
        try:
            with self._enclosing():
                while self._due:
                    self._due.popleft().advance()
        except StrettoError as error:
            while self._due:
                self._due.popleft().fail(error)
        self.loop.call_soon(self._pause, start)  # after the tasks that wait for the flags

    def _pause(self, start: float) -> None:
        now = self.loop.time()
        self._earliest = now + min(now - start, LONGEST_PAUSE)


class Wakeup:
    """A flag that wakes the one task that waits for it.

    It is also set at regular intervals and at a deadline, by timers that run on while the task
    works. A wait costs less than one for an event of asyncio with a timer of its own.
    """

    __slots__ = ("_direct", "_end", "_group", "_interval", "_is_set", "_timer", "_waiter")

    def __init__(
        self,
        group: WakeupGroup,
        interval: float,
        deadline: float = _NEVER,
        direct: Direct = _leave_to_task,
    ) -> None:
        """Create a flag that is not set.

        Args:
            group: the group with which the flag is set.
            interval: seconds between two times at which the flag is set by itself.
            deadline: time of the event loop at which the flag is set by itself, too.
            direct: called in a round instead of waking the task.
        """
        self._group = group
        self._interval = interval
        self._direct = direct
        self._is_set = False
        self._waiter: asyncio.Future[None] | None = None
        self._timer = group.loop.call_later(interval, self._tick)
        self._end = None if deadline == _NEVER else group.loop.call_at(deadline, self.set)

    @property
    def is_set(self) -> bool:
        """Return whether the flag is set."""
        return self._is_set

    @property
    def is_awaited(self) -> bool:
        """Return whether the task waits for the flag."""
        return self._waiter is not None and not self._waiter.done()

    def wake(self) -> None:
        """Set the flag in the next turn; any thread may call this."""
        self._group.add(self)

    def advance(self) -> None:
        """Serve the task directly if it waits; otherwise set the flag."""
        if not (self.is_awaited and self._direct(self)):
            self.set()

    def fail(self, error: StrettoError) -> None:
        """Raise an error in the task if it waits; otherwise set the flag."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
        self._is_set = True

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
        self.wake()

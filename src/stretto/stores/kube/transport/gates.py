"""Lanes: writes of one kind share a bounded number of connections, and wait for one another only.

So a flood of events or status patches, or a server that throttles them, takes nothing from the
binds; and the lease, whose loss costs everything, never queues.
"""

import asyncio
from collections import deque
from enum import Enum
from typing import Final

from stretto.api.wire.kinds import EVENT, LEASE, Kind


class RequestPurpose(Enum):
    """What a request is for."""

    LEASE = "lease"
    #: Who somebody is who asks us, and what they may see.
    REVIEW = "review"
    BIND = "bind"
    EVICT = "evict"
    STATUS = "status"
    EVENT = "event"
    #: Any other write.
    WRITE = "write"
    READ = "read"


WIDTH: Final[dict[RequestPurpose, int]] = {
    RequestPurpose.LEASE: 2,
    RequestPurpose.REVIEW: 2,
    RequestPurpose.BIND: 128,
    RequestPurpose.EVICT: 32,
    RequestPurpose.STATUS: 8,
    RequestPurpose.EVENT: 4,
    RequestPurpose.WRITE: 16,
    RequestPurpose.READ: 8,
}
"""Requests of a lane that may be under way at once. etcd writes together what comes together, so a
bind costs it half as much 128 at a time as 32; a server without fair queueing sheds what is beyond
200 writes by default."""


UNFENCED: Final = frozenset({RequestPurpose.LEASE, RequestPurpose.REVIEW})
"""Lanes of what a standby may send too: it changes nothing that a leader decides."""


def purpose_of(kind: Kind, otherwise: RequestPurpose) -> RequestPurpose:
    """The lane of a request about a kind: leases and events have theirs whatever the verb is."""
    if kind == LEASE:
        return RequestPurpose.LEASE
    return RequestPurpose.EVENT if kind == EVENT else otherwise


_STEADY: Final = 8
"""Answers for each request at once before one more is let in beside them."""


class RequestGate:
    """The way into one lane: so many at once, fewer while the server has no time for them.

    A server that turns requests away halves what is sent at once, and each round of answers that it
    gives lets one more in (additive increase, multiplicative decrease, as in TCP): sent as many at
    once as before, they would be turned away together again, and wait together again.
    """

    def __init__(self, width: int) -> None:
        #: How many may be inside at once when all is well.
        self.width = width
        #: When the server last had time for a request, by the loop's clock.
        self.answered_at = float("-inf")
        self._room = float(width)
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed_until = 0.0
        self._narrowed = 0

    @property
    def room(self) -> int:
        """How many may be inside at once now."""
        return int(self._room)

    def hold(self, seconds: float, entered: int) -> None:
        """Let nobody in for a while, and fewer at once after it: the server is overloaded.

        Args:
            seconds: for how long.
            entered: what the one who was turned away got on entering; those who were inside
                together are one sign of load and not many.
        """
        now = asyncio.get_running_loop().time()
        self._closed_until = max(self._closed_until, now + seconds)
        if entered == self._narrowed:
            self._narrowed += 1
            self._room = max(1.0, self._room / 2)

    def answered(self) -> None:
        """The server had time for a request."""
        self.answered_at = asyncio.get_running_loop().time()
        if self._room < self.width:
            self._room = min(self.width, self._room + 1 / (_STEADY * self._room))
            self._next()

    async def __aenter__(self) -> int:
        """Wait for a place; what comes back says how often the way was narrowed before."""
        loop = asyncio.get_running_loop()
        while True:
            if (pause := self._closed_until - loop.time()) > 0:
                await asyncio.sleep(pause)
            elif self._inside < self.room:
                self._inside += 1
                return self._narrowed
            else:
                await self._turn(loop.create_future())

    async def __aexit__(self, *_: object) -> None:
        self._inside -= 1
        self._next()

    async def _turn(self, turn: asyncio.Future[None]) -> None:
        """Wait until somebody leaves."""
        self._waiting.append(turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                self._next()  # it was our turn, and goes to somebody else
            raise

    def _next(self) -> None:
        """Wake as many as there is room for."""
        free = self.room - self._inside
        while self._waiting and free > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1

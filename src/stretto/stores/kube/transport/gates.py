"""Gates: requests of one purpose share a bounded number of connections.

A request waits only for requests of its purpose. A flood of events or status patches, or a server
that throttles them, does not delay binds. The lease, whose loss is fatal, never queues.
"""

import asyncio
from collections import deque
from enum import Enum
from typing import Final

from stretto.api.wire.kinds import EVENT, LEASE, Kind


class RequestPurpose(Enum):
    """Purpose of a request."""

    LEASE = "lease"
    #: Authentication and authorization of callers.
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
"""Maximum number of requests of each purpose in flight.

A bind costs half as much at 128 as at 32: etcd commits concurrent writes together. A server
without fair queueing rejects more than 200 concurrent writes by default.
"""


UNFENCED: Final = frozenset({RequestPurpose.LEASE, RequestPurpose.REVIEW})
"""Purposes that a standby may use: their requests change nothing that a leader decides."""


def purpose_of(kind: Kind, otherwise: RequestPurpose) -> RequestPurpose:
    """The purpose of a request about a kind: leases and events have their own for every verb."""
    if kind == LEASE:
        return RequestPurpose.LEASE
    return RequestPurpose.EVENT if kind == EVENT else otherwise


_STEADY: Final = 8
"""Number of responses per concurrent request before one more is admitted."""


class RequestGate:
    """Limit of concurrent requests of one purpose, lower while the server is overloaded.

    A refused request halves the limit, and each round of responses raises it by one (additive
    increase, multiplicative decrease, as in TCP): at the old limit the requests would be refused
    together again.
    """

    def __init__(self, width: int) -> None:
        #: Maximum number of concurrent requests without overload.
        self.width = width
        #: Time of the server's last response, by the loop's clock.
        self.answered_at = float("-inf")
        self._limit = float(width)
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed_until = 0.0
        self._narrowed = 0

    @property
    def limit(self) -> int:
        """Current maximum number of concurrent requests."""
        return int(self._limit)

    def hold(self, seconds: float, entered: int) -> None:
        """Admit no request for a while, and fewer afterwards, because the server is overloaded.

        Args:
            seconds: duration of the pause.
            entered: the number that the refused request got on entering; requests refused together
                count as one sign of load.
        """
        now = asyncio.get_running_loop().time()
        self._closed_until = max(self._closed_until, now + seconds)
        if entered == self._narrowed:
            self._narrowed += 1
            self._limit = max(1.0, self._limit / 2)

    def answered(self) -> None:
        """Record a response of the server."""
        self.answered_at = asyncio.get_running_loop().time()
        if self._limit < self.width:
            self._limit = min(self.width, self._limit + 1 / (_STEADY * self._limit))
            self._next()

    async def __aenter__(self) -> int:
        """Wait for admission; return the number of halvings of the limit so far."""
        loop = asyncio.get_running_loop()
        while True:
            if (pause := self._closed_until - loop.time()) > 0:
                await asyncio.sleep(pause)
            elif self._inside < self.limit:
                self._inside += 1
                return self._narrowed
            else:
                await self._turn(loop.create_future())

    async def __aexit__(self, *_: object) -> None:
        self._inside -= 1
        self._next()

    async def _turn(self, turn: asyncio.Future[None]) -> None:
        """Wait until a request leaves."""
        self._waiting.append(turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                self._next()  # the next request gets this turn
            raise

    def _next(self) -> None:
        """Admit as many requests as the limit allows."""
        free = self.limit - self._inside
        while self._waiting and free > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1

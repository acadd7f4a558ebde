"""Lanes: writes of one kind share a bounded number of connections, and wait for one another only.

So a flood of events or status patches, or a server that throttles them, takes nothing from the
binds; and the lease, whose loss costs everything, never queues.
"""

import asyncio
from enum import Enum
from typing import Final

from stretto.api.kinds import EVENT, LEASE, Kind


class Lane(Enum):
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


WIDTH: Final[dict[Lane, int]] = {
    Lane.LEASE: 2,
    Lane.REVIEW: 2,
    Lane.BIND: 32,
    Lane.EVICT: 8,
    Lane.STATUS: 8,
    Lane.EVENT: 4,
    Lane.WRITE: 16,
    Lane.READ: 8,
}
"""Requests of a lane that may be under way at once. Binds gain a sixth from 16 to 64 connections
against an idle API server, which sheds what is beyond its own bound (200 writes by default)."""


UNFENCED: Final = frozenset({Lane.LEASE, Lane.REVIEW})
"""Lanes of what a standby may send too: it changes nothing that a leader decides."""


def lane_of(kind: Kind, otherwise: Lane) -> Lane:
    """The lane of a write on a kind: leases and events have theirs whatever the verb is."""
    if kind == LEASE:
        return Lane.LEASE
    return Lane.EVENT if kind == EVENT else otherwise


class Gate:
    """The way into one lane: so many at once, and nobody while the server has asked for a pause."""

    def __init__(self, width: int) -> None:
        #: How many may be inside at once.
        self.width = width
        self._places = asyncio.Semaphore(width)
        self._closed_until = 0.0

    def hold(self, seconds: float) -> None:
        """Let nobody in for a while: the server is overloaded."""
        until = asyncio.get_running_loop().time() + seconds
        self._closed_until = max(self._closed_until, until)

    async def __aenter__(self) -> None:
        await self._places.acquire()
        try:
            pause = self._closed_until - asyncio.get_running_loop().time()
            if pause > 0:
                await asyncio.sleep(pause)
        except BaseException:
            self._places.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._places.release()

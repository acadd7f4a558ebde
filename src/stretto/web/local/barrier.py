"""Waits for durability: one transaction for all waiting requests."""

import asyncio
from collections.abc import Callable

from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.store import Store
from stretto.web.barrier import NO_BARRIER, Barrier


class WriteBarrier:
    """Barrier that makes the writes of many requests durable together.

    After a failed flush, the state in memory is not that of the store, so nothing is answered.

    Requests that are ready in one turn of the event loop write first. The flush follows in the next
    turn, and then all these requests are answered.
    """

    def __init__(self, is_pending: Callable[[], bool], flush: Callable[[], None]) -> None:
        """Use a store that writes in groups.

        Args:
            is_pending: returns whether some writes are not durable yet.
            flush: makes them durable; it raises if they may be lost.
        """
        self._is_pending = is_pending
        self._flush = flush
        self._waiting: list[asyncio.Future[None]] = []
        self._failed: Exception | None = None

    async def settled(self) -> None:
        """Wait until all previous writes are durable.

        Raises:
            StrettoError: the writes may be lost.
        """
        if self._failed is not None:
            raise self._failed
        if not self._waiting and not self._is_pending():
            return
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._run)
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.append(mine)
        await mine

    def settle(self) -> None:
        """Make all previous writes durable now, and answer the requests that wait.

        Raises:
            StrettoError: the writes may be lost.
        """
        if (error := self._run()) is not None:
            raise error

    def _run(self) -> Exception | None:
        """Flush and answer the requests that wait; return the error if it fails."""
        waiting, self._waiting = self._waiting, []
        try:
            self._flush()
        except Exception as error:  # noqa: BLE001 - every waiting request receives the error
            self._failed = self._failed or error
        for each in waiting:
            if each.done():  # the request has ended
                continue
            if self._failed is None:
                each.set_result(None)
            else:
                each.set_exception(self._failed)
        return self._failed


def barrier_of(store: Store) -> Barrier:
    """Return the barrier of a store."""
    if not isinstance(store, SqliteStore):
        return NO_BARRIER
    return WriteBarrier(lambda: store.is_pending, store.flush)

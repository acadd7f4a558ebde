"""Waits for durability: one transaction for all requests that are waiting."""

import asyncio
from collections.abc import Callable

from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.store import Store
from stretto.web.application import Settled, at_once


class WriteBarrier:
    """Makes the writes of many requests durable together.

    Requests that are ready in one turn of the event loop write first; the flush follows in the next
    turn, and all of them are answered after it.
    """

    def __init__(self, is_pending: Callable[[], bool], flush: Callable[[], None]) -> None:
        """Over a store that writes in groups.

        Args:
            is_pending: whether there are writes that are not durable yet.
            flush: makes them durable; it raises if they may be lost.
        """
        self._is_pending = is_pending
        self._flush = flush
        self._waiting: list[asyncio.Future[None]] = []

    async def settled(self) -> None:
        """Wait until everything that was written so far is durable.

        Raises:
            StrettoError: the writes may be lost.
        """
        if not self._waiting and not self._is_pending():
            return
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._run)
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.append(mine)
        await mine

    def _run(self) -> None:
        waiting, self._waiting = self._waiting, []
        failed: Exception | None = None
        try:
            self._flush()
        except Exception as error:  # noqa: BLE001 - every waiting request gets it
            failed = error
        for each in waiting:
            if each.done():  # its request has ended
                continue
            if failed is None:
                each.set_result(None)
            else:
                each.set_exception(failed)


def settling(store: Store) -> Settled:
    """Waits until everything that was written to a store is durable."""
    if not isinstance(store, SqliteStore):
        return at_once
    return WriteBarrier(lambda: store.is_pending, store.flush).settled

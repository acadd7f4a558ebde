"""An event loop in its own thread, for synchronous callers."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import uvloop

_LOG = logging.getLogger(__name__)
T = TypeVar("T")


class LoopThread:
    """Runner of coroutines for threads that cannot await."""

    def __init__(self, name: str) -> None:
        self._loop = uvloop.new_event_loop()
        self._loop.set_exception_handler(_note)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result; an interrupt of the caller cancels it."""
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start work in the background."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Cancel all work, run ``last``, and end the thread."""
        if self._loop.is_closed():
            return
        try:
            asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop).result()
            asyncio.run_coroutine_threadsafe(last(), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    @staticmethod
    async def _cancel_all() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def _note(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error that no caller waits for, such as that of a closed connection.

    The request that used the connection has its own error.
    """
    _LOG.debug("%s: %s", context.get("message"), context.get("exception"))

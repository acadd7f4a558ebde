"""Background work of an agent; a failure is logged and ends only the work that failed."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Jobs:
    """Coroutines of one agent."""

    def __init__(self, log: Callable[[str], None]) -> None:
        """Create an empty set; ``log`` receives each unexpected failure."""
        self._log = log
        self._running: set[asyncio.Task[None]] = set()

    def start(self, job: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine to its end."""
        task = asyncio.get_running_loop().create_task(job)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._log(f"{type(error).__name__}: {error}")

"""Steps of a master whose effects are sent after the step is stored.

Steps are stored in their order; steps that end during a write are stored together by the next one.
The event loop does not wait for a write on another thread. It sends heartbeats meanwhile, because
these contain no part of the state.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Final, Protocol

from stretto.base.errors import StrettoError
from stretto.offers.master.state.outbox import Effect, StreamEvent
from stretto.offers.master.storage.contract import StateChanges

_HEARTBEAT: Final = "HEARTBEAT"
_SUBSCRIBED: Final = "SUBSCRIBED"


class StateJournal(Protocol):
    """Durable storage for the state of a master."""

    def stage(self) -> bool:
        """Collect changes; true if there are any."""
        ...

    def take(self) -> StateChanges:
        """The collected changes, for `write`."""
        ...

    def write(self, changes: StateChanges) -> None:
        """Store changes, on any thread; they are durable on return."""
        ...


class _Batch:
    """Steps that are stored together."""

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        self.is_changed = False
        self.stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def note(self, *, is_changed: bool) -> None:
        """Add a step."""
        self.is_changed |= is_changed

    def fail(self, error: BaseException) -> None:
        """Record that the steps could not be stored."""
        self.stored.set_exception(error)
        self.stored.exception()  # a future without a waiter must not warn


class DurableSteps:
    """Stores steps, and sends their effects afterwards."""

    def __init__(
        self,
        journal: StateJournal | None,
        send: Callable[[Sequence[Effect]], None],
        thread: Executor | None = None,
    ) -> None:
        """Store steps in a journal.

        Args:
            journal: storage of steps; ``None`` for no storage.
            send: sends effects.
            thread: runs writes; ``None`` to write on the event loop, if writes are always fast.
        """
        self._journal = journal
        self._send = send
        self._thread = thread
        self._current: _Batch | None = None
        self._next: _Batch | None = None
        self._opening: set[str] = set()
        self._writing: asyncio.Task[None] | None = None

    def finish(self, effects: Sequence[Effect]) -> bool:
        """Store a step and send its effects; true if the step changes the stored state.

        Raises:
            StrettoError: the state is not durable; this process must not answer any more.
        """
        self._check()
        journal = self._journal
        staged = journal is not None and journal.stage()
        if journal is None or (not staged and self._writing is None):
            self._send(effects)
        elif self._thread is None:
            journal.write(journal.take())
            self._send(effects)
        else:
            self._later(journal, effects, self._thread, is_changed=staged)
        return staged

    async def stored(self) -> None:
        """Wait until every step so far is stored.

        Raises:
            StrettoError: the state is not durable; this process must not answer any more.
        """
        batch = self._next or self._current
        if batch is not None:
            await asyncio.shield(batch.stored)

    def _check(self) -> None:
        """Raise the error of a failed write."""
        if self._writing is not None and self._writing.done():
            self._writing.result()

    def _later(
        self,
        journal: StateJournal,
        effects: Sequence[Effect],
        thread: Executor,
        *,
        is_changed: bool,
    ) -> None:
        """Send heartbeats of open streams now, and the other effects after the step is stored."""
        if self._next is None:
            self._next = _Batch()
        self._next.note(is_changed=is_changed)
        for each in effects:
            kind = each.event.get("type") if isinstance(each, StreamEvent) else ""
            if isinstance(each, StreamEvent) and kind == _SUBSCRIBED:
                self._opening.add(each.stream.id)
            if isinstance(each, StreamEvent) and kind == _HEARTBEAT and self._is_open(each):
                self._send([each])
            else:
                self._next.effects.append(each)
        if self._writing is None:
            loop = asyncio.get_running_loop()
            self._writing = loop.create_task(self._write(journal, thread))

    async def _write(self, journal: StateJournal, thread: Executor) -> None:
        """Store batches until none is left.

        Raises:
            StrettoError: the state is not durable.
        """
        loop = asyncio.get_running_loop()
        while self._next is not None:
            batch, self._next = self._next, None
            self._current = batch
            try:
                if batch.is_changed:
                    await loop.run_in_executor(thread, journal.write, journal.take())
            except StrettoError as error:
                for each in filter(None, (batch, self._next)):
                    each.fail(error)
                raise
            self._send(batch.effects)
            self._opening -= {e.stream.id for e in batch.effects if isinstance(e, StreamEvent)}
            batch.stored.set_result(None)
        self._writing = self._current = None

    def _is_open(self, event: StreamEvent) -> bool:
        return event.stream.id not in self._opening

"""A running master: the state machine with its clock, streams and links to agents."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext, suppress
from math import inf
from typing import Final, NamedTuple, Protocol

from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.offers.master.api.http import HttpAnswer, MasterRequest
from stretto.offers.master.master import Master
from stretto.offers.master.server.durable import DurableSteps, StateJournal
from stretto.offers.master.server.links import AgentLinks
from stretto.offers.master.server.slices import CycleSlice
from stretto.offers.master.server.streams import RecordQueue
from stretto.offers.master.state.outbox import AgentMessage, ClientStream, Effect, StreamEvent
from stretto.offers.master.wire import event_record
from stretto.offers.messages.schema import Message


class HostThreads(NamedTuple):
    """Threads in addition to the event loop of a master."""

    #: Lock of the state, if another thread changes it too.
    turn: AbstractContextManager[object] = nullcontext()
    #: Runs the writes of the journal; ``None`` to write on the event loop.
    writer: Executor | None = None


LONGEST_YIELD: Final = 0.02
"""Maximum wait of a part of a cycle for an idle iteration of the event loop, in seconds."""
ALONE: Final = HostThreads()
"""Only the event loop changes the state and writes."""


class LocalAgents(Protocol):
    """Agents in this process."""

    def claim(self) -> None:
        """Charge the master's holdings on nodes; called after each step, before its effects."""
        ...

    def deliver(self, message: AgentMessage) -> bool:
        """Handle a message; false if it is for another agent."""
        ...


class MasterHost:
    """Runs the steps of a master on one event loop, and sends their effects.

    A step is stored before its effects are sent, so an answer that a client has received survives a
    crash.
    """

    def __init__(
        self,
        master: Master,
        clock: Clock,
        journal: StateJournal | None = None,
        local: LocalAgents | None = None,
        threads: HostThreads = ALONE,
    ) -> None:
        """Host a master.

        Args:
            master: the state machine.
            clock: its clock.
            journal: storage of its state; ``None`` for no storage.
            local: agents in this process; ``None`` for none.
            threads: other threads that use the state.
        """
        #: The master.
        self.master = master
        self._clock = clock
        self._local = local
        self._turn = threads.turn
        self._steps = DurableSteps(journal, self._send, threads.writer)
        self._streams: dict[str, RecordQueue] = {}
        self._wake = asyncio.Event()
        self._wakes_at = inf
        self._slice = CycleSlice()
        self._cycling: asyncio.Handle | None = None
        self._cycles_by = inf
        self._is_busy = False
        #: Links to agents.
        self.links = AgentLinks(master.state.settings.pid, self._agent_lost)

    async def answer(self, request: MasterRequest) -> HttpAnswer:
        """Answer a request after its step is stored.

        Raises:
            StrettoError: the step is not durable; this process must not answer any more.
        """
        self._is_busy = True
        with self._turn:
            answered = self.master.answer(request)
            if answered.stream is not None:
                self._streams[answered.stream.id] = RecordQueue()
            is_changed = self.flush()
        if is_changed or answered.body:
            await self._steps.stored()
        return answered

    def receive(self, pid: str, name: str, message: Message) -> bool:
        """Handle a message of an agent; true if its name is known."""
        self._is_busy = True
        with self._turn:
            known = self.master.receive(pid, name, message)
            self.flush()
        return known

    async def records(self, stream: ClientStream) -> AsyncIterator[bytes]:
        """Records of a stream until it ends; a closed stream is reported to the master."""
        queue = self._streams[stream.id]
        try:
            async for record in queue.records():
                yield record
        finally:
            if self._streams.pop(stream.id, None) is not None:
                with self._turn:
                    self.master.closed(stream)
                    self.flush()

    async def run_timers(self) -> None:
        """Run due timers, as long as the master runs."""
        while True:
            due = self.master.next_due
            self._wakes_at = inf if due is None else due
            delay = None if due is None else max(0.0, due - self._clock.monotonic())
            try:
                async with asyncio.timeout(delay):
                    await self._wake.wait()
            except TimeoutError:
                pass
            with self._turn:
                self.master.run_timers()
                self.flush()
            self._wake.clear()

    def close(self) -> None:
        """End all streams; their clients subscribe to another master."""
        if self._cycling is not None:
            self._cycling.cancel()
        for queue in self._streams.values():
            queue.end()
        self._streams.clear()

    def _agent_lost(self, pid: str) -> None:
        with self._turn:
            self.master.agent_lost(pid)
            self.flush()

    def step(self) -> None:
        """Finish a step that another thread has executed."""
        with self._turn:
            self.flush()

    def flush(self) -> bool:
        """Store the step, then send its effects; true if it changes the stored state."""
        if self._local is not None:
            self._local.claim()
        is_changed = self._steps.finish(list(self.master.effects()))
        due = self.master.next_due
        if due is not None and due < self._wakes_at:
            self._wake.set()
        if self.master.is_cycle_due and self._cycling is None:
            self._cycles_by = self._clock.monotonic() + LONGEST_YIELD
            self._cycling = asyncio.get_running_loop().call_soon(self._cycle)
        return is_changed

    def _cycle(self) -> None:
        """Run a part of the due cycle, after an iteration without requests if one occurs in time.

        The offers of a part cause as many calls at once. More offers before these are answered only
        increase the delay of each call.
        """
        began = self._clock.monotonic()
        if self._is_busy and began < self._cycles_by:
            self._is_busy = False
            self._cycling = asyncio.get_running_loop().call_soon(self._cycle)
            return
        self._cycling = None
        with self._turn:
            self.master.cycle(self._slice.agents)
            self._slice.adapt(self._clock.monotonic() - began)
            with suppress(StrettoError):  # the next request or timer fails with the same error
                self.flush()

    def _send(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, AgentMessage):
                if self._local is not None and self._local.deliver(effect):
                    continue
                self.links.send(effect)
                continue
            queue = self._streams.get(effect.stream.id)
            if queue is None:
                continue
            if isinstance(effect, StreamEvent):
                queue.put(event_record(effect.stream, effect.event))
            else:
                del self._streams[effect.stream.id]
                queue.end()

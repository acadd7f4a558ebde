"""One master: requests, agent messages and time are inputs; answers and effects are outputs."""

from collections.abc import Iterator
from enum import Enum

from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.offers.allocator.contract import OfferAllocator
from stretto.offers.master.api import routes
from stretto.offers.master.api.http import HttpAnswer, MasterRequest
from stretto.offers.master.core import connections, offering
from stretto.offers.master.core.agents import reports
from stretto.offers.master.core.settings import MasterSettings
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.outbox import ClientStream, Effect
from stretto.offers.messages.schema import Message


class CycleTime(Enum):
    """Time at which a master runs due cycles of its allocator."""

    #: At the end of the step that made them due.
    AT_ONCE = "at once"
    #: When `Master.cycle` is called; pending requests are answered before.
    ON_CALL = "on call"


class Master:
    """A Mesos master as a state machine without I/O.

    Each method is one step. After a step, the caller must send `effects` in their order.
    """

    def __init__(
        self,
        settings: MasterSettings,
        allocator: OfferAllocator,
        clock: Clock,
        rng: Rng,
        cycles: CycleTime = CycleTime.AT_ONCE,
    ) -> None:
        """Start empty.

        Args:
            settings: addresses and intervals.
            allocator: decides about the offers of frameworks.
            clock: source of all times.
            rng: source of stream ids.
            cycles: time at which cycles run.
        """
        #: The state of the master.
        self.state = MasterState(settings, allocator, clock, rng)
        self._cycles = cycles
        self._is_batch_due = False
        self.state.timers.at(self.state.now + settings.allocation_interval, self._batch)

    def answer(self, request: MasterRequest) -> HttpAnswer:
        """Answer an HTTP request."""
        answered = routes.answer(self.state, request)
        self._settle()
        return answered

    def receive(self, pid: str, name: str, message: Message) -> bool:
        """Handle a message of an agent; true if its name is known."""
        known = reports.receive(self.state, pid, name, message)
        self._settle()
        return known

    def closed(self, stream: ClientStream) -> None:
        """Handle a stream that its client has closed."""
        connections.closed(self.state, stream)
        self._settle()

    def agent_lost(self, pid: str) -> None:
        """Handle a lost connection to an agent."""
        connections.agent_lost(self.state, pid)

    def run_timers(self) -> None:
        """Run due timers."""
        self.state.timers.run(self.state.now)
        self._settle()

    @property
    def is_cycle_due(self) -> bool:
        """True if a due cycle requires a call of `cycle`."""
        is_due = self._is_batch_due or self.state.allocator.is_due
        return is_due and self._cycles is CycleTime.ON_CALL

    def cycle(self, most: int) -> None:
        """Run the due cycle for at most that many agents; the rest stays due."""
        batch, self._is_batch_due = self._is_batch_due, False
        offering.run(self.state, batch=batch, most=most)

    @property
    def next_due(self) -> float | None:
        """Time of the next timer, in monotonic seconds; ``None`` if there is none."""
        return self.state.timers.next_due

    def effects(self) -> Iterator[Effect]:
        """Take all unsent effects."""
        return self.state.outbox.drain()

    def _settle(self) -> None:
        if self._cycles is CycleTime.AT_ONCE:
            offering.settle(self.state)

    def _batch(self) -> None:
        if self._cycles is CycleTime.AT_ONCE:
            offering.run(self.state, batch=True)
        else:
            self._is_batch_due = True
        due = self.state.now + self.state.settings.allocation_interval
        self.state.timers.at(due, self._batch)

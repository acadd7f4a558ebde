"""One master: requests, agent messages and time go in, answers and effects come out."""

from collections.abc import Iterator

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


class Master:
    """A Mesos master as a state machine without I/O.

    Each method is one step. After a step, `effects` are to be sent in their order.
    """

    def __init__(
        self, settings: MasterSettings, allocator: OfferAllocator, clock: Clock, rng: Rng
    ) -> None:
        """Start empty.

        Args:
            settings: addresses and intervals.
            allocator: decides whom to offer what.
            clock: all times.
            rng: ids of streams.
        """
        #: Everything that the master knows.
        self.state = MasterState(settings, allocator, clock, rng)
        self.state.timers.at(self.state.now + settings.allocation_interval, self._batch)

    def answer(self, request: MasterRequest) -> HttpAnswer:
        """Answer an HTTP request."""
        return routes.answer(self.state, request)

    def receive(self, pid: str, name: str, message: Message) -> bool:
        """Take a message of an agent; whether its name is known."""
        known = reports.receive(self.state, pid, name, message)
        offering.settle(self.state)
        return known

    def closed(self, stream: ClientStream) -> None:
        """A client has closed its stream."""
        connections.closed(self.state, stream)
        offering.settle(self.state)

    def agent_lost(self, pid: str) -> None:
        """The connection to an agent is lost."""
        connections.agent_lost(self.state, pid)

    def run_timers(self) -> None:
        """Do what is due by now."""
        self.state.timers.run(self.state.now)
        offering.settle(self.state)

    @property
    def next_due(self) -> float | None:
        """When the next timer ends."""
        return self.state.timers.next_due

    def effects(self) -> Iterator[Effect]:
        """Take everything that is to be sent."""
        return self.state.outbox.drain()

    def _batch(self) -> None:
        offering.run_batch(self.state)
        due = self.state.now + self.state.settings.allocation_interval
        self.state.timers.at(due, self._batch)

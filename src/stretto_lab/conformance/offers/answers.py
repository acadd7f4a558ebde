"""The answers of the recorded frameworks."""

from typing import Final

from stretto.sim.offers.demand import TaskDemand, fill
from stretto.sim.offers.master import VirtualMaster, VirtualOffer
from stretto_lab.conformance.offers.scenario import RecordedFramework, reservation

DEFAULT_REFUSE: Final = 5.0
"""Lifetime of a filter without a value, in seconds."""
MOST_PER_OFFER: Final = 400
"""Maximum number of tasks in one answer."""
DECLINED: Final = -1
"""An answer without a task."""


class Answerer:
    """One framework."""

    def __init__(self, master: VirtualMaster, framework: str, given: RecordedFramework) -> None:
        """Answer the offers of a framework with this id."""
        strategy = given.strategy
        self._master = master
        self._id = framework
        #: Its roles.
        self.roles = given.roles
        #: Its answer strategy.
        self.strategy = strategy
        self._demand = TaskDemand.of(strategy.task)
        self._reserved: set[str] = set()
        self._refuse = DEFAULT_REFUSE if strategy.refuse is None else strategy.refuse

    def outstanding(self, registered: list[str]) -> list[VirtualOffer]:
        """Its offers in the order in which the agents registered, then by role."""
        mine = [o for o in self._master.offers.values() if o.holding.framework == self._id]
        return sorted(mine, key=lambda o: (registered.index(o.holding.agent), o.holding.role))

    def answer(self, offer: VirtualOffer, mode: str | None = None) -> int | str | None:
        """Answer an offer: the number of tasks, -1 for a decline, or ``None`` for silence."""
        mode = mode or self.strategy.mode
        if mode == "hold":
            return None
        if mode == "decline":
            return self._decline(offer)
        if self._reserves(offer):
            return "reserve"
        most = 1 if mode == "one" else MOST_PER_OFFER
        if self.strategy.max is not None:
            running = sum(t.holding.framework == self._id for t in self._master.tasks.values())
            most = min(most, self.strategy.max - running)
        tasks = fill(offer.resources, self._demand, most)
        if not tasks:
            return self._decline(offer)
        self._master.accept(offer, tasks, self._refuse)
        return len(tasks)

    def _decline(self, offer: VirtualOffer) -> int:
        self._master.decline(offer, self._refuse)
        return DECLINED

    def _reserves(self, offer: VirtualOffer) -> bool:
        """Reserve in the first offer of a role that has the amounts unreserved."""
        role, amounts = offer.holding.role, self.strategy.reserve
        if not amounts or role in self._reserved:
            return False
        before, after = reservation(role, amounts)
        if not offer.resources.contains(before):
            return False
        self._reserved.add(role)
        self._master.convert(offer, before, after)
        return True

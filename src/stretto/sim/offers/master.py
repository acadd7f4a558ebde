"""A master in virtual time: outstanding offers and running tasks over an allocator.

It uses the allocator like Mesos' master, without HTTP and processes: an offer is held until it is
answered, an ACCEPT starts tasks and returns the rest, and the caller ends tasks.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from stretto.offers.allocator.allocator import Allocator
from stretto.offers.allocator.contract import Holding
from stretto.offers.allocator.subjects.frameworks import FrameworkInfo
from stretto.offers.allocator.subjects.grants import AgentOffer, CycleResult
from stretto.offers.allocator.subjects.quota import RoleQuota
from stretto.offers.allocator.values.resources import NOTHING, Resources


@dataclass(frozen=True)
class VirtualOffer:
    """An outstanding offer."""

    #: Number in the order of sending.
    number: int
    #: Its holder.
    holding: Holding
    #: The offered resources.
    resources: Resources
    #: Time at which it was sent, in seconds.
    sent: float


OfferOrder: TypeAlias = Callable[[VirtualOffer], tuple[int, int]]
"""Sort key of offers."""


@dataclass(frozen=True)
class VirtualTask:
    """A running task."""

    #: Number in the order of starting.
    number: int
    #: The framework, role and agent that hold its resources.
    holding: Holding
    #: Its resources.
    resources: Resources
    #: Time of its start, in seconds.
    started: float


class AcceptedOffer(NamedTuple):
    """The effect of an ACCEPT."""

    #: The new tasks.
    started: tuple[VirtualTask, ...]
    #: Offers of the same capacity that other frameworks held.
    ended: tuple[VirtualOffer, ...]


class VirtualMaster:
    """Offers and tasks; the caller advances the time."""

    def __init__(self, allocator: Allocator) -> None:
        """Start at time 0 without offers and tasks."""
        #: The allocator.
        self.allocator = allocator
        #: Present time in seconds.
        self.now = 0.0
        #: Outstanding offers by number.
        self.offers: dict[int, VirtualOffer] = {}
        #: Running tasks by number.
        self.tasks: dict[int, VirtualTask] = {}
        self._numbers = 0
        self._started = 0

    # ------------------------------------------------------------ time

    def advance(self, seconds: float) -> None:
        """Advance the time by some seconds."""
        self.now += seconds

    def cycle(self, batch: bool = False) -> CycleResult:
        """Run a cycle and send its offers."""
        result = self.allocator.cycle(self.now, batch)
        for each in result.offers:
            self._send(each)
        return result

    def send(self, batch: bool = False) -> list[VirtualOffer]:
        """Run a cycle; return the offers that it sends."""
        return [self._send(each) for each in self.allocator.cycle(self.now, batch).offers]

    def _send(self, offer: AgentOffer) -> VirtualOffer:
        holding = Holding(offer.framework, offer.role, offer.agent)
        sent = VirtualOffer(self._numbers, holding, offer.resources, self.now)
        self.offers[self._numbers] = sent
        self._numbers += 1
        return sent

    # ------------------------------------------------------------ answers

    def decline(self, offer: VirtualOffer, refuse: float | None) -> None:
        """Decline an offer for its framework, with a filter of that many seconds."""
        del self.offers[offer.number]
        self.allocator.recover(offer.holding, offer.resources, self.now, refuse)

    def accept(
        self, offer: VirtualOffer, tasks: Sequence[Resources], refuse: float | None
    ) -> AcceptedOffer:
        """Start tasks on an offer; the rest is returned with a filter."""
        del self.offers[offer.number]
        rivals = self.allocator.claim(offer.holding, offer.resources)
        used = NOTHING
        started = []
        for resources in tasks:
            used += resources
            task = VirtualTask(self._started, offer.holding, resources, self.now)
            self.tasks[self._started] = task
            started.append(task)
            self._started += 1
        self.allocator.use(offer.holding, used)
        self.allocator.recover(offer.holding, offer.resources - used, self.now, refuse)
        return AcceptedOffer(tuple(started), tuple(self._end(rivals)))

    def convert(self, offer: VirtualOffer, before: Resources, after: Resources) -> None:
        """Convert a part of an offer, such as by RESERVE, and return all of it."""
        del self.offers[offer.number]
        self._end(self.allocator.claim(offer.holding, offer.resources))
        self.allocator.convert(offer.holding, before, after)
        self.allocator.recover(offer.holding, offer.resources - before + after, self.now)

    def _end(self, rivals: Iterable[AgentOffer]) -> list[VirtualOffer]:
        """End the offers of the same capacity that other frameworks hold."""
        wanted = {Holding(each.framework, each.role, each.agent): each for each in rivals}
        if not wanted:
            return []
        ended = [
            offer
            for offer in self.offers.values()
            if offer.holding in wanted and offer.resources == wanted[offer.holding].resources
        ]
        for offer in ended:
            del self.offers[offer.number]
        return ended

    # ------------------------------------------------------------ the master's own decisions

    def rescind(self, chosen: Callable[[VirtualOffer], bool]) -> list[VirtualOffer]:
        """Rescind offers without filters."""
        rescinded = [offer for offer in self.offers.values() if chosen(offer)]
        for offer in rescinded:
            self.decline(offer, None)
        return rescinded

    def finish(self, task: VirtualTask) -> None:
        """End a task."""
        del self.tasks[task.number]
        self.allocator.finish(task.holding, task.resources)

    def remove_agent(self, agent: str) -> list[VirtualTask]:
        """Remove an agent; its offers end and its tasks are lost."""
        for offer in [each for each in self.offers.values() if each.holding.agent == agent]:
            del self.offers[offer.number]
        lost = [each for each in self.tasks.values() if each.holding.agent == agent]
        for task in lost:
            del self.tasks[task.number]
        self.allocator.remove_agent(agent)
        return lost

    def add_framework(self, info: FrameworkInfo, suppressed: Iterable[str] = ()) -> None:
        """Subscribe a framework."""
        self.allocator.add_framework(info, tuple(suppressed))

    def teardown(self, framework: str) -> None:
        """Remove a framework with its tasks and offers."""
        self.allocator.set_framework_active(framework, active=False)
        self.rescind(lambda offer: offer.holding.framework == framework)
        for task in [e for e in self.tasks.values() if e.holding.framework == framework]:
            self.finish(task)
        self.allocator.remove_framework(framework)

    def set_weights(self, weights: Mapping[str, float]) -> list[VirtualOffer]:
        """Set weights; if a changed role has frameworks, all offers are rescinded."""
        self.allocator.set_weights(weights)
        roles = (self.allocator.pool.roles.find(role) for role in weights)
        if not any(role is not None and role.frameworks for role in roles):
            return []
        return self.rescind(lambda _: True)

    def set_quotas(
        self, quotas: Mapping[str, RoleQuota], order: OfferOrder = lambda offer: (0, offer.number)
    ) -> list[VirtualOffer]:
        """Set quotas; rescind the offers that violate them, in the given order."""
        for role, quota in quotas.items():
            self.allocator.set_quota(role, quota)
        ends = self.allocator.quota_rescinds(tuple(quotas))
        rescinded = []
        for offer in sorted(self.offers.values(), key=order):
            if ends(offer.holding, offer.resources):
                self.decline(offer, None)
                rescinded.append(offer)
        return rescinded

"""A pool of frameworks in virtual time: offers, decisions, tasks and their ends."""

import heapq
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from math import inf

import msgspec

from stretto.base.rng import Rng
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.pool.filters import DEFAULT_REFUSE
from stretto.offers.allocator.subjects.agents import AgentInfo
from stretto.offers.allocator.subjects.frameworks import ResourceRequest
from stretto.offers.allocator.subjects.settings import AllocatorSettings
from stretto.sim.offers.demand import fill
from stretto.sim.offers.frameworks import AnswerMode, FrameworkPlan
from stretto.sim.offers.master import VirtualMaster, VirtualOffer, VirtualTask


class WorldOutcome(msgspec.Struct, frozen=True):
    """Figures of a run."""

    #: Seconds until the last task of the backlogs started; infinity if some never started.
    placed_s: float
    #: Started tasks.
    started: int
    #: Offers that were sent.
    offers: int
    #: Offers that were declined.
    declined: int
    #: Offers that ended because another framework accepted first, or because of a time-out.
    lost: int
    #: Cycles.
    cycles: int
    #: Seconds at which the last task of each framework's backlog started, by id.
    finished_s: dict[str, float]


class OfferWorld:
    """Frameworks over one allocator; events are processed in the order of their times.

    All events of one moment cause one cycle.
    """

    def __init__(
        self, settings: AllocatorSettings, agents: Sequence[AgentInfo], seed: int = 0
    ) -> None:
        """Start with agents and without frameworks."""
        self._settings = settings
        #: The master.
        self.master = VirtualMaster(make_allocator(Rng(seed), settings))
        for agent in agents:
            self.master.allocator.add_agent(agent)
        self._plans: dict[str, FrameworkPlan] = {}
        self._left: dict[str, float] = {}
        self._finished: dict[str, float] = {}
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._counts = {"started": 0, "offers": 0, "declined": 0, "lost": 0, "cycles": 0}
        self._last_start = 0.0

    def add(self, plan: FrameworkPlan) -> None:
        """Subscribe a framework now."""
        name = plan.info.id
        self._plans[name], self._left[name] = plan, plan.backlog
        self.master.add_framework(plan.info)
        if plan.requests:
            self.master.allocator.request(name, [ResourceRequest(plan.task.scalars)])

    def run(self, until: float) -> WorldOutcome:
        """Run until a time, or until all backlogs are empty."""
        self._at(self.master.now + self._settings.interval, self._batch)
        self._cycle(batch=False)
        while self._events and self._has_work():
            at, _, action = heapq.heappop(self._events)
            if at > until:
                break
            self.master.advance(max(0.0, at - self.master.now))
            action()
            is_last = not self._events or self._events[0][0] > self.master.now
            if is_last and self.master.allocator.is_due:
                self._cycle(batch=False)
        placed = inf if self._has_work() else self._last_start
        return WorldOutcome(placed, finished_s=dict(self._finished), **self._counts)

    def _has_work(self) -> bool:
        return any(left > 0 for left in self._left.values())

    def _at(self, time: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self._numbers), action))

    # ------------------------------------------------------------ events

    def _batch(self) -> None:
        self._at(self.master.now + self._settings.interval, self._batch)
        self._cycle(batch=True)

    def _cycle(self, *, batch: bool) -> None:
        self._counts["cycles"] += 1
        for offer in self.master.send(batch):
            number = offer.number
            plan = self._plans[offer.holding.framework]
            self._counts["offers"] += 1
            if plan.mode is not AnswerMode.HOLD:
                self._at(self.master.now + plan.decision, partial(self._answer, number))
            if self._settings.offer_timeout is not None:
                late = self.master.now + self._settings.offer_timeout
                self._at(late, partial(self._expire, number))

    def _answer(self, number: int) -> None:
        offer = self.master.offers.get(number)
        if offer is None:
            return
        name = offer.holding.framework
        plan, left = self._plans[name], self._left[name]
        most = min(left, 1 if plan.mode is AnswerMode.ONE else inf)
        tasks = []
        if plan.mode is not AnswerMode.DECLINE and most > 0:
            tasks = fill(offer.resources, plan.task, int(min(most, 10_000)))
        if not tasks:
            self._counts["declined"] += 1
            self.master.decline(offer, plan.refuse)
            return
        accepted = self.master.accept(offer, tasks, plan.refuse)
        self._counts["lost"] += len(accepted.ended)
        for task in accepted.started:
            self._note_start(plan, task)
        if self._left[name] <= 0:
            self._finish_backlog(plan)

    def _note_start(self, plan: FrameworkPlan, task: VirtualTask) -> None:
        self._left[plan.info.id] -= 1
        self._counts["started"] += 1
        self._last_start = self.master.now
        if plan.duration < inf:
            self._at(self.master.now + plan.duration, partial(self._end, task))

    def _finish_backlog(self, plan: FrameworkPlan) -> None:
        self._finished.setdefault(plan.info.id, self.master.now)
        if plan.suppresses:
            self.master.allocator.suppress(plan.info.id)

    def _end(self, task: VirtualTask) -> None:
        if task.number in self.master.tasks:
            self.master.finish(task)

    def _expire(self, number: int) -> None:
        """Rescind an unanswered offer; the default filter passes it to another framework."""
        offer: VirtualOffer | None = self.master.offers.get(number)
        if offer is not None:
            self._counts["lost"] += 1
            self.master.decline(offer, DEFAULT_REFUSE)

"""Random steps of users, agents, frameworks and faults over a pool of frameworks.

Frameworks are greedy, slow, silent or flapping: a greedy one answers all its offers, a slow one a
few, a silent one none, and a flapping one disconnects and returns with its tasks running.
"""

from collections.abc import Callable
from itertools import count
from typing import Final

import msgspec

from stretto.base.rng import Rng
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.subjects.agents import AgentInfo, Unavailability
from stretto.offers.allocator.subjects.frameworks import (
    FrameworkCapability,
    FrameworkInfo,
    ResourceRequest,
)
from stretto.offers.allocator.subjects.quota import RoleQuota
from stretto.offers.allocator.subjects.settings import (
    DEFAULTS,
    MESOS,
    AllocatorSettings,
    SorterKind,
)
from stretto.offers.allocator.values.resources import Resources
from stretto.sim.offers.demand import TaskDemand, fill
from stretto.sim.offers.master import VirtualMaster, VirtualOffer
from stretto_lab.chaos.offers.shapes import ROLES, agent_of, reservation_of

TASKS: Final = (TaskDemand.of({"cpus": 1, "mem": 512}), TaskDemand.of({"cpus": 0.333, "ports": 2}))
"""Demands of tasks."""
TEMPERS: Final = ("greedy", "greedy", "slow", "silent", "flapping")
"""Behaviours of frameworks, with their relative frequencies."""


def settings_of(rng: Rng) -> AllocatorSettings:
    """The settings of a seed: Mesos or the defaults, with either sorter."""
    base = rng.choice((MESOS, DEFAULTS))
    kinds = tuple(SorterKind)
    return msgspec.structs.replace(
        base, role_sorter=rng.choice(kinds), framework_sorter=rng.choice(kinds)
    )


class OfferSteps:
    """A pool in which each step is drawn from a seed."""

    def __init__(self, seed: int) -> None:
        """Start with a few agents and frameworks."""
        self._rng = Rng(seed).child("offers")
        self.settings: Final = settings_of(self._rng)
        #: The master.
        self.master = VirtualMaster(make_allocator(Rng(seed), self.settings))
        self._numbers = count()
        self._tempers: dict[str, str] = {}
        #: Names of the steps so far.
        self.trace: list[str] = []
        for _ in range(3):
            self._add_agent()
            self._add_framework()

    def step(self) -> None:
        """Run one random step, and the cycle that it makes due."""
        name = self._rng.choice(tuple(_STEPS))
        self.trace.append(name)
        _STEPS[name](self)
        if self.master.allocator.is_due:
            self.master.cycle()

    def heal(self) -> None:
        """Let every framework decline all offers without a filter."""
        for offer in list(self.master.offers.values()):
            if offer.number in self.master.offers:
                self.master.decline(offer, None)

    # ------------------------------------------------------------ agents

    def _add_agent(self) -> None:
        self.master.allocator.add_agent(agent_of(f"a{next(self._numbers)}", self._rng))

    def _agent(self) -> AgentInfo | None:
        agents = [each.info for each in self.master.allocator.pool.agents]
        return self._rng.choice(agents) if agents else None

    def _remove_agent(self) -> None:
        agent = self._agent()
        if agent is not None:
            self.master.remove_agent(agent.id)

    def _change_agent(self) -> None:
        agent = self._agent()
        if agent is not None:
            self.master.allocator.update_agent(agent_of(agent.id, self._rng))

    def _pause_agent(self) -> None:
        agent = self._agent()
        if agent is not None:
            self.master.allocator.set_agent_active(agent.id, active=self._rng.random() < 0.7)

    def _maintain(self) -> None:
        agent = self._agent()
        if agent is not None:
            planned = Unavailability(100.0) if self._rng.random() < 0.5 else None
            self.master.allocator.set_unavailability(agent.id, planned)

    def _reserve(self) -> None:
        agent = self._agent()
        if agent is not None:
            before, after = reservation_of(self._rng)
            self.master.allocator.convert_available(agent.id, before, after)

    # ------------------------------------------------------------ frameworks

    def _add_framework(self) -> None:
        name = f"{next(self._numbers):04d}"
        roles = frozenset(self._rng.choice(ROLES) for _ in range(self._rng.randint(1, 3)))
        able = frozenset(each for each in FrameworkCapability if self._rng.random() < 0.7)
        self._tempers[name] = self._rng.choice(TEMPERS)
        weight = float(self._rng.randint(1, 3))
        self.master.add_framework(FrameworkInfo(name, roles, able, weight=weight))

    def _framework(self) -> str | None:
        names = tuple(self.master.allocator.pool.frameworks)
        return self._rng.choice(names) if names else None

    def _teardown(self) -> None:
        name = self._framework()
        if name is not None:
            self.master.teardown(name)

    def _flap(self) -> None:
        for name, temper in self._tempers.items():
            framework = self.master.allocator.pool.frameworks.get(name)
            if temper == "flapping" and framework is not None:
                active = not framework.is_active
                self.master.allocator.set_framework_active(name, active)
                if not active:
                    self._rescind_all(name)

    def _rescind_all(self, framework: str) -> None:
        self.master.rescind(lambda offer: offer.holding.framework == framework)

    def _suppress(self) -> None:
        name = self._framework()
        if name is not None:
            self.master.allocator.suppress(name)

    def _revive(self) -> None:
        name = self._framework()
        if name is not None:
            self.master.allocator.revive(name)

    def _request(self) -> None:
        name = self._framework()
        if name is not None:
            wanted = [ResourceRequest({"cpus": 2_000})] if self._rng.random() < 0.5 else []
            self.master.allocator.request(name, wanted)

    # ------------------------------------------------------------ roles

    def _quota(self) -> None:
        nested = self.settings.nested_quota
        roles = [role for role in ROLES if nested or "/" not in role]
        cpus = self._rng.randint(0, 12) * 500
        guarantees = {"cpus": cpus} if self._rng.random() < 0.5 else {}
        limits = {"cpus": cpus + 1000} if self._rng.random() < 0.5 else {}
        self.master.set_quotas({self._rng.choice(roles): RoleQuota(guarantees, limits)})

    def _weigh(self) -> None:
        self.master.set_weights({self._rng.choice(ROLES): float(self._rng.randint(1, 4))})

    # ------------------------------------------------------------ time, answers, ends

    def _tick(self) -> None:
        self.master.advance(1.0)
        self.master.cycle(batch=True)

    def _answer(self) -> None:
        for offer in list(self.master.offers.values()):
            if offer.number in self.master.offers and self._answers(offer):
                self._answer_one(offer)

    def _answers(self, offer: VirtualOffer) -> bool:
        temper = self._tempers[offer.holding.framework]
        return temper != "silent" and (temper != "slow" or self._rng.random() < 0.2)

    def _answer_one(self, offer: VirtualOffer) -> None:
        refuse = self._rng.choice((None, 0.0, 0.5, 2.0, 5.0))
        tasks: list[Resources] = []
        if self._rng.random() < 0.6:
            tasks = fill(offer.resources, self._rng.choice(TASKS), self._rng.randint(1, 4))
        if tasks:
            self.master.accept(offer, tasks, refuse)
        else:
            self.master.decline(offer, refuse)

    def _finish(self) -> None:
        for task in list(self.master.tasks.values()):
            if self._rng.random() < 0.3:
                self.master.finish(task)


_STEPS: Final[dict[str, Callable[[OfferSteps], None]]] = {
    name: getattr(OfferSteps, f"_{name}")
    for name in (
        "tick",
        "answer",
        "finish",
        "add_agent",
        "remove_agent",
        "change_agent",
        "pause_agent",
        "maintain",
        "reserve",
        "add_framework",
        "teardown",
        "flap",
        "suppress",
        "revive",
        "request",
        "quota",
        "weigh",
    )
}
"""Steps by name."""

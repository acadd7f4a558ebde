"""Capacity that frameworks hold: accepted, converted, used, and recovered."""

from collections.abc import Collection, Mapping
from math import inf, nextafter

from stretto.offers.allocator.contract import Holding, OfferJudge
from stretto.offers.allocator.pool.agents import AgentState
from stretto.offers.allocator.pool.filters import lifetime
from stretto.offers.allocator.pool.lateness import Lateness
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.rescinds import QuotaRescinds
from stretto.offers.allocator.subjects.grants import AgentOffer
from stretto.offers.allocator.triggers import Triggers
from stretto.offers.allocator.values.resources import NOTHING, Resources


class HoldingLedger:
    """Changes holdings after answers of frameworks and ends of tasks."""

    def __init__(self, pool: OfferPool, triggers: Triggers) -> None:
        """Initialize with a pool; `triggers` collects the agents with capacity to offer."""
        self._pool = pool
        self._triggers = triggers
        self._last_end = 0.0
        #: Frameworks that are sorted after their siblings.
        self.lateness = Lateness(pool)

    def claim(self, holding: Holding, resources: Resources) -> tuple[AgentOffer, ...]:
        """Charge accepted offers to their holder; return the competing offers, which end.

        ``resources`` may be the sum of several offers of the same agent and role.
        """
        agent = self._pool.agents.find(holding.agent)
        key = (holding.framework, holding.role)
        if agent is None:
            return ()
        ended: list[AgentOffer] = []
        for contest in self._pool.contests.within(holding.agent, key, resources):
            if contest.holders[0] != key:
                self._pass_on(agent, contest.holders[0], key, contest.resources)
            self._pool.contests.close(contest)
            ended += [
                AgentOffer(*rival, holding.agent, contest.resources, contested=True)
                for rival in contest.holders
                if rival != key
            ]
        return tuple(ended)

    def _pass_on(
        self, agent: AgentState, source: tuple[str, str], target: tuple[str, str], what: Resources
    ) -> None:
        """Move a charge from one holder to another."""
        subscription = self._pool.subscription_of(target)
        if self._pool.release(agent, source, what) and subscription is not None:
            self._pool.hold(agent, subscription, what)

    def holdings(self, name: str) -> Mapping[Holding, Resources]:
        """Held amounts of an agent, by holder."""
        agent = self._pool.agents.find(name)
        held = agent.held.items() if agent is not None else ()
        return {Holding(*key, name): resources for key, resources in held}

    def use(self, holding: Holding, resources: Resources) -> None:
        """Record that tasks use held capacity; each further copy of a shared item is added."""
        agent = self._pool.agents.find(holding.agent)
        key = (holding.framework, holding.role)
        if agent is None or key not in agent.held:
            return
        self._pool.use(agent, key, resources, 1)
        missing = agent.used[key].shared - agent.held[key].shared
        subscription = self._pool.subscription_of(key)
        if missing and subscription is not None:
            self._pool.hold(agent, subscription, missing)

    def convert(self, holding: Holding, before: Resources, after: Resources) -> None:
        """Convert held capacity to another form."""
        agent = self._pool.agents.find(holding.agent)
        key = (holding.framework, holding.role)
        if agent is not None and agent.held.get(key, NOTHING).contains(before):
            self._pool.swap(agent, key, before, after)

    def convert_available(self, name: str, before: Resources, after: Resources) -> bool:
        """Convert free capacity to another form; false if it is not free."""
        agent = self._pool.agents.find(name)
        if agent is None or not agent.available.contains(before):
            return False
        self._pool.swap(agent, None, before, after)
        return True

    def recover(
        self, holding: Holding, resources: Resources, now: float, refuse: float | None
    ) -> None:
        """Free capacity that was offered; install a filter if the framework refuses it."""
        agent = self._pool.agents.find(holding.agent)
        if agent is None or not resources:
            return
        if refuse is not None and refuse != 0:
            self._refuse(agent, holding, resources, (now, lifetime(refuse)))
        key = (holding.framework, holding.role)
        for contest in self._pool.contests.exactly(holding.agent, key, resources):
            heir = contest.without(key)
            if heir is not None:
                self._pass_on(agent, key, heir, contest.resources)
            if len(contest.holders) == 1:
                self._pool.contests.close(contest)
            resources -= contest.resources
        if resources:
            self._pool.release(agent, key, resources)
        self._call(holding.agent)

    def finish(self, holding: Holding, resources: Resources) -> None:
        """Free capacity that tasks used."""
        agent = self._pool.agents.find(holding.agent)
        if agent is not None:
            key = (holding.framework, holding.role)
            self._pool.use(agent, key, resources, -1)
            self._pool.release(agent, key, resources)
            self._call(holding.agent)

    def quota_rescinds(self, roles: Collection[str]) -> OfferJudge:
        """Predicate of the outstanding offers that the new quotas of these roles end."""
        return QuotaRescinds(self._pool, roles).ends

    def _call(self, agent: str) -> None:
        if self._pool.settings.allocate_on_recover:
            self._triggers.call(agent)

    def _refuse(
        self, agent: AgentState, holding: Holding, refused: Resources, period: tuple[float, float]
    ) -> None:
        """Install a filter for a period: its start, and its length in seconds.

        A filter lasts at least one interval. A filter of exactly one interval still applies in the
        batch cycle at its end, as in Mesos, where the timer of the cycle fires first. While the
        filter lasts, a framework that refused everything it holds on the agent is sorted after its
        siblings; a framework that returned the rest of an ACCEPT is not.
        """
        key = (holding.framework, holding.role)
        framework = self._pool.frameworks.get(holding.framework)
        subscription = framework.subscriptions.get(holding.role) if framework else None
        if framework is None or not framework.is_active or subscription is None:
            return
        start, length = period
        interval = self._pool.settings.interval
        end = start + length if length > interval else nextafter(start + interval, inf)
        #: Equal ends share one object, because an idle pool has millions of filters.
        end = self._last_end = self._last_end if self._last_end == end else end
        agent.filters.purge(start, self._pool.revives)
        agent.filters.add(subscription.filters, refused, end)
        if self._pool.settings.decliners_yield and agent.held.get(key) == refused:
            self.lateness.note(subscription, end)

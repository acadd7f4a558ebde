"""The allocator of offers: an `OfferAllocator` over an `OfferPool`."""

from collections.abc import Collection, Mapping, Sequence

from stretto.offers.allocator import maintenance
from stretto.offers.allocator.contract import Holding, OfferJudge
from stretto.offers.allocator.ledger import HoldingLedger
from stretto.offers.allocator.pool import membership
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.rounds import Round
from stretto.offers.allocator.subjects.agents import AgentInfo, Unavailability
from stretto.offers.allocator.subjects.frameworks import FrameworkInfo, ResourceRequest
from stretto.offers.allocator.subjects.grants import AgentOffer, CycleResult, InverseOfferStatus
from stretto.offers.allocator.subjects.quota import RoleQuota
from stretto.offers.allocator.triggers import Triggers
from stretto.offers.allocator.values.resources import Resources

NO_USE: Mapping[Holding, Resources] = {}
NOTHING_GRANTED = CycleResult((), (), ())


class Allocator:
    """Maps agents, frameworks and roles to offers; `OfferAllocator` describes the methods."""

    def __init__(
        self, pool: OfferPool, triggers: Triggers, ledger: HoldingLedger, rounds: Round
    ) -> None:
        """Combine the parts, which `build.make_allocator` creates."""
        #: The state, which read-only views use.
        self.pool = pool
        self._triggers = triggers
        self._ledger = ledger
        self._rounds = rounds
        self._recovery: tuple[float, float] | None = None

    # ------------------------------------------------------------ agents

    def add_agent(self, agent: AgentInfo, used: Mapping[Holding, Resources] = NO_USE) -> None:
        """Add an agent with the use of its running tasks."""
        self.pool.enter(agent, {(each.framework, each.role): n for each, n in used.items()})
        self._triggers.call(agent.id)

    def update_agent(self, agent: AgentInfo) -> bool:
        """Replace the registration of an agent; true if anything changed."""
        changed = self.pool.update(agent)
        if changed:
            self._triggers.call(agent.id)
        return changed

    def remove_agent(self, agent: str) -> None:
        """Remove an agent and everything that was held there."""
        self.pool.drop(agent)
        self.pool.contests.forget(agent)

    def set_agent_active(self, agent: str, active: bool) -> None:
        """Start or stop offering an agent."""
        found = self.pool.agents.find(agent)
        if found is not None:
            self.pool.agents.set_active(found, active)

    # ------------------------------------------------------------ frameworks

    def add_framework(
        self, framework: FrameworkInfo, suppressed: Collection[str] = (), active: bool = True
    ) -> None:
        """Add a framework."""
        membership.join(self.pool, framework, suppressed, active)
        if active:
            self._triggers.call_all()

    def update_framework(self, framework: FrameworkInfo, suppressed: Collection[str] = ()) -> None:
        """Replace roles, capabilities, constraints and suppressed roles."""
        membership.join(self.pool, framework, suppressed, active=True)

    def remove_framework(self, framework: str) -> None:
        """Remove a framework."""
        found = self.pool.frameworks.get(framework)
        if found is not None:
            membership.leave(self.pool, found)

    def set_framework_active(self, framework: str, active: bool) -> None:
        """Connect or disconnect a framework."""
        found = self.pool.frameworks.get(framework)
        if found is None or found.is_active == active:
            return
        membership.set_active(self.pool, found, active)
        if active:
            self._triggers.call_all()

    def suppress(self, framework: str, roles: Collection[str] = ()) -> None:
        """Send no offers for these roles, or for all."""
        found = self.pool.frameworks.get(framework)
        for subscription in found.chosen(roles) if found is not None else ():
            subscription.set_suppressed(suppressed=True)
            self.pool.refresh(subscription)

    def revive(self, framework: str, roles: Collection[str] = ()) -> None:
        """Remove suppression and filters of these roles, or of all."""
        found = self.pool.frameworks.get(framework)
        if found is None:
            return
        found.inverse_filters.clear()
        for subscription in found.chosen(roles):
            subscription.set_suppressed(suppressed=False)
            membership.void_filters(self.pool, subscription)
            self._ledger.lateness.clear(subscription)
            self.pool.refresh(subscription)
        self._triggers.call_all()

    def request(self, framework: str, requests: Sequence[ResourceRequest]) -> None:
        """Replace the demand of a framework."""
        found = self.pool.frameworks.get(framework)
        if found is not None and self.pool.settings.honor_requests:
            found.set_requests(tuple(requests))
            self.pool.reopen()
            self._triggers.call_all()

    # ------------------------------------------------------------ roles

    def set_quota(self, role: str, quota: RoleQuota) -> None:
        """Set or remove guarantee and limit of a role."""
        membership.check_quota(self.pool, role, quota)
        self.pool.set_quota(role, quota)

    def add_outside(self, role: str, amounts: Mapping[str, int]) -> None:
        """Add to the consumption of a role outside the pool."""
        self.pool.roles.add_outside(role, amounts)
        self.pool.reopen()

    def quota_rescinds(self, roles: Collection[str]) -> OfferJudge:
        """Predicate of the outstanding offers that the new quotas of these roles end."""
        return self._ledger.quota_rescinds(roles)

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Set the weights of roles."""
        membership.check_weights(weights)
        self.pool.weights.update(weights)
        self.pool.role_sorter.reweigh()

    # ------------------------------------------------------------ held capacity

    def holdings(self, agent: str) -> Mapping[Holding, Resources]:
        """Held amounts of an agent."""
        return self._ledger.holdings(agent)

    def take_changed(self) -> set[str]:
        """Agents whose total or holdings have changed since the last call."""
        return self.pool.agents.take_changed()

    def claim(self, holding: Holding, resources: Resources) -> tuple[AgentOffer, ...]:
        """Accept an offer; return the other offers of the same capacity, which end."""
        return self._ledger.claim(holding, resources)

    def use(self, holding: Holding, resources: Resources) -> None:
        """Record that tasks use held capacity."""
        self._ledger.use(holding, resources)

    def convert(self, holding: Holding, before: Resources, after: Resources) -> None:
        """Convert held capacity to another form by an operation."""
        self._ledger.convert(holding, before, after)

    def convert_available(self, agent: str, before: Resources, after: Resources) -> bool:
        """Convert free capacity by an operator's operation; false if it is not free."""
        return self._ledger.convert_available(agent, before, after)

    def recover(
        self, holding: Holding, resources: Resources, now: float, refuse: float | None = None
    ) -> None:
        """Free offered capacity."""
        self._ledger.recover(holding, resources, now, refuse)

    def finish(self, holding: Holding, resources: Resources) -> None:
        """Free capacity that tasks used."""
        self._ledger.finish(holding, resources)

    # ------------------------------------------------------------ maintenance

    def set_unavailability(self, agent: str, unavailability: Unavailability | None) -> None:
        """Plan or cancel maintenance of an agent."""
        maintenance.set_unavailability(self.pool, agent, unavailability)
        self._triggers.call(agent)

    def answer_inverse_offer(
        self, holding: Holding, accepted: bool, now: float, refuse: float | None = None
    ) -> None:
        """Record the answer of a framework to an inverse offer."""
        status = InverseOfferStatus(accepted, now)
        maintenance.note_answer(self.pool, holding, status, refuse)

    def inverse_statuses(self, agent: str) -> Mapping[str, InverseOfferStatus]:
        """Last answers of frameworks to inverse offers of an agent."""
        return maintenance.statuses(self.pool, agent)

    def active_filters(self, now: float) -> Mapping[str, int]:
        """Number of active filters, by role."""
        counts: dict[str, int] = {}
        for framework in self.pool.frameworks.values():
            for each in framework.chosen(()):
                counts[each.role.name] = counts.get(each.role.name, 0) + each.filters.active(now)
        return counts

    def filter_end(self, holding: Holding, now: float) -> float | None:
        """End of the last filter of a framework in a role on an agent; ``None`` if absent."""
        framework, agent = (
            self.pool.frameworks.get(holding.framework),
            self.pool.agents.find(holding.agent),
        )
        if framework is None or agent is None:
            return None
        owners = {id(each.filters) for each in framework.chosen((holding.role,))}
        ends = (end for owner, end in agent.filters if id(owner) in owners and end > now)
        return max(ends, default=None)

    # ------------------------------------------------------------ cycles

    def begin_recovery(self, expected_agents: int, now: float) -> None:
        """Wait, after a restart with quota, until most agents have registered again."""
        settings = self.pool.settings
        if self.pool.roles.table and expected_agents:
            needed = settings.recovery_factor * expected_agents
            self._recovery = (needed, now + settings.recovery_timeout)

    @property
    def has_nested_quota(self) -> bool:
        """True if roles below the top level may have quota."""
        return self.pool.settings.nested_quota

    @property
    def is_due(self) -> bool:
        """True if an event since the last cycle requires one."""
        return self._triggers.is_due

    def cycle(self, now: float, batch: bool = False, most: int | None = None) -> CycleResult:
        """Decide about the agents that events named; a batch cycle decides about all."""
        if self._recovery is not None:
            needed, deadline = self._recovery
            if self.pool.agents.active() < needed and now < deadline:
                self._triggers.take()
                return NOTHING_GRANTED
            self._recovery, batch = None, True
        if most is None:
            named = self._triggers.take()
            return self._rounds.run(None if batch else named, now, batch)
        if batch or self._triggers.is_all:
            self._triggers.call_each(self._rounds.names(now, batch))
        return self._rounds.run(self._triggers.draw(self.pool.rng, most), now, batch)

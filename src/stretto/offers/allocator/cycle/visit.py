"""One agent and one role: the frameworks of the role that receive an offer."""

from collections.abc import Iterable
from math import inf, nextafter
from typing import Protocol

from stretto.base.amounts import covers
from stretto.offers.allocator.pool.agents import AgentState
from stretto.offers.allocator.pool.filters import RefusedOffers
from stretto.offers.allocator.pool.members import RoleNode, Subscription
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.subjects.agents import AgentCapability
from stretto.offers.allocator.subjects.frameworks import ResourceRequest
from stretto.offers.allocator.subjects.grants import CycleStage, OfferGrant
from stretto.offers.allocator.values.resources import NOTHING, Resources
from stretto.offers.allocator.values.scalars import Quantities


class Portion(Protocol):
    """The part of receivable resources that a stage of the cycle grants."""

    @property
    def stage(self) -> CycleStage:
        """The stage."""
        ...

    @property
    def takes_all(self) -> bool:
        """True if no quota applies: every readable resource may be offered without a charge."""
        ...

    def of(self, role: RoleNode, readable: Resources) -> Resources:
        """The part of readable resources that may be offered."""
        ...

    def charge(self, role: RoleNode, offered: Resources) -> None:
        """Account for the grant of that part."""
        ...


class Visitor:
    """Offers one agent to the frameworks of one role, and collects the grants of a cycle."""

    def __init__(self, pool: OfferPool, now: float, batch: bool) -> None:
        """Start a cycle at ``now``; filters of at most one interval outlive a batch cycle."""
        self._pool = pool
        self._settings = pool.settings
        self._now = now if batch else nextafter(now, inf)
        self._offered_shared: dict[str, Resources] = {}
        #: Number of changes of holdings before the cycle. The headroom of a cycle with grants does
        #: not determine the headroom of the next one.
        self.holdings = pool.holdings
        #: Grants in their order.
        self.grants: list[OfferGrant] = []
        #: Earliest end of a filter that prevented an offer of the present agent.
        self.blocked_until = inf

    @property
    def filter_time(self) -> float:
        """Time in seconds; filters that end at or before it do not apply."""
        return self._now

    def offered_shared(self, agent: AgentState) -> bool:
        """True if this cycle has offered a shared item of an agent, which is not offered twice."""
        return agent.info.id in self._offered_shared

    def visit(self, agent: AgentState, role: RoleNode, portion: Portion) -> None:
        """Offer to the frameworks of a role, the next one first, until no capacity is left."""
        assert role.sorter is not None
        is_special, filters, takes_all = agent.is_special, agent.filters, portion.takes_all
        for subscription in role.sorter.order():
            if (is_special or subscription.accepts is not None) and not self._may_see(
                subscription, agent
            ):
                continue
            available = agent.available
            if self._offered_shared or not available.is_plain:
                available = self._available(agent, role)
            if not available.entries:
                break
            if filters.refusals and self._is_blocked(agent, subscription, available):
                continue
            if not available.meets(subscription.min_allocatable):
                continue
            if takes_all and available.is_plain and not subscription.framework.requests:
                self._grant(agent, subscription, available, portion)
                break
            offered = self._offer_of(agent, subscription, available, portion)
            if offered.entries:
                self._grant(agent, subscription, offered, portion)

    def _offer_of(
        self,
        agent: AgentState,
        subscription: Subscription,
        available: Resources,
        portion: Portion,
    ) -> Resources:
        readable = subscription.framework.readable(available)
        offered = portion.of(subscription.role, readable) if readable else NOTHING
        if offered is not available:
            if not offered or not offered.meets(subscription.min_allocatable):
                return NOTHING
            if self._is_blocked(agent, subscription, offered):
                return NOTHING
        return offered if self._is_wanted(subscription, agent, offered) else NOTHING

    def _grant(
        self, agent: AgentState, subscription: Subscription, offered: Resources, portion: Portion
    ) -> None:
        role = subscription.role
        self._pool.hold(agent, subscription, offered)
        if not portion.takes_all:
            portion.charge(role, offered)
        if offered.has_shared:
            known = self._offered_shared.get(agent.info.id, NOTHING)
            self._offered_shared[agent.info.id] = known + offered.shared
        self.grants.append(
            OfferGrant(
                portion.stage, agent.info.id, role.name, subscription.framework.info.id, offered
            )
        )

    def would_receive(
        self, subscription: Subscription, agent: AgentState, offer: Resources
    ) -> bool:
        """True if a framework could receive exactly this offer, which another framework has."""
        return (
            self._may_see(subscription, agent)
            and subscription.framework.readable(offer) is offer
            and offer.meets(subscription.min_allocatable)
            and not self._is_blocked(agent, subscription, offer)
            and self._is_wanted(subscription, agent, offer)
        )

    # ------------------------------------------------------------ conditions

    def _may_see(self, subscription: Subscription, agent: AgentState) -> bool:
        """True if constraints and capabilities allow offers of an agent to a framework."""
        if subscription.accepts is not None and not subscription.accepts(agent.info):
            return False
        framework, info = subscription.framework, agent.info
        if agent.has_gpus and self._settings.filter_gpu_agents and not framework.has_gpus:
            return False
        domain, region = info.domain, self._settings.region
        is_remote = region is not None and domain is not None and domain.region != region
        if is_remote and not framework.has_regions:
            return False
        has = info.capabilities
        if framework.has_multi_role and AgentCapability.MULTI_ROLE not in has:
            return False
        return "/" not in subscription.role.name or AgentCapability.HIERARCHICAL_ROLE in has

    def _available(self, agent: AgentState, role: RoleNode) -> Resources:
        available = agent.available.allocatable_to(role.name)
        shared = self._offered_shared.get(agent.info.id)
        return available if shared is None else available - shared

    def _is_blocked(
        self, agent: AgentState, subscription: Subscription, offered: Resources
    ) -> bool:
        owner = subscription.filters
        for refusal in agent.filters.covering(offered):
            end = refusal.ends.get(owner, 0.0)
            if end > self._now:
                self.blocked_until = min(self.blocked_until, end)
                return True
        return False

    @staticmethod
    def _is_wanted(subscription: Subscription, agent: AgentState, offered: Resources) -> bool:
        requests = subscription.framework.requests
        return not requests or meets(requests, agent.info.id, offered)

    def all_refuse(self, agent: AgentState) -> bool:
        """True if every subscription refuses all free resources of an agent."""
        refusals: list[RefusedOffers] = agent.filters.covering(agent.available)
        owners, revives = self._pool.subscribed, self._pool.revives
        for refusal in refusals:
            if refusal.refuses_all(owners, self._now, revives):
                self.blocked_until = refusal.earliest
                return True
        return False


def meets(requests: Iterable[ResourceRequest], agent: str, offered: Resources) -> bool:
    """True if an offer meets one of the requests of a framework."""
    amounts = dict(offered.quantities)
    return any(
        each.agent in (None, agent) and covers(amounts, each.quantities) for each in requests
    )


def is_useful(least: tuple[Quantities, ...], amounts: Quantities) -> bool:
    """True if amounts meet one of the alternatives; without alternatives all amounts do."""
    return not least or any(covers(amounts, each) for each in least)

"""Additional holders for the offers of a cycle: optimistic offers.

An offer from the surplus stage is repeated to the next frameworks that could have received it. They
are not charged; the first ACCEPT wins. Offers that satisfy a guarantee are not repeated.
"""

from collections.abc import Iterator

from stretto.offers.allocator.cycle.consumption import Consumption
from stretto.offers.allocator.cycle.visit import Visitor
from stretto.offers.allocator.pool.contests import Contest, ContestIndex
from stretto.offers.allocator.pool.members import RoleNode
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.subjects.grants import AgentOffer, CycleStage, OfferGrant
from stretto.offers.allocator.values.resources import Resources


def merged(grants: list[OfferGrant]) -> list[AgentOffer]:
    """One offer per framework, role and agent, in the order of the first grants."""
    if not grants or grants[0].stage is grants[-1].stage:
        return [AgentOffer(each[3], each[2], each[1], each[4]) for each in grants]
    offers: dict[tuple[str, str, str], Resources] = {}
    for grant in grants:
        key = (grant.framework, grant.role, grant.agent)
        held = offers.get(key)
        offers[key] = grant.resources if held is None else held + grant.resources
    return [AgentOffer(*key, resources) for key, resources in offers.items()]


def contested_offers(
    pool: OfferPool, visitor: Visitor, offers: list[AgentOffer], contests: ContestIndex
) -> list[AgentOffer]:
    """The offers of a cycle with their repetitions; contests are opened for them."""
    guaranteed = {
        (grant.framework, grant.role, grant.agent)
        for grant in visitor.grants
        if grant.stage is CycleStage.GUARANTEES
    }
    found: list[AgentOffer] = []
    for offer in offers:
        keys = [(offer.framework, offer.role)]
        if (offer.framework, offer.role, offer.agent) not in guaranteed:
            keys += _further(pool, visitor, offer)
        if len(keys) > 1:
            contests.open(Contest(offer.agent, offer.resources, keys))
        found += [
            AgentOffer(framework, role, offer.agent, offer.resources, len(keys) > 1)
            for framework, role in keys
        ]
    return found


def _further(pool: OfferPool, visitor: Visitor, offer: AgentOffer) -> Iterator[tuple[str, str]]:
    """Additional holders, the next ones first, up to the limit of the settings."""
    missing = pool.settings.holders - 1
    agent = pool.agents.find(offer.agent)
    if agent is None:
        return
    for role in pool.role_sorter.order():
        if role.sorter is None or not _may_hold(pool, role, offer.resources):
            continue
        for subscription in role.sorter.order():
            framework = subscription.framework.info.id
            if framework == offer.framework or not visitor.would_receive(
                subscription, agent, offer.resources
            ):
                continue
            yield framework, role.name
            missing -= 1
            if not missing:
                return


def _may_hold(pool: OfferPool, role: RoleNode, resources: Resources) -> bool:
    """True if a role can hold a capacity without a charge: no limit applies, nothing is cut off."""
    is_unlimited = not Consumption(pool.settings.nested_quota).left(role)
    return is_unlimited and resources.allocatable_to(role.name) is resources

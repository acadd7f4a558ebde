"""Rescinding of outstanding offers after a change of quota or weights."""

from collections.abc import Collection

from stretto.base.amounts import add_amounts, covers
from stretto.offers.allocator.contract import Holding
from stretto.offers.master.core import offering
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.pool import to_pool
from stretto.offers.master.roles import is_below
from stretto.offers.master.state.offers import Offer
from stretto.offers.messages.schema import Message


def milli_of(amounts: Message) -> dict[str, int]:
    """Amounts of a quota in thousandths."""
    return {name: formats.milli(each["value"]) for name, each in amounts.items()}


def enforce(master: MasterState, roles: Collection[str]) -> None:
    """Rescind offers above the limits of roles, and others that the guarantees need.

    Mesos walks the offers of the roles by framework and those of others by agent.
    """
    ends = master.allocator.quota_rescinds(roles)
    by_framework = [
        offer
        for framework in master.frameworks
        for offer in reversed(master.offers.of_framework(framework.id))
        if any(_within(role, offer) for role in roles)
    ]
    by_agent = [
        offer for agent in master.agents for offer in reversed(master.offers.of_agent(agent.id))
    ]
    for offer in (*by_framework, *by_agent):
        held = Holding(offer.framework_id, offer.role, offer.agent_id)
        if master.offers.get(offer.id) is not None and ends(held, to_pool(offer.resources)):
            offering.rescind(master, offer)


def free_guarantee(master: MasterState, role: str, config: Message) -> None:
    """Rescind offers until the guarantee fits and each framework of the role can have an agent."""
    wanted, freed = milli_of(config["guarantees"]), dict[str, int]()
    members = [each for each in master.frameworks.in_role(role) if each.active]
    visited = 0
    for agent in master.agents:
        if covers(freed, wanted) and visited >= len(members):
            return
        offers = master.offers.of_agent(agent.id) if agent.is_active else []
        visited += bool(offers)
        for offer in reversed(offers):
            _add(freed, offer)
            offering.rescind(master, offer)


def rescind_everything(master: MasterState) -> None:
    """Rescind all offers."""
    for agent in master.agents:
        offering.rescind_all(master, master.offers.of_agent(agent.id))


def _within(role: str, offer: Offer) -> bool:
    return offer.role == role or is_below(offer.role, role)


def _add(amounts: dict[str, int], offer: Offer, sign: int = 1) -> None:
    add_amounts(amounts, offer.resources.quantities().items(), sign)

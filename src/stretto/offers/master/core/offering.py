"""Cycles of the allocator, and the lifetime of offers: sent, rescinded, discarded, timed out.

Offers are numbered in the order in which Mesos walks its tables: the newest grant first.
"""

from collections.abc import Iterable

from stretto.offers.allocator.contract import Holding
from stretto.offers.allocator.subjects.grants import AgentOffer, CycleResult
from stretto.offers.master.core import ledger
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.formats import ResourceFormat
from stretto.offers.master.resources.pool import offered, to_pool
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.master.state.offers import InverseOfferSent, Offer
from stretto.offers.messages.schema import Message


def settle(master: MasterState) -> None:
    """Run the cycles that events have made due."""
    while master.allocator.is_due:
        run(master, batch=False)


def run(master: MasterState, *, batch: bool, most: int | None = None) -> None:
    """Run a cycle that is due, a batch cycle over all agents; ``most`` bounds their number."""
    _send(master, master.allocator.cycle(master.now, batch, most))


def rescind(master: MasterState, offer: Offer, refuse: float | None = None) -> None:
    """Rescind an offer and send RESCIND to its framework."""
    discard(master, offer, refuse)
    _report_end(master, offer)


def end_rival(master: MasterState, rival: AgentOffer) -> None:
    """End an offer whose capacity another framework has accepted; it is no longer charged."""
    holder = rival.framework, rival.role
    for offer in master.offers.of_agent(rival.agent):
        is_same = offer.contested and (offer.framework_id, offer.role) == holder
        if is_same and to_pool(offer.resources) == rival.resources:
            master.offers.remove(offer.id)
            _report_end(master, offer)
            return


def _report_end(master: MasterState, offer: Offer) -> None:
    framework = master.frameworks.get(offer.framework_id)
    if framework is not None:
        framework.count("offers/rescinded")
        event = {"type": "RESCIND", "rescind": {"offer_id": {"value": offer.id}}}
        master.send(framework, event)


def discard(master: MasterState, offer: Offer, refuse: float | None = None) -> None:
    """Remove an offer without a message."""
    if master.offers.get(offer.id) is None:
        return
    master.offers.remove(offer.id)
    agent = master.agents.get(offer.agent_id)
    if agent is not None and offer.contested:
        agent.hold(offer.resources)
    ledger.recover(master, offer.framework_id, offer.agent_id, offer.resources, refuse)


def withdraw_inverse(
    master: MasterState, offer: InverseOfferSent, tell: bool, answered: bool = False
) -> None:
    """Remove an inverse offer."""
    master.offers.remove(offer.id)
    if not answered:
        held = Holding(offer.framework_id, "", offer.agent_id)
        master.allocator.answer_inverse_offer(held, False, master.now, 0.0)
    framework = master.frameworks.get(offer.framework_id)
    if tell and framework is not None:
        body = {"inverse_offer_id": {"value": offer.id}}
        master.send(framework, {"type": "RESCIND_INVERSE_OFFER", "rescind_inverse_offer": body})


def rescind_all(master: MasterState, offers: Iterable[Offer]) -> None:
    """Rescind several offers."""
    for offer in offers:
        rescind(master, offer)


def _send(master: MasterState, result: CycleResult) -> None:
    """Number the offers of a cycle and send them, one event per framework."""
    by_framework: dict[str, list[AgentOffer]] = {}
    for each in _newest_first(result):
        by_framework.setdefault(each.framework, []).append(each)
    for framework_id, offers in by_framework.items():
        _send_to(master, framework_id, offers)
    inverse: dict[str, list[Message]] = {}
    for wanted in result.inverse_offers:
        message = _inverse(master, wanted.framework, wanted.agent)
        if message is not None:
            inverse.setdefault(wanted.framework, []).append(message)
    for framework_id, messages in inverse.items():
        framework = master.frameworks.get(framework_id)
        if framework is not None:
            body = {"inverse_offers": messages}
            master.send(framework, {"type": "INVERSE_OFFERS", "inverse_offers": body})


def _newest_first(result: CycleResult) -> list[AgentOffer]:
    """Offers by framework, role and agent, each level by its first grant, newest first."""
    frameworks: dict[str, int] = {}
    roles: dict[tuple[str, str], int] = {}
    agents: dict[tuple[str, str, str], int] = {}
    for number, grant in enumerate(result.grants):
        frameworks.setdefault(grant.framework, number)
        roles.setdefault((grant.framework, grant.role), number)
        agents.setdefault((grant.framework, grant.role, grant.agent), number)

    def rank(offer: AgentOffer) -> tuple[int, int, int]:
        """Sort key: contested offers have no grant of their own, so they are first."""
        role = (offer.framework, offer.role)
        places = (
            frameworks.get(offer.framework),
            roles.get(role),
            agents.get((*role, offer.agent)),
        )
        first, second, third = (len(result.grants) if each is None else each for each in places)
        return -first, -second, -third

    return sorted(result.offers, key=rank)


def _send_to(master: MasterState, framework_id: str, offers: list[AgentOffer]) -> None:
    framework = master.frameworks.get(framework_id)
    messages = []
    for each in offers:
        agent = master.agents.get(each.agent)
        usable = framework is not None and framework.connected and framework.active
        if framework is None or agent is None or not usable or not agent.is_active:
            held = Holding(each.framework, each.role, each.agent)
            master.allocator.recover(held, each.resources, master.now)
            continue
        messages.append(_offer(master, framework, agent, each))
    if framework is not None and messages:
        framework.count("offers/sent", len(messages))
        master.send(framework, {"type": "OFFERS", "offers": {"offers": messages}})


def _offer(master: MasterState, framework: Framework, agent: Agent, granted: AgentOffer) -> Message:
    """Record an offer and create its message."""
    resources = offered(agent.available, granted.resources, granted.role)
    contested = granted.contested
    number = master.offers.next_id()
    offer = Offer(number, framework.id, agent.id, resources, at=master.wall, contested=contested)
    master.offers.add(offer)
    if not contested:
        agent.hold(resources)
    timeout = master.settings.offer_timeout
    if timeout is not None:
        master.timers.at(master.now + timeout, lambda: _time_out(master, offer))
    return offer_message(master, framework, agent, offer)


def offer_message(master: MasterState, framework: Framework, agent: Agent, offer: Offer) -> Message:
    """The Offer message, in the format that the framework supports."""
    refined = "RESERVATION_REFINEMENT" in framework.capabilities
    form = ResourceFormat.STACK if refined else ResourceFormat.ROLE
    multi_role = "MULTI_ROLE" in framework.capabilities
    resources = offer.resources if multi_role else offer.resources.allocated(None)
    message: Message = {
        "id": {"value": offer.id},
        "framework_id": {"value": framework.id},
        "agent_id": {"value": agent.id},
        "hostname": agent.hostname,
        "url": agent_url(agent),
        "resources": formats.write(resources, form),
    }
    if multi_role:
        message["allocation_info"] = {"role": offer.role}
    for key in ("attributes", "domain"):
        if agent.info.get(key):
            message[key] = agent.info[key]
    executors = agent.executor_ids(framework.id)
    if executors:
        message["executor_ids"] = [{"value": each} for each in executors]
    unavailability = master.machines.unavailability(agent.machine)
    if unavailability is not None:
        message["unavailability"] = unavailability
    return message


def agent_url(agent: Agent) -> Message:
    """The URL of an agent."""
    address = {"hostname": agent.hostname, "ip": agent.ip, "port": agent.port}
    path = "/" + agent.pid.partition("@")[0]
    return {"scheme": "http", "address": address, "path": path}


def _inverse(master: MasterState, framework_id: str, agent_id: str) -> Message | None:
    """Record an inverse offer and create its message; ``None`` if it is obsolete."""
    framework, agent = master.frameworks.get(framework_id), master.agents.get(agent_id)
    if framework is None or not framework.connected or agent is None or not agent.is_active:
        return None
    unavailability = master.machines.unavailability(agent.machine)
    if unavailability is None:
        return None
    sent = InverseOfferSent(master.offers.next_id(), framework_id, agent_id, unavailability)
    master.offers.add_inverse(sent)
    return {
        "id": {"value": sent.id},
        "url": agent_url(agent),
        "framework_id": {"value": framework_id},
        "agent_id": {"value": agent_id},
        "unavailability": unavailability,
    }


def _time_out(master: MasterState, offer: Offer) -> None:
    if master.offers.get(offer.id) is offer:
        rescind(master, offer, master.settings.timed_out_refuse)

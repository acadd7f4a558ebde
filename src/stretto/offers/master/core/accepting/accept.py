"""ACCEPT: offers are checked as a whole, operations one by one, and the rest is declined."""

from stretto.offers.master.core import ledger, offering
from stretto.offers.master.core.accepting import applying, preparing, refusal
from stretto.offers.master.core.accepting.acceptance import Acceptance
from stretto.offers.master.core.frameworks.calls import refuse_seconds
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources.items import total
from stretto.offers.master.resources.pool import to_pool
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.messages.schema import Message


def accept(master: MasterState, framework: Framework, body: Message) -> None:
    """Handle ACCEPT for offers of one agent and one role."""
    for operation in body.get("operations", ()):
        if operation.get("type") == "LAUNCH":
            started = bool(operation.get("launch", {}).get("task_infos"))
            name = "launch_tasks" if started else "decline_offers"
            master.counters[f"master/messages_{name}"] += 1
    ids = [each["value"] for each in body.get("offer_ids", ())]
    error = _offers_error(master, framework, ids)
    if error:
        refusal.refuse_all(master, framework, body, error)
        return
    offers = [offer for each in ids if (offer := master.offers.get(each))]
    agent = master.agents.get(offers[0].agent_id)
    assert agent is not None
    operations = [
        found
        for each in body.get("operations", ())
        if (found := preparing.prepared(master, framework, offers[0], each))
    ]
    for offer in offers:
        master.offers.remove(offer.id)
        if offer.contested:
            agent.hold(offer.resources)
        framework.count("offers/accepted")
    offered = total(offer.resources for offer in offers)
    held = ledger.holding(framework.id, agent.id, offered)
    for rival in master.allocator.claim(held, to_pool(offered)):
        offering.end_rival(master, rival)
    acceptance = Acceptance(framework, agent, offered)
    for operation in operations:
        applying.apply(master, acceptance, operation)
    _finish(master, acceptance, refuse_seconds(body))


def _finish(master: MasterState, acceptance: Acceptance, refuse: float) -> None:
    """Decline the rest; resources that operations have changed get no filter."""
    framework, agent = acceptance.framework, acceptance.agent
    changed = acceptance.remaining - acceptance.offered
    declined = acceptance.remaining - changed if changed else acceptance.remaining
    if acceptance.launched:
        held = ledger.holding(framework.id, agent.id, acceptance.launched)
        master.allocator.use(held, to_pool(acceptance.launched))
    ledger.recover(master, framework.id, agent.id, changed)
    ledger.recover(master, framework.id, agent.id, declined, refuse)


def _offers_error(master: MasterState, framework: Framework, ids: list[str]) -> str | None:
    """Error that prevents a common acceptance of offers; ``None`` if they are valid."""
    if not ids:
        return "No offers specified"
    twice = next((each for index, each in enumerate(ids) if each in ids[:index]), None)
    if twice is not None:
        return f"Duplicate offer {twice} in offer list"
    offers = []
    for each in ids:
        offer = master.offers.get(each)
        if offer is None:
            return f"Offer {each} is no longer valid"
        offers.append(offer)
    first = offers[0]
    for offer in offers:
        if offer.framework_id != framework.id:
            return (
                f"Offer {offer.id} has invalid framework {offer.framework_id} while framework"
                f" {framework.id} is expected"
            )
    for offer in offers:
        if offer.role != first.role:
            return (
                "Aggregated offers must be allocated to the same role. Offer"
                f" {offer.id} uses role '{offer.role} but another is using role '{first.role}"
            )
    for offer in offers:
        if offer.agent_id != first.agent_id:
            return (
                "Aggregated offers must belong to one single agent. Offer"
                f" {offer.id} uses agent {offer.agent_id} and agent {first.agent_id}"
            )
    return None

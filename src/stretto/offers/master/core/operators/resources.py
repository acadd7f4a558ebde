"""Operations of operators: reservations and volumes."""

from typing import Final

from stretto.offers.master.checks.operations import OPERATION_CHECKS, OperationContext
from stretto.offers.master.checks.resources import list_error
from stretto.offers.master.core import offering
from stretto.offers.master.core.accepting.conversions import conversions_of, converted
from stretto.offers.master.core.accepting.feedback import send_operation
from stretto.offers.master.core.operators.verdict import ACCEPTED, OperatorVerdict, bad, conflict
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.items import ResourceList, total
from stretto.offers.master.resources.pool import to_pool
from stretto.offers.master.state.agents import Agent
from stretto.offers.messages.schema import Message

REFUSE: Final = 5.0
"""Seconds of the filter of offers that an operator's operation rescinds."""


def apply(
    master: MasterState, agent_id: str, operation: Message, principal: str | None = None
) -> OperatorVerdict:
    """Apply an operation to free resources of an agent; offers that hold them are rescinded."""
    agent = master.agents.get(agent_id)
    if agent is None:
        return bad("No agent found with specified ID")
    kind = operation["type"]
    body = _upgraded(operation[kind.lower()])
    error = list_error(_listed(body))
    if error:
        return bad(error)
    error = OPERATION_CHECKS[kind](body, OperationContext(agent, None, principal))
    if error:
        on = "" if kind == "DESTROY" else f" on agent {_text(agent)}"
        return bad(f"Invalid {kind} operation{on}: {error}")
    operation = {"type": kind, kind.lower(): body}
    conversions = conversions_of(operation)
    _rescind_holders(master, agent, total(each.before for each in conversions))
    _, lacks = converted(agent.available, conversions)
    if lacks is not None:
        return conflict(lacks)
    for before, after in conversions:
        if not master.allocator.convert_available(agent.id, to_pool(before), to_pool(after)):
            return conflict(f"{formats.text(before)} is no longer available")
        agent.convert(before, after)
    master.changed(agent)
    send_operation(master, agent, operation)
    return ACCEPTED


def _rescind_holders(master: MasterState, agent: Agent, wanted: ResourceList) -> None:
    """Rescind offers that hold resources of the operation, until it is possible."""
    for offer in master.offers.of_agent(agent.id):
        if not wanted:
            return
        rest = wanted - offer.resources.allocated(None)
        if not rest.same(wanted):
            wanted = rest
            offering.rescind(master, offer, REFUSE)


def _upgraded(body: Message) -> Message:
    changed: Message = {}
    for key, value in body.items():
        if isinstance(value, list):
            changed[key] = [formats.upgraded(each) for each in value]
        elif key in ("volume", "addition"):
            changed[key] = formats.upgraded(value)
        else:
            changed[key] = value
    return changed


def _listed(body: Message) -> list[Message]:
    listed = [each for value in body.values() if isinstance(value, list) for each in value]
    return listed + [body[name] for name in ("volume", "addition") if name in body]


def _text(agent: Agent) -> str:
    return f"{agent.id} at {agent.pid} ({agent.hostname})"

"""Operations of an ACCEPT, applied one by one."""

from stretto.offers.master.checks.operations import OPERATION_CHECKS, OperationContext
from stretto.offers.master.core import ledger, offering
from stretto.offers.master.core.accepting import launching
from stretto.offers.master.core.accepting.acceptance import Acceptance
from stretto.offers.master.core.accepting.conversions import conversions_of, converted
from stretto.offers.master.core.accepting.feedback import drop, send_operation
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.state.agents import Agent
from stretto.offers.messages.schema import Message


def apply(master: MasterState, acceptance: Acceptance, operation: Message) -> None:
    """Apply a checked operation."""
    kind = operation["type"]
    if kind == "LAUNCH":
        launching.launch(master, acceptance, operation)
    elif kind == "LAUNCH_GROUP":
        launching.launch_group(master, acceptance, operation)
    elif kind in OPERATION_CHECKS:
        _convert(master, acceptance, operation)
    else:
        text = f"Not supported on agent {acceptance.agent.id} because it does not have"
        drop(master, acceptance.framework, operation, f"{text} RESOURCE_PROVIDER capability")


def _convert(master: MasterState, acceptance: Acceptance, operation: Message) -> None:
    """Apply an operation on resources to the offers and to the agent."""
    kind, framework, agent = operation["type"], acceptance.framework, acceptance.agent
    context = OperationContext(agent, framework, framework.info.get("principal"))
    error = OPERATION_CHECKS[kind](operation[kind.lower()], context)
    if error:
        address = f"{agent.id} at {agent.pid} ({agent.hostname})"
        drop(master, framework, operation, f"{error}; on agent {address}")
        return
    conversions = conversions_of(operation)
    left, lacks = converted(acceptance.remaining, conversions)
    if lacks is not None:
        prefix = f"Invalid {kind} operation: " if kind.endswith("VOLUME") else ""
        drop(master, framework, operation, prefix + lacks)
        return
    if kind == "DESTROY":
        _rescind_shared(master, agent, operation)
    acceptance.convert(left)
    for conversion in conversions:
        ledger.convert_offered(master, agent, framework.id, conversion)
    send_operation(master, agent, operation)
    framework.count("operations")
    framework.count(f"operations/{kind.lower()}")


def _rescind_shared(master: MasterState, agent: Agent, operation: Message) -> None:
    """Rescind offers that hold a volume before it is destroyed."""
    volumes = [formats.read([each]) for each in operation["destroy"]["volumes"]]
    for offer in master.offers.of_agent(agent.id):
        if any(offer.resources.contains(volume) for volume in volumes):
            offering.rescind(master, offer)

"""Messages about operations: errors to frameworks, operations to agents that store them."""

from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.messages.schema import Message


def drop(master: MasterState, framework: Framework, operation: Message, error: str) -> None:
    """Drop a failed operation; a framework that set an id receives the error."""
    kind = operation.get("type", "UNKNOWN").lower()
    master.counters[f"master/operations/{kind}/error"] += 1
    if "id" in operation:
        status = {
            "operation_id": operation["id"],
            "state": "OPERATION_ERROR",
            "message": error,
        }
        body = {"status": status}
        event = {"type": "UPDATE_OPERATION_STATUS", "update_operation_status": body}
        master.send(framework, event)


def send_operation(master: MasterState, agent: Agent, operation: Message) -> None:
    """Send an applied operation to the agent that must store it."""
    kind = operation["type"].lower()
    master.counters[f"master/operations/{kind}/finished"] += 1
    master.counters[f"master/operations/{kind}/total"] += 1
    stored = {"resources": formats.write(agent.checkpointed)}
    master.outbox.agent(agent.pid, "CheckpointResourcesMessage", stored)

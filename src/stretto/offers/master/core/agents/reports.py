"""Messages of agents."""

from collections.abc import Callable, Mapping
from typing import Final

from stretto.offers.master.core import subjects, updates
from stretto.offers.master.core.agents import departure, registration
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.state.agents import Agent
from stretto.offers.messages.schema import Message


def receive(master: MasterState, pid: str, name: str, message: Message) -> bool:
    """Handle a message of an agent; true if its name is known."""
    if name == "RegisterSlaveMessage":
        registration.register(master, pid, message)
    elif name == "ReregisterSlaveMessage":
        registration.reregister(master, pid, message)
    elif name in HANDLERS:
        agent = _sender(master, pid, message)
        if agent is not None:
            HANDLERS[name](master, agent, message)
    else:
        return False
    return True


def _sender(master: MasterState, pid: str, message: Message) -> Agent | None:
    """The registered agent that sent a message."""
    named = message.get("slave_id") or message.get("update", {}).get("slave_id")
    agent = master.agents.get(named["value"]) if named else master.agents.by_pid(pid)
    return agent or master.agents.by_pid(pid)


def _unregister(master: MasterState, agent: Agent, message: Message) -> None:
    del message
    master.counters["master/messages_unregister_slave"] += 1
    departure.remove(master, agent, "the agent unregistered")


def _status_update(master: MasterState, agent: Agent, message: Message) -> None:
    master.counters["master/messages_status_update"] += 1
    updates.receive(master, agent, message["update"])


def _executor_message(master: MasterState, agent: Agent, message: Message) -> None:
    master.counters["master/messages_executor_to_framework"] += 1
    framework = master.frameworks.get(message["framework_id"]["value"])
    if framework is None or not framework.connected:
        master.counters["master/invalid_executor_to_framework_messages"] += 1
        return
    master.counters["master/valid_executor_to_framework_messages"] += 1
    body = {
        "agent_id": {"value": agent.id},
        "executor_id": message["executor_id"],
        "data": message["data"],
    }
    master.send(framework, {"type": "MESSAGE", "message": body})


def _update_agent(master: MasterState, agent: Agent, message: Message) -> None:
    """Handle a report of revocable resources or of a new total of an agent."""
    master.counters["master/messages_update_slave"] += 1
    revocable = agent.total.where(lambda kind: kind.revocable)
    other = agent.total.where(lambda kind: not kind.revocable)
    total = formats.read(message["total_resources"]) if "total_resources" in message else other
    more = (
        formats.read(message["oversubscribed_resources"])
        if "oversubscribed_resources" in message
        else revocable
    )
    agent.resize(total + more)
    master.changed(agent)
    master.allocator.update_agent(subjects.agent_info(agent))


HANDLERS: Final[Mapping[str, Callable[[MasterState, Agent, Message], None]]] = {
    "UnregisterSlaveMessage": _unregister,
    "PongSlaveMessage": lambda _, agent, __: agent.pong(),
    "StatusUpdateMessage": _status_update,
    "ExitedExecutorMessage": updates.executor_exited,
    "ExecutorToFrameworkMessage": _executor_message,
    "UpdateSlaveMessage": _update_agent,
}
"""Messages of registered agents by name."""

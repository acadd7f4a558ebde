"""Agents that may not register."""

from stretto.offers.master.checks.resources import id_error, list_error
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.machines import MachineMode
from stretto.offers.messages.schema import Message


def is_refused(master: MasterState, pid: str, info: Message) -> bool:
    """True if an agent may not register now."""
    error = list_error(info.get("resources", ()))
    if error:
        shut_down(master, pid, error)
        return True
    ip = pid.rpartition("@")[2].rpartition(":")[0]
    if master.machines.mode((info["hostname"].lower(), ip)) is MachineMode.DOWN:
        shut_down(master, pid, "Machine is `DOWN`")
        return True
    return False


def is_inconsistent(master: MasterState, pid: str, message: Message) -> bool:
    """True if an agent that returns may not, because of its id or of a task of another agent."""
    agent_id = message["slave"]["id"]["value"]
    error = id_error(agent_id)
    if error:
        shut_down(master, pid, f"Invalid agent id: {error}")
        return True
    for task in message.get("tasks", ()):
        if task["agent_id"]["value"] != agent_id:
            name, other = task["task_id"]["value"], task["agent_id"]["value"]
            shut_down(master, pid, f"Task '{name}' is of agent {other}, not of {agent_id}")
            return True
    return False


def shut_down(master: MasterState, pid: str, text: str) -> None:
    """Send a shutdown with its reason to an agent."""
    master.outbox.agent(pid, "ShutdownMessage", {"message": text})

"""Agents that may not register."""

from stretto.offers.master.checks.resources import list_error
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


def shut_down(master: MasterState, pid: str, text: str) -> None:
    """Send a shutdown with its reason to an agent."""
    master.outbox.agent(pid, "ShutdownMessage", {"message": text})

"""Maintenance of machines: schedule, start and stop."""

import ipaddress

import msgspec

from stretto.offers.master.core import offering, subjects
from stretto.offers.master.core.agents import departure
from stretto.offers.master.core.operators.verdict import DONE, OperatorVerdict, bad
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.machines import (
    MachineKey,
    MachineMode,
    machine_key,
    machine_message,
)
from stretto.offers.messages.schema import Message


def update_schedule(master: MasterState, schedule: Message) -> OperatorVerdict:
    """UPDATE_MAINTENANCE_SCHEDULE: rescind the offers of all agents on scheduled machines."""
    windows = schedule.get("windows", [])
    error = _schedule_error(master, windows)
    if error:
        return bad(error)
    master.machines.schedule(windows)
    master.changes.machines()
    for agent in master.agents:
        plan(master, agent)
    return DONE


def plan(master: MasterState, agent: Agent) -> None:
    """Apply the schedule to an agent; its offers are rescinded and offered again."""
    offering.rescind_all(master, master.offers.of_agent(agent.id))
    for inverse in master.offers.inverse_where(agent_id=agent.id):
        offering.withdraw_inverse(master, inverse, tell=True)
    period = subjects.unavailability(master.machines.unavailability(_key(agent)))
    master.allocator.set_unavailability(agent.id, period)


def start(master: MasterState, machines: list[Message]) -> OperatorVerdict:
    """START_MAINTENANCE: remove the agents of the machines."""
    error = _machines_error(machines)
    if error:
        return bad(error)
    scheduled = set(master.machines.in_mode(MachineMode.DRAINING))
    for machine in machines:
        key = machine_key(machine)
        if master.machines.mode(key) is MachineMode.DOWN:
            return bad(
                f"Machine {_text(machine)} is not in DRAINING mode and cannot be brought down"
            )
        if key not in scheduled:
            return bad(f"Machine {_text(machine)} is not part of a maintenance schedule")
    for machine in machines:
        key = machine_key(machine)
        master.machines.start(key)
        master.changes.machines()
        for agent in master.agents:
            if _key(agent) == key:
                text = "Operator initiated 'Machine DOWN'"
                master.outbox.agent(agent.pid, "ShutdownMessage", {"message": text})
                departure.remove(master, agent, text)
    return DONE


def stop(master: MasterState, machines: list[Message]) -> OperatorVerdict:
    """STOP_MAINTENANCE: remove the machines from the schedule."""
    error = _machines_error(machines)
    if error:
        return bad(error)
    for machine in machines:
        if master.machines.mode(machine_key(machine)) is not MachineMode.DOWN:
            return bad(f"Machine {_text(machine)} is not in DOWN mode and cannot be brought up")
    for machine in machines:
        master.machines.stop(machine_key(machine))
        master.changes.machines()
    return DONE


def status(master: MasterState) -> Message:
    """ClusterStatus: draining machines with the frameworks' answers, and machines that are down."""
    message: Message = {}
    draining = [_draining(master, key) for key in master.machines.in_mode(MachineMode.DRAINING)]
    if draining:
        message["draining_machines"] = draining
    down = [machine_message(key) for key in master.machines.in_mode(MachineMode.DOWN)]
    if down:
        message["down_machines"] = down
    return message


def schedule_message(master: MasterState) -> Message:
    """The Schedule message."""
    windows = master.machines.windows
    return {"windows": windows} if windows else {}


def _draining(master: MasterState, key: MachineKey) -> Message:
    message: Message = {"id": machine_message(key)}
    statuses = [
        {
            "status": "ACCEPT" if answer.accepted else "DECLINE",
            "framework_id": {"value": framework_id},
            "timestamp": {"nanoseconds": int(answer.at * 1e9)},
        }
        for agent in master.agents
        if _key(agent) == key
        for framework_id, answer in master.allocator.inverse_statuses(agent.id).items()
    ]
    return message | ({"statuses": statuses} if statuses else {})


def _key(agent: Agent) -> MachineKey:
    return agent.hostname.lower(), agent.ip


def _text(machine: Message) -> str:
    return f"'{msgspec.json.encode(machine_message(machine_key(machine))).decode()}'"


def _machine_error(machine: Message) -> str | None:
    if not machine.get("hostname") and not machine.get("ip"):
        return "Both 'hostname' and 'ip' for a machine are empty"
    if machine.get("ip"):
        try:
            ipaddress.IPv4Address(machine["ip"])
        except ValueError:
            return f"Failed to parse IPv4: {machine['ip']}"
    return None


def _machines_error(machines: list[Message]) -> str | None:
    if not machines:
        return "List of machines is empty"
    return _new_machines_error(machines, set())


def _new_machines_error(machines: list[Message], seen: set[MachineKey]) -> str | None:
    """Error in machines that are not in ``seen``, to which they are added; ``None`` if valid."""
    for machine in machines:
        error = _machine_error(machine)
        if error:
            return error
        if machine_key(machine) in seen:
            return f"Machine {_text(machine)} appears more than once in the schedule"
        seen.add(machine_key(machine))
    return None


def _schedule_error(master: MasterState, windows: list[Message]) -> str | None:
    seen: set[MachineKey] = set()
    for window in windows:
        machines = window.get("machine_ids", [])
        if not machines:
            return "List of machines in the maintenance window is empty"
        if window["unavailability"].get("duration", {}).get("nanoseconds", 0) < 0:
            return "Unavailability 'duration' is negative"
        error = _new_machines_error(machines, seen)
        if error:
            return error
    for key in master.machines.in_mode(MachineMode.DOWN):
        if key not in seen:
            text = _text(machine_message(key))
            return f"Machine {text} is deactivated and cannot be removed from the schedule"
    return None

"""Registration, return and update of agents."""

from collections.abc import Mapping

from stretto.offers.allocator.contract import Holding
from stretto.offers.allocator.values.resources import Resources
from stretto.offers.master.core import offering, subjects
from stretto.offers.master.core.agents import departure, pinging, restoring
from stretto.offers.master.core.agents.refusal import is_inconsistent, is_refused, shut_down
from stretto.offers.master.core.documents import agent_message
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.agents import Agent
from stretto.offers.messages.schema import Message


def register(master: MasterState, pid: str, message: Message) -> None:
    """Register an agent without an id; a repetition from the same address gets the same answer."""
    master.counters["master/messages_register_slave"] += 1
    info = message["slave"]
    if is_refused(master, pid, info):
        return
    agent = master.agents.by_pid(pid)
    if agent is not None and agent.connected:
        _welcome(master, agent, "SlaveRegisteredMessage")
        return
    if agent is not None:
        departure.remove(master, agent, "a new agent registered at the same address")
    new = Agent(info | {"id": {"value": master.next_agent_id()}}, pid, message, master.wall)
    master.counters["master/slave_registrations"] += 1
    add(master, new, {})
    _welcome(master, new, "SlaveRegisteredMessage")


def reregister(master: MasterState, pid: str, message: Message) -> None:
    """Reregister an agent with its tasks, after a lost connection or with a new master."""
    master.counters["master/messages_reregister_slave"] += 1
    info = message["slave"]
    agent_id = info["id"]["value"]
    if agent_id in master.agents.gone:
        shut_down(master, pid, "Agent has been marked gone")
        return
    if is_refused(master, pid, info) or is_inconsistent(master, pid, message):
        return
    former = master.agents.by_pid(pid)
    if former is not None and former.id != agent_id:
        departure.remove(master, former, "another agent registered at the same address")
    agent = master.agents.get(agent_id)
    master.counters["master/slave_reregistrations"] += 1
    if agent is None:
        agent = Agent(info, pid, message, master.wall)
        held = restoring.restore(master, agent, message)
        add(master, agent, held)
    else:
        _return(master, agent, pid, message)
    _welcome(master, agent, "SlaveReregisteredMessage")
    for framework_id, task_id in list(master.killed):
        if agent.task(framework_id, task_id):
            body = {"framework_id": {"value": framework_id}, "task_id": {"value": task_id}}
            master.outbox.agent(agent.pid, "KillTaskMessage", body)


def add(master: MasterState, agent: Agent, used: Mapping[Holding, Resources]) -> None:
    """Add an agent with the use of its tasks."""
    master.agents.add(agent)
    master.changed(agent)
    master.changes.absent(agent.id)
    master.allocator.add_agent(subjects.agent_info(agent), used)
    pinging.watch(master, agent)
    period = subjects.unavailability(master.machines.unavailability(agent.machine))
    if period is not None:
        master.allocator.set_unavailability(agent.id, period)
    body = {"agent": agent_message(master, agent)}
    master.publish({"type": "AGENT_ADDED", "agent_added": body})


def _return(master: MasterState, agent: Agent, pid: str, message: Message) -> None:
    """Reconnect a registered agent, which may have other resources than before.

    If it has lost some, its offers end, and the rest is offered again. Tasks keep their resources,
    even if these exceed the new total of the agent.
    """
    before, address = agent.total, agent.pid
    agent.reconnect(message["slave"], pid, message, master.wall)
    master.agents.moved(agent, address)
    master.changed(agent)
    restoring.compare(master, agent, message)
    master.allocator.update_agent(subjects.agent_info(agent))
    if not agent.total.contains(before):
        offering.rescind_all(master, master.offers.of_agent(agent.id))
    master.allocator.set_agent_active(agent.id, agent.is_active)


def _welcome(master: MasterState, agent: Agent, name: str) -> None:
    message: Message = {
        "slave_id": {"value": agent.id},
        "connection": {"total_ping_timeout_seconds": 75.0},
    }
    master.outbox.agent(agent.pid, name, message)

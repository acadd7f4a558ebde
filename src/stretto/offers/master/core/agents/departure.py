"""Departure of agents: disconnected, unreachable, removed or marked gone."""

from stretto.offers.master.core import offering, updates
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.agents import Agent


def lost_connection(master: MasterState, agent: Agent) -> None:
    """Handle a lost connection to an agent, which may return within its time-out."""
    agent.disconnect()
    master.allocator.set_agent_active(agent.id, False)
    offering.rescind_all(master, master.offers.of_agent(agent.id))
    for inverse in master.offers.inverse_where(agent_id=agent.id):
        offering.withdraw_inverse(master, inverse, tell=True)

    def expire() -> None:
        if master.agents.get(agent.id) is agent and not agent.connected:
            unreachable(master, agent, "agent did not re-register within the timeout")

    master.timers.at(master.now + master.settings.agent_reregister_timeout, expire)


def remove(master: MasterState, agent: Agent, why: str) -> None:
    """Remove an agent; its tasks are lost."""
    master.counters["master/slave_removals"] += 1
    text = f"Agent {agent.hostname} removed: {why}"
    _remove(master, agent, ("TASK_LOST", text, "REASON_SLAVE_REMOVED"))
    body = {"agent_id": {"value": agent.id}}
    master.publish({"type": "AGENT_REMOVED", "agent_removed": body})


def give_up(master: MasterState, agent: Agent, why: str) -> None:
    """Remove an agent that an operator has marked gone."""
    master.counters["master/slave_removals"] += 1
    _remove(master, agent, ("TASK_GONE_BY_OPERATOR", why, "REASON_SLAVE_REMOVED_BY_OPERATOR"))


def unreachable(master: MasterState, agent: Agent, why: str) -> None:
    """Remove an agent that does not answer; it may return with its tasks."""
    master.counters["master/slave_removals"] += 1
    master.counters["master/slave_removals/reason_unhealthy"] += 1
    master.agents.mark_unreachable(agent.id, master.wall)
    master.changes.absent(agent.id)
    text = f"Agent {agent.hostname} is unreachable: {why}"
    _remove(master, agent, ("TASK_UNREACHABLE", text, "REASON_SLAVE_REMOVED"))


def _remove(master: MasterState, agent: Agent, why: tuple[str, str, str]) -> None:
    state, text, reason = why
    for framework_id in reversed(list(agent.tasks)):
        for task in reversed(list(agent.tasks[framework_id].values())):
            status = updates.end_by_master(master, task, state, text, reason)
            updates.forget(master, task)
            framework = master.frameworks.get(framework_id)
            if framework is not None:
                updates.forward(master, framework, status)
    for framework_id, executors in list(agent.executors.items()):
        for executor_id in list(executors):
            updates.remove_executor(master, agent, framework_id, executor_id)
    offering.rescind_all(master, master.offers.of_agent(agent.id))
    for inverse in master.offers.inverse_where(agent_id=agent.id):
        offering.withdraw_inverse(master, inverse, tell=True)
    master.allocator.remove_agent(agent.id)
    master.agents.remove(agent)
    master.changed(agent)
    for framework in master.frameworks:
        failure = {"agent_id": {"value": agent.id}}
        master.send(framework, {"type": "FAILURE", "failure": failure})

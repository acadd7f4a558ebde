"""Actions of operators on agents: deactivate, drain, reactivate, mark gone."""

from stretto.offers.master.core import offering, updates
from stretto.offers.master.core.agents import departure
from stretto.offers.master.core.operators.verdict import DONE, OperatorVerdict, bad
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.agents import Agent, Drain, DrainState
from stretto.offers.messages.schema import Message


def deactivate(master: MasterState, agent_id: str) -> OperatorVerdict:
    """DEACTIVATE_AGENT: stop offers; tasks stay."""
    agent = master.agents.get(agent_id)
    if agent is None:
        return bad("Unknown agent")
    agent.deactivate()
    master.changed(agent)
    _stop_offers(master, agent)
    return DONE


def drain(master: MasterState, body: Message) -> OperatorVerdict:
    """DRAIN_AGENT: stop offers and let the agent kill its tasks."""
    agent = master.agents.get(body["agent_id"]["value"])
    if agent is None:
        return bad("Unknown agent")
    grace, gone = body.get("max_grace_period", {}), body.get("mark_gone", False)
    seconds, nanos = grace.get("seconds", 0), grace.get("nanos", 0)
    if seconds < 0 or nanos < 0:
        return bad("Drain config max grace period is negative")
    config: Message = {"mark_gone": gone}
    if "max_grace_period" in body:
        config["max_grace_period"] = {"nanoseconds": seconds * 10**9 + nanos}
    agent.deactivate(Drain(config, master.wall))
    master.changed(agent)
    _stop_offers(master, agent)
    master.outbox.agent(agent.pid, "DrainSlaveMessage", {"config": config})
    updates.check_drained(agent)
    return DONE


def reactivate(master: MasterState, agent_id: str) -> OperatorVerdict:
    """REACTIVATE_AGENT."""
    agent = master.agents.get(agent_id)
    if agent is None or not agent.deactivated:
        return bad("Agent is not deactivated")
    if agent.drain is not None and agent.drain.state is DrainState.DRAINING:
        return bad("Agent is still in the DRAINING state")
    agent.reactivate()
    master.changed(agent)
    if agent.connected:
        master.allocator.set_agent_active(agent.id, True)
    return DONE


def mark_gone(master: MasterState, agent_id: str) -> OperatorVerdict:
    """MARK_AGENT_GONE: end the tasks of an agent, which may never return."""
    agents = master.agents
    agent = agents.get(agent_id)
    known = agent_id in agents.recovered or agent_id in agents.unreachable
    if agent_id in agents.gone:
        return DONE
    if agent is None and not known:
        return OperatorVerdict(404, f"Agent '{agent_id}' not found")
    agents.mark_gone(agent_id, master.wall)
    master.changes.absent(agent_id)
    if agent is not None:
        text = "Agent has been marked gone"
        master.outbox.agent(agent.pid, "ShutdownMessage", {"message": text})
        departure.give_up(master, agent, text)
    return DONE


def _stop_offers(master: MasterState, agent: Agent) -> None:
    master.allocator.set_agent_active(agent.id, False)
    offering.rescind_all(master, master.offers.of_agent(agent.id))
    for inverse in master.offers.inverse_where(agent_id=agent.id):
        offering.withdraw_inverse(master, inverse, tell=True)

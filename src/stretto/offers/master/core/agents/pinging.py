"""Pings: an agent that does not answer several in a row is unreachable."""

from stretto.offers.master.core.agents import departure
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.agents import Agent


def watch(master: MasterState, agent: Agent) -> None:
    """Start pinging an agent."""

    def ping() -> None:
        if master.agents.get(agent.id) is not agent:
            return
        if agent.missed_pings >= master.settings.max_agent_ping_timeouts:
            departure.unreachable(master, agent, "health check timed out")
            return
        agent.ping()
        body = {"connected": agent.connected}
        master.outbox.agent(agent.pid, "PingSlaveMessage", body)
        watch(master, agent)

    master.timers.at(master.now + master.settings.agent_ping_timeout, ping)

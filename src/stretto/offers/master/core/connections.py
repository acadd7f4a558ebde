"""Handling of closed connections of clients and agents."""

from stretto.offers.master.core.agents import departure
from stretto.offers.master.core.frameworks import subscriptions
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.outbox import ClientStream, EventKind


def closed(master: MasterState, stream: ClientStream) -> None:
    """Handle a stream that its client has closed."""
    if stream.kind is EventKind.OPERATOR:
        master.subscribers.pop(stream.id, None)
    else:
        subscriptions.disconnected(master, stream)


def agent_lost(master: MasterState, pid: str) -> None:
    """Handle a lost connection to an agent."""
    agent = master.agents.by_pid(pid)
    if agent is not None and agent.connected:
        departure.lost_connection(master, agent)

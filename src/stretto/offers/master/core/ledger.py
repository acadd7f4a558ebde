"""Held capacity: the allocator's charge and the master's ordered list, updated together."""

from stretto.offers.allocator.contract import Holding
from stretto.offers.master.core.accepting.conversions import Conversion
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources.items import ResourceList
from stretto.offers.master.resources.pool import to_pool
from stretto.offers.master.state.agents import Agent


def holding(framework_id: str, agent_id: str, resources: ResourceList) -> Holding:
    """The holder of allocated resources."""
    role = resources.items[0].kind.allocated or "*"
    return Holding(framework_id, role, agent_id)


def recover(
    master: MasterState,
    framework_id: str,
    agent_id: str,
    resources: ResourceList,
    refuse: float | None = None,
) -> None:
    """Free offered capacity; ``refuse`` installs a filter of that many seconds."""
    if resources:
        _free(master, agent_id, resources)
        held = holding(framework_id, agent_id, resources)
        master.allocator.recover(held, to_pool(resources), master.now, refuse)


def finish(master: MasterState, framework_id: str, agent_id: str, resources: ResourceList) -> None:
    """Free capacity that a task or an executor used."""
    if resources:
        _free(master, agent_id, resources)
        held = holding(framework_id, agent_id, resources)
        master.allocator.finish(held, to_pool(resources))


def _free(master: MasterState, agent_id: str, resources: ResourceList) -> None:
    """Free resources of a registered agent."""
    agent = master.agents.get(agent_id)
    if agent is not None:
        agent.free(resources)


def convert_offered(
    master: MasterState, agent: Agent, framework_id: str, conversion: Conversion
) -> None:
    """Change the form of offered capacity, and of the agent's total, after an operation."""
    before, after = conversion
    agent.free(before)
    agent.hold(after)
    held = holding(framework_id, agent.id, before)
    master.allocator.convert(held, to_pool(before), to_pool(after))
    agent.convert(before.allocated(None), after.allocated(None))
    master.changed(agent)

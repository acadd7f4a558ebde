"""Obstacles between a framework and an agent: the first one, in the order of the allocator."""

from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

from stretto.offers.allocator.contract import Holding
from stretto.offers.allocator.subjects.constraints import compile_constraints
from stretto.offers.master.core import subjects
from stretto.offers.master.core.documents import held_by_role
from stretto.offers.master.core.operators.quota import consumed
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.items import MILLI, total
from stretto.offers.master.roles import is_below
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.frameworks import Framework


class Obstacle(NamedTuple):
    """Reason why a framework gets no offer."""

    #: Id of the framework.
    framework: str
    #: Id of the agent.
    agent: str
    #: Host name of the agent.
    host: str
    #: The role.
    role: str
    #: Short name, such as ``filter``.
    reason: str
    #: The obstacle as a sentence, with figures.
    text: str


def obstacles(master: MasterState, framework: Framework) -> Iterator[Obstacle]:
    """One obstacle for each role of a framework and each agent without an offer for the role."""
    offered = {(each.agent_id, each.role) for each in master.offers.of_framework(framework.id)}
    turn = cache(partial(_turn, master))
    for agent in master.agents:
        for role in framework.roles:
            if (agent.id, role) in offered:
                continue
            found = _obstacle(master, framework, agent, role)
            where = framework.id, agent.id, agent.hostname, role
            yield Obstacle(*where, *(found or ("next cycle", turn(role))))


def role_share(master: MasterState, role: str) -> float:
    """The dominant share of a role in all agents, divided by its weight."""
    whole = total(agent.total for agent in master.agents).scalars()
    held = held_by_role(master, role).scalars()
    shares = [held.get(name, 0) / amount for name, amount in whole.items() if amount]
    return max(shares, default=0.0) / master.weights.get(role, 1.0)


def _turn(master: MasterState, role: str) -> str:
    """The share of a role and its position among the roles that have frameworks."""
    roles = {each for framework in master.frameworks for each in framework.roles}
    shares = {each: role_share(master, each) for each in roles}
    ahead = sum(each < shares[role] for each in shares.values())
    return (
        f"no obstacle; the share of role {role} is {shares[role]:.1%}, position"
        f" {ahead + 1} of {len(shares)} roles"
    )


def _obstacle(
    master: MasterState, framework: Framework, agent: Agent, role: str
) -> tuple[str, str] | None:
    return (
        _state(framework, role)
        or _agent_state(agent)
        or _capability(master, framework, agent, role)
        or _constraint(framework, agent, role)
        or _capacity(agent)
        or _limit(master, role)
        or _filter(master, Holding(framework.id, role, agent.id))
        or _headroom(master, role)
    )


def _state(framework: Framework, role: str) -> tuple[str, str] | None:
    if not framework.connected:
        return "disconnected", "the framework is not subscribed"
    if role in framework.suppressed:
        return "suppressed", f"offers of role {role} are suppressed until REVIVE"
    return None


def _agent_state(agent: Agent) -> tuple[str, str] | None:
    if not agent.connected:
        return "agent disconnected", "the agent has not registered again"
    if agent.drain is not None:
        return "draining", f"an operator drains the agent: {agent.drain.state.value}"
    return ("deactivated", "an operator has deactivated the agent") if agent.deactivated else None


def _capability(
    master: MasterState, framework: Framework, agent: Agent, role: str
) -> tuple[str, str] | None:
    if "/" in role and not agent.has("HIERARCHICAL_ROLE"):
        return "capability", "the agent lacks HIERARCHICAL_ROLE"
    gpus = agent.total.scalars().get("gpus", 0)
    if gpus and "GPU_RESOURCES" not in framework.capabilities:
        return "capability", "the agent has GPUs, and the framework lacks GPU_RESOURCES"
    domain = agent.info.get("domain", {}).get("fault_domain")
    region = domain["region"]["name"] if domain else master.settings.region
    if region != master.settings.region and "REGION_AWARE" not in framework.capabilities:
        return "capability", f"the agent is in region {region}; the framework lacks REGION_AWARE"
    return None


def _constraint(framework: Framework, agent: Agent, role: str) -> tuple[str, str] | None:
    constraints = subjects.framework_info(framework).constraints
    if constraints is None:
        return None
    test = compile_constraints(constraints, framework.roles).get(role)
    if test is None or test(subjects.agent_info(agent)):
        return None
    return "constraint", f"the agent does not meet the offer constraints of role {role}"


def _capacity(agent: Agent) -> tuple[str, str] | None:
    free = agent.available.scalars()
    if free.get("cpus", 0) >= 10 or free.get("mem", 0) >= 32 * MILLI:
        return None
    return "no capacity", f"free: {formats.text(agent.available)}; the rest is offered or used"


def _limit(master: MasterState, role: str) -> tuple[str, str] | None:
    """The first limit that the role or one above it has reached, from the top."""
    for above in [each for each in master.quotas if each == role or is_below(role, each)]:
        limits, used = master.quotas[above].get("limits", {}), consumed(master, above)
        for name, each in limits.items():
            if used.get(name, 0) >= formats.milli(each["value"]):
                shown = formats.number_text(each["value"])
                return "limit", f"role {above} has reached its limit of {shown} {name}"
    return None


def _filter(master: MasterState, holding: Holding) -> tuple[str, str] | None:
    end = master.allocator.filter_end(holding, master.now)
    if end is None:
        return None
    return "filter", f"declined; the filter ends in {end - master.now:.1f} s, or with REVIVE"


def _headroom(master: MasterState, role: str) -> tuple[str, str] | None:
    for other, config in master.quotas.items():
        if other == role or is_below(role, other):
            continue
        used = consumed(master, other)
        for name, each in config.get("guarantees", {}).items():
            lack = formats.milli(each["value"]) - used.get(name, 0)
            if lack > 0:
                shown = formats.number_text(lack / MILLI)
                return "headroom", f"{shown} {name} may be held for the guarantee of role {other}"
    return None

"""Conversion of frameworks, agents and quota to the allocator's types."""

import msgspec

from stretto.offers.allocator.subjects.agents import (
    AgentAttribute,
    AgentCapability,
    AgentInfo,
    FaultDomain,
    Unavailability,
)
from stretto.offers.allocator.subjects.constraints import OfferConstraints
from stretto.offers.allocator.subjects.frameworks import (
    FrameworkCapability,
    FrameworkInfo,
    ResourceRequest,
)
from stretto.offers.allocator.subjects.quota import RoleQuota
from stretto.offers.allocator.values.scalars import Quantities
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.pool import to_pool
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.messages.schema import Message

_NANO = 1e9


def framework_info(framework: Framework) -> FrameworkInfo:
    """A framework; constraints of unsubscribed roles are omitted."""
    info, roles = framework.info, frozenset(framework.roles)
    filters = info.get("offer_filters", {})
    constraints = {
        role: each
        for role, each in framework.constraints.get("role_constraints", {}).items()
        if role in roles
    }
    known = {each.value for each in FrameworkCapability}
    return FrameworkInfo(
        id=framework.id,
        roles=roles,
        capabilities=frozenset(
            FrameworkCapability(each) for each in framework.capabilities if each in known
        ),
        min_allocatable={
            role: tuple(
                _quantities(each.get("quantities", {}))
                for each in given["min_allocatable_resources"].get("quantities", ())
            )
            for role, given in filters.items()
            if role in roles and "min_allocatable_resources" in given
        },
        constraints=(
            msgspec.convert({"role_constraints": constraints}, OfferConstraints)
            if constraints
            else None
        ),
    )


def agent_info(agent: Agent) -> AgentInfo:
    """An agent with its current total."""
    known = {each.value for each in AgentCapability}
    domain = agent.info.get("domain", {}).get("fault_domain")
    return AgentInfo(
        id=agent.id,
        hostname=agent.hostname,
        resources=to_pool(agent.total),
        attributes=tuple(map(_attribute, agent.info.get("attributes", ()))),
        domain=FaultDomain(domain["region"]["name"], domain["zone"]["name"]) if domain else None,
        capabilities=frozenset(
            AgentCapability(each) for each in agent.capabilities if each in known
        ),
    )


def role_quota(config: Message) -> RoleQuota:
    """The quota of a QuotaConfig."""
    return RoleQuota(
        _quantities(config.get("guarantees", {})), _quantities(config.get("limits", {}))
    )


def unavailability(message: Message | None) -> Unavailability | None:
    """The period of an Unavailability message."""
    if message is None:
        return None
    duration = message.get("duration", {}).get("nanoseconds")
    start = message["start"]["nanoseconds"] / _NANO
    return Unavailability(start, None if duration is None else duration / _NANO)


def resource_request(message: Message) -> ResourceRequest:
    """One item of REQUEST."""
    amounts = formats.read(message.get("resources", ())).scalars()
    return ResourceRequest(amounts, message.get("agent_id", {}).get("value"))


def _quantities(scalars: Message) -> Quantities:
    return {name: formats.milli(each["value"]) for name, each in scalars.items()}


def _attribute(message: Message) -> AgentAttribute:
    name = message["name"]
    if "text" in message:
        return AgentAttribute(name, message["text"]["value"])
    if "scalar" in message:
        return AgentAttribute(name, float(message["scalar"]["value"]))
    ranges = message.get("ranges", {}).get("range", ())
    return AgentAttribute(name, tuple((each["begin"], each["end"]) for each in ranges))

"""Agents of the allocator."""

from enum import Enum

import msgspec

from stretto.offers.allocator.values.resources import Resources


class AgentCapability(Enum):
    """Capabilities of an agent beyond the first version of Mesos."""

    #: Tasks of frameworks with several roles.
    MULTI_ROLE = "MULTI_ROLE"
    #: Roles with a parent.
    HIERARCHICAL_ROLE = "HIERARCHICAL_ROLE"
    #: Reservations that refine a wider one.
    RESERVATION_REFINEMENT = "RESERVATION_REFINEMENT"


ALL_AGENT_CAPABILITIES = frozenset(AgentCapability)
"""Capabilities of a current agent."""


class FaultDomain(msgspec.Struct, frozen=True):
    """Region and zone of an agent."""

    #: Region.
    region: str
    #: Zone in the region.
    zone: str


class AgentAttribute(msgspec.Struct, frozen=True):
    """A property of an agent."""

    #: Name; several attributes may have the same name.
    name: str
    #: A text, a number, or inclusive ranges.
    value: str | float | tuple[tuple[int, int], ...]

    @property
    def text(self) -> str | None:
        """The text, or ``None`` for an attribute of another type."""
        return self.value if isinstance(self.value, str) else None


class Unavailability(msgspec.Struct, frozen=True):
    """A period of maintenance."""

    #: Its start, in seconds.
    start: float
    #: Its length in seconds; ``None`` for no end.
    duration: float | None = None


class AgentInfo(msgspec.Struct, frozen=True):
    """An agent."""

    #: Id, unique and never reused.
    id: str
    #: Host name.
    hostname: str
    #: All resources, including reservations, volumes and revocable resources.
    resources: Resources
    #: Properties, in their given order.
    attributes: tuple[AgentAttribute, ...] = ()
    #: Region and zone, if known.
    domain: FaultDomain | None = None
    #: Capabilities.
    capabilities: frozenset[AgentCapability] = ALL_AGENT_CAPABILITIES

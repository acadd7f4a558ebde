"""Frameworks of the allocator."""

from collections.abc import Mapping
from enum import Enum

import msgspec

from stretto.offers.allocator.subjects.constraints import OfferConstraints
from stretto.offers.allocator.values.scalars import Quantities


class FrameworkCapability(Enum):
    """Capabilities that determine the offers of a framework."""

    #: Several roles; resources carry the role that they are allocated to.
    MULTI_ROLE = "MULTI_ROLE"
    #: Agents with GPUs.
    GPU_RESOURCES = "GPU_RESOURCES"
    #: Resources that the agent may revoke.
    REVOCABLE_RESOURCES = "REVOCABLE_RESOURCES"
    #: Volumes that several tasks use.
    SHARED_RESOURCES = "SHARED_RESOURCES"
    #: Reservations that refine a wider one.
    RESERVATION_REFINEMENT = "RESERVATION_REFINEMENT"
    #: Agents of other regions than the master's.
    REGION_AWARE = "REGION_AWARE"


class FrameworkInfo(msgspec.Struct, frozen=True):
    """A framework."""

    #: Id; ids in subscription order break ties between equal shares.
    id: str
    #: Subscribed roles.
    roles: frozenset[str]
    #: Capabilities.
    capabilities: frozenset[FrameworkCapability] = frozenset()
    #: Smallest useful offers by role, as alternatives. With an empty list any offer is useful; an
    #: absent role uses the setting of the allocator.
    min_allocatable: Mapping[str, tuple[Quantities, ...]] = {}
    #: Constraints on agents by role.
    constraints: OfferConstraints | None = None
    #: Its share relative to the other frameworks of a role; Mesos has no such weight.
    weight: float = 1.0


class ResourceRequest(msgspec.Struct, frozen=True):
    """One item of REQUEST: a part of a framework's demand."""

    #: Requested amounts in thousandths.
    quantities: Quantities
    #: The requested agent; ``None`` for any.
    agent: str | None = None

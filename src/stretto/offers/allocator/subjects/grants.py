"""Results of a cycle."""

from enum import IntEnum
from typing import NamedTuple

from stretto.offers.allocator.subjects.agents import Unavailability
from stretto.offers.allocator.values.resources import Resources


class CycleStage(IntEnum):
    """The two passes of a cycle over the agents."""

    #: Unsatisfied guarantees.
    GUARANTEES = 1
    #: Everything else, up to limits and headroom.
    SURPLUS = 2


class OfferGrant(NamedTuple):
    """Capacity of one agent for one framework in one role, charged by one stage of a cycle."""

    #: The stage of the cycle.
    stage: CycleStage
    #: Id of the agent.
    agent: str
    #: The charged role.
    role: str
    #: Id of the framework.
    framework: str
    #: The capacity.
    resources: Resources


class AgentOffer(NamedTuple):
    """Resources of one agent for one framework in one role: one Offer on the wire."""

    #: Id of the framework.
    framework: str
    #: The charged role.
    role: str
    #: Id of the agent.
    agent: str
    #: The capacity, charged until it is recovered.
    resources: Resources
    #: True if the same capacity is also offered to others; the first ACCEPT wins.
    contested: bool = False


class InverseOffer(NamedTuple):
    """A request to a framework to release an agent before its maintenance."""

    #: Id of the framework.
    framework: str
    #: Id of the agent.
    agent: str
    #: The planned maintenance.
    unavailability: Unavailability


class CycleResult(NamedTuple):
    """All decisions of a cycle."""

    #: Offers, one per framework, role and agent.
    offers: tuple[AgentOffer, ...]
    #: Inverse offers.
    inverse_offers: tuple[InverseOffer, ...]
    #: The grants of the offers, in their order.
    grants: tuple[OfferGrant, ...]


class InverseOfferStatus(NamedTuple):
    """The last answer of a framework to an inverse offer."""

    #: True if it accepted.
    accepted: bool
    #: Time of the answer, in seconds.
    at: float

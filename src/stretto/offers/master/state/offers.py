"""Outstanding offers and inverse offers."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final

from stretto.offers.master.resources.items import ResourceList
from stretto.offers.messages.schema import Message


@dataclass(frozen=True, eq=False)
class Offer:
    """Capacity of one agent that is charged to a framework until the framework answers."""

    #: Id.
    id: str
    #: The framework.
    framework_id: str
    #: The agent.
    agent_id: str
    #: The capacity.
    resources: ResourceList
    #: Time at which it was sent.
    at: float = 0.0
    #: True if the same capacity is offered to other frameworks; the first ACCEPT wins.
    contested: bool = False

    @property
    def role(self) -> str:
        """The charged role."""
        return self.resources.items[0].kind.allocated or "*"


class InverseOfferSent:
    """An inverse offer, which requests the release of an agent."""

    def __init__(
        self, offer_id: str, framework_id: str, agent_id: str, unavailability: Message
    ) -> None:
        """Initialize with the planned maintenance as a message."""
        #: Id from the same sequence as offers.
        self.id: Final = offer_id
        #: The framework.
        self.framework_id: Final = framework_id
        #: The agent.
        self.agent_id: Final = agent_id
        #: The planned maintenance.
        self.unavailability: Final = unavailability


class OfferTable:
    """All outstanding offers."""

    def __init__(self, prefix: str, first: int = 0) -> None:
        """Number offers from ``first``; ``prefix`` is the id of the master."""
        self._prefix = prefix
        self._numbers = count(first)
        self._offers: dict[str, Offer] = {}
        self._by_framework: dict[str, dict[str, Offer]] = {}
        self._by_agent: dict[str, dict[str, Offer]] = {}
        self._inverse: dict[str, InverseOfferSent] = {}

    def next_id(self) -> str:
        """A new id."""
        return f"{self._prefix}-O{next(self._numbers)}"

    def add(self, offer: Offer) -> None:
        """Add an offer."""
        self._offers[offer.id] = offer
        self._by_framework.setdefault(offer.framework_id, {})[offer.id] = offer
        self._by_agent.setdefault(offer.agent_id, {})[offer.id] = offer

    def add_inverse(self, offer: InverseOfferSent) -> None:
        """Add an inverse offer."""
        self._inverse[offer.id] = offer

    def get(self, offer_id: str) -> Offer | None:
        """The outstanding offer, or None."""
        return self._offers.get(offer_id)

    def inverse(self, offer_id: str) -> InverseOfferSent | None:
        """The outstanding inverse offer, or None."""
        return self._inverse.get(offer_id)

    def remove(self, offer_id: str) -> None:
        """Remove an offer or an inverse offer."""
        offer = self._offers.pop(offer_id, None)
        if offer is not None:
            _drop(self._by_framework, offer.framework_id, offer_id)
            _drop(self._by_agent, offer.agent_id, offer_id)
        self._inverse.pop(offer_id, None)

    def of_framework(self, framework_id: str) -> list[Offer]:
        """Offers of a framework, oldest first."""
        return list(self._by_framework.get(framework_id, {}).values())

    def of_agent(self, agent_id: str) -> list[Offer]:
        """Offers of an agent, oldest first."""
        return list(self._by_agent.get(agent_id, {}).values())

    def inverse_where(self, framework_id: str = "", agent_id: str = "") -> list[InverseOfferSent]:
        """Inverse offers of a framework, of an agent, or of both."""
        return [
            each
            for each in self._inverse.values()
            if framework_id in ("", each.framework_id) and agent_id in ("", each.agent_id)
        ]

    def __len__(self) -> int:
        return len(self._offers)

    def __iter__(self) -> Iterator[Offer]:
        return iter(list(self._offers.values()))


def _drop(table: dict[str, dict[str, Offer]], key: str, offer_id: str) -> None:
    """Remove an offer from an index, and then a key without offers."""
    found = table[key]
    del found[offer_id]
    if not found:
        del table[key]

"""Roles, frameworks and outstanding offers of a master, from its document about them."""

from typing import Any

import msgspec

from stretto.base.errors import InputError


class RoleLine(msgspec.Struct, frozen=True):
    """A role."""

    #: Its name.
    name: str
    #: Its weight.
    weight: float
    #: Its dominant share of the pool, divided by its weight.
    share: float
    #: Number of its frameworks.
    frameworks: int
    #: Filters of its frameworks: declined capacity that is not offered again for a while.
    filters: int


class FrameworkLine(msgspec.Struct, frozen=True):
    """A framework."""

    #: Its id.
    id: str
    #: Its name.
    name: str
    #: Its roles.
    roles: tuple[str, ...]
    #: Roles whose offers it has suppressed.
    suppressed: tuple[str, ...]
    #: True if the framework is connected.
    connected: bool
    #: Number of its tasks.
    tasks: int
    #: Resources of its tasks, as text.
    used: str
    #: Number of its outstanding offers.
    offers: int
    #: Age of its oldest offer in seconds; ``None`` without offers.
    oldest: float | None

    @property
    def state(self) -> str:
        """Return in words whether the framework is connected and receives offers."""
        if not self.connected:
            return "disconnected"
        return f"suppressed: {', '.join(self.suppressed)}" if self.suppressed else "active"


class OfferLine(msgspec.Struct, frozen=True):
    """An outstanding offer."""

    #: Its id.
    id: str
    #: Id of its framework.
    framework_id: str
    #: Id of its agent.
    agent_id: str
    #: The role to which its resources are allocated.
    role: str
    #: Its resources, as text.
    resources: str
    #: Seconds since it was sent.
    age: float


class OfferBoard(msgspec.Struct, frozen=True):
    """The offers of a master, with their frameworks."""

    #: Roles.
    roles: tuple[RoleLine, ...]
    #: Frameworks, the newest first.
    frameworks: tuple[FrameworkLine, ...]
    #: Outstanding offers.
    offers: tuple[OfferLine, ...]

    def name_of(self, framework_id: str) -> str:
        """The name of a framework; its id if it was removed."""
        known = {each.id: each.name for each in self.frameworks}
        return known.get(framework_id, framework_id)

    @property
    def oldest_first(self) -> list[OfferLine]:
        """The offers, the oldest first."""
        return sorted(self.offers, key=lambda each: -each.age)


def read_board(document: Any) -> OfferBoard:
    """Decode the board from a master's document ``/offers``.

    Raises:
        InputError: the document has another format.
    """
    try:
        return msgspec.convert(document, OfferBoard)
    except msgspec.ValidationError as error:
        raise InputError("/offers", None, f"the offers of a master: {error}") from error

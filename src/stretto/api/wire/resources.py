"""Requests and limits, as containers, pods and volume claims state them."""

from typing import Final, TypeAlias

from stretto.api.wire.meta import Wire
from stretto.api.wire.quantity import Quantity, check

ResourceList: TypeAlias = dict[str, Quantity]
"""Resource name to quantity as written; ``quantity.amounts`` counts it."""

NO_AMOUNTS: Final[ResourceList] = {}
"""The default of a resource list; msgspec gives each object its own."""


class ResourceRequirements(Wire, frozen=True):
    """What somebody asks for and may use at most."""

    #: What is set aside: the amounts that scheduling counts.
    requests: ResourceList = NO_AMOUNTS
    #: What may be used at most.
    limits: ResourceList = NO_AMOUNTS

    def __post_init__(self) -> None:
        check(self.requests, "requests")
        check(self.limits, "limits")

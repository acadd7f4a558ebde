"""Requests and limits, as in containers, pods and PVCs."""

from typing import Final, TypeAlias

from stretto.api.wire.meta import Wire
from stretto.api.wire.quantity import Quantity, check

HUGE_PAGES: Final = "hugepages-"
"""Prefix of the resources of huge pages, before their size."""

ResourceList: TypeAlias = dict[str, Quantity]
"""Resource name to quantity as written; ``quantity.amounts`` counts it."""

NO_AMOUNTS: Final[ResourceList] = {}
"""The default of a resource list; msgspec gives each object its own."""


class ResourceRequirements(Wire, frozen=True):
    """Requested amounts and upper limits."""

    #: Requested amounts: what scheduling counts.
    requests: ResourceList = NO_AMOUNTS
    #: Largest amounts that may be used.
    limits: ResourceList = NO_AMOUNTS

    def __post_init__(self) -> None:
        check(self.requests, "requests")
        check(self.limits, "limits")

"""Requests and limits, as in containers, pods and PVCs."""

from typing import Final, TypeAlias

from stretto.api.wire.meta import Wire
from stretto.api.wire.quantity import Quantity, check

HUGE_PAGES: Final = "hugepages-"
"""Prefix of the names of huge page resources, before the size."""

ResourceList: TypeAlias = dict[str, Quantity]
"""Maps a resource name to a quantity as text; ``quantity.amounts`` converts it."""

NO_AMOUNTS: Final[ResourceList] = {}
"""Default of a resource list; msgspec copies it for each object."""


class ResourceRequirements(Wire, frozen=True):
    """Requested amounts and upper limits."""

    #: Requested amounts, which scheduling uses.
    requests: ResourceList = NO_AMOUNTS
    #: Maximum amounts in use.
    limits: ResourceList = NO_AMOUNTS

    def __post_init__(self) -> None:
        check(self.requests, "requests")
        check(self.limits, "limits")

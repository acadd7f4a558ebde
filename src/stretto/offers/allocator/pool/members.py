"""Roles, frameworks, and the subscriptions that connect them."""

from collections.abc import Collection

from stretto.offers.allocator.pool.filters import FilterOwner
from stretto.offers.allocator.sorting.sorter import ClientSorter
from stretto.offers.allocator.subjects.constraints import AgentTest
from stretto.offers.allocator.subjects.frameworks import (
    FrameworkCapability,
    FrameworkInfo,
    ResourceRequest,
)
from stretto.offers.allocator.subjects.quota import DEFAULT_QUOTA, RoleQuota
from stretto.offers.allocator.values.kinds import ResourceKind
from stretto.offers.allocator.values.resources import Resources
from stretto.offers.allocator.values.scalars import Quantities


class RoleNode:
    """A role; it exists while something in its subtree needs it."""

    __slots__ = (
        "children",
        "frameworks",
        "held",
        "name",
        "outside",
        "parent",
        "path",
        "quota",
        "reserved",
        "row",
        "sorter",
        "used",
    )

    def __init__(self, name: str, parent: "RoleNode | None") -> None:
        """Start without amounts."""
        #: Full name; empty for the root.
        self.name = name
        #: The role above; ``None`` for the root.
        self.parent = parent
        #: The role and its ancestors, the root last.
        self.path: tuple[RoleNode, ...] = (self, *(parent.path if parent else ()))
        #: Roles below, by full name.
        self.children: dict[str, RoleNode] = {}
        #: Guarantee and limit.
        self.quota: RoleQuota = DEFAULT_QUOTA
        #: Row in the table of quota; -1 without quota.
        self.row: int = -1
        #: Reserved scalars of all agents for the subtree, held or not.
        self.reserved: dict[str, int] = {}
        #: Unreserved, non-revocable scalars that are offered to the subtree or used by it; counted
        #: only while the role has a quota.
        self.held: dict[str, int] = {}
        #: Consumption of the subtree outside the pool: the requests of the pods of its queue.
        self.outside: dict[str, int] = {}
        #: Unreserved, non-revocable scalars that the subtree uses.
        self.used: dict[str, int] = {}
        #: Subscriptions, including inactive ones, and former ones with holdings.
        self.frameworks: dict[str, Subscription] = {}
        #: Order of the frameworks; ``None`` without frameworks.
        self.sorter: ClientSorter | None = None

    def consumed(self, name: str) -> int:
        """Consumption of a resource for quota: reservations, holdings, and pods of the queue."""
        return self.reserved.get(name, 0) + self.held.get(name, 0) + self.outside.get(name, 0)

    def lack(self) -> dict[str, int]:
        """Unsatisfied amounts of the guarantee, without zeros."""
        lacks = ((n, amount - self.consumed(n)) for n, amount in self.quota.guarantees.items())
        return {name: lack for name, lack in lacks if lack > 0}

    def set_sorter(self, sorter: ClientSorter | None) -> None:
        """Set or remove the order of its frameworks."""
        self.sorter = sorter

    def set_quota(self, quota: RoleQuota, row: int, held: dict[str, int]) -> None:
        """Replace its quota; ``row`` is -1 for none; ``held`` has the amounts of its subtree."""
        self.quota, self.row, self.held = quota, row, held

    @property
    def holds_nothing(self) -> bool:
        """True if no framework in the subtree has holdings."""
        return not any(each.agents for each in self.frameworks.values()) and all(
            child.holds_nothing for child in self.children.values()
        )

    @property
    def is_needed(self) -> bool:
        """True if the role has children, frameworks, quota or amounts."""
        return bool(
            self.children
            or self.frameworks
            or not self.quota.is_default
            or any(self.reserved.values())
            or any(self.outside.values())
        )


class Subscription:
    """One framework in one role: the client of a role's sorter."""

    __slots__ = (
        "accepts",
        "agents",
        "filters",
        "framework",
        "is_subscribed",
        "is_suppressed",
        "late_until",
        "min_allocatable",
        "role",
    )

    def __init__(self, framework: "FrameworkState", role: RoleNode) -> None:
        """Start without filters; `configure` must follow."""
        #: The framework.
        self.framework = framework
        #: The role.
        self.role = role
        #: Alternatives of the smallest useful offer; empty if any offer is useful.
        self.min_allocatable: tuple[Quantities, ...] = ()
        #: Test of its offer constraints; ``None`` for none.
        self.accepts: AgentTest | None = None
        #: Number of agents with holdings of the subscription.
        self.agents = 0
        #: True if the framework is subscribed; a former subscription may still have holdings.
        self.is_subscribed = True
        #: True if its offers are suppressed.
        self.is_suppressed = False
        #: Its filters since the last revive.
        self.filters = FilterOwner()
        #: Time until which it is sorted after its siblings, in seconds.
        self.late_until: float = 0.0

    @property
    def is_active(self) -> bool:
        """True if it receives offers."""
        return self.framework.is_active and self.is_subscribed and not self.is_suppressed

    def configure(
        self, least: tuple[Quantities, ...], accepts: AgentTest | None, suppressed: bool
    ) -> None:
        """Apply the registration of the framework for this role."""
        self.min_allocatable, self.accepts = least, accepts
        self.is_subscribed, self.is_suppressed = True, suppressed

    def end(self) -> None:
        """End the subscription; its filters are removed."""
        self.is_subscribed = False
        self.void_filters()

    def rejoin(self, framework: "FrameworkState") -> None:
        """Attach a framework that returns with an id whose former holdings remain."""
        self.framework = framework

    def set_late(self, until: float) -> None:
        """Sort it after its siblings until a time; 0 ends this."""
        self.late_until = until

    def count_agents(self, change: int) -> None:
        """Add to the number of agents with holdings of the subscription."""
        self.agents += change

    def set_suppressed(self, suppressed: bool) -> None:
        """Suppress or revive its offers."""
        self.is_suppressed = suppressed

    def void_filters(self) -> None:
        """Remove all filters."""
        self.filters.void()
        self.filters = FilterOwner()


class FrameworkState:
    """A framework."""

    __slots__ = (
        "_hides_refined",
        "_hides_revocable",
        "_hides_shared",
        "has_gpus",
        "has_multi_role",
        "has_regions",
        "hides_nothing",
        "info",
        "inverse_filters",
        "inverse_offers",
        "is_active",
        "requests",
        "subscriptions",
    )

    def __init__(self, info: FrameworkInfo) -> None:
        """Start active, without subscriptions."""
        #: True if it is connected.
        self.is_active = True
        #: Its roles.
        self.subscriptions: dict[str, Subscription] = {}
        #: Ends of its filters on inverse offers, by agent.
        self.inverse_filters: dict[str, float] = {}
        #: Agents with an unanswered inverse offer.
        self.inverse_offers: set[str] = set()
        #: Its demand, from the last REQUEST.
        self.requests: tuple[ResourceRequest, ...] = ()
        self.set_info(info)

    def set_info(self, info: FrameworkInfo) -> None:
        """Replace its registration."""
        has = info.capabilities
        #: Its registration.
        self.info = info
        #: True if it receives agents with GPUs.
        self.has_gpus = FrameworkCapability.GPU_RESOURCES in has
        #: True if it receives agents of other regions.
        self.has_regions = FrameworkCapability.REGION_AWARE in has
        #: True if it needs agents that support several roles.
        self.has_multi_role = FrameworkCapability.MULTI_ROLE in has
        self._hides_refined = FrameworkCapability.RESERVATION_REFINEMENT not in has
        self._hides_revocable = FrameworkCapability.REVOCABLE_RESOURCES not in has
        self._hides_shared = FrameworkCapability.SHARED_RESOURCES not in has
        #: True if it can receive every kind of resource.
        self.hides_nothing = not (
            self._hides_refined or self._hides_revocable or self._hides_shared
        )

    def set_active(self, active: bool) -> None:
        """Connect or disconnect it."""
        self.is_active = active

    def set_requests(self, requests: tuple[ResourceRequest, ...]) -> None:
        """Replace its demand."""
        self.requests = requests

    def readable(self, resources: Resources) -> Resources:
        """The resources that it can receive."""
        if self.hides_nothing or resources.is_plain:
            return resources
        return resources.where(self._can_read)

    def _can_read(self, kind: ResourceKind) -> bool:
        return not (
            (self._hides_refined and kind.refined)
            or (self._hides_revocable and kind.revocable)
            or (self._hides_shared and kind.shared)
        )

    def chosen(self, roles: Collection[str]) -> list[Subscription]:
        """Subscriptions to these roles, or all of them for no roles."""
        subscribed = [each for each in self.subscriptions.values() if each.is_subscribed]
        return [each for each in subscribed if not roles or each.role.name in roles]

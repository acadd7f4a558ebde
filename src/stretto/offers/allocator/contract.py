"""The interface between a master of frameworks and the allocator.

The allocator does no I/O and reads no clock. A master reports events, runs a cycle when one is due,
and sends the results of the cycle. Every offered capacity stays charged to its holder until the
master recovers it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from stretto.offers.allocator.subjects.agents import AgentInfo, Unavailability
from stretto.offers.allocator.subjects.frameworks import FrameworkInfo, ResourceRequest
from stretto.offers.allocator.subjects.grants import AgentOffer, CycleResult, InverseOfferStatus
from stretto.offers.allocator.subjects.quota import RoleQuota
from stretto.offers.allocator.values.resources import Resources
from stretto.offers.allocator.values.scalars import Quantities


class Holding(NamedTuple):
    """The holder of capacity of an agent."""

    #: Id of the framework.
    framework: str
    #: The charged role.
    role: str
    #: Id of the agent.
    agent: str


OfferJudge: TypeAlias = Callable[[Holding, Resources], bool]
"""Predicate over the holder and the capacity of an outstanding offer; true if it must end."""


class OfferAllocator(Protocol):
    """Methods that a master calls. Times are seconds of one monotonic clock."""

    # ------------------------------------------------------------ agents

    def add_agent(self, agent: AgentInfo, used: Mapping[Holding, Resources]) -> None:
        """Add an agent with the use of its running tasks; a cycle for it is due.

        The frameworks of ``used`` may be unknown yet: their use counts after they are added.
        """

    def update_agent(self, agent: AgentInfo) -> bool:
        """Replace total, attributes, domain and capabilities of an agent; true if anything changed.

        The total may fall below the held amounts; the rest is offered after recovery. Changed
        attributes remove the filters on this agent.
        """

    def remove_agent(self, agent: str) -> None:
        """Remove an agent and everything that was held there."""

    def set_agent_active(self, agent: str, active: bool) -> None:
        """Activate or deactivate an agent; an inactive agent is not offered, but stays held."""

    # ------------------------------------------------------------ frameworks

    def add_framework(
        self, framework: FrameworkInfo, suppressed: Collection[str] = (), active: bool = True
    ) -> None:
        """Add a framework; if it is active, a cycle over all agents is due.

        Raises:
            InputError: its constraints or roles are invalid; nothing is changed.
        """

    def update_framework(self, framework: FrameworkInfo, suppressed: Collection[str] = ()) -> None:
        """Replace roles, capabilities, constraints and suppressed roles.

        Raises:
            InputError: its constraints or roles are invalid; nothing is changed.
        """

    def remove_framework(self, framework: str) -> None:
        """Remove a framework; the master recovers its capacity before or after."""

    def set_framework_active(self, framework: str, active: bool) -> None:
        """Deactivation removes its filters; activation makes a cycle over all agents due."""

    def suppress(self, framework: str, roles: Collection[str] = ()) -> None:
        """Stop offers for these roles; an empty collection means all roles."""

    def revive(self, framework: str, roles: Collection[str] = ()) -> None:
        """Remove suppression and filters of these roles, or of all; a cycle is due."""

    def request(self, framework: str, requests: Sequence[ResourceRequest]) -> None:
        """Replace the demand of a framework; an empty sequence removes it."""

    # ------------------------------------------------------------ roles

    def set_quota(self, role: str, quota: RoleQuota) -> None:
        """Set guarantee and limit of a role; the default quota removes both.

        Raises:
            InputError: the role is not at the top level and the settings do not allow nested quota.
        """

    def add_outside(self, role: str, amounts: Quantities) -> None:
        """Add to the consumption of a role outside the pool, in thousandths; quota counts it."""

    def quota_rescinds(self, roles: Collection[str]) -> OfferJudge:
        """Predicate of offers after the quotas of these roles were set; true if an offer must end.

        The master recovers an offer that must end before it checks the next one.
        """

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Set the weights of roles; 1 is the default."""

    # ------------------------------------------------------------ held capacity

    def holdings(self, agent: str) -> Mapping[Holding, Resources]:
        """Held amounts of an agent; a contested capacity counts for one of its holders."""

    def take_changed(self) -> set[str]:
        """Agents whose total or holdings have changed since the last call."""

    def claim(self, holding: Holding, resources: Resources) -> tuple[AgentOffer, ...]:
        """Accept an outstanding offer for a framework.

        If the capacity was also offered to others, it is now charged to this holder.

        Returns:
            The offers of the others, which have ended and must not be recovered.
        """

    def use(self, holding: Holding, resources: Resources) -> None:
        """Record that tasks use held capacity; each task adds its own copy of a shared item."""

    def convert(self, holding: Holding, before: Resources, after: Resources) -> None:
        """Convert held capacity to another form by an operation such as RESERVE or CREATE."""

    def convert_available(self, agent: str, before: Resources, after: Resources) -> bool:
        """Convert free capacity by an operator's operation; false if it is not free."""

    def recover(
        self, holding: Holding, resources: Resources, now: float, refuse: float | None = None
    ) -> None:
        """Free offered capacity after a decline, a rescind, a time-out, or the rest of an ACCEPT.

        An offer that was not accepted is recovered as a whole.

        Args:
            holding: its holder.
            resources: the capacity.
            now: seconds.
            refuse: lifetime in seconds of the filter that DECLINE or ACCEPT install; ``None`` or 0
                for no filter. Negative values and NaN select Mesos' default of 5 s.
        """

    def finish(self, holding: Holding, resources: Resources) -> None:
        """Free capacity that tasks used."""

    # ------------------------------------------------------------ maintenance

    def set_unavailability(self, agent: str, unavailability: Unavailability | None) -> None:
        """Plan or cancel maintenance of an agent; a cycle for it is due."""

    def answer_inverse_offer(
        self, holding: Holding, accepted: bool, now: float, refuse: float | None = None
    ) -> None:
        """Record the answer of a framework to an inverse offer; the holding's role is ignored."""

    def inverse_statuses(self, agent: str) -> Mapping[str, InverseOfferStatus]:
        """Last answers of frameworks to inverse offers of an agent."""

    def active_filters(self, now: float) -> Mapping[str, int]:
        """Number of active filters, by role."""

    def filter_end(self, holding: Holding, now: float) -> float | None:
        """End of the last filter of a framework in a role on an agent; ``None`` if absent."""

    # ------------------------------------------------------------ cycles

    def begin_recovery(self, expected_agents: int, now: float) -> None:
        """Wait, after a restart with quota, until most agents have registered again.

        Without these agents, other roles would receive free capacity that guarantees need.
        """

    @property
    def has_nested_quota(self) -> bool:
        """True if roles below the top level may have quota."""
        ...

    @property
    def is_due(self) -> bool:
        """True if an event since the last cycle requires one; several events cause one cycle."""

    def cycle(self, now: float, batch: bool = False, most: int | None = None) -> CycleResult:
        """Decide about the agents that events named; a batch cycle decides about all.

        ``most`` limits the number of agents, which are drawn at random; the next cycle, which is
        due, decides about the others. The number is exceeded if the whole cycle would have too many
        parts, because each part computes its own sums.
        """

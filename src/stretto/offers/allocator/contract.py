"""The interface between a master of frameworks and the allocator.

The allocator does no I/O and reads no clock. A master reports what happened, runs a cycle when one
is due, and sends what the cycle returns. Every offered capacity stays charged to its holder until
the master recovers it.
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
"""Whether an outstanding offer, its holder and its capacity, must end."""


class OfferAllocator(Protocol):
    """The calls of a master. Times are seconds of one monotonic clock."""

    # ------------------------------------------------------------ agents

    def add_agent(self, agent: AgentInfo, used: Mapping[Holding, Resources]) -> None:
        """Add an agent with the use of its running tasks; a cycle for it is due.

        The frameworks of ``used`` may be unknown yet: their use counts once they are added.
        """

    def update_agent(self, agent: AgentInfo) -> bool:
        """Replace an agent's total, attributes, domain and capabilities; whether any changed.

        The total may fall below the held amounts; the rest is offered after recovery. Changed
        attributes remove the filters on this agent.
        """

    def remove_agent(self, agent: str) -> None:
        """Remove an agent and everything that was held there."""

    def set_agent_active(self, agent: str, active: bool) -> None:
        """An inactive agent is not offered; held amounts stay held."""

    def set_whitelist(self, hostnames: Collection[str] | None) -> None:
        """Offer only agents with these host names; ``None`` for all."""

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
        """Send no offers for these roles, or for all roles if there are none."""

    def revive(self, framework: str, roles: Collection[str] = ()) -> None:
        """Remove suppression and filters of these roles, or of all; a cycle is due."""

    def request(self, framework: str, requests: Sequence[ResourceRequest]) -> None:
        """Replace the demand of a framework; an empty sequence removes it."""

    # ------------------------------------------------------------ roles

    def set_quota(self, role: str, quota: RoleQuota) -> None:
        """Set guarantee and limit of a role; the default quota removes both.

        Raises:
            InputError: the role is not at the top level and the settings do not allow that.
        """

    def add_outside(self, role: str, amounts: Quantities) -> None:
        """Add to what a role consumes outside the pool, in thousandths; quota counts it."""

    def quota_rescinds(self, roles: Collection[str]) -> OfferJudge:
        """Check offers after the quotas of these roles were set: true if an offer must end.

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
        """A framework accepts an offer, which must be outstanding.

        If the capacity was also offered to others, it is now charged to this holder. Returned are
        the offers of the others: they have ended, and must not be recovered.
        """

    def use(self, holding: Holding, resources: Resources) -> None:
        """Held capacity is now used by tasks; each task adds its own copy of a shared item."""

    def convert(self, holding: Holding, before: Resources, after: Resources) -> None:
        """An operation turns held capacity into another form: RESERVE, CREATE and the like."""

    def convert_available(self, agent: str, before: Resources, after: Resources) -> bool:
        """An operator's operation on free capacity; false if it is not free now."""

    def recover(
        self, holding: Holding, resources: Resources, now: float, refuse: float | None = None
    ) -> None:
        """Capacity is free again: decline, rescind, time-out, or the rest of an ACCEPT.

        An offer that was not accepted is recovered as a whole.

        Args:
            holding: its holder.
            resources: the capacity.
            now: seconds.
            refuse: lifetime in seconds of the filter that DECLINE or ACCEPT install; ``None`` or 0
                for no filter. Negative and NaN mean Mesos' default of 5 s.
        """

    def finish(self, holding: Holding, resources: Resources) -> None:
        """Capacity that tasks used is free again."""

    # ------------------------------------------------------------ maintenance

    def set_unavailability(self, agent: str, unavailability: Unavailability | None) -> None:
        """Plan or cancel maintenance of an agent; a cycle for it is due."""

    def answer_inverse_offer(
        self, holding: Holding, accepted: bool, now: float, refuse: float | None = None
    ) -> None:
        """A framework answers an inverse offer (the role of the holding is ignored)."""

    def inverse_statuses(self, agent: str) -> Mapping[str, InverseOfferStatus]:
        """Last answers of frameworks to inverse offers of an agent."""

    def active_filters(self, now: float) -> Mapping[str, int]:
        """Number of filters that still last, by role."""

    def filter_end(self, holding: Holding, now: float) -> float | None:
        """When the last filter of a framework in a role on an agent ends; ``None`` without one."""

    # ------------------------------------------------------------ cycles

    def begin_recovery(self, expected_agents: int, now: float) -> None:
        """After a restart with quota, offer nothing until most agents have registered again.

        Without them, other roles would get free capacity that guarantees need.
        """

    @property
    def is_due(self) -> bool:
        """True if an event since the last cycle calls for one; several events call for one."""

    def cycle(self, now: float, batch: bool = False, most: int | None = None) -> CycleResult:
        """Decide about the agents that events named; a batch cycle decides about all.

        With ``most``, this cycle decides about so many of them, drawn at random, and the next one,
        which is due, about the others. It decides about more of them if the whole cycle would have
        too many parts, each with the costs of its own sums.
        """

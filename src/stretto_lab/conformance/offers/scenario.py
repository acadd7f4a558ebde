"""The form of a recorded scenario, and its agents and frameworks for the allocator."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec

from stretto.offers.allocator.subjects.agents import AgentAttribute, AgentInfo, FaultDomain
from stretto.offers.allocator.subjects.constraints import OfferConstraints
from stretto.offers.allocator.subjects.frameworks import FrameworkCapability, FrameworkInfo
from stretto.offers.allocator.subjects.quota import RoleQuota
from stretto.offers.allocator.subjects.settings import MESOS, AllocatorSettings
from stretto.offers.allocator.values.kinds import (
    DiskSource,
    DiskSourceType,
    ReservationType,
    ResourceIdentity,
    RoleReservation,
)
from stretto.offers.allocator.values.resources import (
    Resources,
    ResourceValue,
    resources_of,
)
from stretto.offers.allocator.values.scalars import quantities, to_milli

KNOWN: Final = {each.value for each in FrameworkCapability}
"""Capabilities that the allocator reads; others do not change offers."""


class RecordedResource(msgspec.Struct, frozen=True):
    """A resource of an agent."""

    #: Name.
    name: str
    #: Units of a scalar, or inclusive ranges.
    value: float | list[tuple[int, int]]
    #: Role of a static reservation.
    role: str = ""
    #: ``MOUNT`` for a mounted disk.
    disk: str = ""


class RecordedAgent(msgspec.Struct, frozen=True):
    """An agent."""

    #: Name.
    name: str
    #: Host name.
    hostname: str
    #: Resources.
    resources: list[RecordedResource]
    #: Names and values.
    attributes: list[tuple[str, str | float]] = []
    #: Region, if it has a fault domain.
    region: str | None = None
    #: Zone, if it has a fault domain.
    zone: str | None = None


class RecordedStrategy(msgspec.Struct, frozen=True):
    """Answers of a framework to offers."""

    #: ``greedy``, ``one``, ``hold`` or ``decline``.
    mode: str
    #: Units of one task.
    task: dict[str, float]
    #: Lifetime of its filters in seconds; unset for the default.
    refuse: float | None = None
    #: Maximum number of running tasks.
    max: int | None = None
    #: Ticks after which a task ends.
    duration: int | None = None
    #: Amounts that it reserves in the first suitable offer of each role.
    reserve: dict[str, float] | None = None


class RecordedFramework(msgspec.Struct, frozen=True):
    """A framework."""

    #: Name.
    name: str
    #: Roles.
    roles: list[str]
    #: Capabilities.
    capabilities: list[str]
    #: Its answers.
    strategy: RecordedStrategy
    #: Roles that are suppressed at the start.
    suppressed: list[str] = []
    #: Smallest useful offers by role.
    min_allocatable: dict[str, list[dict[str, float]]] = {}
    #: Constraints.
    offer_constraints: OfferConstraints | None = None


class RecordedConfig(msgspec.Struct, frozen=True):
    """Flags of the recorded master."""

    #: Seconds between batch cycles.
    allocation_interval_s: float
    #: Its region.
    master_region: str
    #: True if agents with GPUs are hidden from other frameworks.
    filter_gpu_resources: bool = True
    #: Smallest useful offers: alternatives separated by ``|``.
    min_allocatable: str = "cpus:0.01|mem:32"

    def least(self) -> tuple[Mapping[str, int], ...]:
        """The smallest useful offers in thousandths."""
        alternatives = (each.split(";") for each in self.min_allocatable.split("|"))
        return tuple(
            {name: to_milli(float(value)) for name, _, value in (e.partition(":") for e in each)}
            for each in alternatives
        )


LogRecord: TypeAlias = dict[str, list[Any]]
"""Events after one step: offers, grants, answers, rescinds and notes."""


class RecordedResult(msgspec.Struct, frozen=True):
    """The observed results."""

    #: Outcomes that were equal in all executions.
    exact: dict[str, Any]
    #: Bounds or values of the others.
    ranges: dict[str, list[Any]]
    #: Events of the first execution, by number of the step.
    log: list[tuple[int, LogRecord]]


def resources(items: list[RecordedResource]) -> Resources:
    """The resources of an agent."""
    return resources_of(_resource(item) for item in items)


def _resource(item: RecordedResource) -> tuple[ResourceIdentity, ResourceValue]:
    stack = (RoleReservation(ReservationType.STATIC, item.role),) if item.role else ()
    if isinstance(item.value, list):
        return ResourceIdentity(item.name, stack), tuple(item.value)
    amount = to_milli(item.value)
    if not item.disk:
        return ResourceIdentity(item.name, stack), amount
    source = DiskSource(DiskSourceType(item.disk))
    return ResourceIdentity(item.name, stack, source, whole=amount), 1


def agent_info(agent: RecordedAgent) -> AgentInfo:
    """An agent in the form of the allocator."""
    domain = None
    if agent.region is not None and agent.zone is not None:
        domain = FaultDomain(agent.region, agent.zone)
    attributes = tuple(AgentAttribute(name, value) for name, value in agent.attributes)
    return AgentInfo(agent.name, agent.hostname, resources(agent.resources), attributes, domain)


def framework_info(framework: RecordedFramework, number: int) -> FrameworkInfo:
    """A framework in the form of the allocator; its id has the form of Mesos' ids."""
    least = {
        role: tuple(quantities(each) for each in alternatives)
        for role, alternatives in framework.min_allocatable.items()
    }
    return FrameworkInfo(
        f"{number:04d}",
        frozenset(framework.roles),
        frozenset(FrameworkCapability(each) for each in framework.capabilities if each in KNOWN),
        least,
        framework.offer_constraints,
    )


def settings_of(config: RecordedConfig) -> AllocatorSettings:
    """The settings of the recorded master."""
    return msgspec.structs.replace(
        MESOS,
        interval=config.allocation_interval_s,
        min_allocatable=config.least(),
        filter_gpu_agents=config.filter_gpu_resources,
        region=config.master_region,
    )


def quota_of(config: Mapping[str, Any]) -> RoleQuota:
    """The quota of a configuration in units."""
    return RoleQuota(quantities(config["guarantees"]), quantities(config["limits"]))


def reservation(role: str, amounts: Mapping[str, float]) -> tuple[Resources, Resources]:
    """Unreserved amounts, and the same amounts after a dynamic reservation to a role."""
    stack = (RoleReservation(ReservationType.DYNAMIC, role),)
    exact = quantities(amounts)
    return (
        resources_of((ResourceIdentity(name), n) for name, n in exact.items()),
        resources_of((ResourceIdentity(name, stack), n) for name, n in exact.items()),
    )

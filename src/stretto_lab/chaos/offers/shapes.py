"""Random agents and reservations."""

from typing import Final

from stretto.base.rng import Rng
from stretto.offers.allocator.subjects.agents import AgentInfo
from stretto.offers.allocator.values.kinds import (
    DiskSource,
    DiskSourceType,
    DiskVolume,
    ReservationType,
    ResourceIdentity,
    RoleReservation,
)
from stretto.offers.allocator.values.resources import (
    Resources,
    ResourceValue,
    resources_of,
    scalars,
)

ROLES: Final = ("a", "a/x", "a/y", "b", "b/z", "c", "*")
"""Roles of the simulator."""


def agent_of(name: str, rng: Rng) -> AgentInfo:
    """An agent with scalars and ports, and sometimes GPUs, reservations, disks and volumes."""
    items: list[tuple[ResourceIdentity, ResourceValue]] = [
        (ResourceIdentity("cpus"), rng.randint(1, 16) * 500),
        (ResourceIdentity("mem"), rng.randint(1, 16) * 256_000),
        (ResourceIdentity("ports"), ((31_000, 31_000 + rng.randint(1, 50)),)),
    ]
    if rng.random() < 0.2:
        items.append((ResourceIdentity("gpus"), 1_000))
    if rng.random() < 0.3:
        stack = (RoleReservation(ReservationType.STATIC, rng.choice(ROLES[:-1])),)
        items.append((ResourceIdentity("cpus", stack), 1_000))
    if rng.random() < 0.2:
        items.append((ResourceIdentity("cpus", revocable=True), 2_000))
    if rng.random() < 0.2:
        source = DiskSource(DiskSourceType.MOUNT)
        items.append((ResourceIdentity("disk", source=source, whole=500_000), 2))
    if rng.random() < 0.2:
        stack = (RoleReservation(ReservationType.DYNAMIC, "a"),)
        volume = DiskVolume(f"v-{name}")
        shared = ResourceIdentity("disk", stack, volume=volume, shared=True, whole=50_000)
        items.append((shared, 1))
    return AgentInfo(name, name, resources_of(items))


def reservation_of(rng: Rng) -> tuple[Resources, Resources]:
    """Unreserved CPUs, and the same reserved to a role."""
    stack = (RoleReservation(ReservationType.DYNAMIC, rng.choice(ROLES[:-1])),)
    return scalars(cpus=500), resources_of([(ResourceIdentity("cpus", stack), 500)])

"""The published headroom: amounts of the node, and of its NUMA nodes if they are estimated."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from stretto.api.types.cnr import RECLAIMED_CPU, RECLAIMED_MEMORY, TopologyZone, ZoneResources
from stretto.api.wire.quantity import format_milli, format_value, value
from stretto.api.wire.resources import ResourceList
from stretto.capacity.headroom.memory import GIB
from stretto.capacity.headroom.published import Reclaimed, publish
from stretto.capacity.reclaim.reading import MILLI, HeadroomEstimate
from stretto.framework.profile.capacity.reclaim import ReclaimRules

CPU_STEP: Final = 10
"""Milli-CPU to which amounts are rounded: smaller changes are noise and cause no write."""
MEMORY_STEP: Final = 16 << 20
"""Bytes to which amounts are rounded."""
POOL_PODS: Final = 1000
"""Pod slots of the reclaimed pool, more than a node has.

A reclaimed pod uses a slot of the node too, and a scheduler places no pod into a pool without
slots.
"""

Zones = tuple[TopologyZone, ...]
"""Trees of zones, one per socket."""


def published(
    estimate: HeadroomEstimate, zones: Zones, rules: ReclaimRules
) -> tuple[ResourceList, Zones]:
    """Return the pool of a node, and its zones with the headroom of each NUMA node.

    An amount that is too small to be useful makes the others zero, as in Katalyst. CPU is divided
    by the processors of the NUMA nodes that have memory to reclaim.

    Args:
        estimate: the estimated amounts.
        zones: zones of the machine.
        rules: the minimum amounts.
    """
    numas = list(_numa_amounts(estimate, zones).items())
    least = {
        "cpu": int(rules.least_cores * MILLI),
        "memory": int(rules.memory.least_gib * GIB),
    }
    node = {"cpu": estimate.cpu, "memory": estimate.memory}
    found = publish(node, [each for _, each in numas], least)
    shown = {name: each for (name, _), each in zip(numas, found.numas, strict=True)}
    pool: ResourceList = {
        "cpu": format_milli(_down(found.node["cpu"], CPU_STEP)),
        "memory": format_value(_down(found.node["memory"], MEMORY_STEP)),
        "pods": str(POOL_PODS),
    }
    return pool, tuple(_with_headroom(each, shown) for each in zones)


def processors(zone: TopologyZone) -> int:
    """Return the number of processors of a NUMA node."""
    return int(str(zone.resources.capacity.get("cpu", 0)))


def numa_nodes(zones: Zones) -> list[TopologyZone]:
    """Return the zones of NUMA nodes."""
    return [numa for socket in zones for numa in socket.children if numa.type == "Numa"]


def memory_of(zone: TopologyZone) -> int:
    """Return the bytes of a NUMA node."""
    return value(zone.resources.capacity.get("memory", 0), "memory")


def _numa_amounts(estimate: HeadroomEstimate, zones: Zones) -> dict[str, Reclaimed]:
    """Amounts by name of the NUMA node; empty if the memory is not divided."""
    memory = {str(number): amount for number, amount in estimate.numa_memory.items()}
    cpus = {each.name: processors(each) for each in numa_nodes(zones) if each.name in memory}
    lending = sum(count for name, count in cpus.items() if memory[name] > 0)
    return {
        name: {
            "cpu": estimate.cpu * count // lending if memory[name] > 0 and lending else 0,
            "memory": memory[name],
        }
        for name, count in cpus.items()
    }


def _with_headroom(zone: TopologyZone, amounts: Mapping[str, Reclaimed]) -> TopologyZone:
    """A tree of zones with the amounts of its NUMA nodes, under Katalyst's resource names."""
    if zone.type != "Numa":
        children = tuple(_with_headroom(each, amounts) for each in zone.children)
        return replace(zone, children=children) if amounts else zone
    mine = amounts.get(zone.name)
    if mine is None:
        return zone
    shown: ResourceList = {
        RECLAIMED_CPU: str(_down(mine["cpu"], CPU_STEP)),
        RECLAIMED_MEMORY: str(_down(mine["memory"], MEMORY_STEP)),
    }
    resources = ZoneResources(
        {**zone.resources.capacity, **shown}, {**zone.resources.allocatable, **shown}
    )
    return replace(zone, resources=resources)


def _down(amount: int, step: int) -> int:
    """Round an offered amount down."""
    return amount // step * step

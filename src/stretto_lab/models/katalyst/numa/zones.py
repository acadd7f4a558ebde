"""NUMA nodes of a machine: their total and their free amounts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

import msgspec

from stretto.capacity.headroom.readings import CoreLevel
from stretto.capacity.model.profiles import CapacityProfile
from stretto_lab.models.katalyst.numa.pods import AlignmentPolicy, NumaPod, names


class TopologyPolicy(Enum):
    """Alignment policy of a node; the values are those of the CNR."""

    #: Each container in one NUMA node.
    SINGLE_CONTAINER = "SingleNUMANodeContainerLevel"
    #: The whole pod in one NUMA node.
    SINGLE_POD = "SingleNUMANodePodLevel"
    #: Each container in as few NUMA nodes as possible.
    NUMERIC_CONTAINER = "NumericContainerLevel"


_OF_POLICY = {
    AlignmentPolicy.NATIVE: (TopologyPolicy.SINGLE_CONTAINER, TopologyPolicy.SINGLE_POD),
    AlignmentPolicy.DYNAMIC: (TopologyPolicy.SINGLE_CONTAINER, TopologyPolicy.NUMERIC_CONTAINER),
}


class NumaZone(msgspec.Struct, frozen=True):
    """A NUMA node of a machine."""

    #: Socket.
    socket: str
    #: Physical amounts by resource.
    capacity: dict[str, int]
    #: Amounts for pods by resource.
    allocatable: dict[str, int]
    #: Amounts in use, by pod.
    allocations: tuple[tuple[str, dict[str, int]], ...] = ()


class AlignedMachine(msgspec.Struct, frozen=True):
    """A node with NUMA nodes, ordered by number."""

    #: NUMA nodes.
    zones: tuple[NumaZone, ...]
    #: Alignment policy; ``None`` for no alignment.
    policy: TopologyPolicy | None
    #: Pods on the node.
    pods: tuple[NumaPod, ...] = ()
    #: Pods bound to the node that its agent has not reported yet.
    reserved: tuple[NumaPod, ...] = ()


class FreeZones(msgspec.Struct, frozen=True):
    """NUMA nodes with their free amounts, for one pod."""

    #: NUMA nodes.
    zones: tuple[NumaZone, ...]
    #: Free amounts by resource, per NUMA node.
    free: tuple[dict[str, int], ...]
    #: Resources that must come from the same NUMA nodes.
    aligned: frozenset[str]
    #: True if the pod shares its NUMA nodes with no other pod.
    is_exclusive: bool = False

    def is_untouched(self, zone: int, resource: str) -> bool:
        """Return whether a resource of a NUMA node is completely free."""
        return self.free[zone].get(resource) == self.zones[zone].allocatable.get(resource)

    def without(self, zone: int, requests: Mapping[str, int]) -> "FreeZones":
        """Return the NUMA nodes after a container uses its request on one of them."""
        left = tuple(
            _minus(each, requests, floor=None) if number == zone else each
            for number, each in enumerate(self.free)
        )
        return msgspec.structs.replace(self, free=left)

    def least_count(self, resource: str, amount: int, profile: CapacityProfile) -> int | None:
        """Number of NUMA nodes that an amount needs by capacity; ``None`` if all are too small.

        The largest are counted first. ``KATALYST`` counts them by number, so its result depends on
        the numbering if NUMA nodes differ, and it counts all of them if they are too small.
        """
        sizes = [each.capacity.get(resource, 0) for each in self.zones]
        if profile is not CapacityProfile.KATALYST:
            sizes.sort(reverse=True)
        total = 0
        for count, size in enumerate(sizes, 1):
            total += size
            if total >= amount:
                return count
        return len(sizes) if profile is CapacityProfile.KATALYST else None

    def zones_per_socket(self, profile: CapacityProfile) -> int:
        """Number of NUMA nodes of the largest socket; ``KATALYST`` uses the mean, rounded down."""
        counts = Counter(each.socket for each in self.zones)
        if profile is CapacityProfile.KATALYST:
            return len(self.zones) // len(counts)
        return max(counts.values(), default=0)


def policy_of(machine: AlignedMachine, policy: AlignmentPolicy) -> TopologyPolicy | None:
    """Alignment policy of a machine for the pods that a policy selects.

    ``None`` for no alignment.
    """
    return machine.policy if machine.zones and machine.policy in _OF_POLICY[policy] else None


def free_zones(
    machine: AlignedMachine, pod: NumaPod, policy: AlignmentPolicy, aligned: Iterable[str]
) -> FreeZones:
    """Free amounts for a pod.

    Pods that are not reported yet are charged to every NUMA node, because their NUMA node is
    unknown.
    """
    shared = frozenset(aligned)
    is_dynamic = policy is AlignmentPolicy.DYNAMIC
    dedicated = names(each for each in machine.pods if each.level is CoreLevel.DEDICATED)
    left = []
    for zone in machine.zones:
        free = dict(zone.allocatable)
        for name, used in zone.allocations:
            if not is_dynamic or name in dedicated:
                free = _minus(free, used)
        left.append(free)
    for each in machine.reserved:
        if each.is_aligned_by(policy):
            held = _held(each, machine.zones, shared)
            left = [_minus(free, held) for free in left]
    return FreeZones(machine.zones, tuple(left), shared, is_dynamic and pod.is_exclusive)


def _held(pod: NumaPod, zones: Sequence[NumaZone], aligned: frozenset[str]) -> Mapping[str, int]:
    """Amounts of a pod that is not reported yet; an exclusive pod uses a whole NUMA node."""
    held = pod.total()
    if pod.binds and pod.is_exclusive:
        for name in aligned & held.keys():
            held[name] = max(held[name], zones[0].capacity.get(name, 0))
    return held


def _minus(
    free: Mapping[str, int], used: Mapping[str, int], floor: int | None = 0
) -> dict[str, int]:
    """Free minus used amounts, at least ``floor``."""
    left = {name: amount - used.get(name, 0) for name, amount in free.items()}
    return left if floor is None else {name: max(each, floor) for name, each in left.items()}

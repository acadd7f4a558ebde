"""Filter: checks that the NUMA nodes of a machine align a pod."""

from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import chain, combinations

from stretto.capacity.model.profiles import CapacityProfile
from stretto_lab.models.katalyst.numa.pods import AlignmentPolicy, NumaPod, is_extended, positive
from stretto_lab.models.katalyst.numa.zones import (
    AlignedMachine,
    FreeZones,
    TopologyPolicy,
    free_zones,
    policy_of,
)

ZoneSet = frozenset[int]
"""Numbers of NUMA nodes."""


class Alignment(Enum):
    """Result of the check."""

    #: The machine aligns the pod, or the pod needs no alignment.
    FITS = "fits"
    #: A container finds no NUMA nodes.
    CONTAINER = "container"
    #: The pod as a whole finds no NUMA node.
    POD = "pod"


def align(
    machine: AlignedMachine,
    pod: NumaPod,
    policy: AlignmentPolicy,
    aligned: frozenset[str],
    profile: CapacityProfile = CapacityProfile.STRETTO,
) -> Alignment:
    """Check that NUMA nodes of a machine fit a pod.

    Args:
        machine: the node.
        pod: the pod.
        policy: selects the pods that are aligned.
        aligned: resources that must come from the same NUMA nodes.
        profile: rule for counting NUMA nodes of different sizes.
    """
    way = policy_of(machine, policy)
    if way is None or not pod.is_aligned_by(policy):
        return Alignment.FITS
    free = free_zones(machine, pod, policy, aligned)
    if way is TopologyPolicy.SINGLE_POD:
        return Alignment.FITS if single_zone(free, pod.total()) is not None else Alignment.POD
    is_native = policy is AlignmentPolicy.NATIVE
    for container in pod.containers if is_native else pod.main_containers():
        if way is TopologyPolicy.NUMERIC_CONTAINER:
            if zones_for(free, container.requests, profile) is None:
                return Alignment.CONTAINER
            continue
        zone = single_zone(free, container.requests)
        if zone is None:
            return Alignment.CONTAINER
        free = free.without(zone, container.requests)
    return Alignment.FITS


def single_zone(free: FreeZones, requests: Mapping[str, int]) -> int | None:
    """First NUMA node that fits a request; ``None`` if none does.

    An extended resource that no NUMA node has is not bound to NUMA nodes.
    """
    known = set(chain.from_iterable(free.free))
    wanted = {n: v for n, v in positive(requests).items() if n in known or not is_extended(n)}
    for number, left in enumerate(free.free):
        if all(left.get(name, -1) >= amount for name, amount in wanted.items()) and not (
            free.is_exclusive
            and any(name in free.aligned and not free.is_untouched(number, name) for name in wanted)
        ):
            return number
    return None


def zones_for(
    free: FreeZones, requests: Mapping[str, int], profile: CapacityProfile
) -> ZoneSet | None:
    """NUMA nodes for a container that may use several; ``None`` if there are none.

    All aligned resources use one set, which is as small as one of them allows. The sets of other
    resources contain it or are subsets of it.
    """
    known = set(chain.from_iterable(each.capacity for each in free.zones))
    is_katalyst = profile is CapacityProfile.KATALYST  # a request of 0 excludes used NUMA nodes too
    counted = requests if is_katalyst else positive(requests)
    wanted = {name: n for name, n in counted.items() if name in known}
    together = {name: n for name, n in wanted.items() if name in free.aligned}
    apart = [
        [zones for zones in _sets(free) if _holds(free, zones, name, amount, profile)]
        for name, amount in wanted.items()
        if name not in free.aligned
    ]
    if not together:
        return frozenset() if _nested(apart, ()) else None
    for zones in _sets(free):
        if _is_common(free, zones, together, profile) and _nested(apart, (zones,)):
            return zones
    return None


def _sets(free: FreeZones) -> Iterator[ZoneSet]:
    """All sets of NUMA nodes, small ones first."""
    count = len(free.zones)
    for size in range(1, count + 1):
        yield from map(frozenset, combinations(range(count), size))


def _holds(
    free: FreeZones, zones: ZoneSet, name: str, amount: int, profile: CapacityProfile
) -> bool:
    """Return whether a set has enough of a resource and enough members."""
    least = free.least_count(name, amount, profile)
    if least is None or len(zones) < least:
        return False
    return sum(free.free[zone].get(name, 0) for zone in zones) >= amount


def _is_common(
    free: FreeZones, zones: ZoneSet, wanted: Mapping[str, int], profile: CapacityProfile
) -> bool:
    """Return whether all aligned resources can come from a set."""
    if not free.is_exclusive and len(zones) > 1:
        return False
    sockets = {free.zones[zone].socket for zone in zones}
    if len(zones) <= free.zones_per_socket(profile) and len(sockets) > 1:
        return False
    if free.is_exclusive and not all(
        free.is_untouched(zone, name) for zone in zones for name in wanted
    ):
        return False
    return all(_holds(free, zones, name, n, profile) for name, n in wanted.items()) and any(
        free.least_count(name, n, profile) == len(zones) for name, n in wanted.items()
    )


def _nested(choices: list[list[ZoneSet]], chosen: tuple[ZoneSet, ...]) -> bool:
    """Return whether the resources have nested sets: of any two sets, one contains the other."""
    if not choices:
        return True
    return any(
        all(zones <= other or other <= zones for other in chosen)
        and _nested(choices[1:], (*chosen, zones))
        for zones in choices[0]
    )

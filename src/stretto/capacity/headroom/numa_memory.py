"""Memory headroom per NUMA node (Katalyst's policy ``numa_aware``).

The headroom is the memory that NUMA nodes could free now, without a reserve for containers that use
less than they request, multiplied by the ratio of requests to use of reclaimed containers.
"""

from collections.abc import Iterable, Sequence

import msgspec

from stretto.capacity.headroom.memory import SCALE
from stretto.capacity.headroom.readings import (
    CoreLevel,
    HeadroomError,
    MemoryContainer,
    NumaMemory,
    available_numas,
)
from stretto.capacity.model.profiles import CapacityProfile


class NumaReserve(msgspec.Struct, frozen=True):
    """Memory that is kept free."""

    #: Bytes kept free on the node for containers that start.
    reserved: float
    #: The kernel's ``watermark_scale_factor``.
    watermark_scale: float
    #: Share of requests of other containers up to which their unused requests are kept free.
    request_ratio: float
    #: Share of caches that counts as free.
    cache_ratio: float
    #: True if the NUMA nodes of exclusive containers are reclaimed, too.
    lends_exclusive: bool = True


class OversoldLimit(msgspec.Struct, frozen=True):
    """Upper bound of the headroom, from the limits of the reclaimed cgroups."""

    #: Maximum headroom per byte of limit.
    rate: float
    #: Limit of the cgroup of pods that are not bound to a NUMA node, in bytes.
    shared: float
    #: Limit of the cgroup of pods that are bound to each NUMA node, in bytes.
    bound: tuple[float, ...]


class _Demand(msgspec.Struct, frozen=True):
    """Requests and use of some containers, in bytes."""

    #: Requested memory.
    request: float
    #: Memory in use.
    usage: float


def numa_memory_headroom(
    containers: Sequence[MemoryContainer],
    numas: Sequence[NumaMemory],
    reserve: NumaReserve,
    oversold: OversoldLimit | None = None,
    profile: CapacityProfile = CapacityProfile.STRETTO,
) -> dict[int, float]:
    """Reclaimable bytes by NUMA node.

    Args:
        containers: all containers of the node.
        numas: memory of each NUMA node.
        reserve: the memory that is kept free.
        oversold: bounds by cgroups; ``None`` for none.
        profile: ``KATALYST`` refuses a failed binding if there are bounds by cgroups.

    Raises:
        HeadroomError: a container has no NUMA nodes, although they are needed; a binding failed; or
            it names a NUMA node that the machine does not have.
    """
    available = available_numas(containers, len(numas), reserve.lends_exclusive)
    reclaimed = [each for each in containers if each.level is CoreLevel.RECLAIMED]
    others = _demand(each for each in containers if each.level is not CoreLevel.RECLAIMED)
    placed = _demand(each for each in reclaimed if each.numas)
    freeable = {number: numas[number].freeable(reserve.cache_ratio) for number in available}
    whole = sum(freeable.values())
    loaned = _loaned(whole, [numas[number] for number in available], len(numas), reserve)
    size = sum(numas[number].total for number in available)
    kept = max(size - whole, 0.0) * _kept(others, placed, reserve.request_ratio)
    loaned = max(loaned - kept, 0.0)
    stretch = placed.request / placed.usage if placed.usage > 0 else 1.0
    shares = {
        number: each * loaned / whole * stretch if whole > 0 else 0.0
        for number, each in freeable.items()
    }
    for each in reclaimed:
        for number in each.numas if each.request > 0 else ():
            shares[number] = shares.get(number, 0.0) + each.request / len(each.numas)
    if oversold is None:
        return shares
    bound = _bound_numas(reclaimed, profile)
    return _within(shares, available, bound, oversold)


def _demand(containers: Iterable[MemoryContainer]) -> _Demand:
    """Sum requests and use of containers with a request.

    Without a reading, use equals the request.
    """
    found = [each for each in containers if each.request > 0]
    used = (each.request if each.usage is None else each.usage for each in found)
    return _Demand(sum(each.request for each in found), sum(used))


def _loaned(
    whole: float, available: Sequence[NumaMemory], count: int, reserve: NumaReserve
) -> float:
    """Freeable memory minus the watermark and the share of the reserve."""
    size = sum(each.total for each in available)
    watermark = size * reserve.watermark_scale / SCALE
    return whole - watermark - reserve.reserved * len(available) / max(count, 1)


def _kept(others: _Demand, placed: _Demand, request_ratio: float) -> float:
    """Share of the memory in use that other containers may still claim."""
    used = others.usage + placed.usage
    if used <= 0:
        return 0.0
    unused = min(others.request - others.usage, others.request * request_ratio)
    return max(unused / used, 0.0)


def _bound_numas(reclaimed: Sequence[MemoryContainer], profile: CapacityProfile) -> set[int]:
    """NUMA nodes to which reclaimed pods are bound."""
    bound = set[int]()
    for each in reclaimed:
        if each.bound_to is None:
            continue
        if each.bound_to >= 0:
            bound.add(each.bound_to)
        elif profile is CapacityProfile.KATALYST:
            raise HeadroomError(f"container {each.name} is bound to NUMA node {each.bound_to}")
    return bound


def _within(
    shares: dict[int, float], available: Sequence[int], bound: set[int], oversold: OversoldLimit
) -> dict[int, float]:
    """Limit shares to the limits of the cgroups."""
    for number in bound:
        if number >= len(oversold.bound):
            raise HeadroomError(f"there is no limit of the cgroup of NUMA node {number}")
    unbound = [number for number in available if number not in bound]
    limits = dict.fromkeys(unbound, oversold.shared / len(unbound) if unbound else 0.0)
    limits |= {number: oversold.bound[number] for number in bound}
    return {
        number: min(share, oversold.rate * limits.get(number, 0.0))
        for number, share in shares.items()
    }

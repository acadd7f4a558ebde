"""Resources that a task uses of an offer."""

from collections.abc import Mapping
from typing import TypeAlias, cast

import msgspec

from stretto.offers.allocator.values import ranges
from stretto.offers.allocator.values.kinds import ResourceKind
from stretto.offers.allocator.values.ranges import Ranges
from stretto.offers.allocator.values.resources import Resources, ResourceValue
from stretto.offers.allocator.values.scalars import quantities

PORTS = "ports"

_Taken: TypeAlias = dict[ResourceKind, ResourceValue]


class TaskDemand(msgspec.Struct, frozen=True):
    """Resources of one task."""

    #: Scalars in thousandths.
    scalars: Mapping[str, int]
    #: Number of ports.
    ports: int = 0

    @classmethod
    def of(cls, amounts: Mapping[str, float]) -> "TaskDemand":
        """A demand in units; ``ports`` is a number of ports."""
        wanted = {name: amount for name, amount in amounts.items() if name != PORTS}
        return cls(quantities(wanted, "task"), int(amounts.get(PORTS, 0)))


def take(offered: Resources, demand: TaskDemand) -> Resources | None:
    """The resources of one task, or ``None`` if the offer is too small.

    Reserved resources are used before unreserved ones, the lowest ports first, and indivisible
    disks never.
    """
    taken: _Taken = {}
    for name, amount in demand.scalars.items():
        if amount and not _take_scalar(offered, name, amount, taken):
            return None
    if demand.ports and not _take_ports(offered, demand.ports, taken):
        return None
    return Resources(taken)


def _take_scalar(offered: Resources, name: str, amount: int, taken: _Taken) -> bool:
    kinds = [kind for kind, _ in offered if kind.name == name and not kind.whole]
    for kind in sorted(kinds, key=_preference):
        part = min(amount, cast("int", offered.value(kind)))
        taken[kind] = part
        amount -= part
        if not amount:
            return True
    return False


def _preference(kind: ResourceKind) -> tuple[bool, str, str]:
    """Sort key: reserved before unreserved, dynamic before static reservations."""
    stack = kind.identity.reservations
    return not stack, stack[-1].type.value if stack else "", kind.reserved_to


def _take_ports(offered: Resources, count: int, taken: _Taken) -> bool:
    for kind, value in offered:
        if kind.name != PORTS or ranges.count(cast("Ranges", value)) < count:
            continue
        chosen: list[tuple[int, int]] = []
        for first, last in cast("Ranges", value):
            part = min(count, last - first + 1)
            chosen.append((first, first + part - 1))
            count -= part
            if not count:
                taken[kind] = tuple(chosen)
                return True
    return False


def fill(offered: Resources, demand: TaskDemand, most: int) -> list[Resources]:
    """The resources of as many tasks as fit in the offer, at most ``most``."""
    found: list[Resources] = []
    while len(found) < most:
        taken = take(offered, demand)
        if taken is None:
            break
        found.append(taken)
        offered -= taken
    return found

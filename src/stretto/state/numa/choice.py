"""Which NUMA nodes of one machine a pod gets: the plain form, one machine at a time.

The compiled form is in ``framework.kernels.groups.numa``; a property test holds the two equal. What
counts for a pod is what the machine reports: a resource (or device kind) that no NUMA node names
is left to the node as a whole.

* ``ONE``: the NUMA node with the least free CPU that has everything, the lowest number first.
* ``SOCKET``: the socket with the least free CPU whose NUMA nodes together have everything.
* ``WHOLE``: as many untouched NUMA nodes as the scarcest of CPU, memory and aligned resources
  asks for, in as few sockets as can be, sockets that are in use first. Other resources lie inside
  them where they need fewer NUMA nodes, and around them where they need more.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from stretto.state.classes.annotations import NumaBinding

CONFLICTING = (0, 1)
"""Zone columns of CPU and memory: what pods of different quality of service compete for."""


class NumaDeviceRequest(NamedTuple):
    """Devices that a pod asks of a machine, seen from its NUMA nodes."""

    #: How many.
    need: int
    #: By NUMA node, the devices there that would do; empty where nobody knows where devices are.
    fitting: tuple[int, ...]
    #: By NUMA node, all devices of the kind there.
    installed: tuple[int, ...]
    #: Whether they count when the number of whole NUMA nodes is worked out.
    aligned: bool


class NumaMachine(NamedTuple):
    """One machine and what a pod asks of it."""

    #: Socket of each NUMA node.
    sockets: Sequence[int]
    #: By NUMA node and zone column: what there is.
    alloc: Sequence[Sequence[int]]
    #: By NUMA node and zone column: what is free.
    free: Sequence[Sequence[int]]
    #: By zone column: what the pod asks.
    amounts: Sequence[int]
    #: By zone column: whether it counts when the number of whole NUMA nodes is worked out.
    aligned: Sequence[bool]
    #: Devices that the pod asks.
    devices: Sequence[NumaDeviceRequest] = ()
    #: What whole NUMA nodes take of the node as a whole, by NUMA node, for CPU and memory.
    share: Sequence[Sequence[int]] = ()
    #: What the node as a whole has free of CPU and memory.
    room: Sequence[int] = ()


def choose(machine: NumaMachine, binding: NumaBinding) -> int:
    """Bit mask of the NUMA nodes; 0 where the pod does not fit."""
    if not machine.sockets:
        return 0
    if binding is NumaBinding.ONE:
        return _one(machine)
    return _socket(machine) if binding is NumaBinding.SOCKET else _whole(machine)


def relevant_columns(machine: NumaMachine) -> list[int]:
    """Zone columns that matter: asked for, and reported by some NUMA node."""
    return [
        k
        for k, amount in enumerate(machine.amounts)
        if amount > 0 and any(zone[k] > 0 for zone in machine.alloc)
    ]


def numa_nodes_for(order: Sequence[int], inside: Sequence[int], most: int) -> list[int]:
    """The NUMA nodes one resource may use: of ``inside`` the fullest, or all and more around.

    Args:
        order: what each NUMA node has to offer of the resource.
        inside: the NUMA nodes of the pod.
        most: how many the resource needs.
    """
    if most <= len(inside):
        return sorted(inside, key=lambda z: (-order[z], z))[:most]
    others = [z for z in range(len(order)) if z not in inside]
    return [*inside, *sorted(others, key=lambda z: (-order[z], z))[: most - len(inside)]]


def needed(amount: int, per_numa_node: Sequence[int]) -> int:
    """How many NUMA nodes of average size an amount needs."""
    total, count = sum(per_numa_node), len(per_numa_node)
    average = -(-total // count)
    return -(-amount // average) if average else count + 1


def _one(machine: NumaMachine) -> int:
    best, least = 0, -1
    columns = relevant_columns(machine)
    for z, free in enumerate(machine.free):
        if any(free[k] < machine.amounts[k] for k in columns):
            continue
        if any(ask.fitting and ask.fitting[z] < ask.need for ask in machine.devices):
            continue
        if best == 0 or free[0] < least:
            best, least = 1 << z, free[0]
    return best


def _socket(machine: NumaMachine) -> int:
    best, least = 0, -1
    columns = relevant_columns(machine)
    for socket in sorted(set(machine.sockets)):
        zones = [z for z, where in enumerate(machine.sockets) if where == socket]
        free = [sum(machine.free[z][k] for z in zones) for k in range(len(machine.amounts))]
        if any(free[k] < machine.amounts[k] for k in columns):
            continue
        if any(a.fitting and sum(a.fitting[z] for z in zones) < a.need for a in machine.devices):
            continue
        if best == 0 or free[0] < least:
            best, least = sum(1 << z for z in zones), free[0]
    return best


def whole_numa_nodes(machine: NumaMachine) -> int:
    """How many whole NUMA nodes a pod needs."""
    number = 1
    for k in relevant_columns(machine):
        if k in CONFLICTING or machine.aligned[k]:
            number = max(number, needed(machine.amounts[k], [zone[k] for zone in machine.alloc]))
    for ask in machine.devices:
        if ask.aligned and ask.fitting:
            number = max(number, needed(ask.need, ask.installed))
    return number


def _whole(machine: NumaMachine) -> int:
    count, number = len(machine.sockets), whole_numa_nodes(machine)
    per_socket = max(1, count // len(set(machine.sockets)))
    most_sockets = -(-number // per_socket)
    empty = [
        z
        for z in range(count)
        if all(machine.free[z][k] == machine.alloc[z][k] for k in CONFLICTING)
    ]
    spare = [sum(1 for z in empty if machine.sockets[z] == s) for s in machine.sockets]
    best, least = 0, -1
    for zones in combinations(empty, number):
        sockets = {machine.sockets[z]: spare[z] for z in zones}
        if len(sockets) > most_sockets or not _holds(machine, zones):
            continue
        mask, cost = sum(1 << z for z in zones), sum(sockets.values())
        if best == 0 or (cost, mask) < (least, best):
            best, least = mask, cost
    return best


def _holds(machine: NumaMachine, zones: Sequence[int]) -> bool:
    """Whether whole NUMA nodes hold a pod, and the node as a whole can spare them."""
    for r, room in enumerate(machine.room):
        if sum(machine.share[z][r] for z in zones) > room:
            return False
    for k in relevant_columns(machine):
        free = [zone[k] for zone in machine.free]
        allowed = list(zones)
        if k not in CONFLICTING:
            per_numa_node = [zone[k] for zone in machine.alloc]
            allowed = numa_nodes_for(free, zones, needed(machine.amounts[k], per_numa_node))
        if sum(free[z] for z in allowed) < machine.amounts[k]:
            return False
    for ask in machine.devices:
        if ask.fitting:
            allowed = numa_nodes_for(ask.fitting, zones, needed(ask.need, ask.installed))
            if sum(ask.fitting[z] for z in allowed) < ask.need:
                return False
    return True


def spread(
    machine: NumaMachine, k: int, inside: Sequence[int], whole: bool
) -> list[tuple[int, int, int]] | None:
    """Take an amount from the NUMA nodes it may come from, one after another."""
    free, left = [zone[k] for zone in machine.free], machine.amounts[k]
    order = list(inside)
    if whole:
        per_numa_node = [zone[k] for zone in machine.alloc]
        order = sorted(numa_nodes_for(free, inside, needed(left, per_numa_node)))
    parts = []
    for z in order:
        here = min(left, max(0, free[z]))
        if here:
            parts.append((z, k, here))
            left -= here
    return parts if left == 0 else None


def bits(mask: int) -> list[int]:
    """Numbers of the bits that are set, ascending."""
    return [z for z in range(mask.bit_length()) if mask >> z & 1]

"""Choice of NUMA nodes for a pod on one machine: the plain reference implementation.

The compiled form is in ``framework.kernels.groups.numa``; a property test compares the two. Only
resources that the machine reports by NUMA node are considered: a resource (or device kind) that no
NUMA node reports is checked on the node as a whole.

* ``ONE``: the NUMA node with the least free CPU that has everything, the lowest number first.
* ``SOCKET``: the socket with the least free CPU whose NUMA nodes together have everything.
* ``WHOLE``: as many unused NUMA nodes as the scarcest of CPU, memory and aligned resources
  requires, on as few sockets as possible, sockets in use first. Other resources are taken inside
  these NUMA nodes if they need fewer, and beyond them if they need more.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from stretto.state.classes.annotations import NumaBinding

CONFLICTING = (0, 1)
"""NUMA columns of CPU and memory, for which pods of different QoS compete."""


class NumaDeviceRequest(NamedTuple):
    """Devices that a pod requests on a machine, by NUMA node."""

    #: Number of devices.
    need: int
    #: Number of suitable devices by NUMA node; empty if device locations are unknown.
    fitting: tuple[int, ...]
    #: Number of all devices of the kind by NUMA node.
    installed: tuple[int, ...]
    #: True if the devices determine the number of whole NUMA nodes.
    aligned: bool


class NumaMachine(NamedTuple):
    """One machine and a pod's requests on it."""

    #: Socket of each NUMA node.
    sockets: Sequence[int]
    #: Allocatable by NUMA node and NUMA column.
    alloc: Sequence[Sequence[int]]
    #: Free by NUMA node and NUMA column.
    free: Sequence[Sequence[int]]
    #: Requests by NUMA column.
    amounts: Sequence[int]
    #: By NUMA column: true if it determines the number of whole NUMA nodes.
    aligned: Sequence[bool]
    #: Devices that the pod requests.
    devices: Sequence[NumaDeviceRequest] = ()
    #: CPU and memory of the machine that a whole NUMA node uses, by NUMA node.
    share: Sequence[Sequence[int]] = ()
    #: Free CPU and memory of the machine as a whole.
    node_free: Sequence[int] = ()


def choose(machine: NumaMachine, binding: NumaBinding) -> int:
    """Bit mask of the NUMA nodes; 0 if the pod does not fit."""
    if not machine.sockets:
        return 0
    if binding is NumaBinding.ONE:
        return _one(machine)
    return _socket(machine) if binding is NumaBinding.SOCKET else _whole(machine)


def relevant_columns(machine: NumaMachine) -> list[int]:
    """NUMA columns that are requested and reported by some NUMA node."""
    return [
        k
        for k, amount in enumerate(machine.amounts)
        if amount > 0 and any(numa_node[k] > 0 for numa_node in machine.alloc)
    ]


def numa_nodes_for(order: Sequence[int], inside: Sequence[int], most: int) -> list[int]:
    """NUMA nodes that one resource may use.

    The fullest of ``inside``, or all of ``inside`` and more.

    Args:
        order: amount of the resource on each NUMA node.
        inside: the NUMA nodes of the pod.
        most: number of NUMA nodes that the resource needs.
    """
    if most <= len(inside):
        return sorted(inside, key=lambda z: (-order[z], z))[:most]
    others = [z for z in range(len(order)) if z not in inside]
    return [*inside, *sorted(others, key=lambda z: (-order[z], z))[: most - len(inside)]]


def needed(amount: int, per_numa_node: Sequence[int]) -> int:
    """Number of NUMA nodes of average size that an amount needs."""
    total, count = sum(per_numa_node), len(per_numa_node)
    average = -(-total // count)
    return -(-amount // average) if average else count + 1


def _one(machine: NumaMachine) -> int:
    best, least = 0, -1
    columns = relevant_columns(machine)
    for z, free in enumerate(machine.free):
        if any(free[k] < machine.amounts[k] for k in columns):
            continue
        if any(
            request.fitting and request.fitting[z] < request.need for request in machine.devices
        ):
            continue
        if best == 0 or free[0] < least:
            best, least = 1 << z, free[0]
    return best


def _socket(machine: NumaMachine) -> int:
    best, least = 0, -1
    columns = relevant_columns(machine)
    for socket in sorted(set(machine.sockets)):
        numa_nodes = [z for z, where in enumerate(machine.sockets) if where == socket]
        free = [sum(machine.free[z][k] for z in numa_nodes) for k in range(len(machine.amounts))]
        if any(free[k] < machine.amounts[k] for k in columns):
            continue
        if any(
            a.fitting and sum(a.fitting[z] for z in numa_nodes) < a.need for a in machine.devices
        ):
            continue
        if best == 0 or free[0] < least:
            best, least = sum(1 << z for z in numa_nodes), free[0]
    return best


def whole_numa_nodes(machine: NumaMachine) -> int:
    """Number of whole NUMA nodes that a pod needs."""
    number = 1
    for k in relevant_columns(machine):
        if k in CONFLICTING or machine.aligned[k]:
            number = max(
                number, needed(machine.amounts[k], [numa_node[k] for numa_node in machine.alloc])
            )
    for request in machine.devices:
        if request.aligned and request.fitting:
            number = max(number, needed(request.need, request.installed))
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
    for numa_nodes in combinations(empty, number):
        sockets = {machine.sockets[z]: spare[z] for z in numa_nodes}
        if len(sockets) > most_sockets or not _holds(machine, numa_nodes):
            continue
        mask, cost = sum(1 << z for z in numa_nodes), sum(sockets.values())
        if best == 0 or (cost, mask) < (least, best):
            best, least = mask, cost
    return best


def _holds(machine: NumaMachine, numa_nodes: Sequence[int]) -> bool:
    """Return whether whole NUMA nodes fit a pod's requests and the machine has their share free."""
    for r, node_free in enumerate(machine.node_free):
        if sum(machine.share[z][r] for z in numa_nodes) > node_free:
            return False
    for k in relevant_columns(machine):
        free = [numa_node[k] for numa_node in machine.free]
        allowed = list(numa_nodes)
        if k not in CONFLICTING:
            per_numa_node = [numa_node[k] for numa_node in machine.alloc]
            allowed = numa_nodes_for(free, numa_nodes, needed(machine.amounts[k], per_numa_node))
        if sum(free[z] for z in allowed) < machine.amounts[k]:
            return False
    for request in machine.devices:
        if request.fitting:
            allowed = numa_nodes_for(
                request.fitting, numa_nodes, needed(request.need, request.installed)
            )
            if sum(request.fitting[z] for z in allowed) < request.need:
                return False
    return True


def spread(
    machine: NumaMachine, k: int, inside: Sequence[int], whole: bool
) -> list[tuple[int, int, int]] | None:
    """Allocate an amount on the allowed NUMA nodes, one after another."""
    free, left = [numa_node[k] for numa_node in machine.free], machine.amounts[k]
    order = list(inside)
    if whole:
        per_numa_node = [numa_node[k] for numa_node in machine.alloc]
        order = sorted(numa_nodes_for(free, inside, needed(left, per_numa_node)))
    parts = []
    for z in order:
        here = min(left, max(0, free[z]))
        if here:
            parts.append((z, k, here))
            left -= here
    return parts if left == 0 else None


def bits(mask: int) -> list[int]:
    """Numbers of the set bits, ascending."""
    return [z for z in range(mask.bit_length()) if mask >> z & 1]

"""Largest capacity of NUMA nodes and sockets, for pods that must fit into one of them."""

from collections.abc import Iterator, Sequence

from stretto.explain.why.inquiry import Inquiry
from stretto.explain.words.amounts import bare_amount
from stretto.framework.contract.rule import SlotArray
from stretto.framework.plugins.numa import empty_machine
from stretto.state.classes.annotations import NumaBinding
from stretto.state.numa.choice import NumaMachine, relevant_columns, whole_numa_nodes

Largest = dict[str, tuple[int, int]]
"""Requested and largest amount by resource."""


def numa_limits(inquiry: Inquiry, slots: SlotArray) -> Iterator[str]:
    """Each request that exceeds the capacity of every NUMA node or socket, as text."""
    topology, binding = inquiry.view.nodes.topology, inquiry.pod.annotations.numa
    if topology is None or binding is None:
        return
    machines = [
        empty_machine(topology, inquiry.view, slot, inquiry.pod)
        for slot in slots.tolist()
        if slot in topology.numbers
    ]
    if not machines:
        return
    if binding.binding is NumaBinding.WHOLE:
        requested = min(map(whole_numa_nodes, machines))
        most = max(len(machine.sockets) for machine in machines)
        if requested > most:
            yield f"NUMA nodes: requests {requested} whole ones, the largest node has {most}"
        return
    is_one = binding.binding is NumaBinding.ONE
    word = "NUMA node" if is_one else "socket"
    found: Largest = {}
    for machine in machines:
        groups = _groups(machine, is_one=is_one)
        _add_amounts(found, machine, groups, topology.names)
        for request, need in zip(inquiry.pod.devices, machine.devices, strict=True):
            if need.fitting:
                most = max(sum(need.fitting[z] for z in group) for group in groups)
                _add(found, request.kind, need.need, most)
    for name, (requested, most) in found.items():
        if requested > most:
            amount, largest = bare_amount(name, requested), bare_amount(name, most)
            yield f"{name}: requests {amount}, largest {word} {largest}"


def _groups(machine: NumaMachine, *, is_one: bool) -> list[list[int]]:
    """Sets of NUMA nodes that a pod may use together: single ones, or those of a socket."""
    if is_one:
        return [[z] for z in range(len(machine.sockets))]
    return [
        [z for z, socket in enumerate(machine.sockets) if socket == each]
        for each in sorted(set(machine.sockets))
    ]


def _add_amounts(
    found: Largest, machine: NumaMachine, groups: list[list[int]], names: Sequence[str]
) -> None:
    for k in relevant_columns(machine):
        most = max(sum(machine.free[z][k] for z in group) for group in groups)
        _add(found, names[k], machine.amounts[k], most)


def _add(found: Largest, name: str, requested: int, most: int) -> None:
    found[name] = requested, max(most, found.get(name, (0, 0))[1])

"""The tree of zones of a machine: sockets, NUMA nodes, caches, GPUs, network devices."""

from collections.abc import Iterable

import msgspec

from stretto.agent.topology.gpus import GpuFacts
from stretto.agent.topology.network import NetworkDevice
from stretto.agent.topology.processors import NumaNodeFacts, ProcessorFacts
from stretto.api.types.cnr import TopologyZone, ZoneAttribute, ZoneResources, ZoneSibling
from stretto.api.wire.quantity import format_bytes
from stretto.api.wire.resources import ResourceList


def zone_tree(
    processors: ProcessorFacts,
    gpus: Iterable[GpuFacts] = (),
    devices: Iterable[NetworkDevice] = (),
) -> tuple[TopologyZone, ...]:
    """One tree per socket; a NUMA node without processors belongs to the first socket.

    A zone must have a parent. Therefore GPUs and network devices with an unknown NUMA node belong
    to the first NUMA node. On a machine with several, they have the attribute ``numa`` with the
    value ``unknown``.
    """
    first = processors.numas[0].number if processors.numas else 0
    cards, links = list(gpus), list(devices)
    if len(processors.numas) == 1:
        cards = [msgspec.structs.replace(each, numa=first) for each in cards]
        links = [msgspec.structs.replace(each, numa=first) for each in links]
    sockets = processors.sockets or (0,)
    trees = []
    for socket in sockets:
        numas = [
            _numa(each, processors, cards, links, is_first=each.number == first)
            for each in processors.numas
            if (each.socket if each.socket >= 0 else sockets[0]) == socket
        ]
        trees.append(TopologyZone("Socket", str(socket), children=tuple(numas)))
    return tuple(trees)


def _numa(
    numa: NumaNodeFacts,
    processors: ProcessorFacts,
    gpus: list[GpuFacts],
    devices: list[NetworkDevice],
    *,
    is_first: bool,
) -> TopologyZone:
    here = {numa.number, -1} if is_first else {numa.number}
    amounts: ResourceList = {"cpu": str(len(numa.cpus)), "memory": format_bytes(numa.memory)}
    children = (
        *_caches(numa, processors),
        *(_gpu(each) for each in gpus if each.numa in here),
        *(_device(each) for each in devices if each.numa in here),
    )
    siblings = tuple(
        ZoneSibling("Numa", str(other), (ZoneAttribute("distance", str(distance)),))
        for other, distance in sorted(numa.distances.items())
        if other != numa.number
    )
    return TopologyZone(
        "Numa",
        str(numa.number),
        ZoneResources(capacity=amounts, allocatable=amounts),
        children=children,
        siblings=siblings,
    )


def _caches(numa: NumaNodeFacts, processors: ProcessorFacts) -> list[TopologyZone]:
    """Groups of processors with a common last-level cache, if a NUMA node has several."""
    groups: dict[int, int] = {}
    for cpu in processors.cpus:
        if cpu.numa == numa.number and cpu.cache >= 0:
            groups[cpu.cache] = groups.get(cpu.cache, 0) + 1
    if len(groups) < 2:
        return []
    return [
        TopologyZone("L3CacheGroup", str(first), ZoneResources(capacity={"cpu": str(count)}))
        for first, count in sorted(groups.items())
    ]


def _gpu(gpu: GpuFacts) -> TopologyZone:
    attributes = [
        ZoneAttribute("model", gpu.model),
        ZoneAttribute("uuid", gpu.uuid),
        ZoneAttribute("memory", format_bytes(gpu.memory)),
    ]
    if gpu.numa < 0:
        attributes.append(ZoneAttribute("numa", "unknown"))
    links = tuple(
        ZoneSibling("GPU", link.peer, (ZoneAttribute("link", link.kind),)) for link in gpu.links
    )
    amounts: ResourceList = {"nvidia.com/gpu": "1"}
    return TopologyZone(
        "GPU",
        str(gpu.number),
        ZoneResources(capacity=amounts, allocatable=amounts),
        tuple(attributes),
        siblings=links,
    )


def _device(device: NetworkDevice) -> TopologyZone:
    attributes = [
        ZoneAttribute("speed_mbps", str(device.speed_mbps or "unknown")),
        ZoneAttribute("up", str(device.is_up).lower()),
    ]
    if device.virtual_functions:
        attributes.append(ZoneAttribute("virtual_functions", str(device.virtual_functions)))
    if device.numa < 0:
        attributes.append(ZoneAttribute("numa", "unknown"))
    return TopologyZone("NIC", device.name, attributes=tuple(attributes))

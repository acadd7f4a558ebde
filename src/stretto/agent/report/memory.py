"""The memory of a node in the detail that Katalyst's memory headrooms need."""

from collections.abc import Mapping

from stretto.agent.report.pods import NodePod
from stretto.agent.usage.machine import MachineUse, PodUse
from stretto.capacity.headroom.readings import CoreLevel, MemoryContainer, NumaMemory
from stretto.capacity.reclaim.reading import NodeMemory

_LEVELS: Mapping[str, CoreLevel] = {each.value: each for each in CoreLevel}


def node_memory(use: MachineUse, pods: Mapping[str, NodePod]) -> NodeMemory:
    """Return the memory of a node.

    Args:
        use: measured use.
        pods: pods of the node by uid.
    """
    machine = use.parts
    numas = {
        number: NumaMemory(float(each.free), float(each.inactive_file), float(each.total))
        for number, each in machine.numas.items()
    }
    return NodeMemory(
        numas,
        tuple(_container(pod, use.pods.get(uid)) for uid, pod in pods.items()),
        float(machine.free),
        float(machine.watermark_scale),
        None if machine.limit is None else float(machine.limit),
        {number: float(limit) for number, limit in machine.numa_limits.items()},
        tuple(f"NUMA node {number}: its memory cannot be read" for number in machine.unreadable),
    )


def _container(pod: NodePod, use: PodUse | None) -> MemoryContainer:
    """Return a pod as one container.

    A pod without measured use keeps its request, and an exclusive pod its NUMA nodes.
    """
    level = _LEVELS.get(pod.level, CoreLevel.SHARED)
    is_exclusive = pod.has_exclusive_numas and level is CoreLevel.DEDICATED
    request = float(pod.request[1])
    if use is None:
        return MemoryContainer(
            pod.key,
            level,
            request,
            bound_to=pod.bound_to,
            is_exclusive=is_exclusive,
            keeps_request=True,
        )
    parts = use.parts
    return MemoryContainer(
        pod.key,
        level,
        request,
        rss=float(parts.rss),
        cache=float(parts.cache),
        shmem=float(parts.shmem),
        usage=float(parts.usage),
        numas=parts.numas,
        numa_memory={number: float(each) for number, each in parts.numa_memory.items()},
        bound_to=pod.bound_to,
        is_exclusive=is_exclusive,
        keeps_request=is_exclusive,
    )

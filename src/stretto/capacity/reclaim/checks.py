"""Check of memory readings: inconsistent ones are ignored, and each is described in a message.

A NUMA node can disappear between two readings, and a cgroup can name a NUMA node that is offline.
The models of ``capacity.headroom`` refuse such readings; an agent must report in spite of them.
"""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Final

from msgspec.structs import replace

from stretto.capacity.headroom.readings import MemoryContainer, NumaMemory
from stretto.capacity.reclaim.reading import NodeMemory

PARTS: Final = ("rss", "cache", "shmem")
"""Measured parts of the memory of a container."""


def checked(memory: NodeMemory) -> tuple[NodeMemory, tuple[str, ...]]:
    """Return consistent readings, and a message for each reading that is ignored.

    Every container of the result has NUMA nodes, all of which the machine has, and a reading of its
    memory on each of them. A container with an invalid amount keeps its request.
    """
    ignored = list(memory.missing)
    numas = {
        number: each
        for number, each in sorted(memory.numas.items())
        if _is_consistent(number, each, ignored)
    }
    pods = tuple(_checked_pod(each, numas, ignored) for each in memory.pods)
    free = memory.free if _is_amount(memory.free) else sum(each.free for each in numas.values())
    if free != memory.free:
        ignored.append(f"free memory of the node: got {memory.free}, expected bytes")
    limits = {number: each for number, each in memory.numa_limits.items() if number in numas}
    return memory._replace(numas=numas, pods=pods, free=free, numa_limits=limits), tuple(ignored)


def _is_amount(found: float) -> bool:
    """Return whether a number can be an amount of memory."""
    return isfinite(found) and found >= 0


def _is_consistent(number: int, numa: NumaMemory, ignored: list[str]) -> bool:
    """Return whether a NUMA node has memory, and no more of it free or cached than in total."""
    amounts = (numa.free, numa.inactive_file, numa.total)
    if all(map(_is_amount, amounts)) and 0 < numa.total >= numa.free + numa.inactive_file:
        return True
    ignored.append(
        f"NUMA node {number}: got {numa.free:.0f} free, {numa.inactive_file:.0f} cached of "
        f"{numa.total:.0f} bytes"
    )
    return False


def _checked_pod(
    pod: MemoryContainer, numas: Mapping[int, NumaMemory], ignored: list[str]
) -> MemoryContainer:
    """Return a container whose amounts and NUMA nodes are consistent with the machine."""
    wrong = [name for name in (*PARTS, "usage", "request") if not _is_valid(pod, name)]
    ignored += [
        f"pod {pod.name}: {name}: got {getattr(pod, name)}, expected bytes" for name in wrong
    ]
    valid = replace(
        pod,
        **dict.fromkeys(set(wrong) - {"usage"}, 0.0),
        usage=None if "usage" in wrong else pod.usage,
        keeps_request=pod.keeps_request or bool(set(wrong) & set(PARTS)),
    )
    places = _known(pod.name, pod.numas, numas, ignored)
    bound = () if pod.bound_to is None else _known(pod.name, (pod.bound_to,), numas, ignored)
    everywhere = places or tuple(numas)
    return replace(
        valid,
        numas=everywhere,
        numa_memory={number: _on(pod, number) for number in everywhere},
        bound_to=bound[0] if bound else None,
        is_exclusive=pod.is_exclusive and bool(places),
    )


def _is_valid(pod: MemoryContainer, name: str) -> bool:
    """Return whether an amount of a container is absent or possible."""
    found: float | None = getattr(pod, name)
    return found is None or _is_amount(found)


def _known(
    name: str, numbers: Iterable[int], numas: Mapping[int, NumaMemory], ignored: list[str]
) -> tuple[int, ...]:
    """Return the NUMA nodes that the machine has, each once."""
    found = sorted(set(numbers))
    unknown = [number for number in found if number not in numas]
    ignored += [f"pod {name}: NUMA node {number} is not on this machine" for number in unknown]
    return tuple(number for number in found if number in numas)


def _on(pod: MemoryContainer, number: int) -> float:
    """Return the memory of a container on a NUMA node; 0 without a possible reading."""
    found = pod.numa_memory.get(number, 0.0)
    return found if _is_amount(found) else 0.0

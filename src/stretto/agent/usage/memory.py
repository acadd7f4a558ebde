"""Memory of a machine by NUMA node, and memory of a pod by kind and by NUMA node."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from stretto.agent.files import read_list, read_meminfo, read_number, read_text

CGROUPS: Final = "sys/fs/cgroup"
"""Mount point of cgroups, relative to the root of the file system."""
TREES: Final = ("kubepods.slice/kubepods-besteffort.slice", "kubepods/besteffort")
"""The best-effort tree of the systemd and of the cgroupfs driver."""
WATERMARK: Final = 10
"""The kernel's default ``watermark_scale_factor``."""


class NumaReading(msgspec.Struct, frozen=True):
    """Memory of a NUMA node, in bytes."""

    #: Bytes that cannot be freed easily; 0 if the kernel does not report them.
    used: int
    #: Free memory, without caches.
    free: int
    #: Page cache that was not used recently.
    inactive_file: int
    #: Physical memory.
    total: int


class MachineMemory(msgspec.Struct, frozen=True):
    """Memory of a machine, in bytes."""

    #: Bytes that cannot be freed easily.
    used: int = 0
    #: Free memory, without caches.
    free: int = 0
    #: Memory of each NUMA node with processors, by number.
    numas: dict[int, NumaReading] = {}
    #: NUMA nodes with processors whose memory cannot be read.
    unreadable: tuple[int, ...] = ()
    #: The kernel's ``watermark_scale_factor``.
    watermark_scale: int = WATERMARK
    #: Memory limit of the best-effort tree; ``None`` for no limit.
    limit: int | None = None
    #: Memory limits of the best-effort trees of single NUMA nodes, as in Katalyst.
    numa_limits: dict[int, int] = {}


class PodMemory(msgspec.Struct, frozen=True):
    """Memory of a pod by kind, in bytes."""

    #: All memory in use.
    usage: int = 0
    #: Anonymous memory.
    rss: int = 0
    #: Page cache without shared memory.
    cache: int = 0
    #: Shared memory.
    shmem: int = 0
    #: NUMA nodes that its containers may use; empty if none is set or it was not read.
    numas: tuple[int, ...] = ()
    #: Anonymous memory and page cache by NUMA node; empty if it was not read.
    numa_memory: dict[int, int] = {}


def read_memory(root: Path, numbers: Iterable[int]) -> MachineMemory:
    """Read the memory of a machine.

    A single NUMA node has the memory of the machine: kernels of virtual machines were seen whose
    file of the NUMA node lacks memory that ``/proc/meminfo`` counts.

    Args:
        root: the root of the file system.
        numbers: NUMA nodes with processors.
    """
    whole, nodes = read_meminfo(root / "proc/meminfo"), root / "sys/devices/system/node"
    wanted = sorted(set(numbers))
    used = max(whole.get("MemTotal", 0) - whole.get("MemAvailable", 0), 0)
    parts = {number: read_meminfo(nodes / f"node{number}/meminfo") for number in wanted}
    readings = {number: _numa(each, _numa_used(each)) for number, each in parts.items()}
    if len(wanted) == 1:
        readings = {wanted[0]: _numa(whole, used)}
    tree = next((root / CGROUPS / tree for tree in TREES if (root / CGROUPS / tree).exists()), None)
    limits = {} if tree is None else {at: _limit(Path(f"{tree}-{at}")) for at in wanted}
    return MachineMemory(
        used,
        whole.get("MemFree", 0),
        {number: each for number, each in readings.items() if each.total},
        tuple(number for number, each in readings.items() if not each.total),
        read_number(root / "proc/sys/vm/watermark_scale_factor") or WATERMARK,
        None if tree is None else _limit(tree),
        {number: each for number, each in limits.items() if each is not None},
    )


def pod_memory(path: Path, usage: int, stat: Mapping[str, int], is_placed: bool) -> PodMemory:
    """Return the memory of a pod by kind.

    Args:
        path: its cgroup.
        usage: all memory in use.
        stat: its ``memory.stat``.
        is_placed: true to read its NUMA nodes, too.
    """
    shmem = stat.get("shmem", 0)
    cache = max(stat.get("file", 0) - shmem, 0)
    numas = _numas(path) if is_placed else ()
    places = _numa_memory(path / "memory.numa_stat") if is_placed else {}
    return PodMemory(usage, stat.get("anon", 0), cache, shmem, numas, places)


def _numa(fields: Mapping[str, int], used: int) -> NumaReading:
    get = fields.get
    return NumaReading(used, get("MemFree", 0), get("Inactive(file)", 0), get("MemTotal", 0))


def _numa_used(fields: Mapping[str, int]) -> int:
    """Bytes of a NUMA node that cannot be freed easily: its use without caches of files."""
    cache = fields.get("FilePages", 0) + fields.get("SReclaimable", 0) - fields.get("Shmem", 0)
    return max(fields.get("MemUsed", 0) - cache, 0)


def _limit(tree: Path) -> int | None:
    """Memory limit of a cgroup; ``None`` for no limit and without the cgroup."""
    return read_number(tree / "memory.max")


def _numas(path: Path) -> tuple[int, ...]:
    """NUMA nodes that are set for a pod or its containers, as by the kubelet's memory manager."""
    try:
        folders = [path, *sorted(entry for entry in path.iterdir() if entry.is_dir())]
    except OSError:
        return ()
    sets = (read_list(read_text(folder / "cpuset.mems") or "") for folder in folders)
    return tuple(sorted({number for numbers in sets for number in numbers}))


def _numa_memory(path: Path) -> dict[int, int]:
    """Anonymous memory and page cache of a cgroup by NUMA node."""
    found: dict[int, int] = {}
    for line in (read_text(path) or "").splitlines():
        name, *pairs = line.split()
        for pair in pairs if name in ("anon", "file") else ():
            node, _, number = pair.removeprefix("N").partition("=")
            if node.isdigit() and number.isdigit():
                found[int(node)] = found.get(int(node), 0) + int(number)
    return found

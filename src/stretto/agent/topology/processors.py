"""Processors and NUMA nodes, from ``/sys/devices/system``."""

from pathlib import Path

import msgspec

from stretto.agent.files import numbered, read_list, read_meminfo, read_number, read_text


class LogicalCpu(msgspec.Struct, frozen=True):
    """A logical processor of the kernel: one thread of a core."""

    #: Its number.
    number: int
    #: Its socket.
    socket: int
    #: Its core, unique in the socket.
    core: int
    #: Its NUMA node.
    numa: int
    #: First processor of its last-level cache; -1 if the kernel does not report it.
    cache: int = -1


class NumaNodeFacts(msgspec.Struct, frozen=True):
    """A NUMA node."""

    #: Its number.
    number: int
    #: Its socket; -1 for memory without processors.
    socket: int
    #: Its processors.
    cpus: tuple[int, ...]
    #: Its memory in bytes.
    memory: int
    #: Distance to each NUMA node by number; 10 to itself.
    distances: dict[int, int] = {}


class ProcessorFacts(msgspec.Struct, frozen=True):
    """Processors of a machine."""

    #: Online processors, by number.
    cpus: tuple[LogicalCpu, ...]
    #: NUMA nodes, by number; a machine without NUMA has one.
    numas: tuple[NumaNodeFacts, ...]

    @property
    def sockets(self) -> tuple[int, ...]:
        """Socket numbers."""
        return tuple(sorted({cpu.socket for cpu in self.cpus}))

    @property
    def cores(self) -> int:
        """Number of physical cores."""
        return len({(cpu.socket, cpu.core) for cpu in self.cpus})

    @property
    def memory(self) -> int:
        """Memory in bytes."""
        return sum(numa.memory for numa in self.numas)


def read_processors(root: Path) -> ProcessorFacts:
    """Processors and NUMA nodes of a machine.

    The memory of a single NUMA node is that of the machine: kernels of virtual machines were seen
    whose file of the NUMA node lacks memory that ``/proc/meminfo`` counts.

    Args:
        root: the root of the file system, ``/`` on a machine.
    """
    system = root / "sys/devices/system"
    online = set(read_list(read_text(system / "cpu/online") or ""))
    nodes = dict(numbered(system / "node", "node"))
    numa_of = {
        cpu: number
        for number, path in nodes.items()
        for cpu in read_list(read_text(path / "cpulist") or "")
    }
    cpus = tuple(
        _cpu(number, path, numa_of.get(number, 0))
        for number, path in numbered(system / "cpu", "cpu")
        if not online or number in online
    )
    memory = read_meminfo(root / "proc/meminfo").get("MemTotal", 0)
    if not nodes:
        only = NumaNodeFacts(0, 0, tuple(cpu.number for cpu in cpus), memory, {0: 10})
        return ProcessorFacts(cpus, (only,))
    numas = tuple(_numa(number, path, tuple(nodes), cpus) for number, path in nodes.items())
    if len(numas) == 1 and memory:
        numas = (msgspec.structs.replace(numas[0], memory=memory),)
    return ProcessorFacts(cpus, numas)


def _cpu(number: int, path: Path, numa: int) -> LogicalCpu:
    return LogicalCpu(
        number,
        read_number(path / "topology/physical_package_id", 0) or 0,
        read_number(path / "topology/core_id", number) or 0,
        numa,
        _last_cache(path),
    )


def _last_cache(path: Path) -> int:
    """First processor that shares the last-level cache; -1 if not reported."""
    level, shared = -1, -1
    for _, index in numbered(path / "cache", "index"):
        here = read_number(index / "level", -1) or -1
        cpus = read_list(read_text(index / "shared_cpu_list") or "")
        if here > level and cpus:
            level, shared = here, min(cpus)
    return shared


def _numa(
    number: int, path: Path, numbers: tuple[int, ...], cpus: tuple[LogicalCpu, ...]
) -> NumaNodeFacts:
    own = tuple(cpu.number for cpu in cpus if cpu.numa == number)
    sockets = {cpu.socket for cpu in cpus if cpu.numa == number}
    found = (read_text(path / "distance") or "").split()
    distances = {
        other: int(text) for other, text in zip(numbers, found, strict=False) if text.isdigit()
    }
    memory = read_meminfo(path / "meminfo").get("MemTotal", 0)
    return NumaNodeFacts(number, min(sockets, default=-1), own, memory, distances)

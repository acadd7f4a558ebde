"""Trees of files that look like machines to the node agent, made by hand from public facts."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

GIB_KIB = 1 << 20
"""KiB in a GiB."""


class MachineShape(NamedTuple):
    """The shape of a machine."""

    #: Sockets.
    sockets: int
    #: NUMA nodes of each socket.
    numas: int
    #: Cores of each NUMA node.
    cores: int
    #: Threads of each core.
    threads: int
    #: Cores that share a last-level cache.
    cores_per_cache: int
    #: GiB of each NUMA node.
    memory_gib: int


INTEL = MachineShape(2, 1, 4, 2, 4, 64)
"""Two sockets with one NUMA node each, as Intel's Xeon."""
AMD = MachineShape(1, 4, 4, 2, 2, 32)
"""One socket with four NUMA nodes, each with two caches, as AMD's EPYC with NPS4."""
ARM = MachineShape(2, 2, 4, 1, 8, 32)
"""Two sockets with two NUMA nodes each and no threads, as Kunpeng."""


def write_files(root: Path, files: Mapping[str, object]) -> None:
    """Write files below a root."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def write_machine(root: Path, shape: MachineShape) -> None:
    """The processors and NUMA nodes of a machine; threads are numbered after all cores."""
    count = shape.sockets * shape.numas
    cores = count * shape.cores
    system, members = "sys/devices/system", [list[int]() for _ in range(count)]
    files: dict[str, object] = {f"{system}/cpu/online": f"0-{cores * shape.threads - 1}"}
    for thread, core in product(range(shape.threads), range(cores)):
        number, numa = thread * cores + core, core // shape.cores
        members[numa].append(number)
        first = core // shape.cores_per_cache * shape.cores_per_cache
        shared = ",".join(
            f"{t * cores + first}-{t * cores + first + shape.cores_per_cache - 1}"
            for t in range(shape.threads)
        )
        cpu = f"{system}/cpu/cpu{number}"
        files |= {
            f"{cpu}/topology/physical_package_id": numa // shape.numas,
            f"{cpu}/topology/core_id": core % (shape.numas * shape.cores),
            f"{cpu}/cache/index0/level": 1,
            f"{cpu}/cache/index0/shared_cpu_list": number,
            f"{cpu}/cache/index3/level": 3,
            f"{cpu}/cache/index3/shared_cpu_list": shared,
        }
    for numa, cpus in enumerate(members):
        here = f"{system}/node/node{numa}"
        distances = [
            10 if other == numa else 12 if other // shape.numas == numa // shape.numas else 32
            for other in range(count)
        ]
        files |= {
            f"{here}/cpulist": ",".join(map(str, cpus)),
            f"{here}/distance": " ".join(map(str, distances)),
            f"{here}/meminfo": f"Node {numa} MemTotal:       {shape.memory_gib * GIB_KIB} kB",
        }
    write_files(root, files)


class NumaAmounts(NamedTuple):
    """Memory of a NUMA node in GiB."""

    #: Physical memory.
    total: float
    #: Free memory.
    free: float
    #: Page cache that was not used recently.
    inactive_file: float = 0.0


class PodAmounts(NamedTuple):
    """Memory of a pod in GiB."""

    #: Anonymous memory.
    anon: float
    #: Page cache, with shared memory.
    file: float = 0.0
    #: Shared memory.
    shmem: float = 0.0
    #: The NUMA nodes that are set for its container; empty for none.
    mems: str = ""
    #: Anonymous memory by NUMA node.
    by_numa: Mapping[int, float] = {}


def write_memory(
    root: Path, numas: Mapping[int, NumaAmounts], used: float, pods: Mapping[str, PodAmounts]
) -> None:
    """Memory of a machine by NUMA node, with ``used`` GiB in use, and of its pods by uid."""
    total = sum(each.total for each in numas.values())
    free = sum(each.free for each in numas.values())
    lines = {"MemTotal": total, "MemFree": free, "MemAvailable": total - used}
    files: dict[str, object] = {
        "proc/meminfo": "\n".join(f"{name}: {_kib(each)} kB" for name, each in lines.items()),
        "proc/sys/vm/watermark_scale_factor": 10,
    }
    for number, each in numas.items():
        amounts = {
            "MemTotal": each.total,
            "MemFree": each.free,
            "MemUsed": each.total - each.free,
            "Inactive(file)": each.inactive_file,
        }
        files[f"sys/devices/system/node/node{number}/meminfo"] = "\n".join(
            f"Node {number} {name}: {_kib(amount)} kB" for name, amount in amounts.items()
        )
    for uid, pod in pods.items():
        here = pod_folder(uid)
        places = " ".join(f"N{number}={_bytes(each)}" for number, each in pod.by_numa.items())
        files |= {
            f"{here}/memory.current": _bytes(pod.anon + pod.file),
            f"{here}/memory.stat": (
                f"anon {_bytes(pod.anon)}\nfile {_bytes(pod.file)}\nshmem {_bytes(pod.shmem)}"
            ),
            f"{here}/memory.numa_stat": f"anon {places}\nfile N0=0 N1=0\nkernel_stack {places}",
            f"{here}/cpuset.mems": "",
            f"{here}/main.scope/cpuset.mems": pod.mems,
            f"{here}/pause.scope/cpuset.mems": "",
        }
    write_files(root, files)


def pod_folder(uid: str) -> str:
    """The cgroup of a burstable pod with the systemd driver."""
    name = f"kubepods-burstable-pod{uid.replace('-', '_')}.slice"
    return f"sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/{name}"


def _kib(gib: float) -> int:
    return int(gib * GIB_KIB)


def _bytes(gib: float) -> int:
    return _kib(gib) * 1024


def write_use(root: Path, busy: int, pods: Mapping[str, tuple[int, int]]) -> None:
    """Counters: busy ticks of the machine; microseconds and bytes of each pod by uid."""
    files: dict[str, object] = {
        "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids",
        "proc/stat": f"cpu {busy} 0 0 1000 0 0 0 0 0 0\ncpu0 {busy} 0 0 1000 0 0 0 0 0 0",
        "proc/meminfo": f"MemTotal: {8 * GIB_KIB} kB\nMemAvailable: {6 * GIB_KIB} kB",
        "proc/pressure/cpu": "some avg10=1.50 avg60=0.50 avg300=0.00 total=99\n",
    }
    for uid, (cpu_us, memory) in pods.items():
        here = pod_folder(uid)
        files |= {
            f"{here}/cpu.stat": f"usage_usec {cpu_us}\nthrottled_usec 0",
            f"{here}/memory.current": memory,
            f"{here}/memory.stat": "anon 100\ninactive_file 1000",
            f"{here}/io.stat": "8:0 rbytes=10 wbytes=20 rios=1",
        }
    write_files(root, files)

"""Use of a whole machine and of its pods, as rates between two readings."""

import re
from collections.abc import Container, Mapping
from math import inf
from pathlib import Path
from typing import Final

import msgspec

from stretto.agent.files import read_text
from stretto.agent.usage.cgroups import CgroupReading, pod_cgroups, read_cgroup
from stretto.agent.usage.memory import MachineMemory, PodMemory, read_memory
from stretto.agent.usage.pressure import read_pressure

USER_HZ: Final = 100
"""Ticks per second of ``/proc/stat``; the same on every Linux architecture."""
MICROS: Final = 1_000_000
"""Microseconds per second."""
WHOLE: Final = -1
"""Key of the sum over all processors."""
SECTOR: Final = 512
"""Bytes of a sector in ``/proc/diskstats``, independent of the device."""
_DISK: Final = re.compile(r"sd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+")


class MachineReading(msgspec.Struct, frozen=True):
    """Counters of a machine and its pods at one time."""

    #: Monotonic clock time in seconds.
    at_s: float
    #: Ticks of all processors that were not idle.
    busy_ticks: int
    #: Memory.
    memory: MachineMemory
    #: Counters of each pod by uid.
    pods: dict[str, CgroupReading]
    #: Percent of the last minute in which some task waited for ``cpu``, ``memory`` or ``io``.
    pressure: dict[str, float]
    #: Busy ticks of each NUMA node with processors.
    numas: dict[int, int] = {}
    #: Bytes read from and written to block devices.
    io_bytes: int = 0


class PodUse(msgspec.Struct, frozen=True):
    """Use of a pod."""

    #: CPU use in cores.
    cpu: float
    #: Bytes that cannot be freed easily.
    memory: int
    #: Bytes per second on devices.
    io_bytes_per_s: float
    #: Fraction of time in which the pod was throttled, 0 to 1.
    throttled: float
    #: Memory by kind.
    parts: PodMemory = PodMemory()


class MachineUse(msgspec.Struct, frozen=True):
    """Use of a machine between two readings."""

    #: CPU use in cores.
    cpu: float
    #: Bytes that cannot be freed easily.
    memory: int
    #: Use of each pod by uid.
    pods: dict[str, PodUse]
    #: Percent of the last minute in which some task waited, by resource.
    pressure: dict[str, float]
    #: Cores and bytes in use on each NUMA node.
    numas: dict[int, tuple[float, int]] = {}
    #: Bytes per second on block devices.
    io_bytes_per_s: float = 0.0
    #: Memory by NUMA node, with the limits of best-effort pods.
    parts: MachineMemory = MachineMemory()


def read_machine(
    root: Path, now_s: float, numa_of: Mapping[int, int] = {}, placed: Container[str] = ()
) -> MachineReading:
    """Read all counters.

    Args:
        root: the root of the file system.
        now_s: monotonic clock time.
        numa_of: NUMA node of each processor.
        placed: uids of the pods whose NUMA nodes are read.
    """
    readings = {uid: read_cgroup(path, uid in placed) for uid, path in pod_cgroups(root).items()}
    ticks = _ticks_by_cpu(root / "proc/stat")
    pressure = {
        name: read_pressure(root / "proc/pressure" / name) for name in ("cpu", "memory", "io")
    }
    return MachineReading(
        now_s,
        ticks.get(WHOLE, 0),
        read_memory(root, numa_of.values() or (0,)),
        {uid: each for uid, each in readings.items() if each is not None},
        {name: each for name, each in pressure.items() if each is not None},
        _ticks_by_numa(ticks, numa_of),
        _io_bytes(root / "proc/diskstats"),
    )


def use_between(before: MachineReading, after: MachineReading, cpus: int) -> MachineUse:
    """Rates between two readings; a counter that decreased (a new cgroup) counts from zero.

    Args:
        before: the first reading.
        after: the second reading, at a later time.
        cpus: number of processors, which the machine does not exceed if its counter decreases; 0 if
            the kernel does not list them.
    """
    seconds = after.at_s - before.at_s
    used = {number: each.used for number, each in after.memory.numas.items()}
    return MachineUse(
        min(_rate(before.busy_ticks, after.busy_ticks, seconds) / USER_HZ, cpus or inf),
        after.memory.used,
        _pods_between(before.pods, after.pods, seconds),
        after.pressure,
        {
            number: (_rate(before.numas[number], ticks, seconds) / USER_HZ, used[number])
            for number, ticks in after.numas.items()
            if number in before.numas and number in used
        },
        _rate(before.io_bytes, after.io_bytes, seconds),
        after.memory,
    )


def _pods_between(
    before: Mapping[str, CgroupReading], after: Mapping[str, CgroupReading], seconds: float
) -> dict[str, PodUse]:
    """Use of the pods in both readings; a new pod has no rate yet."""
    return {
        uid: PodUse(
            _rate(old.cpu_us, now.cpu_us, seconds) / MICROS,
            now.working_set,
            _rate(old.io_bytes, now.io_bytes, seconds),
            min(_rate(old.throttled_us, now.throttled_us, seconds) / MICROS, 1.0),
            now.memory,
        )
        for uid, now in after.items()
        if (old := before.get(uid)) is not None
    }


def _rate(before: int, after: int, seconds: float) -> float:
    return (after - before if after >= before else after) / seconds


def _ticks_by_cpu(path: Path) -> dict[int, int]:
    """Ticks of all states except idle and waiting for IO, by processor; ``WHOLE`` for the sum."""
    found = {}
    for line in (read_text(path) or "").splitlines():
        name, *ticks = line.split()
        number = name.removeprefix("cpu")
        if name.startswith("cpu") and (number.isdigit() or not number):
            numbers = [int(each) for each in ticks if each.isdigit()]
            found[int(number) if number else WHOLE] = sum(numbers[:8]) - sum(numbers[3:5])
    return found


def _ticks_by_numa(ticks: Mapping[int, int], numa_of: Mapping[int, int]) -> dict[int, int]:
    """Busy ticks of each NUMA node with processors."""
    found = dict.fromkeys(numa_of.values(), 0)
    for cpu, busy in ticks.items():
        if cpu in numa_of:
            found[numa_of[cpu]] += busy
    return found


def _io_bytes(path: Path) -> int:
    """Bytes read from and written to all disks; partitions and virtual devices are skipped."""
    total = 0
    for line in (read_text(path) or "").splitlines():
        columns = line.split()
        if len(columns) > 9 and _DISK.fullmatch(columns[2]):
            total += (int(columns[5]) + int(columns[9])) * SECTOR
    return total

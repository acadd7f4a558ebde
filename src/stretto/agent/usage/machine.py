"""Use of a whole machine and of its pods, as rates between two readings."""

import re
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Final

import msgspec

from stretto.agent.files import read_text
from stretto.agent.usage.cgroups import CgroupReading, pod_cgroups, read_cgroup
from stretto.agent.usage.pressure import read_pressure

USER_HZ: Final = 100
"""Ticks per second of ``/proc/stat``; the same on every Linux architecture."""
MICROS: Final = 1_000_000
"""Microseconds per second."""
KIB: Final = 1024
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
    #: Bytes that cannot be freed easily.
    memory: int
    #: Counters of each pod by uid.
    pods: dict[str, CgroupReading]
    #: Percent of the last minute in which some task waited for ``cpu``, ``memory`` or ``io``.
    pressure: dict[str, float]
    #: Busy ticks and used bytes of each NUMA node.
    numas: dict[int, tuple[int, int]] = {}
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


def read_machine(root: Path, now_s: float, numa_of: Mapping[int, int] = {}) -> MachineReading:
    """Read all counters.

    Args:
        root: the root of the file system.
        now_s: monotonic clock time.
        numa_of: NUMA node of each processor.
    """
    readings = {uid: read_cgroup(path) for uid, path in pod_cgroups(root).items()}
    pressure = {
        name: read_pressure(root / "proc/pressure" / name) for name in ("cpu", "memory", "io")
    }
    return MachineReading(
        now_s,
        _ticks_by_cpu(root / "proc/stat").get(WHOLE, 0),
        _used_memory(root / "proc/meminfo"),
        {uid: each for uid, each in readings.items() if each is not None},
        {name: each for name, each in pressure.items() if each is not None},
        _numas(root, numa_of),
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
    return MachineUse(
        min(_rate(before.busy_ticks, after.busy_ticks, seconds) / USER_HZ, cpus or inf),
        after.memory,
        _pods_between(before.pods, after.pods, seconds),
        after.pressure,
        {
            number: (_rate(before.numas[number][0], ticks, seconds) / USER_HZ, memory)
            for number, (ticks, memory) in after.numas.items()
            if number in before.numas
        },
        _rate(before.io_bytes, after.io_bytes, seconds),
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


def _numas(root: Path, numa_of: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """Busy ticks and used bytes of each NUMA node."""
    ticks = dict.fromkeys(numa_of.values(), 0)
    for cpu, busy in _ticks_by_cpu(root / "proc/stat").items():
        if cpu in numa_of:
            ticks[numa_of[cpu]] += busy
    nodes = root / "sys/devices/system/node"
    return {
        number: (busy, _numa_memory(nodes / f"node{number}/meminfo"))
        for number, busy in ticks.items()
    }


def _numa_memory(path: Path) -> int:
    """Used bytes of a NUMA node; 0 if the kernel does not report it."""
    for line in (read_text(path) or "").splitlines():
        label, _, rest = line.partition(":")
        number = rest.split()[:1]
        if label.endswith(" MemUsed") and number and number[0].isdigit():
            return int(number[0]) * KIB
    return 0


def _io_bytes(path: Path) -> int:
    """Bytes read from and written to all disks; partitions and virtual devices are skipped."""
    total = 0
    for line in (read_text(path) or "").splitlines():
        columns = line.split()
        if len(columns) > 9 and _DISK.fullmatch(columns[2]):
            total += (int(columns[5]) + int(columns[9])) * SECTOR
    return total


def _used_memory(path: Path) -> int:
    """Total memory minus available memory, in bytes."""
    amounts = {}
    for line in (read_text(path) or "").splitlines():
        name, _, rest = line.partition(":")
        number = rest.split()[:1]
        if number and number[0].isdigit():
            amounts[name] = int(number[0]) * KIB
    return max(amounts.get("MemTotal", 0) - amounts.get("MemAvailable", 0), 0)

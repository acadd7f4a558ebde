"""Use of a whole machine and of its pods, as rates between two readings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from stretto.agent.files import read_text
from stretto.agent.usage.cgroups import CgroupReading, pod_cgroups, read_cgroup
from stretto.agent.usage.pressure import Pressure, read_pressure

USER_HZ: Final = 100
"""Ticks per second of ``/proc/stat``; the same on every Linux architecture."""
MICROS: Final = 1_000_000
"""Microseconds per second."""
KIB: Final = 1024


class MachineReading(msgspec.Struct, frozen=True):
    """Counters of a machine and its pods at one time."""

    #: Monotonic clock time in seconds.
    at_s: float
    #: Ticks of all processors that were not idle.
    busy_ticks: int
    #: Bytes that cannot be freed easily.
    memory: int
    #: Bytes received and sent on devices with hardware.
    network_bytes: int
    #: Counters of each pod by uid.
    pods: dict[str, CgroupReading]
    #: Pressure by resource: ``cpu``, ``memory``, ``io``.
    pressure: dict[str, Pressure]


class PodUse(msgspec.Struct, frozen=True):
    """Use of a pod."""

    #: Cores.
    cpu: float
    #: Bytes that cannot be freed easily.
    memory: int
    #: Bytes per second on devices.
    io_bytes_per_s: float
    #: Share of time in which it was throttled.
    throttled: float


class MachineUse(msgspec.Struct, frozen=True):
    """Use of a machine between two readings."""

    #: Cores.
    cpu: float
    #: Bytes that cannot be freed easily.
    memory: int
    #: Bytes per second on network devices.
    network_bytes_per_s: float
    #: Use of each pod by uid.
    pods: dict[str, PodUse]
    #: Pressure by resource.
    pressure: dict[str, Pressure]


def read_machine(root: Path, now_s: float, devices: tuple[str, ...] = ()) -> MachineReading:
    """Read all counters.

    Args:
        root: the root of the file system.
        now_s: monotonic clock time.
        devices: network devices that count.
    """
    readings = {uid: read_cgroup(path) for uid, path in pod_cgroups(root).items()}
    pressure = {
        name: read_pressure(root / "proc/pressure" / name) for name in ("cpu", "memory", "io")
    }
    return MachineReading(
        now_s,
        _busy_ticks(root / "proc/stat"),
        _used_memory(root / "proc/meminfo"),
        _network_bytes(root / "proc/net/dev", devices),
        {uid: each for uid, each in readings.items() if each is not None},
        {name: each for name, each in pressure.items() if each is not None},
    )


def use_between(before: MachineReading, after: MachineReading) -> MachineUse:
    """Rates between two readings; counters that went back (a new cgroup) count from zero."""
    seconds = max(after.at_s - before.at_s, 1e-3)
    return MachineUse(
        _rate(before.busy_ticks, after.busy_ticks, seconds) / USER_HZ,
        after.memory,
        _rate(before.network_bytes, after.network_bytes, seconds),
        _pods_between(before.pods, after.pods, seconds),
        after.pressure,
    )


def _pods_between(
    before: Mapping[str, CgroupReading], after: Mapping[str, CgroupReading], seconds: float
) -> dict[str, PodUse]:
    """Use of pods that are in both readings; a new pod has no rate yet."""
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


def _busy_ticks(path: Path) -> int:
    """Ticks of all states but idle and waiting for IO."""
    for line in (read_text(path) or "").splitlines():
        name, *ticks = line.split()
        if name == "cpu":
            numbers = [int(each) for each in ticks if each.isdigit()]
            return sum(numbers[:8]) - sum(numbers[3:5])
    return 0


def _used_memory(path: Path) -> int:
    """Total memory without what is available."""
    amounts = {}
    for line in (read_text(path) or "").splitlines():
        name, _, rest = line.partition(":")
        number = rest.split()[:1]
        if number and number[0].isdigit():
            amounts[name] = int(number[0]) * KIB
    return max(amounts.get("MemTotal", 0) - amounts.get("MemAvailable", 0), 0)


def _network_bytes(path: Path, devices: tuple[str, ...]) -> int:
    """Bytes received and sent on some devices."""
    total = 0
    for line in (read_text(path) or "").splitlines():
        name, colon, rest = line.partition(":")
        columns = rest.split()
        if colon and name.strip() in devices and len(columns) > 8:
            total += int(columns[0]) + int(columns[8])
    return total

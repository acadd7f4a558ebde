"""Use of pods, from cgroup v2.

The name of a pod's cgroup contains its uid: ``kubepods-burstable-pod<uid>.slice`` with the systemd
driver, ``kubepods/burstable/pod<uid>`` with the cgroupfs driver.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from stretto.agent.files import read_fields, read_number, read_text
from stretto.agent.usage.memory import CGROUPS, PodMemory, pod_memory

_POD: Final = re.compile(r"(?:^|-)pod([0-9a-f_-]{8,40})(?:\.slice)?$")
DEEPEST: Final = 3
"""Maximum depth of a pod's cgroup: the tree, its QoS class, the pod."""


class CgroupReading(msgspec.Struct, frozen=True):
    """Counters of a cgroup at one time."""

    #: Total CPU time in microseconds.
    cpu_us: int
    #: Total time in microseconds in which the cgroup was throttled.
    throttled_us: int
    #: Memory by kind.
    memory: PodMemory
    #: Bytes of page cache that was not used recently.
    inactive_file: int
    #: Total bytes read from and written to devices.
    io_bytes: int

    @property
    def working_set(self) -> int:
        """Memory that cannot be freed easily, in bytes, as the kubelet counts it."""
        return max(self.memory.usage - self.inactive_file, 0)


def hidden_use(root: Path) -> str:
    """Return why the use of pods cannot be read on a machine; empty if it can.

    Args:
        root: the root of the file system.
    """
    controllers = read_text(root / CGROUPS / "cgroup.controllers")
    if controllers is None:
        return f"/{CGROUPS} is not a cgroup v2 tree"
    missing = sorted({"cpu", "memory"} - set(controllers.split()))
    return f"cgroup v2 has no controller {' and no '.join(missing)}" if missing else ""


def pod_cgroups(root: Path) -> dict[str, Path]:
    """The cgroups of all pods by uid.

    Args:
        root: the root of the file system.
    """
    base = root / CGROUPS
    found: dict[str, Path] = {}
    for tree in ("kubepods.slice", "kubepods"):
        found.update(_pods_below(base / tree, DEEPEST))
    return found


def _pods_below(folder: Path, levels: int) -> Iterator[tuple[str, Path]]:
    """Pods in a tree of cgroups; cgroups below a pod are not searched."""
    try:
        entries = sorted(entry for entry in folder.iterdir() if entry.is_dir())
    except OSError:
        return
    for entry in entries:
        match = _POD.search(entry.name)
        if match:
            yield match[1].replace("_", "-"), entry
        elif levels > 1:
            yield from _pods_below(entry, levels - 1)


def read_cgroup(path: Path, is_placed: bool = False) -> CgroupReading | None:
    """The counters of a cgroup; ``None`` if it is gone.

    Args:
        path: the cgroup.
        is_placed: true to read its NUMA nodes, too.
    """
    cpu = read_fields(path / "cpu.stat")
    memory = read_number(path / "memory.current")
    if memory is None or "usage_usec" not in cpu:
        return None
    stat = read_fields(path / "memory.stat")
    return CgroupReading(
        cpu["usage_usec"],
        cpu.get("throttled_usec", 0),
        pod_memory(path, memory, stat, is_placed),
        stat.get("inactive_file", 0),
        _io_bytes(path / "io.stat"),
    )


def _io_bytes(path: Path) -> int:
    """Bytes read from and written to all devices."""
    total = 0
    for line in (read_text(path) or "").splitlines():
        for pair in line.split()[1:]:
            name, _, number = pair.partition("=")
            if name in ("rbytes", "wbytes") and number.isdigit():
                total += int(number)
    return total

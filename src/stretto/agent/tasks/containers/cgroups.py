"""Limits of containers by cgroup v2: memory, weight of CPU, CPU time per period, processes.

Each container has its own cgroup below ``stretto``. Its CPUs become ``cpu.weight``, computed from
Mesos' shares as runc does. Its memory becomes ``memory.max``. The number of its processes is
limited for all containers alike by ``pids.max``, because it is no resource of Mesos.
"""

import math
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from stretto.agent.files import read_fields, read_number, read_text
from stretto.base.errors import NotAllowedError
from stretto.offers.messages.schema import Message

MOUNT: Final = "sys/fs/cgroup"
"""Mount point of cgroup v2, relative to the root of the file system."""
TREE: Final = "stretto"
"""Parent cgroup of the containers."""
PERIOD: Final = 100_000
"""Period of ``cpu.max`` in microseconds."""
LEAST_MEMORY: Final = 32
"""Minimum memory limit in megabytes, as in Mesos."""
_CONTROLLERS: Final = frozenset({"cpu", "memory"})
_MEGA: Final = 1 << 20


class LimitMode(Enum):
    """Method of limiting the resources of containers."""

    #: Memory by a limit, CPU by a weight.
    SHARE = "share"
    #: Memory and CPU by a limit.
    CAP = "cap"


class MemoryKill(msgspec.Struct, frozen=True):
    """Memory use of a container that exceeded its limit."""

    #: Limit in bytes; None if there is none.
    limit: int | None
    #: Peak use in bytes; None if the kernel does not report it.
    peak: int | None

    @property
    def text(self) -> str:
        """The message for users, as in Mesos."""
        wanted = "unlimited" if self.limit is None else f"{self.limit >> 20}MB"
        used = "unknown" if self.peak is None else f"{self.peak >> 20}MB"
        return f"Memory limit exceeded: Requested: {wanted} Maximum Used: {used}"


class Cgroups:
    """The cgroups of one agent."""

    def __init__(self, root: Path, limiting: LimitMode, processes: int | None = None) -> None:
        """Prepare the tree.

        Args:
            root: root of the file system.
            limiting: whether CPU has a limit in addition to its weight.
            processes: most processes and threads of a container; None for no limit.

        Raises:
            NotAllowedError: this machine has no cgroup v2 with the controllers, or the agent may
                not write to it; the text contains the file.
        """
        self._limiting = limiting
        self._processes = processes
        base = root / MOUNT
        self._tree = base / TREE
        wanted = _CONTROLLERS if processes is None else _CONTROLLERS | {"pids"}
        present = read_text(base / "cgroup.controllers")
        missing = sorted(wanted - set((present or "").split()))
        if present is None:
            raise _refused(f"{base} is not a cgroup v2 hierarchy{_first_version(base, wanted)}")
        if missing:
            raise _refused(f"{base} has no controller {' and '.join(missing)}")
        try:
            for folder in (base, self._tree):
                folder.mkdir(exist_ok=True)
                enabled = " ".join(f"+{each}" for each in sorted(wanted))
                _write(folder / "cgroup.subtree_control", enabled)
        except OSError as error:
            raise _refused(f"{error.filename or base}: {error.strerror}") from error

    def create(self, name: str, resources: Iterable[Message], limits: Mapping[str, float]) -> Path:
        """Create the cgroup of a container with its limits; return its path.

        Raises:
            OSError: the cgroup cannot be written.
        """
        cgroup = self._tree / name
        cgroup.mkdir(exist_ok=True)
        for file, value in self.values(resources, limits).items():
            _write(cgroup / file, value)
        return cgroup

    def values(
        self, resources: Iterable[Message], limits: Mapping[str, float]
    ) -> Mapping[str, str]:
        """Contents of the files of a cgroup.

        Args:
            resources: resource messages; messages with equal names are added.
            limits: limits by resource that replace the resources; infinite for none.
        """
        amounts: dict[str, float] = {}
        for each in resources:
            value = each.get("scalar", {}).get("value", 0.0)
            amounts[each["name"]] = amounts.get(each["name"], 0.0) + value
        found = {}
        if "cpus" in amounts:
            found["cpu.weight"] = str(weight(amounts["cpus"]))
        cpus = limits.get("cpus", amounts.get("cpus") if self._limiting is LimitMode.CAP else None)
        if cpus is not None:
            quota = "max" if math.isinf(cpus) else str(max(1_000, round(cpus * PERIOD)))
            found["cpu.max"] = f"{quota} {PERIOD}"
        memory = limits.get("mem", amounts.get("mem"))
        if memory is not None:
            size = math.inf if math.isinf(memory) else max(LEAST_MEMORY, memory) * _MEGA
            found["memory.max"] = "max" if math.isinf(size) else str(int(size))
        if self._processes is not None:
            found["pids.max"] = str(self._processes)
        return found

    def memory_kill(self, name: str) -> MemoryKill | None:
        """Return the memory use if a container exceeded its memory limit, otherwise ``None``."""
        cgroup = self._tree / name
        if not read_fields(cgroup / "memory.events").get("oom_kill", 0):
            return None
        return MemoryKill(read_number(cgroup / "memory.max"), read_number(cgroup / "memory.peak"))

    def remove(self, name: str) -> bool:
        """Kill the remaining processes of a cgroup and remove it; return whether it is removed."""
        cgroup = self._tree / name
        if not cgroup.exists():
            return True
        try:
            _write(cgroup / "cgroup.kill", "1")
            cgroup.rmdir()
        except OSError:
            return False
        return True


def weight(cpus: float) -> int:
    """Return ``cpu.weight`` (1 to 10,000) of CPUs, from Mesos' shares: 1,024 per CPU."""
    shares = min(262_144, max(2, int(1024 * cpus)))
    return 1 + (shares - 2) * 9999 // 262_142


def _first_version(base: Path, wanted: Iterable[str]) -> str:
    """Return which of the required controllers cgroup v1 has, as text; empty if none."""
    found = sorted(each for each in wanted if (base / each).is_dir())
    if not found:
        return ""
    return (
        f": cgroup v1 has the controllers {', '.join(found)}"
        " (the kernel parameter systemd.unified_cgroup_hierarchy=1 gives them to v2)"
    )


def _refused(why: str) -> NotAllowedError:
    hint = "start the agent with --limits none, or on a machine with cgroup v2 as root"
    return NotAllowedError("limiting tasks", why, hint)


def _write(path: Path, value: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(value)

"""Amounts of a node that are reserved for its own processes.

Source: Koordinator's ``util/node.go`` (node reservation annotation).
"""

from collections.abc import Mapping
from typing import Final

import msgspec

CPU: Final = 0
"""Column of CPU, in milli-CPU."""
MEMORY: Final = 1
"""Column of memory, in bytes."""

MOST_CPUS: Final = 4096
"""Largest end of a range of CPUs, as in Koordinator."""


class NodeReservation(msgspec.Struct, frozen=True):
    """The reservation in an annotation of the node."""

    #: Milli-CPU.
    cpu_milli: int = 0
    #: Bytes.
    memory: int = 0
    #: A list of CPUs in the form of ``cpuset``; it replaces the amount of CPU.
    cpus: str = ""

    def amounts(self) -> tuple[int, int]:
        """Milli-CPU and bytes; 0 if the list of CPUs cannot be read."""
        if not self.cpus:
            return self.cpu_milli, self.memory
        try:
            return 1000 * len(listed(self.cpus)), self.memory
        except ValueError:
            return 0, 0


def listed(cpus: str) -> frozenset[int]:
    """Parse a list of CPUs such as ``0-3,8``; a descending range is empty.

    Raises:
        ValueError: a part is neither a number nor a range, or a range is too long.
    """
    found: set[int] = set()
    for part in cpus.split(",") if cpus else ():
        bounds = [_number(each) for each in part.split("-")]
        if len(bounds) > 2 or (len(bounds) == 2 and bounds[1] > MOST_CPUS):
            raise ValueError(part)
        found.update(range(bounds[0], bounds[-1] + 1))
    return frozenset(found)


def _number(text: str) -> int:
    """Parse a CPU as in Go: digits after an optional sign, without spaces."""
    if not (text.isascii() and text.removeprefix("+").isdecimal()):
        raise ValueError(text)
    return int(text)


def reserved(
    capacity: Mapping[str, int], allocatable: Mapping[str, int], stated: NodeReservation
) -> tuple[int, int]:
    """Milli-CPU and bytes that the kubelet reserves, or those of a larger annotation."""
    cpu, memory = stated.amounts()
    kept = [capacity.get(name, 0) - allocatable.get(name, 0) for name in ("cpu_milli", "memory")]
    return max(kept[CPU], cpu), max(kept[MEMORY], memory)

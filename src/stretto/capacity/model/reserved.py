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
        ValueError: a part is neither a number nor a range.
    """
    found: set[int] = set()
    for part in filter(None, cpus.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def reserved(
    capacity: Mapping[str, int], allocatable: Mapping[str, int], stated: NodeReservation
) -> tuple[int, int]:
    """Milli-CPU and bytes that the kubelet reserves, or those of a larger annotation."""
    cpu, memory = stated.amounts()
    kept = [capacity.get(name, 0) - allocatable.get(name, 0) for name in ("cpu_milli", "memory")]
    return max(kept[CPU], cpu), max(kept[MEMORY], memory)

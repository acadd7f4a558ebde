"""Resource names as column numbers, with the scan step of each column.

The ledger counts exactly (int64: milli-CPU, bytes, pieces). Scans read int32 columns in coarser
steps (MiB for memory), rounded conservatively: free amounts are rounded down and requests are
rounded up, so that a scan never accepts a pod that the ledger rejects.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.api.wire import quantity
from stretto.base.errors import InputError

CPU: Final = 0
"""Column of milli-CPU."""
MEMORY: Final = 1
"""Column of memory in bytes."""
STORAGE: Final = 2
"""Column of ephemeral storage in bytes."""
PODS: Final = 3
"""Column of pod slots; every pod uses one."""

MIB: Final = 1 << 20
SCAN_LIMIT: Final = 1 << 30
"""Largest capacity in a scan column: a million cores, a pebibyte of memory."""
LARGEST: Final = 1 << 52
"""Largest amount of one node or pod: sums over thousands of them stay within 64 bits."""
NEVER: Final = (1 << 31) - 1
"""A request in scan steps that fits on no node."""

MAX_NAMES: Final = 512
"""Maximum number of resources: every array of amounts has a column for each."""
MAX_REQUESTED_NAMES: Final = 128
"""Number of resources up to which a pod's request may add a column.

Names that no node offers are limited, so that arbitrary names in pods do not widen every array.
"""

FIRST_NAMES: Final = ("cpu", "memory", "ephemeral-storage", "pods")

RECLAIMED: Final = {name: f"{quantity.RECLAIMED}{name}" for name in ("cpu", "memory", "pods")}
"""Resources that best-effort pods use instead of the node's own.

The pool that the node agent reclaims from pods that do not use their requests.
"""
_IN_MIB: Final = ("hugepages-", RECLAIMED["memory"])
"""Prefixes of resource names that are bytes and are scanned in MiB."""


class ResourceColumns:
    """Every resource name seen so far, in column order."""

    def __init__(self, *, pools: bool = True) -> None:
        """Start with the four resources that every node has.

        Args:
            pools: true if best-effort pods use pools; kube-scheduler has no pools.
        """
        #: True if best-effort pods use pools.
        self.pools = pools
        #: Names by column.
        self.names: list[str] = list(FIRST_NAMES)
        #: Exact units in one scan step, by column.
        self.steps: list[int] = [1, MIB, MIB, 1]
        #: Columns by name.
        self._columns: dict[str, int] = {name: i for i, name in enumerate(FIRST_NAMES)}
        #: Incremented when a step grows: scan columns and scaled requests must be rebuilt.
        self.epoch: int = 0

    def __len__(self) -> int:
        """Number of columns."""
        return len(self.names)

    def column(self, name: str) -> int:
        """Return the column of a resource, assigned at first use.

        Raises:
            InputError: there are too many names.
        """
        found = self._columns.get(name)
        if found is not None:
            return found
        if len(self.names) >= MAX_NAMES:
            expected = f"at most {MAX_NAMES} different resources in a cluster"
            raise InputError("resource", name, expected, "remove unused names")
        self._columns[name] = column = len(self.names)
        self.names.append(name)
        self.steps.append(MIB if name.startswith(_IN_MIB) else 1)
        return column

    def register_offered(self, names: Iterable[str], where: str) -> None:
        """Assign a column to each resource that a node offers.

        Raises:
            InputError: there are too many names; earlier names keep their columns.
        """
        for name in names:
            try:
                self.column(name)
            except InputError as error:
                raise InputError(where, error.value, error.expected, error.hint) from error

    def requested(self, name: str, where: str) -> int:
        """Return the column of a resource that a pod requests.

        Raises:
            InputError: the name is unknown and there are many names already.
        """
        if name not in self._columns and len(self.names) >= MAX_REQUESTED_NAMES:
            known = f"{MAX_REQUESTED_NAMES} names are known"
            expected = f"a known resource (no node offers this one, and {known})"
            hint = "correct the name, or add a node that offers it"
            raise InputError(where, name, expected, hint)
        return self.column(name)

    def known(self, name: str) -> int | None:
        """Return the column of a resource, or ``None`` if no object has named it yet."""
        return self._columns.get(name)

    def ensure_columns(self, column: int, capacity: int) -> None:
        """Coarsen a column's step until this exact capacity fits into a scan column.

        The steps of the resources that every node has never change: a node above the limit counts
        as a node at the limit, because one extreme node must not coarsen the amounts of all others.
        """
        if column < len(FIRST_NAMES):
            return
        while capacity // self.steps[column] > SCAN_LIMIT:
            self.steps[column] *= 1024
            self.epoch += 1

    def scaled_request(self, column: int, amount: int) -> int:
        """Return a request in scan steps, rounded up; ``NEVER`` if it exceeds any capacity."""
        steps = -(-amount // self.steps[column])
        return steps if steps <= SCAN_LIMIT else NEVER

    def step_array(self) -> npt.NDArray[np.int64]:
        """Return the steps as int64[resource]."""
        return np.array(self.steps, dtype=np.int64)


def from_pool(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return the requests of a best-effort pod.

    CPU, memory and pod slot from the pool, others unchanged.
    """
    found = {RECLAIMED.get(name, name): amount for name, amount in amounts.items()}
    found[RECLAIMED[FIRST_NAMES[PODS]]] = 1
    return found


def check_amounts(amounts: Mapping[str, int], where: str) -> None:
    """Reject amounts that would overflow the sums of a node."""
    for name, amount in amounts.items():
        if not 0 <= amount <= LARGEST:
            raise InputError(f"{where} {name}", amount, f"0 to {LARGEST}")

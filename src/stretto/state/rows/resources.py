"""Names of resources as column numbers, with the step of one unit in the scan columns.

The ledger counts exactly (int64: milli-CPU, bytes, pieces). Scans read int32 columns in coarser
steps (MiB for memory), rounded against the pod: what a node has is rounded down, what a pod asks
is rounded up, so a scan never promises what the ledger would refuse.
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
"""Column of memory, exact in bytes."""
STORAGE: Final = 2
"""Column of ephemeral storage, exact in bytes."""
PODS: Final = 3
"""Column of pod places; every pod takes one."""

MIB: Final = 1 << 20
SCAN_LIMIT: Final = 1 << 30
"""Largest capacity that a scan column shows: a million cores, a pebibyte of memory."""
LARGEST: Final = 1 << 52
"""Largest amount of one node or pod: sums over thousands of them stay within 64 bits."""
NEVER: Final = (1 << 31) - 1
"""A request in scan steps that fits on no node."""

MAX_NAMES: Final = 512
"""Resources that nodes may offer in all: an array of amounts has a column for each."""
MAX_REQUESTED_NAMES: Final = 128
"""Resources in all up to which a pod's own word makes a column: names that no node offers are kept
only so far, so that made-up names in pods do not widen every array."""

FIRST_NAMES: Final = ("cpu", "memory", "ephemeral-storage", "pods")

RECLAIMED: Final = {name: f"{quantity.RECLAIMED}{name}" for name in ("cpu", "memory", "pods")}
"""What best-effort pods take in place of the node's own: the pool that its agent has reclaimed from
pods that do not use what they asked for."""
_IN_MIB: Final = ("hugepages-", RECLAIMED["memory"])
"""How the names of resources begin that are bytes and count in MiB."""


class ResourceColumns:
    """Every resource name seen so far, in the order of its column."""

    def __init__(self, *, pools: bool = True) -> None:
        """Start with the four resources that every node has.

        Args:
            pools: whether best-effort pods take from pools; kube-scheduler's own rules know none.
        """
        #: Whether they do.
        self.pools = pools
        #: Names by column.
        self.names: list[str] = list(FIRST_NAMES)
        #: Exact units in one scan step, by column.
        self.steps: list[int] = [1, MIB, MIB, 1]
        #: Columns by name.
        self._columns: dict[str, int] = {name: i for i, name in enumerate(FIRST_NAMES)}
        #: Rises when a step grows: scan columns and scaled requests must be made anew.
        self.epoch: int = 0

    def __len__(self) -> int:
        """How many columns there are."""
        return len(self.names)

    def column(self, name: str) -> int:
        """The column of a resource, made on first sight.

        Raises:
            InputError: there are too many names.
        """
        found = self._columns.get(name)
        if found is not None:
            return found
        if len(self.names) >= MAX_NAMES:
            expected = f"at most {MAX_NAMES} different resources in a cluster"
            raise InputError("resource", name, expected, "drop names that nobody uses")
        self._columns[name] = column = len(self.names)
        self.names.append(name)
        self.steps.append(MIB if name.startswith(_IN_MIB) else 1)
        return column

    def offered(self, names: Iterable[str], where: str) -> None:
        """Make a column for each resource that a node offers.

        Raises:
            InputError: there are too many names; those before it have their columns.
        """
        for name in names:
            try:
                self.column(name)
            except InputError as error:
                raise InputError(where, error.value, error.expected, error.hint) from error

    def asked(self, name: str, where: str) -> int:
        """The column of a resource that a pod asks for.

        Raises:
            InputError: nobody has named it yet, and there are many names already.
        """
        if name not in self._columns and len(self.names) >= MAX_REQUESTED_NAMES:
            expected = f"a resource that is known ({MAX_REQUESTED_NAMES} names are; no node offers this one)"
            raise InputError(where, name, expected, "correct the name, or add a node that has it")
        return self.column(name)

    def known(self, name: str) -> int | None:
        """The column of a resource, or ``None`` when no object has named it yet."""
        return self._columns.get(name)

    def ensure_columns(self, column: int, capacity: int) -> None:
        """Coarsen a column's step until this exact capacity fits into a scan column.

        Never for what every node has: there a node beyond the limit counts as one at the limit,
        because an absurd one must not blur the amounts of all others.
        """
        if column < len(FIRST_NAMES):
            return
        while capacity // self.steps[column] > SCAN_LIMIT:
            self.steps[column] *= 1024
            self.epoch += 1

    def scaled_request(self, column: int, amount: int) -> int:
        """A request in scan steps, rounded up; ``NEVER`` when it is beyond any capacity."""
        steps = -(-amount // self.steps[column])
        return steps if steps <= SCAN_LIMIT else NEVER

    def step_array(self) -> npt.NDArray[np.int64]:
        """The steps as int64[resource]."""
        return np.array(self.steps, dtype=np.int64)


def from_pool(amounts: Mapping[str, int]) -> dict[str, int]:
    """What a best-effort pod takes: CPU, memory and a place from the pool, the rest as it says."""
    found = {RECLAIMED.get(name, name): amount for name, amount in amounts.items()}
    found[RECLAIMED[FIRST_NAMES[PODS]]] = 1
    return found


def check_amounts(amounts: Mapping[str, int], where: str) -> None:
    """Refuse amounts that would spoil the sums of a node."""
    for name, amount in amounts.items():
        if not 0 <= amount <= LARGEST:
            raise InputError(f"{where} {name}", amount, f"0 to {LARGEST}")

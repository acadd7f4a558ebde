"""Bulk charging of NUMA nodes.

If a class requests one NUMA node, or whole ones for CPU and memory alone, its amounts on given NUMA
nodes depend only on the class and the machine's layout. The usage of other pods determines whether
it fits, not the amounts. There are few such portions (sizes × layouts × NUMA nodes). Therefore
``NumaTopology`` computes each once, and claims are checked and charged in columns. Portions that
depend on usage (a socket, devices near whole NUMA nodes) are processed claim by claim with
``NumaTopology.covers`` and ``take``.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.state.classes.annotations import NumaBinding
from stretto.state.classes.table import PodClass
from stretto.state.cluster.cluster import Cluster
from stretto.state.numa.choice import CONFLICTING
from stretto.state.numa.layout import MAX_NUMA_NODES
from stretto.state.numa.ledger import NUMA_COLUMNS, NUMA_SHIFT, NumaHolding
from stretto.state.rows.resources import CPU, MEMORY

CACHE_LIMIT: Final = 20_000
"""Maximum number of cached portions; the cache is cleared when full."""
NONE: Final = -1
"""Number for "no portion": these NUMA nodes are too small for the class."""
OWN: Final = -2
"""Number for "depends on the usage of others"."""
_CELLS: Final = MAX_NUMA_NODES * NUMA_COLUMNS
_Key = tuple[int, int, int]
"""Serial of the class, layout number of the machine, NUMA nodes."""


class NumaBulkClaims:
    """Portions of NUMA nodes by number, and the claims that use them."""

    def __init__(self, cluster: Cluster) -> None:
        """Start without portions."""
        self._cluster = cluster
        self._kinds: dict[bytes, int] = {}
        self._kind_of: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._as_of: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[_Key, int] = {}
        self._holdings: list[NumaHolding] = []
        self._where: npt.NDArray[np.int64] = np.zeros((0, 2), np.int64)
        self._amount: npt.NDArray[np.int64] = np.zeros((0, 2), np.int64)
        self._extra: npt.NDArray[np.int64] = np.zeros((0, 2), np.int64)

    def numbers(
        self,
        class_ids: npt.NDArray[np.int32],
        slots: npt.NDArray[np.int32],
        masks: npt.NDArray[np.int32],
    ) -> npt.NDArray[np.int64]:
        """int64[k]: portion numbers of claims, or ``NONE`` or ``OWN``.

        They are valid until the next call.
        """
        if len(self._holdings) > CACHE_LIMIT:
            self._forget()
        known, found = self._numbers, []
        serials = self._cluster.classes.serials[class_ids].tolist()
        keys = zip(
            serials, self._kinds_of(slots).tolist(), (masks >> NUMA_SHIFT).tolist(), strict=True
        )
        for i, key in enumerate(keys):
            number = known.get(key)
            if number is None:
                pod = self._cluster.classes[int(class_ids[i])]
                known[key] = number = self._compute_claims(int(slots[i]), key[2], pod)
            found.append(number)
        return np.array(found, np.int64)

    def take(
        self,
        rows: npt.NDArray[np.int64],
        slots: npt.NDArray[np.int32],
        numbers: npt.NDArray[np.int64],
    ) -> bool:
        """Charge claims with portion numbers to their NUMA nodes; all of them, or none.

        The excess of whole NUMA nodes over the pods' own requests is also charged to the nodes; the
        caller checks that the nodes have it free.
        """
        if not len(rows):
            return True
        self._sign(slots, numbers, 1)
        topology, at = self._cluster.topology, self._cells(slots, numbers)
        over = topology.taken.reshape(-1)[at] > topology.alloc.reshape(-1)[at]
        if (over & (self._amount[numbers] > 0)).any():
            self._sign(slots, numbers, -1)
            return False
        holdings = self._holdings
        for row, slot, number in zip(rows.tolist(), slots.tolist(), numbers.tolist(), strict=True):
            _, parts, extra = holdings[number]
            topology.holdings[row] = NumaHolding(slot, parts, extra)
        return True

    def give_back(self, rows: Sequence[int]) -> None:
        """Release the NUMA nodes of many pods, with or without claims."""
        if not rows:
            return
        topology, ledger = self._cluster.topology, self._cluster.ledger
        holdings = [
            holding for row in rows if (holding := topology.holdings.pop(row, None)) is not None
        ]
        parts = chain.from_iterable(chain.from_iterable(holding.parts for holding in holdings))
        numa_nodes, columns, amounts = np.fromiter(parts, np.int64).reshape(-1, 3).T
        slots = np.repeat(
            [holding.slot for holding in holdings], [len(holding.parts) for holding in holdings]
        )
        np.subtract.at(topology.taken, (slots, numa_nodes, columns), amounts)
        for holding in holdings:
            for column, amount in holding.extra:
                ledger.used[holding.slot, column] -= amount

    # ------------------------------------------------------------ numbers

    def _kinds_of(self, slots: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """int64[k]: layout numbers of slots; equal numbers mean equal layouts."""
        changed = self._cluster.topology.changed
        if len(self._kind_of) < len(changed):
            more = np.full(len(changed) - len(self._kind_of), NONE, np.int64)
            self._kind_of = np.concatenate([self._kind_of, more])
            self._as_of = np.concatenate([self._as_of, more])
        stale = slots[self._as_of[slots] != changed[slots]]
        for slot in dict.fromkeys(stale.tolist()):
            self._kind_of[slot] = self._kind(slot)
            self._as_of[slot] = changed[slot]
        return self._kind_of[slots]

    def _kind(self, slot: int) -> int:
        topology = self._cluster.topology
        if len(self._kinds) > CACHE_LIMIT:  # numbers are not reused while portions are cached
            self._kinds.clear()
            self._as_of[:] = NONE
            self._forget()
        form = b"".join(
            (
                topology.count[slot].tobytes(),
                topology.alloc[slot].tobytes(),
                topology.share[slot].tobytes(),
            )
        )
        return self._kinds.setdefault(form, len(self._kinds))

    def _compute_claims(self, slot: int, numa_nodes: int, pod: PodClass) -> int:
        """Portion number of a class on the NUMA nodes of a mask on a machine."""
        topology = self._cluster.topology
        if pod.annotations.numa is None or not numa_nodes or slot >= len(topology.count):
            return NONE
        binding = pod.annotations.numa.binding
        whole = binding is NumaBinding.WHOLE
        needs_local = whole and any(topology.amounts(pod)[len(CONFLICTING) :])
        if pod.devices or needs_local or binding is NumaBinding.SOCKET:
            return OWN
        holding = topology.numa_holding_of(slot, numa_nodes, pod)
        if holding is None:
            return NONE
        self._holdings.append(holding)
        self._record_claims(holding)
        return len(self._holdings) - 1

    def _record_claims(self, holding: NumaHolding) -> None:
        """Add a portion to the columns."""
        number, width = len(self._holdings) - 1, max(self._where.shape[1], len(holding.parts))
        if number >= len(self._where) or width > self._where.shape[1]:
            rows = max(64, 2 * number) if number >= len(self._where) else len(self._where)
            for name, wide in (("_where", width), ("_amount", width), ("_extra", 2)):
                before = getattr(self, name)
                after = np.zeros((rows, wide), np.int64)
                after[: before.shape[0], : before.shape[1]] = before
                setattr(self, name, after)
        for at, (numa_node, column, amount) in enumerate(holding.parts):
            self._where[number, at] = numa_node * NUMA_COLUMNS + column
            self._amount[number, at] = amount
        extra = dict(holding.extra)
        self._extra[number] = [extra.get(CPU, 0), extra.get(MEMORY, 0)]

    # ------------------------------------------------------------ columns

    def _cells(
        self, slots: npt.NDArray[np.int32], numbers: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """int64[k, part]: indices of a claim's parts in the flattened NUMA columns."""
        return slots.astype(np.int64)[:, None] * _CELLS + self._where[numbers]

    def _sign(
        self, slots: npt.NDArray[np.int32], numbers: npt.NDArray[np.int64], sign: int
    ) -> None:
        """Add (or subtract) the amounts of claims."""
        topology, ledger = self._cluster.topology, self._cluster.ledger
        parts = sign * self._amount[numbers]
        np.add.at(topology.taken.reshape(-1), self._cells(slots, numbers), parts)
        for r, column in enumerate((CPU, MEMORY)):
            np.add.at(ledger.used[:, column], slots, sign * self._extra[numbers, r])

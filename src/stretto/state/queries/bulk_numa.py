"""What claims take of NUMA nodes, many at once.

What a class takes of given NUMA nodes follows from the class and from how the machine is built, as
long as it asks for one NUMA node, or for whole ones of CPU and memory alone: what others hold there
decides whether it fits, not what it takes. There are few such portions (sizes times kinds of
machines times NUMA nodes), so each is worked out once, by ``Topology`` itself, and claims are
checked and charged in columns. What depends on others (a socket, devices near whole NUMA nodes)
is left to ``Topology.covers`` and ``take``, claim by claim.
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

KEPT: Final = 20_000
"""Portions that are kept; all are forgotten when there are more."""
NONE: Final = -1
"""Number of a portion that does not exist: such NUMA nodes do not hold the class."""
OWN: Final = -2
"""Number of a portion that depends on what others hold."""
_CELLS: Final = MAX_NUMA_NODES * NUMA_COLUMNS
_Key = tuple[int, int, int]
"""Serial of the class, kind of the machine, NUMA nodes."""


class NumaBulkClaims:
    """What classes take of NUMA nodes, by number, and the claims that take them."""

    def __init__(self, cluster: Cluster) -> None:
        """Nothing is known yet."""
        self._cluster = cluster
        self._kinds: dict[bytes, int] = {}
        self._kind_of: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._as_of: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[_Key, int] = {}
        self._holds: list[NumaHolding] = []
        self._where: npt.NDArray[np.int64] = np.zeros((0, 2), np.int64)
        self._amount: npt.NDArray[np.int64] = np.zeros((0, 2), np.int64)
        self._extra: npt.NDArray[np.int64] = np.zeros((0, 2), np.int64)

    def numbers(
        self,
        class_ids: npt.NDArray[np.int32],
        slots: npt.NDArray[np.int32],
        masks: npt.NDArray[np.int32],
    ) -> npt.NDArray[np.int64]:
        """int64[k]: numbers of what claims take; ``NONE`` and ``OWN`` are not among these.

        They hold until the next call.
        """
        if len(self._holds) > KEPT:
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
        """Charge claims that have numbers on their NUMA nodes; all of them, or none.

        What whole NUMA nodes take of their nodes beyond the pods' own requests is charged on the
        nodes too; whether these have it is for the caller to see.
        """
        if not len(rows):
            return True
        self._sign(slots, numbers, 1)
        topology, at = self._cluster.topology, self._cells(slots, numbers)
        over = topology.taken.reshape(-1)[at] > topology.alloc.reshape(-1)[at]
        if (over & (self._amount[numbers] > 0)).any():
            self._sign(slots, numbers, -1)
            return False
        holds = self._holds
        for row, slot, number in zip(rows.tolist(), slots.tolist(), numbers.tolist(), strict=True):
            _, parts, extra = holds[number]
            topology.holdings[row] = NumaHolding(slot, parts, extra)
        return True

    def give_back(self, rows: Sequence[int]) -> None:
        """Take pods off their NUMA nodes, whatever they hold there; many at once."""
        if not rows:
            return
        topology, ledger = self._cluster.topology, self._cluster.ledger
        holds = [hold for row in rows if (hold := topology.holdings.pop(row, None)) is not None]
        parts = chain.from_iterable(chain.from_iterable(hold.parts for hold in holds))
        zones, columns, amounts = np.fromiter(parts, np.int64).reshape(-1, 3).T
        slots = np.repeat([hold.slot for hold in holds], [len(hold.parts) for hold in holds])
        np.subtract.at(topology.taken, (slots, zones, columns), amounts)
        for hold in holds:
            for column, amount in hold.extra:
                ledger.used[hold.slot, column] -= amount

    # ------------------------------------------------------------ numbers

    def _kinds_of(self, slots: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """int64[k]: how the machines of slots are built; equal numbers are built alike."""
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
        if len(self._kinds) > KEPT:  # numbers are never given twice while portions are kept
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

    def _compute_claims(self, slot: int, zones: int, pod: PodClass) -> int:
        """The number of what a class takes of the NUMA nodes of a mask on a machine."""
        topology = self._cluster.topology
        if pod.annotations.numa is None or not zones or slot >= len(topology.count):
            return NONE
        binding = pod.annotations.numa.binding
        whole = binding is NumaBinding.WHOLE
        near = whole and any(topology.amounts(pod)[len(CONFLICTING) :])
        if pod.devices or near or binding is NumaBinding.SOCKET:
            return OWN
        hold = topology.numa_holding_of(slot, zones, pod)
        if hold is None:
            return NONE
        self._holds.append(hold)
        self._record_claims(hold)
        return len(self._holds) - 1

    def _record_claims(self, hold: NumaHolding) -> None:
        """Give a portion its line in the columns."""
        number, width = len(self._holds) - 1, max(self._where.shape[1], len(hold.parts))
        if number >= len(self._where) or width > self._where.shape[1]:
            rows = max(64, 2 * number) if number >= len(self._where) else len(self._where)
            for name, wide in (("_where", width), ("_amount", width), ("_extra", 2)):
                before = getattr(self, name)
                after = np.zeros((rows, wide), np.int64)
                after[: before.shape[0], : before.shape[1]] = before
                setattr(self, name, after)
        for at, (zone, column, amount) in enumerate(hold.parts):
            self._where[number, at] = zone * NUMA_COLUMNS + column
            self._amount[number, at] = amount
        beyond = dict(hold.extra)
        self._extra[number] = [beyond.get(CPU, 0), beyond.get(MEMORY, 0)]

    # ------------------------------------------------------------ columns

    def _cells(
        self, slots: npt.NDArray[np.int32], numbers: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """int64[k, part]: where in the flat columns of NUMA nodes a claim's parts are."""
        return slots.astype(np.int64)[:, None] * _CELLS + self._where[numbers]

    def _sign(
        self, slots: npt.NDArray[np.int32], numbers: npt.NDArray[np.int64], sign: int
    ) -> None:
        """Add (or take away) what claims take."""
        topology, ledger = self._cluster.topology, self._cluster.ledger
        parts = sign * self._amount[numbers]
        np.add.at(topology.taken.reshape(-1), self._cells(slots, numbers), parts)
        for r, column in enumerate((CPU, MEMORY)):
            np.add.at(ledger.used[:, column], slots, sign * self._extra[numbers, r])

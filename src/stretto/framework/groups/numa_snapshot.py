"""A shard's own copy of the NUMA nodes, updated through the change log of the ledger.

It works like ``state.rows.snapshot`` for the ledger. It copies the slots named in the log and
appends the slots that really differ to the snapshot's own log, because the cached scores of other
classes must include the change. The kernels allocate directly from the copy.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.group_tables import (
    CODES,
    NumaRequests,
    NumaSnapshot,
    no_numa_nodes,
    no_numa_requests,
)
from stretto.state.classes.table import PodClass
from stretto.state.numa.ledger import NumaTopology, aligned_of
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.resources import CPU, MEMORY
from stretto.state.rows.snapshot import Columns

_WHOLE_COPY: Final = 4
"""Divisor: everything is copied when more than one slot in this number has changed."""


class NumaColumns:
    """One snapshot of the NUMA nodes, updated by ``sync``."""

    def __init__(self, topology: NumaTopology, ledger: Ledger) -> None:
        """Create an empty snapshot; the first ``sync`` fills it."""
        self._topology = topology
        self._ledger = ledger
        self._snapshot = no_numa_nodes(0)
        self._position = -1
        #: True if no node has ever reported NUMA nodes.
        self._is_blank = True

    @property
    def snapshot(self) -> NumaSnapshot:
        """The snapshot."""
        return self._snapshot

    def sync(self, columns: Columns) -> None:
        """Copy changes; record slots that differ in the log of ``columns``."""
        size = len(columns.live)
        fresh = len(self._snapshot.count) != size
        if fresh:
            self._snapshot, self._is_blank = no_numa_nodes(size), True
        if self._is_blank and not self._topology.numbers:
            self._position = self._ledger.head
            return
        changed = self._ledger.changes_since(self._position) if self._position >= 0 else None
        self._position = self._ledger.head
        if fresh or changed is None or len(changed) * _WHOLE_COPY > size:
            slots = np.arange(min(size, len(self._topology.count)))
        else:
            slots = np.unique(changed).astype(np.int64)
            slots = slots[slots < len(self._topology.count)]
        if len(slots):
            self._copy(slots, columns)

    def requests(self, classes: list[PodClass]) -> NumaRequests:
        """The NUMA requests of the classes of a call."""
        found = no_numa_requests(len(classes))
        for j, pod in enumerate(classes):
            if pod.annotations.numa is None:
                continue
            amounts, aligned = self._topology.amounts(pod), aligned_of(pod)
            found.binding[j] = CODES[pod.annotations.numa.binding]
            found.amount[j, : len(amounts)] = amounts
            found.aligned[j, : len(amounts)] = [n in aligned for n in self._topology.names]
            for q, request in enumerate(pod.devices[: found.device_aligned.shape[1]]):
                found.device_aligned[j, q] = request.kind in aligned
        return found

    def _copy(self, slots: npt.NDArray[np.int64], columns: Columns) -> None:
        """Copy slots and record those that differ."""
        source, snapshot = self._topology, self._snapshot
        free = source.alloc[slots] - source.taken[slots]
        share = self._scaled_share(slots)
        different = (snapshot.free[slots] != free).any(axis=(1, 2))
        different |= (snapshot.share[slots] != share).any(axis=(1, 2))
        different |= snapshot.count[slots] != source.count[slots]
        different |= (snapshot.device_numa_node[slots] != source.device_numa_node[slots]).any(
            axis=1
        )
        slots, free, share = slots[different], free[different], share[different]
        if not len(slots):
            return
        self._is_blank = False
        count = np.maximum(source.count[slots], 1).astype(np.int64)[:, None]
        snapshot.count[slots] = source.count[slots]
        snapshot.socket[slots] = source.socket[slots]
        snapshot.alloc[slots] = source.alloc[slots]
        snapshot.free[slots] = free
        snapshot.average[slots] = -(-source.alloc[slots].sum(axis=1) // count)
        snapshot.share[slots] = share
        snapshot.device_numa_node[slots] = source.device_numa_node[slots]
        columns.append(slots)

    def _scaled_share(self, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """int32[k, zone, 2]: node amounts that whole NUMA nodes use, in scan steps, rounded up."""
        steps = self._ledger.resources.step_array()[[CPU, MEMORY]]
        return np.asarray(-(-self._topology.share[slots] // steps), np.int32)

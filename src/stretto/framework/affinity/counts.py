"""The pod counts that one shard or the validator uses, with sums by domain.

A view copies the counts of the cluster through their log and follows node changes through the
topology labels. Pods that the shard places are counted immediately (by the kernels or ``take``) and
compared with the cluster at the next ``sync``, which corrects the counts of rejected placements.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.base.arrays import distinct
from stretto.framework.affinity.compile import DomainTables
from stretto.framework.compiled.affinity import overlay
from stretto.framework.compiled.domain_tables import CAP, DomainState, DomainTable
from stretto.state.affinity.counts import SLOT_BITS
from stretto.state.cluster.cluster import Cluster

NOTHING: Final = np.zeros(0, np.int64)
SLOT_MASK: Final = (1 << SLOT_BITS) - 1


class DomainView:
    """Counts and tallies of one shard."""

    def __init__(self, tables: DomainTables, cluster: Cluster) -> None:
        """Start empty; the first ``sync`` fills the counts."""
        #: The compiled rules, shared by the shards.
        self.tables = tables
        #: The arrays that the kernels read and write.
        self.state = _empty_state()
        #: The compiled arrays at the last ``sync``.
        self.table: DomainTable = tables.table()
        self._cluster = cluster
        self._position = -1
        self._epoch = -1
        self._layout = -1
        self._filled = 0
        self._version = -1
        self._basis = (-1, -1, -1)
        self._own: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]] = []
        self._moved: list[npt.NDArray[np.int64]] = []
        self._domain = self.table.domain
        self._mask = self.table.mask

    @property
    def basis(self) -> tuple[int, int, int]:
        """Versions of counts and nodes at the last ``sync``: see ``Cluster.domains_basis``."""
        return self._basis

    def sync(self) -> npt.NDArray[np.int64] | None:
        """Follow counts and nodes.

        Return the changed slots, or ``None`` if all may have changed.
        """
        cluster = self._cluster
        cluster.domains.follow()
        self._basis = cluster.domains_basis
        counts, tables = cluster.domains.counts, self.tables
        tables.ensure(())
        self.table = tables.table()
        changed: npt.NDArray[np.int64] | None = None
        if self._epoch == counts.epoch and self._layout == tables.layout:
            self._fit()
            self._follow_nodes()  # first: later counts need the current domains of the nodes
            changed = self._follow_counts()
        if changed is None:
            self._renew()
            return None
        self._fill_new()
        return changed

    def ready(self, class_ids: npt.NDArray[np.int32]) -> bool:
        """Compile classes and fill their tallies; returns whether the layout changed."""
        self.tables.ensure(class_ids.tolist())
        self.table = self.tables.table()
        if self._layout != self.tables.layout or self._epoch != self._cluster.domains.epoch:
            self._renew()
            return True
        self._fit()
        self._follow_nodes()
        self._fill_new()
        return False

    def placed(self, class_ids: npt.NDArray[np.int32], slots: npt.NDArray[np.int32]) -> None:
        """Record counts that only this view changed; the next ``sync`` verifies them."""
        if len(slots):
            self._own.append((class_ids, slots))

    def take(self, class_id: int, slot: int, sign: int) -> None:
        """Add (1) or remove (-1) a pod of a class on a slot."""
        table = self.table
        first, last = table.counted_start[class_id], table.counted_stop[class_id]
        populations = table.counted[first:last].astype(np.int64)
        if len(populations):
            slots = np.full(len(populations), slot, np.int64)
            self._add(populations, slots, np.full(len(populations), sign, np.int64))

    @contextmanager
    def without(self, rows: Collection[int]) -> Iterator[None]:
        """Context manager that excludes some rows of the cluster from the counts."""
        populations, slots, counts = self._counted(rows)
        self._add(populations, slots, -counts)
        try:
            yield
        finally:
            self._add(populations, slots, counts)

    def move(self, rows: Collection[int], sign: int) -> None:
        """Remove (-1) or add (1) rows of the cluster until the next ``sync``."""
        populations, slots, counts = self._counted(rows)
        self._add(populations, slots, sign * counts)
        self._moved.append(populations << SLOT_BITS | slots)

    def _counted(self, rows: Collection[int]) -> tuple[npt.NDArray[np.int64], ...]:
        """Populations, slots and counts to which some rows contribute."""
        if not len(rows):
            return NOTHING, NOTHING, NOTHING
        index = np.fromiter(rows, np.int64, len(rows))
        populations, slots = self._cluster.domains.counted(index)
        known = populations < len(self.state.pods)  # pods added since the last sync are not counted
        keys = populations[known].astype(np.int64) << SLOT_BITS | slots[known]
        named, counts = np.unique(keys, return_counts=True)
        return named >> SLOT_BITS, named & SLOT_MASK, counts.astype(np.int64)

    def overlay(self, class_id: int, row: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        """int16[slot]: scores with the inter-pod constraints.

        0 where one of them rejects the node.
        """
        return overlay(self.table, self.state, class_id, row, np.arange(len(row)))

    def ensure_stamps(self, entries: int) -> None:
        """Grow the stamps to one per entry of the class cache."""
        stamps = self.state.stamp
        if entries > len(stamps):
            longer = np.zeros(max(entries, 2 * len(stamps)), np.int64)
            longer[: len(stamps)] = stamps
            self.state = self.state._replace(stamp=longer)

    # ------------------------------------------------------------ following

    def _renew(self) -> None:
        """Rebuild everything from the counts of the cluster."""
        counts = self._cluster.domains.counts
        self._position, self._epoch = counts.head, counts.epoch
        self._layout, self._filled = self.tables.layout, 0
        self._own.clear()
        self._moved.clear()
        self.state = self.state._replace(pods=counts.table[:, : self._slots()].copy())
        self._note_nodes()
        self._fill_new()

    def _slots(self) -> int:
        return self.tables.key_domains.size

    def _fit(self) -> None:
        """Grow the counts to one row per population."""
        live, mine = self._cluster.domains.counts.table, self.state.pods
        if len(live) > len(mine):
            more = live[len(mine) :, : mine.shape[1]].copy()
            self.state = self.state._replace(pods=np.concatenate([mine, more]))

    def _follow_counts(self) -> npt.NDArray[np.int64] | None:
        """Copy the counts named in the log; return the slots whose counts differed."""
        counts = self._cluster.domains.counts
        entries = counts.changes_since(self._position)
        if entries is None:
            return None
        self._position = counts.head
        if not len(entries) and not self._own and not self._moved:
            return NOTHING
        named = distinct(np.concatenate([entries, *self._own_entries(), *self._moved]))
        self._moved.clear()
        populations, slots = named >> SLOT_BITS, named & SLOT_MASK
        live = counts.table[populations, slots].astype(np.int64)
        more = live - self.state.pods[populations, slots]
        different = more != 0
        populations, slots = populations[different], slots[different]
        self._add(populations, slots, more[different])
        return distinct(slots)

    def _own_entries(self) -> list[npt.NDArray[np.int64]]:
        """The local counts, in the form of the log."""
        start, stop, counted = self.table.counted_start, self.table.counted_stop, self.table.counted
        found = []
        for ids, slots in self._own:
            lengths = stop[ids] - start[ids]
            ends = np.cumsum(lengths)
            index = np.arange(ends[-1]) + np.repeat(start[ids] - (ends - lengths), lengths)
            found.append(counted[index].astype(np.int64) << SLOT_BITS | np.repeat(slots, lengths))
        self._own.clear()
        return found

    def _add(
        self,
        populations: npt.NDArray[np.int64],
        slots: npt.NDArray[np.int64],
        more: npt.NDArray[np.int64],
    ) -> None:
        """Change counts of distinct (population, slot) pairs and every tally that includes them."""
        table, state = self.table, self.state
        before = state.pods[populations, slots].astype(np.int64)
        state.pods[populations, slots] += more.astype(np.int16)
        tally = table.tally_first[populations]
        while True:
            some = np.flatnonzero((tally >= 0) & (tally < self._filled))
            if not len(some):
                return
            chosen, at = tally[some], slots[some]
            domain = table.domain[table.tally_key[chosen], at]
            inside = (domain > 0) & (table.mask[table.tally_mask[chosen], at] > 0)
            self._add_inside(
                chosen[inside], domain[inside], before[some][inside], more[some][inside]
            )
            tally = np.where(tally >= 0, table.tally_next[tally], -1)

    def _add_inside(
        self,
        tally: npt.NDArray[np.int32],
        domain: npt.NDArray[np.int32],
        before: npt.NDArray[np.int64],
        more: npt.NDArray[np.int64],
    ) -> None:
        table, state = self.table, self.state
        np.add.at(state.total, tally, more.astype(np.int32))
        host = table.is_host[table.tally_key[tally]] > 0
        offset = table.tally_offset[tally]
        np.add.at(state.sums, (offset + domain)[~host], more[~host].astype(np.int32))
        np.add.at(state.sums, (offset + _count_bucket(before))[host], np.int32(-1))
        np.add.at(state.sums, (offset + _count_bucket(before + more))[host], np.int32(1))

    def _follow_nodes(self) -> None:
        """Update tallies after node changes: replace the old contribution of each slot."""
        key_domains = self.tables.key_domains
        keys, masks = len(self._domain), len(self._mask)
        if self._version == key_domains.version:
            self._domain = np.concatenate([self._domain, key_domains.domain[keys:]])
            self._mask = np.concatenate([self._mask, key_domains.mask[masks:]])
            return
        differs = (key_domains.domain[:keys] != self._domain).any(axis=0)
        differs |= (key_domains.mask[:masks] != self._mask).any(axis=0)
        for slot in np.flatnonzero(differs).tolist():
            self._move(slot)
        self._note_nodes()

    def _note_nodes(self) -> None:
        key_domains = self.tables.key_domains
        self._version = key_domains.version
        self._domain, self._mask = key_domains.domain.copy(), key_domains.mask.copy()

    def _move(self, slot: int) -> None:
        """Move the counts of a slot with a changed node from its old domains to the new ones."""
        table, n = self.table, self._filled
        key, mask, population = (
            column[:n] for column in (table.tally_key, table.tally_mask, table.tally_population)
        )
        counts = self.state.pods[population, slot].astype(np.int32)
        old = np.where(self._mask[mask, slot] > 0, self._domain[key, slot], 0)
        new = np.where(table.mask[mask, slot] > 0, table.domain[key, slot], 0)
        host = table.is_host[key] > 0
        for domain, sign in ((old, -1), (new, 1)):
            here = np.flatnonzero((domain > 0) & (old != new))
            self.state.total[here] += sign * counts[here]
            at = table.tally_offset[:n] + np.where(host, _count_bucket(counts), domain)
            self.state.sums[at[here]] += sign * np.where(host, 1, counts)[here]
            zones = here[~host[here]]
            where = at[zones]
            self.state.nodes[where] += sign
            edge = self.state.nodes[where] == (1 if sign > 0 else 0)
            self.state.present[zones] += sign * edge
            self.state.present[here[host[here]]] += sign

    # ------------------------------------------------------------ filling

    def _fill_new(self) -> None:
        """Fill the tallies that were compiled since the last call."""
        tables, state = self.tables, self.state
        if self._filled == tables.tallies and len(state.sums) >= tables.length:
            return
        self.state = state = state._replace(
            sums=_lengthened(state.sums, tables.length),
            nodes=_lengthened(state.nodes, tables.length),
            total=_lengthened(state.total, tables.tallies),
            present=_lengthened(state.present, tables.tallies),
        )
        for tally in range(self._filled, tables.tallies):
            self._fill(tally)
        self._filled = tables.tallies

    def _fill(self, tally: int) -> None:
        table, state = self.table, self.state
        key, capacity = table.tally_key[tally], self.tables.capacity(tally)
        domain = table.domain[key]
        inside = (domain > 0) & (table.mask[table.tally_mask[tally]] > 0)
        counts = state.pods[table.tally_population[tally]][inside].astype(np.int64)
        first = table.tally_offset[tally]
        sums, nodes = state.sums[first : first + capacity], state.nodes[first : first + capacity]
        state.total[tally] = counts.sum()
        if table.is_host[key]:
            sums[:] = np.bincount(_count_bucket(counts), minlength=capacity)
            state.present[tally] = len(counts)
            return
        sums[:] = np.bincount(domain[inside], counts, capacity)
        nodes[:] = np.bincount(domain[inside], minlength=capacity)
        state.present[tally] = np.count_nonzero(nodes)


def _count_bucket(counts: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Positions of counts in a histogram."""
    return np.asarray(np.clip(counts, 0, CAP - 1), np.int64)


def _lengthened(column: npt.NDArray[np.int32], length: int) -> npt.NDArray[np.int32]:
    if length <= len(column):
        return column
    longer = np.zeros(max(length, 2 * len(column)), np.int32)
    longer[: len(column)] = column
    return longer


def _empty_state() -> DomainState:
    ints = np.zeros(0, np.int32)
    return DomainState(np.zeros((0, 0), np.int16), ints, ints, ints, ints, np.zeros(0, np.int64))

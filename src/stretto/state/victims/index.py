"""The victim index: evictable pods of each node by importance, with sums of the freed amounts.

For every slot the evictable pods are sorted by importance (priority, then start), and
``below[band][resource][slot]`` is the total of all of them up to a priority band. Therefore a
comparison of columns finds the lowest band at which a node has enough capacity, and only nodes that
could be the best are examined pod by pod (``framework.kernels.victims.search``, ``victims_numpy``).

A band is one priority; with more than ``MAX_BANDS`` priorities, neighbours share a band and the
sums are bounds. The index follows the row log: each changed row is removed with its old values and
inserted with its current ones, at a cost independent of the number of pods.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.pods import NO_SLOT
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.columns import (
    EVICTABLE,
    NO_BUDGET,
    NOT_EVICTABLE,
    VictimEntries,
    VictimRows,
    VictimSums,
    fill_entries,
    fill_sums,
    most_of,
    widened_entries,
)
from stretto.state.victims.kinds import VictimKinds
from stretto.state.victims.rules import UNPROTECTED, PreemptionRules


class Victims:
    """The index of one cluster under one profile's rules."""

    def __init__(self, cluster: Cluster, rules: PreemptionRules, budgets: BudgetLedger) -> None:
        """Create an empty index; the first ``sync`` fills it."""
        #: int64[request, resource]: requests of one pod, by number.
        self.requests: npt.NDArray[np.int64] = np.zeros((64, 8), np.int64)
        #: Sets of budgets by number.
        self.sets: list[tuple[int, ...]] = [()]
        #: Changed slots, for caches of derived results: see ``head``.
        self.log: list[int] = []
        #: Incremented when everything was recounted: all caches are invalid.
        self.epoch = 0
        #: int64[resource]: maximum request of an evictable pod.
        self.largest: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: int64[budget]: maximum number of its pods on one slot.
        self.most: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: Remaining disruptions, as used in the sums.
        self.remaining: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._cluster = cluster
        self._kinds = VictimKinds(cluster, rules)
        self._budgets = budgets
        self._set_numbers: dict[tuple[int, ...], int] = {(): NO_BUDGET}
        self._request_numbers: dict[bytes, int] = {}
        self._class_request_numbers: dict[int, tuple[int, int]] = {}
        self._position = -1
        self._ledger_position = -1
        self._shape = (0, 0)
        self._budget_epoch = -1
        self._at: npt.NDArray[np.int32] = np.full(0, NO_SLOT, np.int32)
        self._dirty_rows: set[int] = set()
        self._dirty_slots: set[int] = set()
        nothing = VictimRows.none()
        #: Evictable pods.
        self.entries: VictimEntries = fill_entries(nothing, 0)
        #: Amounts that their evictions would free.
        self.sums: VictimSums = fill_sums(nothing, self.requests[:, :0], None, 0)

    # ------------------------------------------------------------ synchronization

    def sync(self, now: float) -> None:
        """Update the index; trial changes since the last call are discarded."""
        cluster = self._cluster
        self._budgets.sync()
        changed = cluster.pods.log.since(self._position) if self._position >= 0 else None
        self._position = cluster.pods.log.head
        cluster.ledger.widen()
        shape = (cluster.ledger.slots.size, len(cluster.ledger.resources))
        stale = self._budgets.epoch != self._budget_epoch or shape != self._shape
        if changed is None or stale or len(changed) > len(cluster.pods) // 4 + 4096:
            self._rebuild(now)
            return
        rows = self._dirty_rows
        self._dirty_rows = set()
        rows.update(changed.tolist())
        rows.update(self._kinds.protection_ended(now))
        rows.update(self._flipped())
        if not self._ensure_bands(rows):
            self._rebuild(now)
            return
        self._grow_rows()
        for row in rows:
            self._remove_entries(row)
        for row in sorted(rows):
            self._insert_entries(row, now)
        self._follow_ledger()

    def protection_ends(self) -> float:
        """Clock time at which the protection of the next pod ends; infinity for none."""
        return self._kinds.next_end()

    def take(self, rows: Sequence[int], slot: int, request: int) -> None:
        """Trial: evict these rows, and place a pod with request ``request`` on a slot."""
        for row in rows:
            self._release_entries(int(self._at[row]), self.request_number_of(row), 1)
            self._remove_entries(row)
        self._release_entries(slot, request, -1)
        self._dirty_rows.update(rows)

    def undo_take(self, rows: Sequence[int], slot: int, request: int, now: float) -> None:
        """Revert a trial."""
        self._release_entries(slot, request, 1)
        for row in rows:
            self._insert_entries(row, now)
            self._release_entries(int(self._at[row]), self.request_number_of(row), -1)

    def taken(self, rows: Sequence[int], slots: Sequence[int]) -> None:
        """Record a trial that a kernel applied to the columns: these rows are removed."""
        self._at[np.array(rows, np.int64)] = NO_SLOT
        self._dirty_rows.update(rows)
        self._dirty_slots.update(slots)
        self.log.extend(slots)

    def spare(self, rows: Iterable[int]) -> list[int]:
        """Trial: exclude these rows from eviction; return those that were evictable until now."""
        found = [row for row in rows if row < len(self._at) and self._at[row] != NO_SLOT]
        for row in found:
            self._remove_entries(row)
        self._dirty_rows.update(found)
        return found

    def undo_spare(self, rows: Iterable[int], now: float) -> None:
        """Revert ``spare`` for the rows that it returned."""
        for row in rows:
            self._insert_entries(row, now)

    def claim(self, slots: npt.NDArray[np.int32], class_ids: npt.NDArray[np.int32]) -> None:
        """Trial: place pods without evictions."""
        if len(slots):
            amounts = self.requests[self._request_numbers_of(class_ids), : len(self.sums.free)]
            np.subtract.at(self.sums.free.T, slots, amounts)
            self._lower_promises(slots, class_ids)
            self._dirty_slots.update(slots.tolist())
            self.log.extend(slots.tolist())

    def _lower_promises(
        self, slots: npt.NDArray[np.int32], class_ids: npt.NDArray[np.int32]
    ) -> None:
        """Lower the free amounts of slots that promise less with these pods."""
        charges = self._cluster.charges
        for at in np.flatnonzero(charges.lowers_promises(class_ids)).tolist():
            for column, amount in charges.lost(int(class_ids[at]), int(slots[at]), 0).items():
                self.sums.free[column, slots[at]] -= amount

    def _release_entries(self, slot: int, request: int, sign: int) -> None:
        """Add to (``sign`` -1: subtract from) a slot's free amounts until the next ``sync``."""
        self.sums.free[:, slot] += sign * self.requests[request, : len(self.sums.free)]
        self._dirty_slots.add(slot)
        self.log.append(slot)

    # ------------------------------------------------------------ numbers

    def request_number_of(self, row: int) -> int:
        """Number of the amounts that a pod's eviction frees.

        Its request, and its exclusive amounts.
        """
        cluster, class_id = self._cluster, int(self._cluster.pods.class_id[row])
        return self._number_with(class_id, cluster.charges.regained(row))

    def claim_number(self, class_id: int, slot: int, mask: int) -> int:
        """Number of the amounts of a claim.

        Its request, and the reduction of the slot's promise.
        """
        return self._number_with(class_id, self._cluster.charges.lost(class_id, slot, mask))

    def _number_with(self, class_id: int, more: Mapping[int, int]) -> int:
        if not more:
            return self.request_number(class_id)
        amounts = self._cluster.classes.requests_of(np.array([class_id], np.int32))[0].copy()
        for column, amount in more.items():
            amounts[column] += amount
        return self._number_of(amounts)

    def request_number(self, class_id: int) -> int:
        """The number of the request of a class; never reused."""
        serial = self._cluster.classes.serial(class_id)
        known = self._class_request_numbers.get(class_id)
        if known is not None and known[0] == serial:
            return known[1]
        amounts = self._cluster.classes.requests_of(np.array([class_id], np.int32))[0]
        number = self._number_of(amounts)
        self._class_request_numbers[class_id] = serial, number
        return number

    def _number_of(self, amounts: npt.NDArray[np.int64]) -> int:
        """Number of some amounts."""
        self._widen_requests(len(amounts))
        key = amounts.tobytes().rstrip(b"\0")
        number = self._request_numbers.setdefault(key, len(self._request_numbers))
        if number == len(self.requests):
            self.requests = np.vstack([self.requests, np.zeros_like(self.requests)])
        self.requests[number] = 0
        self.requests[number, : len(amounts)] = amounts
        return number

    def band_of(self, priority: int) -> int:
        """The band of a priority."""
        return int(np.searchsorted(self.sums.edges, priority))

    def bands_below(self, priority: int) -> int:
        """Number of bands that may have pods below a priority."""
        edges = self.sums.edges
        found = int(np.searchsorted(edges, priority))
        return min(found + 1, len(edges)) if _is_merged(edges) else found

    # ------------------------------------------------------------ one row

    def _remove_entries(self, row: int) -> None:
        """Remove a row with the values with which it was counted."""
        slot = int(self._at[row]) if row < len(self._at) else NO_SLOT
        if slot == NO_SLOT:
            return
        self._at[row] = NO_SLOT
        entries = self.entries
        count = int(entries.length[slot])
        at = int(np.flatnonzero(entries.row[slot, :count] == row)[0])
        self._add(slot, at, -1)
        for column in entries[2:]:
            column[slot, at : count - 1] = column[slot, at + 1 : count]
        entries.length[slot] = count - 1
        self.log.append(slot)

    def _insert_entries(self, row: int, now: float) -> None:
        """Insert a row with its current state."""
        pods = self._cluster.pods
        kind = self._kinds.of(row, now)
        if kind is None:
            return
        slot = int(pods.slot[row])
        entries = self.entries
        count = int(entries.length[slot])
        if count == entries.row.shape[1]:
            entries = self.entries = widened_entries(entries)
        place = (-int(pods.priority[row]), float(pods.started[row]), row)
        at = self._place(slot, count, place)
        for column in entries[2:]:
            column[slot, at + 1 : count + 1] = column[slot, at:count]
        entries.row[slot, at] = row
        entries.priority[slot, at] = pods.priority[row]
        entries.start[slot, at] = pods.started[row]
        entries.request[slot, at] = self.request_number_of(row)
        entries.kind[slot, at] = kind
        entries.budget[slot, at] = self._set_of(row) if kind == EVICTABLE else NO_BUDGET
        entries.length[slot] = count + 1
        self._at[row] = slot
        self._add(slot, at, 1)
        self._count_budgets(slot, at)
        if kind == EVICTABLE:
            amounts = self.requests[entries.request[slot, at], : len(self.largest)]
            np.maximum(self.largest, amounts, out=self.largest)
        self.log.append(slot)

    def _place(self, slot: int, count: int, place: tuple[int, float, int]) -> int:
        """The position of a row among the entries of a slot."""
        entries, low, high = self.entries, 0, count
        while low < high:
            middle = (low + high) // 2
            other = (
                -int(entries.priority[slot, middle]),
                float(entries.start[slot, middle]),
                int(entries.row[slot, middle]),
            )
            low, high = (middle + 1, high) if other < place else (low, middle)
        return low

    def _add(self, slot: int, at: int, sign: int) -> None:
        """Add an entry to the sums, or subtract it."""
        entries, sums = self.entries, self.sums
        costs = entries.kind[slot, at] == EVICTABLE
        band = self.band_of(int(entries.priority[slot, at])) if costs else 0
        if not costs:
            entries.odd[slot] += sign
        amounts = sign * self.requests[entries.request[slot, at], : len(sums.free)]
        sums.below[band:, :, slot] += amounts
        if sums.safe is not sums.below and self._is_safe(int(entries.budget[slot, at])):
            sums.safe[band:, :, slot] += amounts

    def budgets_in_safe_sums(self) -> npt.NDArray[np.uint8]:
        """uint8[set]: sets counted in the safe sums; empty if these are the full sums."""
        if self.sums.safe is self.sums.below:
            return np.zeros(0, np.uint8)
        return np.array([self._is_safe(n) for n in range(len(self.sets))], np.uint8)

    def _count_budgets(self, slot: int, at: int) -> None:
        """Update the maximum number of one budget's pods on a slot."""
        number = int(self.entries.budget[slot, at])
        if number == NO_BUDGET:
            return
        here = self.entries.budget[slot, : int(self.entries.length[slot])].tolist()
        for budget in self.sets[number]:
            count = sum(budget in self.sets[each] for each in here)
            self.most[budget] = max(int(self.most[budget]), count)

    def _is_safe(self, number: int) -> bool:
        """Return whether every budget of a set allows a disruption."""
        return all(self.remaining[budget] > 0 for budget in self.sets[number])

    def _set_of(self, row: int) -> int:
        numbers = self._budgets.of_row(row)
        found = self._set_numbers.get(numbers)
        if found is None:
            found = self._set_numbers[numbers] = len(self.sets)
            self.sets.append(numbers)
        return found

    # ------------------------------------------------------------ changes without row events

    def _flipped(self) -> Iterable[int]:
        """Rows whose budgets became exhausted, or available again."""
        before, after = self.remaining > 0, self._budgets.remaining > 0
        rows: list[int] = []
        changed = np.flatnonzero(self.remaining != self._budgets.remaining)
        if len(changed):
            wanted = {n for n, each in enumerate(self.sets) if set(each) & set(changed.tolist())}
            held = np.isin(self.entries.budget, list(wanted))
            held &= np.arange(held.shape[1])[None, :] < self.entries.length[:, None]
            self.log.extend(np.flatnonzero(held.any(axis=1)).tolist())
            if (before != after).any():
                rows = self.entries.row[held].tolist()
                for row in rows:  # the old allowances are still set
                    self._remove_entries(row)
        self.remaining = self._budgets.remaining.copy()
        return rows

    def _follow_ledger(self) -> None:
        ledger = self._cluster.ledger
        changed = ledger.changes_since(self._ledger_position)
        self._ledger_position = ledger.head
        if changed is None:
            slots = np.arange(self._shape[0])
        else:
            slots = np.unique(np.concatenate([changed, list(self._dirty_slots)]).astype(np.int64))
        self._dirty_slots.clear()
        width = self._shape[1]
        self.sums.free[:, slots] = (ledger.alloc[slots, :width] - ledger.used[slots, :width]).T
        self.log.extend(slots.tolist())

    def _ensure_bands(self, rows: Iterable[int]) -> bool:
        """Return whether the existing bands suffice for these rows."""
        edges = self.sums.edges
        if _is_merged(edges):
            return True
        index = np.fromiter(rows, np.int64)
        pods = self._cluster.pods
        placed = index[pods.slot[index] != NO_SLOT]
        return bool(np.isin(pods.priority[placed], edges).all())

    def _rebuild(self, now: float) -> None:
        """Recount everything."""
        cluster = self._cluster
        pods, ledger = cluster.pods, cluster.ledger
        size, resources = ledger.slots.size, len(ledger.resources)
        self._widen_requests(resources)
        self._shape, self._budget_epoch = (size, resources), self._budgets.epoch
        self._ledger_position = ledger.head
        self.sets, self._set_numbers = [()], {(): NO_BUDGET}
        self._kinds.clear()
        self._dirty_rows.clear()
        self._dirty_slots.clear()
        self.remaining = self._budgets.remaining.copy()
        self.epoch += 1
        self.log.clear()
        rows = np.flatnonzero(pods.slot[: pods.length] != NO_SLOT)
        kinds = self._kinds.of_many(rows, now)
        rows, kinds = rows[kinds != NOT_EVICTABLE], kinds[kinds != NOT_EVICTABLE]
        self._grow_rows()
        self._at[:] = NO_SLOT
        self._at[rows] = pods.slot[rows]
        numbers = self._request_numbers_of(pods.class_id[rows])
        for at in np.flatnonzero(np.isin(rows, list(cluster.charges.holding()))).tolist():
            numbers[at] = self.request_number_of(int(rows[at]))
        sets = np.zeros(len(rows), np.int32)
        if self._budgets.budgets:
            evictable = kinds == EVICTABLE
            sets[evictable] = self._sets_of(rows[evictable])
        counted = VictimRows(
            pods.slot[rows], rows, pods.priority[rows], pods.started[rows], numbers, kinds, sets
        )
        self.entries = fill_entries(counted, size)
        evictable = np.unique(numbers[kinds == EVICTABLE])
        self.largest = self.requests[evictable, :resources].max(axis=0, initial=0)
        self.most = most_of(counted, self.sets, len(self._budgets.budgets))
        safe = np.array([self._is_safe(number) for number in range(len(self.sets))], np.bool_)
        self.sums = fill_sums(
            counted, self.requests[:, :resources], safe if self._budgets.budgets else None, size
        )
        self.sums.free[:] = (ledger.alloc[:size, :resources] - ledger.used[:size, :resources]).T

    def _request_numbers_of(self, class_ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        found, back = np.unique(class_ids, return_inverse=True)
        return np.array([self.request_number(int(each)) for each in found], np.int32)[back]

    def _sets_of(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        tags = self._cluster.pods.tag[rows]
        _, first, back = np.unique(tags, return_index=True, return_inverse=True)
        return np.array([self._set_of(int(rows[at])) for at in first], np.int32)[back]

    def _grow_rows(self) -> None:
        missing = len(self._cluster.pods.state) - len(self._at)
        if missing > 0:
            self._at = np.concatenate([self._at, np.full(missing, NO_SLOT, np.int32)])

    def _widen_requests(self, resources: int) -> None:
        missing = resources - self.requests.shape[1]
        if missing > 0:
            more = np.zeros((len(self.requests), missing), np.int64)
            self.requests = np.hstack([self.requests, more])


def _is_merged(edges: npt.NDArray[np.int64]) -> bool:
    """Return whether neighbouring priorities share bands."""
    return len(edges) > 0 and int(edges[-1]) >= UNPROTECTED

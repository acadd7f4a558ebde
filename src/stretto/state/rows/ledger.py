"""The ledger: exact allocatable and used amounts of every node.

It has a single writer. Amounts are int64 in exact units (milli-CPU, bytes, pieces). Every change of
a slot increments the slot's version and appends the slot to a change log. Snapshots read the log
from their last position, so the cost of synchronizing is proportional to the changes. Free amounts
may be negative: a node may shrink below its usage, and then no further pod fits.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.api.types.effective_requests import HostPort
from stretto.state.rows.devices import DeviceColumns
from stretto.state.rows.ports import HostPorts
from stretto.state.rows.promises import NodeRatio, PromisedAmounts
from stretto.state.rows.resources import PODS, RECLAIMED, ResourceColumns
from stretto.state.rows.slots import SlotMap

LOG_LIMIT: Final = 1 << 16
"""Maximum log length; a snapshot that is further behind copies everything."""

SlotsLike = Sequence[int] | npt.NDArray[np.int64] | npt.NDArray[np.int32]
"""Slots in any form that indexes a column."""


class Ledger:
    """Exact allocatable and used amounts of every slot, and the log of changes."""

    def __init__(self, fan_out: int = 1, *, pools: bool = True) -> None:
        """Start without nodes; see ``SlotMap`` and ``ResourceColumns`` for the arguments."""
        #: Names and scan steps of resources.
        self.resources = ResourceColumns(pools=pools)
        #: Live slots and their zones.
        self.slots = SlotMap(fan_out)
        #: Devices of every slot.
        self.devices = DeviceColumns()
        #: Host ports in use on every slot.
        self.ports = HostPorts()
        #: Overcommit of every slot.
        self.promises = PromisedAmounts()
        #: int64[slot, resource]: allocatable amounts, after overcommit.
        self.alloc: npt.NDArray[np.int64] = np.zeros((0, 8), np.int64)
        #: int64[slot, resource]: amounts of claims and bound pods.
        self.used: npt.NDArray[np.int64] = np.zeros((0, 8), np.int64)
        #: int64[slot]: incremented on every change of the slot.
        self.version: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: int64[slot]: incremented on static changes (labels, taints, capacity).
        self.static_version: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: Position after the last change; positions never repeat.
        self.head = 0
        self._log: npt.NDArray[np.int32] = np.zeros(LOG_LIMIT, np.int32)
        self._log_length = 0
        self._clock = 0

    def changes_since(self, position: int) -> npt.NDArray[np.int32] | None:
        """Slots changed since a position (with repeats), or ``None`` if no longer logged."""
        first = position - (self.head - self._log_length)
        return self._log[first : self._log_length] if first >= 0 else None

    def touch(self, slots: SlotsLike) -> None:
        """Record a change of these slots."""
        if len(slots):
            self._clock += 1
            self.version[slots] = self._clock
            self.mark_changed(slots)

    def mark_changed(self, slots: SlotsLike) -> None:
        """Make every snapshot read these slots again, although the ledger did not change.

        One snapshot shows a dropped trial placement; claims of other shards stay valid.
        """
        count = len(slots)
        if count == 0:
            return
        self.head += count
        if self._log_length + count > LOG_LIMIT:
            self._forget(count)
        if count > LOG_LIMIT:
            slots = slots[-LOG_LIMIT:]
            count = LOG_LIMIT
        self._log[self._log_length : self._log_length + count] = slots
        self._log_length += count

    def touch_static(self, slots: SlotsLike) -> None:
        """Record a change of these slots other than usage."""
        self.touch(slots)
        self.static_version[slots] = self._clock

    def add_node(self, zone: str, allocatable: dict[str, int], lane: int = 0) -> int:
        """Assign a slot to a new node; amounts in exact units."""
        slot = self.slots.add(zone, lane)
        self._grow()
        self.alloc[slot] = 0
        self.used[slot] = 0
        self.devices.clear(slot)
        self.ports.clear(slot)
        self.set_allocatable(slot, allocatable)
        return slot

    def set_allocatable(self, slot: int, allocatable: Mapping[str, int]) -> None:
        """Set a node's own allocatable amounts; its pool stays."""
        self._set_amounts(slot, {**allocatable, **self.pool(slot)})

    def set_pool(self, slot: int, pool: Mapping[str, int]) -> None:
        """Set the amounts of a node's pool, by the values of ``RECLAIMED`` as names."""
        if not self.resources.pools:
            return
        if self.pool(slot) != {name: amount for name, amount in pool.items() if amount}:
            self._set_amounts(slot, {**self.offers(slot), **pool})

    def set_ratios(self, slot: int, ratios: Mapping[str, NodeRatio]) -> bool:
        """Set the overcommit ratios of a slot; returns whether a ratio or cap changed."""
        columns = {self.resources.column(name): each for name, each in ratios.items()}
        changed = self.promises.set_ratios(slot, columns)
        if changed:
            self._set_amounts(slot, {**self.offers(slot), **self.pool(slot)})
        return changed

    def hold(self, slot: int, amounts: Sequence[tuple[int, int]], sign: int = 1) -> None:
        """Count amounts of a slot only once (or with ``sign`` -1 no longer): exclusive cores."""
        after = self.promises.hold(slot, dict(amounts), sign)
        changed = [column for column, n in after.items() if self.alloc[slot, column] != n]
        for column in changed:
            self.alloc[slot, column] = after[column]
        if changed:
            self.touch_static([slot])

    def _set_amounts(self, slot: int, given: Mapping[str, int]) -> None:
        columns = {self.resources.column(name): amount for name, amount in given.items()}
        self.widen()
        self.alloc[slot] = 0
        for column, amount in self.promises.promise(slot, columns).items():
            self.resources.ensure_columns(column, amount)
            self.alloc[slot, column] = amount
        self.touch_static([slot])

    def offers(self, slot: int) -> dict[str, int]:
        """A node's own allocatable amounts before overcommit, by resource, without zeros."""
        names, row = self.resources.names, self.alloc[slot].tolist()
        for column, amount in self.promises.real(slot).items():
            row[column] = amount
        given = {name: amount for name, amount in zip(names, row, strict=False) if amount}
        for name in RECLAIMED.values():
            given.pop(name, None)
        return given

    def pool(self, slot: int) -> dict[str, int]:
        """The amounts of a node's pool by resource, without zeros."""
        columns = ((name, self.resources.known(name)) for name in RECLAIMED.values())
        width = self.alloc.shape[1]
        return {
            name: amount
            for name, column in columns
            if column is not None and column < width and (amount := int(self.alloc[slot, column]))
        }

    def remove_node(self, slot: int) -> None:
        """Release a node's slot and all its charges."""
        self.slots.remove(slot)
        self.promises.clear(slot)
        self.alloc[slot] = 0
        self.used[slot] = 0
        self.devices.clear(slot)
        self.ports.clear(slot)
        self.touch_static([slot])

    def charge(self, slot: int, amounts: Sequence[tuple[int, int]], sign: int = 1) -> None:
        """Take (or with ``sign`` -1 release) exact amounts and one pod slot."""
        self.widen()
        row = self.used[slot]
        for column, amount in amounts:
            row[column] += sign * amount
        row[PODS] += sign
        self.touch([slot])

    def learn_ports(self, ports: Iterable[HostPort]) -> None:
        """Register host ports that a pod requests; slots that reserve their numbers change."""
        self.touch(self.ports.learn(ports))

    def fits(
        self, slot: int, amounts: Sequence[tuple[int, int]], *, exclusive: bool = False
    ) -> bool:
        """True if these exact amounts and one pod slot are free; exclusive ones count once."""
        self.widen()
        alloc, used = self.alloc[slot], self.used[slot]
        if not self.slots.live[slot] or used[PODS] + 1 > alloc[PODS]:
            return False
        if exclusive:
            alloc = self.alloc_with(slot, dict(amounts))
        return all(used[column] + amount <= alloc[column] for column, amount in amounts)

    def alloc_with(self, slot: int, exclusive: Mapping[int, int]) -> npt.NDArray[np.int64]:
        """int64[resource]: allocatable amounts of a slot with more exclusive amounts."""
        row: npt.NDArray[np.int64] = self.alloc[slot].copy()
        for column, amount in self.promises.with_held(slot, exclusive).items():
            row[column] = amount
        return row

    def widen(self) -> None:
        """Grow the arrays to the number of known resources."""
        width, resources = self.alloc.shape[1], len(self.resources.names)
        if resources > width:
            more = np.zeros((len(self.alloc), resources + 8 - width), np.int64)
            self.alloc = np.hstack([self.alloc, more])
            self.used = np.hstack([self.used, more])

    def _grow(self) -> None:
        """Grow the arrays to the number of slots."""
        missing = self.slots.size - len(self.version)
        if missing <= 0:
            return
        rows = np.zeros((missing, self.alloc.shape[1]), np.int64)
        self.alloc = np.vstack([self.alloc, rows])
        self.used = np.vstack([self.used, rows])
        zeros = np.zeros(missing, np.int64)
        self.version = np.concatenate([self.version, zeros])
        self.static_version = np.concatenate([self.static_version, zeros])
        self.devices.grow(self.slots.size)
        self.ports.grow(self.slots.size)

    def _forget(self, count: int) -> None:
        """Drop the older half of the log (or all of it for a huge batch)."""
        drop = self._log_length if count > LOG_LIMIT // 2 else self._log_length // 2
        keep = self._log_length - drop
        self._log[:keep] = self._log[drop : self._log_length]
        self._log_length = keep

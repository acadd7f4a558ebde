"""Scan columns: a shard's own copy of the ledger, laid out for scans.

Amounts are int32 in scan steps, one contiguous column per resource, rounded conservatively. The
copy follows the ledger's change log: only slots changed since the last sync are copied, and only
real differences are written to the copy's own log, which the class cache replays. A shard applies
its own placements to its copy immediately, so the later change of the ledger has no effect.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stretto.base.amounts import add_amounts
from stretto.base.arrays import distinct
from stretto.base.copies import copied_with
from stretto.state.rows.devices import FORMS, MAX_DEVICES
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.resources import SCAN_LIMIT

NEVER_COPIED: Final = -1
"""A static version that no slot has: all data of the slot is copied again."""
OWN_LOG: Final = 1 << 17
"""Maximum number of entries of the copy's own log; the older half is dropped when it is full."""


class DerivedAmounts(NamedTuple):
    """Amounts of some slots that a rule derives; one row per derived column."""

    #: int32[column, k]: free amounts.
    free: npt.NDArray[np.int32]
    #: int32[column, k]: total amounts of which shares are computed; 0 for no share.
    whole: npt.NDArray[np.int32]


class DerivedColumns(Protocol):
    """Columns that a rule derives from the ledger and from measurements.

    A snapshot reads them like resources: claims of its shard lower their free amounts at once, and
    the next ``sync`` derives them again.
    """

    @property
    def columns(self) -> npt.NDArray[np.int64]:
        """int64[column]: numbers of the columns; no node offers these resources."""
        ...

    def phase(self, size: int) -> npt.NDArray[np.bool_]:
        """bool[slot]: a change means that the slot must be derived again.

        The ledger alone does not show this change.
        """
        ...

    def derive(self, slots: npt.NDArray[np.int64], free: npt.NDArray[np.int32]) -> DerivedAmounts:
        """Derive the amounts of some slots; ``free`` is int32[resource, k] of the same slots."""
        ...


class Columns:
    """One snapshot of the ledger, updated by ``sync``."""

    def __init__(self, ledger: Ledger, derived: DerivedColumns | None = None) -> None:
        """Create an empty snapshot.

        The first ``sync`` fills it, with the columns of a rule if given.
        """
        self._ledger = ledger
        self._derived = derived
        self._phase: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        #: int32[resource, slot]: free amount in scan steps; may be negative.
        self.free: npt.NDArray[np.int32] = np.zeros((4, 0), np.int32)
        #: int32[resource, slot]: allocatable amount in scan steps.
        self.alloc: npt.NDArray[np.int32] = np.zeros((4, 0), np.int32)
        #: float32[resource, slot]: 100 / alloc (percent per step), 0 where alloc is 0.
        self.percent: npt.NDArray[np.float32] = np.zeros((4, 0), np.float32)
        #: uint8[slot]: 1 where the slot has a node.
        self.live: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        #: int64[slot]: generation of the node.
        self.generation: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: int64[slot]: ledger version of the slot at the time of the copy.
        self.version: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: uint64[word, slot]: host ports in use.
        self.ports: npt.NDArray[np.uint64] = np.zeros((1, 0), np.uint64)
        #: int32[slot, device]: free milli of each device.
        self.device_free: npt.NDArray[np.int32] = np.zeros((0, MAX_DEVICES), np.int32)
        #: uint8[slot, device]: kind number of each device; 0 for none.
        self.device_kind: npt.NDArray[np.uint8] = np.zeros((0, MAX_DEVICES), np.uint8)
        #: uint8[slot, device]: model number of each device.
        self.device_model: npt.NDArray[np.uint8] = np.zeros((0, MAX_DEVICES), np.uint8)
        #: int16[slot, form]: GPU pods by form.
        self.census: npt.NDArray[np.int16] = np.zeros((0, FORMS), np.int16)
        #: int32[entry]: slots that changed in this copy.
        self.log: npt.NDArray[np.int32] = np.zeros(OWN_LOG, np.int32)
        #: int64[2]: position of the log's first entry, and number of entries.
        self.log_state: npt.NDArray[np.int64] = np.zeros(2, np.int64)
        #: Incremented when arrays are reallocated (more slots, resources or port words).
        self.shape_version: int = 0
        self._static: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._held: dict[int, dict[int, int]] = {}
        self._position = -1
        self._epoch = -1
        self._stamp = 0

    @property
    def ledger(self) -> Ledger:
        """The copied ledger."""
        return self._ledger

    @property
    def size(self) -> int:
        """Number of slots."""
        return len(self.live)

    @property
    def head(self) -> int:
        """Position after the last entry of the copy's own log."""
        return int(self.log_state[0] + self.log_state[1])

    def copied(self) -> "Columns":
        """Return a copy whose amounts, ports and devices may change independently."""
        return copied_with(
            self,
            _ledger=copied_with(self._ledger, used=self._ledger.used.copy()),
            free=self.free.copy(),
            alloc=self.alloc.copy(),
            percent=self.percent.copy(),
            ports=self.ports.copy(),
            device_free=self.device_free.copy(),
            _held={slot: dict(held) for slot, held in self._held.items()},
        )

    def sync(self) -> bool:
        """Copy the changes of the ledger; returns whether arrays were reallocated."""
        ledger = self._ledger
        fresh = self._fit_shape()
        changed = None if fresh or self._position < 0 else ledger.changes_since(self._position)
        self._position = ledger.head
        if self._derived is not None:
            changed = self._with_phase(changed)
        if changed is None:
            self._copy(np.arange(self.size, dtype=np.int64), everything=True)
        elif len(changed):
            slots = distinct(changed).astype(np.int64)
            self._copy(slots, everything=len(slots) * 4 > self.size)
        return fresh

    def _with_phase(self, changed: npt.NDArray[np.int32] | None) -> npt.NDArray[np.int32] | None:
        """Changed slots with those whose derived columns change for another reason."""
        assert self._derived is not None
        before, self._phase = self._phase, self._derived.phase(self.size)
        if changed is None or len(before) != self.size:
            return None
        turned = np.flatnonzero(before != self._phase).astype(np.int32)
        return np.concatenate([changed, turned]) if len(turned) else changed

    def has_log_capacity(self, entries: int) -> None:
        """Make sure that ``entries`` entries can be appended.

        Drops the oldest entries if needed.
        """
        base, length = int(self.log_state[0]), int(self.log_state[1])
        if length + entries <= len(self.log):
            return
        if entries > len(self.log) // 2:
            self.log = np.concatenate([self.log, np.zeros(2 * entries, np.int32)])
            return
        keep = min(length // 2, len(self.log) - entries)
        self.log[:keep] = self.log[length - keep : length]
        self.log_state[0] = base + length - keep
        self.log_state[1] = keep

    def void(self) -> None:
        """Restart the log, so that every reader must copy everything."""
        self.log_state[0] += self.log_state[1] + 1
        self.log_state[1] = 0

    def append(self, slots: npt.NDArray[np.int64]) -> None:
        """Record changes of these slots in this copy."""
        self.has_log_capacity(len(slots))
        length = int(self.log_state[1])
        self.log[length : length + len(slots)] = slots
        self.log_state[1] = length + len(slots)

    def hold(self, slot: int, amounts: Iterable[tuple[int, int]], sign: int = 1) -> None:
        """Add exclusive amounts to a slot (with ``sign`` -1 remove them) until it is copied again.

        They change the promised amounts of an overcommitted slot. The amounts themselves are not
        charged.

        Args:
            slot: the slot.
            amounts: (resource column, exact amount).
            sign: 1 or -1.
        """
        at = np.array([slot])
        real = self._ledger.promises.real(slot)
        for column, amount in amounts:
            if column not in real:
                continue
            less, whole = self._promised_less(column, sign * amount, at)
            self.free[column, at] -= less.astype(np.int32)
            left = np.maximum(self.alloc[column, at] - whole, 0).astype(np.int32)
            self._set_whole(np.array([[column]]), at, left[None, :])
            add_amounts(self._held.setdefault(slot, {}), [(column, sign * amount)])
            self._static[slot] = NEVER_COPIED

    def lost(self, column: int, amount: int, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """int64[k]: by how much more than itself an exclusive amount lowers what slots have free.

        Args:
            column: the resource.
            amount: the exact amount.
            slots: int64[k].

        Returns:
            Scan steps; 0 on slots without overcommit.
        """
        return self._promised_less(column, amount, slots)[0]

    def _promised_less(
        self, column: int, amount: int, slots: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """int64[k], twice: scan steps of the free and of the allocatable amounts that slots lose.

        The difference is that of the exact amounts, so the last part of a promise can be used.
        """
        ledger, step = self._ledger, self._ledger.resources.steps[column]
        alloc, used = ledger.alloc[slots, column], ledger.used[slots, column]
        held = np.array([self._held.get(s, {}).get(column, 0) for s in slots.tolist()], np.int64)
        before = ledger.promises.promised_on(column, slots, alloc, held)
        after = ledger.promises.promised_on(column, slots, alloc, held + amount)
        free = (before - used) // step - (after - used) // step
        whole = before // step - after // step
        return free.clip(-SCAN_LIMIT, SCAN_LIMIT), whole.clip(-SCAN_LIMIT, SCAN_LIMIT)

    def _copy_held(self, slots: npt.NDArray[np.int64]) -> None:
        """Copy the exclusive amounts of slots from the ledger."""
        promises = self._ledger.promises
        held_there = promises.holding()
        if not self._held and not held_there:
            return
        copied = set(slots.tolist())
        for slot in self._held.keys() & copied:
            del self._held[slot]
        self._held.update((slot, promises.held_on(slot)) for slot in held_there & copied)

    def _fit_shape(self) -> bool:
        """Allocate arrays of the ledger's shape.

        Returns whether they are new and must be filled.
        """
        ledger = self._ledger
        ledger.widen()
        size, resources = len(ledger.slots.live), len(ledger.resources.names)
        words, epoch = ledger.ports.used.shape[1], ledger.resources.epoch
        same = (
            size == self.size
            and resources == len(self.free)
            and words == len(self.ports)
            and epoch == self._epoch
        )
        if same:
            return False
        self._epoch = epoch
        self.free = np.zeros((resources, size), np.int32)
        self.alloc = np.zeros((resources, size), np.int32)
        self.percent = np.zeros((resources, size), np.float32)
        self.live = np.zeros(size, np.uint8)
        self.generation = np.zeros(size, np.int64)
        self.version = np.zeros(size, np.int64)
        self.ports = np.zeros((words, size), np.uint64)
        self.device_free = np.zeros((size, MAX_DEVICES), np.int32)
        self.device_kind = np.zeros((size, MAX_DEVICES), np.uint8)
        self.device_model = np.zeros((size, MAX_DEVICES), np.uint8)
        self.census = np.zeros((size, FORMS), np.int16)
        self._static = np.zeros(size, np.int64)
        self.shape_version += 1
        return True

    def _copy(self, slots: npt.NDArray[np.int64], *, everything: bool) -> None:
        """Copy slots from the ledger and log those that differ."""
        self._copy_held(slots)
        ledger = self._ledger
        steps = ledger.resources.step_array()
        alloc = ledger.alloc.take(slots, axis=0)[:, : len(self.free)]
        used = ledger.used.take(slots, axis=0)[:, : len(self.free)]
        free = ((alloc - used) // steps).clip(-SCAN_LIMIT, SCAN_LIMIT)
        new_free = np.ascontiguousarray(free.T, dtype=np.int32)
        whole = self._derive(slots, new_free)
        renewed = self._static[slots] != ledger.static_version[slots]
        renewed |= self.generation[slots] != ledger.slots.generation[slots]
        self.version[slots] = ledger.version[slots]
        if everything:
            self.void()
            renewed[:] = True
        else:
            different = renewed | (self.free.take(slots, axis=1) != new_free).any(axis=0)
            different |= (self.ports.take(slots, axis=1) != ledger.ports.used[slots].T).any(axis=0)
            with_devices = np.flatnonzero(ledger.devices.ever[slots])
            if len(with_devices):
                different[with_devices] |= self._devices_differ(slots[with_devices])
            if self._derived is not None:
                different |= (self.alloc[self._derived.columns][:, slots] != whole).any(axis=0)
            slots, new_free = slots[different], new_free[:, different]
            alloc, renewed, whole = alloc[different], renewed[different], whole[:, different]
        if len(slots) == 0:
            return
        self.free[:, slots] = new_free
        self.ports[:, slots] = ledger.ports.used[slots].T
        with_devices = slots[ledger.devices.ever[slots]]
        if len(with_devices):
            self.device_free[with_devices] = ledger.devices.free[with_devices]
            self.census[with_devices] = ledger.devices.census[with_devices]
        if renewed.any():
            self._renew(slots[renewed], alloc[renewed] // steps)
        if self._derived is not None:
            self._set_whole(self._derived.columns[:, None], slots, whole)
        if not everything:
            self.append(slots)

    def _derive(
        self, slots: npt.NDArray[np.int64], free: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.int32]:
        """Derive columns of ``free`` in place; int32[derived column, k]: their whole amounts."""
        if self._derived is None:
            return np.zeros((0, len(slots)), np.int32)
        found = self._derived.derive(slots, free)
        free[self._derived.columns] = found.free
        return found.whole

    def _devices_differ(self, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """bool[k]: slots whose device usage differs from the ledger."""
        devices = self._ledger.devices
        differ: npt.NDArray[np.bool_] = (self.device_free[slots] != devices.free[slots]).any(axis=1)
        differ |= (self.census[slots] != devices.census[slots]).any(axis=1)
        return differ

    def _renew(self, slots: npt.NDArray[np.int64], steps: npt.NDArray[np.int64]) -> None:
        """Copy the data that depends on the node alone; ``steps``: allocatable in scan steps."""
        ledger = self._ledger
        every = np.arange(len(self.alloc))[:, None]
        self._set_whole(every, slots, steps.clip(0, SCAN_LIMIT).astype(np.int32).T)
        self.live[slots] = ledger.slots.live[slots]
        self.generation[slots] = ledger.slots.generation[slots]
        self.device_kind[slots] = ledger.devices.kind[slots]
        self.device_model[slots] = ledger.devices.model[slots]
        self._static[slots] = ledger.static_version[slots]

    def _set_whole(
        self,
        columns: npt.NDArray[np.int64],
        slots: npt.NDArray[np.int64],
        whole: npt.NDArray[np.int32],
    ) -> None:
        """Set total amounts, and the share of one step; ``columns`` is int64[column, 1]."""
        self.alloc[columns, slots] = whole
        with np.errstate(divide="ignore"):
            self.percent[columns, slots] = np.where(
                whole > 0, np.float32(100) / whole.astype(np.float32), np.float32(0)
            )

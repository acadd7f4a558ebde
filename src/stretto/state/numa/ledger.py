"""NUMA nodes of every machine: what each has, and what pods hold of it, exactly.

A second ledger under the first. A pod that is bound to NUMA nodes is charged on its node as any
other, and here on the NUMA nodes of its claim. Whole NUMA nodes are taken with everything that CPU
and memory have there, and what that is more than the pod asked for is charged on the node too: so
what other pods may use of the node is right without their looking at NUMA nodes at all.

The chosen NUMA nodes ride in the high half of a claim's device mask (bits 16 to 30).
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError
from stretto.state.classes.annotations import (
    MICRO_TOPOLOGY,
    NumaBinding,
    micro_topology,
    read_micro_topology,
)
from stretto.state.classes.table import PodClass
from stretto.state.numa.choice import (
    CONFLICTING,
    NumaDeviceRequest,
    NumaMachine,
    bits,
    choose,
    relevant_columns,
    spread,
    whole_numa_nodes,
)
from stretto.state.numa.layout import MAX_NUMA_NODES, NO_LAYOUT, NumaLayout
from stretto.state.rows.devices import MAX_DEVICES, DeviceRequest
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.resources import CPU, MEMORY

NUMA_COLUMNS: Final = 6
"""Resources that are counted by NUMA node: CPU, memory and the next four that machines report."""
NUMA_SHIFT: Final = MAX_DEVICES
"""First bit of the NUMA nodes in a claim's device mask."""
DEVICE_BITS: Final = (1 << NUMA_SHIFT) - 1
"""The devices in a claim's mask."""
KEPT: Final = 10_000
"""Classes whose asks are kept; all are forgotten when there are more."""
UNKNOWN: Final = -1
"""NUMA node of a device of which nobody says where it is."""


def numa_nodes_of(mask: int) -> int:
    """Bit mask of the NUMA nodes in a claim's mask."""
    return mask >> NUMA_SHIFT


def with_numa_nodes(devices: int, zones: int) -> int:
    """A claim's mask of devices and NUMA nodes."""
    return devices & DEVICE_BITS | zones << NUMA_SHIFT


class NumaHolding(NamedTuple):
    """What one pod holds."""

    #: Slot of its node.
    slot: int
    #: (NUMA node, zone column, amount), each.
    parts: tuple[tuple[int, int, int], ...]
    #: What the node as a whole was charged beyond the pod's own requests: (column, amount).
    extra: tuple[tuple[int, int], ...]


class NumaTopology:
    """NUMA nodes of all slots, over a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        """No machine has reported NUMA nodes yet."""
        #: uint8[slot]: number of NUMA nodes; 0 where none are reported.
        self.count: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        #: int8[slot, zone]: index of the socket.
        self.socket: npt.NDArray[np.int8] = np.zeros((0, MAX_NUMA_NODES), np.int8)
        #: int64[slot, zone, column]: what pods may have.
        self.alloc: npt.NDArray[np.int64] = np.zeros((0, MAX_NUMA_NODES, NUMA_COLUMNS), np.int64)
        #: int64[slot, zone, column]: what pods hold.
        self.taken: npt.NDArray[np.int64] = np.zeros((0, MAX_NUMA_NODES, NUMA_COLUMNS), np.int64)
        #: int64[slot, zone, 2]: CPU and memory that a whole NUMA node takes of its node.
        self.share: npt.NDArray[np.int64] = np.zeros((0, MAX_NUMA_NODES, 2), np.int64)
        #: int8[slot, device]: NUMA node of each device.
        self.device_numa_node: npt.NDArray[np.int8] = np.zeros((0, MAX_DEVICES), np.int8)
        #: Names of the zone columns.
        self.names: list[str] = ["cpu", "memory"]
        #: What each bound pod holds, by row.
        self.holds: dict[int, NumaHolding] = {}
        #: Numbers of the NUMA nodes, as their machine knows them, by slot.
        self.numbers: dict[int, tuple[int, ...]] = {}
        #: int64[slot]: rises with every change of how the slot's machine is built.
        self.changed: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._ledger = ledger
        self._asks: dict[int, tuple[int, tuple[tuple[int, int], ...]]] = {}
        self._known: npt.NDArray[np.bool_] = np.zeros((0, NUMA_COLUMNS), np.bool_)
        self._foreign: dict[int, list[tuple[int, int, int]]] = {}

    def __bool__(self) -> bool:
        """Whether any machine has reported NUMA nodes."""
        return bool(self.numbers)

    # ------------------------------------------------------------ layouts

    def install(
        self, slot: int, layout: NumaLayout, row_of: Callable[[str], int | None]
    ) -> list[str]:
        """Put a machine's NUMA nodes on its slot; pods keep what they hold.

        Args:
            slot: the slot.
            layout: what was reported.
            row_of: uid to the row of a pod, for what the report says pods hold.

        Returns:
            What could not be taken over, a sentence each.
        """
        self._grow(self._ledger.slots.size)
        self.count[slot] = len(layout.numbers)
        self.alloc[slot] = self.taken[slot] = 0
        self.socket[slot] = 0
        self.socket[slot, : len(layout.sockets)] = layout.sockets
        problems = []
        for z, found in enumerate(layout.amounts):
            for name, amount in found.items():
                column = self.column(name)
                if column is not None:
                    self.alloc[slot, z, column] = amount
                else:
                    problems.append(f"{name}: more than {NUMA_COLUMNS} resources by NUMA node")
        self._known[slot] = self.alloc[slot].any(axis=0)
        if layout.numbers:
            self.numbers[slot] = layout.numbers
        else:
            self.numbers.pop(slot, None)
        self.resize(slot)
        self._place_devices(slot, layout)
        self._reapply_claims(slot, layout, row_of)
        self._ledger.touch_static([slot])
        return sorted(set(problems))

    def clear(self, slot: int) -> None:
        """A node has gone: its NUMA nodes go with it."""
        for row in [row for row, hold in self.holds.items() if hold.slot == slot]:
            del self.holds[row]
        if slot in self.numbers:
            self.install(slot, NO_LAYOUT, lambda _: None)

    def resize(self, slot: int) -> None:
        """Work out anew what whole NUMA nodes take of a node whose amounts have changed.

        The NUMA nodes of a machine may report more than its node gives to pods: then each takes
        its part of what the node gives.
        """
        if slot >= len(self.count):
            return
        self.changed[slot] += 1
        for r, column in enumerate((CPU, MEMORY)):
            whole = self.alloc[slot, :, r]
            total, given = int(whole.sum()), int(self._ledger.alloc[slot, column])
            if total > given:
                self.share[slot, :, r] = [int(part) * given // total for part in whole]
            else:
                self.share[slot, :, r] = whole

    def column(self, name: str) -> int | None:
        """Zone column of a resource, made on first sight; ``None`` when all are given away."""
        if name in self.names:
            return self.names.index(name)
        if len(self.names) == NUMA_COLUMNS:
            return None
        self.names.append(name)
        return len(self.names) - 1

    def _place_devices(self, slot: int, layout: NumaLayout) -> None:
        """Say where devices are: by their numbers where these are reported, else in order."""
        devices = self._ledger.devices
        self.device_numa_node[slot] = UNKNOWN
        named = {gpu: z for z, gpus in enumerate(layout.gpus) for gpu in gpus}
        for kind in devices.inventory(slot):
            here = np.flatnonzero(devices.kind[slot] == devices.kind_number(kind)).tolist()
            counted = [
                z for z, found in enumerate(layout.amounts) for _ in range(found.get(kind, 0))
            ]
            for i, device in enumerate(here):
                fallback = counted[i] if i < len(counted) else UNKNOWN
                self.device_numa_node[slot, device] = named.get(i, fallback)

    def _reapply_claims(
        self, slot: int, layout: NumaLayout, row_of: Callable[[str], int | None]
    ) -> None:
        """Charge what pods hold: ours as we placed them, all others as the agent reports them."""
        mine = {row for row, hold in self.holds.items() if hold.slot == slot}
        for row in mine:
            for z, k, amount in self.holds[row].parts:
                self.taken[slot, z, k] += amount
        foreign = self._foreign[slot] = []
        for held in layout.reported:
            if row_of(held.uid) in mine:
                continue
            for name, amount in held.amounts.items():
                column = self.column(name)
                if column is not None:
                    foreign.append((held.zone, column, amount))
                    self.taken[slot, held.zone, column] += amount

    def _grow(self, size: int) -> None:
        missing = size - len(self.count)
        if missing <= 0:
            return
        self.count = np.concatenate([self.count, np.zeros(missing, np.uint8)])
        for name in ("socket", "alloc", "taken", "share", "device_numa_node", "_known", "changed"):
            column = getattr(self, name)
            fill = np.full(
                (missing, *column.shape[1:]), UNKNOWN if name == "device_numa_node" else 0
            )
            setattr(self, name, np.concatenate([column, fill.astype(column.dtype)]))

    # ------------------------------------------------------------ pods

    def choose(self, slot: int, pod: PodClass) -> int:
        """Bit mask of the NUMA nodes that a pod gets on a slot; 0 where it does not fit."""
        zones = pod.annotations.numa
        if zones is None or slot >= len(self.count) or not self.count[slot]:
            return 0
        return choose(self.machine(slot, pod), zones.binding)

    def covers(self, slot: int, mask: int, pod: PodClass) -> bool:
        """Whether a claim's NUMA nodes still hold what its pod asks."""
        zones = numa_nodes_of(mask)
        hold = self.numa_holding_of(slot, zones, pod) if zones and slot < len(self.count) else None
        if hold is None:
            return False
        alloc, taken, ledger = self.alloc[slot], self.taken[slot], self._ledger
        if not all(alloc[z, k] - taken[z, k] >= amount for z, k, amount in hold.parts):
            return False
        asked = dict(pod.requests) if hold.extra else {}
        return all(
            ledger.used[slot, c] + asked.get(c, 0) + more <= ledger.alloc[slot, c]
            for c, more in hold.extra
        )

    def take(self, row: int, slot: int, mask: int, pod: PodClass) -> int:
        """Charge a pod on its NUMA nodes, chosen now where its claim names none.

        Returns the mask with the NUMA nodes; the caller charges the pod on its node.
        """
        zones = numa_nodes_of(mask) or self.choose(slot, pod)
        hold = self.numa_holding_of(slot, zones, pod) if zones and slot < len(self.count) else None
        self.restore_claims(row, hold if hold is not None else NumaHolding(slot, (), ()))
        return with_numa_nodes(mask, zones if hold is not None else 0)

    def numa_holding_of(self, slot: int, zones: int, pod: PodClass) -> NumaHolding | None:
        """What a class would hold of the NUMA nodes of a mask; ``None`` where they lack it."""
        parts = self._parts(slot, zones, pod)
        return (
            NumaHolding(slot, parts, self._extra(slot, zones, pod)) if parts is not None else None
        )

    def mask_of(self, slot: int, note: str, pod: str) -> int:
        """The claim's mask of the NUMA nodes that a micro-topology note names.

        Raises:
            InputError: it cannot be read, or names a NUMA node that does not exist.
        """
        numbers = self.numbers.get(slot, ())
        if not numbers:
            return 0
        mask = 0
        for number in read_micro_topology(note, pod):
            if number not in numbers:
                where, there = f"{pod}, annotation {MICRO_TOPOLOGY}", ", ".join(map(str, numbers))
                raise InputError(where, number, f"NUMA nodes that its node has: {there}")
            mask |= 1 << numbers.index(number)
        return with_numa_nodes(0, mask)

    def without_numa_nodes(self, rows: Sequence[int]) -> list[int]:
        """Those of some pods that ask for NUMA nodes and hold none."""
        return [row for row in rows if row in self.holds and not self.holds[row].parts]

    def give_back(self, row: int) -> None:
        """Take a pod off its NUMA nodes; the caller takes it off its node."""
        hold = self.holds.pop(row, None)
        if hold is None:
            return
        for z, k, amount in hold.parts:
            self.taken[hold.slot, z, k] -= amount
        for column, amount in hold.extra:
            self._ledger.used[hold.slot, column] -= amount

    def note(self, row: int) -> str:
        """What is written on a pod of what it holds; empty where that is nothing."""
        hold = self.holds.get(row)
        if hold is None or not hold.parts:
            return ""
        return micro_topology(self.numbers.get(hold.slot, ()), hold.parts, tuple(self.names))

    def foreign(self) -> npt.NDArray[np.int64]:
        """int64[slot, zone, column]: what agents say that pods hold which we did not place."""
        found = np.zeros_like(self.taken)
        for slot, parts in self._foreign.items():
            for z, k, amount in parts:
                found[slot, z, k] += amount
        return found

    def restore_claims(self, row: int, hold: NumaHolding) -> None:
        """Let a pod hold this."""
        self.holds[row] = hold
        for z, k, amount in hold.parts:
            self.taken[hold.slot, z, k] += amount
        for column, amount in hold.extra:
            self._ledger.used[hold.slot, column] += amount

    # ------------------------------------------------------------ one machine and one pod

    def _asked(self, pod: PodClass) -> tuple[tuple[int, int], ...]:
        """(zone column, amount) of what a class asks of NUMA nodes; kept by class."""
        kept = self._asks.get(pod.serial)
        if kept is None or kept[0] != len(self.names):
            if len(self._asks) > KEPT:
                self._asks.clear()
            asked = tuple((k, n) for k, n in enumerate(self.amounts(pod)) if n)
            self._asks[pod.serial] = kept = len(self.names), asked
        return kept[1]

    def amounts(self, pod: PodClass) -> list[int]:
        """What a class asks by zone column; devices that are managed one by one are left out."""
        asked = {self._ledger.resources.names[column]: n for column, n in pod.requests}
        return [asked.get(name, 0) for name in self.names]

    def machine(self, slot: int, pod: PodClass) -> NumaMachine:
        """A slot's machine as ``topology_choice`` reads it."""
        count, aligned = int(self.count[slot]), aligned_of(pod)
        free = self.alloc[slot, :count] - self.taken[slot, :count]
        ledger = self._ledger
        room = [int(ledger.alloc[slot, c] - ledger.used[slot, c]) for c in (CPU, MEMORY)]
        width = len(self.names)
        return NumaMachine(
            sockets=self.socket[slot, :count].tolist(),
            alloc=self.alloc[slot, :count, :width].tolist(),
            free=free[:, :width].tolist(),
            amounts=self.amounts(pod),
            aligned=[name in aligned for name in self.names],
            devices=[self._device_ask(slot, ask, ask.kind in aligned) for ask in pod.devices],
            share=self.share[slot, :count].tolist(),
            room=room,
        )

    def _device_ask(self, slot: int, ask: DeviceRequest, aligned: bool) -> NumaDeviceRequest:
        devices, count = self._ledger.devices, int(self.count[slot])
        kind, models = devices.kind_number(ask.kind), devices.model_mask(ask.models)
        fitting, installed = [0] * count, [0] * count
        for device in range(MAX_DEVICES):
            z = int(self.device_numa_node[slot, device])
            if devices.kind[slot, device] != kind or not 0 <= z < count:
                continue
            installed[z] += 1
            allowed = models >> int(devices.model[slot, device]) & 1
            fitting[z] += bool(allowed and devices.free[slot, device] >= ask.milli)
        known = any(installed)
        return NumaDeviceRequest(
            ask.count, tuple(fitting) if known else (), tuple(installed), aligned
        )

    def _extra(self, slot: int, zones: int, pod: PodClass) -> tuple[tuple[int, int], ...]:
        """What whole NUMA nodes take of the node beyond the pod's own requests."""
        if pod.annotations.numa is None or pod.annotations.numa.binding is not NumaBinding.WHOLE:
            return ()
        asked = dict(pod.requests)
        found = []
        for r, column in enumerate((CPU, MEMORY)):
            whole = sum(int(self.share[slot, z, r]) for z in bits(zones))
            found.append((column, max(0, whole - asked.get(column, 0))))
        return tuple(found)

    def _parts(
        self, slot: int, zones: int, pod: PodClass
    ) -> tuple[tuple[int, int, int], ...] | None:
        """What a pod takes of each NUMA node; ``None`` where they do not hold it."""
        inside = bits(zones)
        if not inside or inside[-1] >= self.count[slot]:
            return None
        if pod.annotations.numa is not None and pod.annotations.numa.binding is NumaBinding.ONE:
            known = self._known[slot]
            parts = tuple((inside[0], k, amount) for k, amount in self._asked(pod) if known[k])
            return parts if len(inside) == 1 else None
        machine = self.machine(slot, pod)
        whole = (
            pod.annotations.numa is not None and pod.annotations.numa.binding is NumaBinding.WHOLE
        )
        if whole and len(inside) != whole_numa_nodes(machine):
            return None
        found: list[tuple[int, int, int]] = []
        for k in range(len(self.names)):
            if whole and k in CONFLICTING:
                found += [(z, k, machine.alloc[z][k]) for z in inside if machine.alloc[z][k]]
            elif k in relevant_columns(machine):
                spreading = spread(machine, k, inside, whole)
                if spreading is None:
                    return None
                found += spreading
        return tuple(found)


def aligned_of(pod: PodClass) -> tuple[str, ...]:
    """Resources that count when the number of whole NUMA nodes is worked out."""
    return pod.annotations.numa.aligned if pod.annotations.numa is not None else ()

"""The NUMA ledger: exact allocatable and used amounts of the NUMA nodes of every machine.

The NUMA ledger complements the main ledger. The main ledger charges a pod with NUMA nodes to its
node, and this ledger charges it to the NUMA nodes of its claim. Whole NUMA nodes are charged with
all of their CPU and memory. The excess over the requests of the pod is charged to the node too, so
that the free amounts of the node are correct for other pods without reading NUMA nodes.

The chosen NUMA nodes are the high half of a claim's device mask (bits 16 to 30).
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.amounts import total_of
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
"""Number of resources counted by NUMA node: CPU, memory and the next four reported ones."""
NUMA_SHIFT: Final = MAX_DEVICES
"""First bit of the NUMA nodes in a claim's mask."""
DEVICE_BITS: Final = (1 << NUMA_SHIFT) - 1
"""Bits of the devices in a claim's mask."""
CACHE_LIMIT: Final = 10_000
"""Maximum number of cached classes; the cache is cleared when full."""
UNKNOWN: Final = -1
"""NUMA node of a device with unknown location."""


def numa_nodes_of(mask: int) -> int:
    """Return the bit mask of the NUMA nodes in a claim's mask."""
    return mask >> NUMA_SHIFT


def with_numa_nodes(devices: int, numa_nodes: int) -> int:
    """Combine devices and NUMA nodes into a claim's mask."""
    return devices & DEVICE_BITS | numa_nodes << NUMA_SHIFT


class NumaHolding(NamedTuple):
    """Amounts of one pod on NUMA nodes."""

    #: Slot of the node.
    slot: int
    #: (NUMA node, NUMA column, amount) triples.
    parts: tuple[tuple[int, int, int], ...]
    #: Charge on the whole node beyond the requests of the pod: (column, amount).
    extra: tuple[tuple[int, int], ...]

    def beside(self, requests: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        """Return the requests of the pod with the additional charges, by column."""
        return tuple(total_of((dict(requests), dict(self.extra))).items())


class NumaTopology:
    """NUMA nodes of all slots, over a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        """Start without NUMA nodes."""
        #: uint8[slot]: number of NUMA nodes; 0 if none are reported.
        self.count: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        #: int8[slot, NUMA node]: index of the socket.
        self.socket: npt.NDArray[np.int8] = np.zeros((0, MAX_NUMA_NODES), np.int8)
        #: int64[slot, NUMA node, column]: allocatable amounts.
        self.alloc: npt.NDArray[np.int64] = np.zeros((0, MAX_NUMA_NODES, NUMA_COLUMNS), np.int64)
        #: int64[slot, NUMA node, column]: used amounts.
        self.taken: npt.NDArray[np.int64] = np.zeros((0, MAX_NUMA_NODES, NUMA_COLUMNS), np.int64)
        #: int64[slot, NUMA node, 2]: CPU and memory of a whole NUMA node on its machine.
        self.share: npt.NDArray[np.int64] = np.zeros((0, MAX_NUMA_NODES, 2), np.int64)
        #: int8[slot, device]: NUMA node of each device.
        self.device_numa_node: npt.NDArray[np.int8] = np.zeros((0, MAX_DEVICES), np.int8)
        #: Names of the NUMA columns.
        self.names: list[str] = ["cpu", "memory"]
        #: Holdings of bound pods, by row.
        self.holdings: dict[int, NumaHolding] = {}
        #: Numbers of the NUMA nodes, as reported, by slot.
        self.numbers: dict[int, tuple[int, ...]] = {}
        #: int64[slot]: incremented on every change of the slot's layout.
        self.changed: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._ledger = ledger
        self._requests_by_class: dict[int, tuple[int, tuple[tuple[int, int], ...]]] = {}
        self._known: npt.NDArray[np.bool_] = np.zeros((0, NUMA_COLUMNS), np.bool_)
        self._foreign: dict[int, list[tuple[int, int, int]]] = {}

    def __bool__(self) -> bool:
        """Return whether any machine has reported NUMA nodes."""
        return bool(self.numbers)

    # ------------------------------------------------------------ layouts

    def install(
        self, slot: int, layout: NumaLayout, row_of: Callable[[str], int | None]
    ) -> list[str]:
        """Set a machine's NUMA nodes; pods keep their holdings.

        Args:
            slot: the slot.
            layout: the reported layout.
            row_of: uid to row of a pod, for reported usage.

        Returns:
            A sentence for each part that could not be applied.
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
        """Remove the NUMA nodes of a removed node."""
        for row in [row for row, holding in self.holdings.items() if holding.slot == slot]:
            del self.holdings[row]
        if slot in self.numbers:
            self.install(slot, NO_LAYOUT, lambda _: None)

    def resize(self, slot: int) -> None:
        """Recompute the amounts of whole NUMA nodes after a node's allocatable changed.

        If the NUMA nodes of a machine report more than the allocatable amounts of the node, each
        gets its proportional part.
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
        """Return the NUMA column of a resource, assigned at first use.

        ``None`` if all are in use.
        """
        if name in self.names:
            return self.names.index(name)
        if len(self.names) == NUMA_COLUMNS:
            return None
        self.names.append(name)
        return len(self.names) - 1

    def _place_devices(self, slot: int, layout: NumaLayout) -> None:
        """Locate the devices: by number if reported, else in order."""
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
        """Charge the pods: placed pods by their claims, others by the report of the node agent."""
        mine = {row for row, holding in self.holdings.items() if holding.slot == slot}
        for row in mine:
            for z, k, amount in self.holdings[row].parts:
                self.taken[slot, z, k] += amount
        foreign = self._foreign[slot] = []
        for held in layout.reported:
            if row_of(held.uid) in mine:
                continue
            for name, amount in held.amounts.items():
                column = self.column(name)
                if column is not None:
                    foreign.append((held.numa_node, column, amount))
                    self.taken[slot, held.numa_node, column] += amount

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
        """Return the bit mask of the NUMA nodes for a pod on a slot; 0 if it does not fit."""
        request = pod.annotations.numa
        if request is None or slot >= len(self.count) or not self.count[slot]:
            return 0
        return choose(self.machine(slot, pod), request.binding)

    def admits(self, slot: int, pod: PodClass) -> bool:
        """Return whether a slot has NUMA nodes for a pod, and the node the exclusive amounts."""
        numa_nodes = self.choose(slot, pod)
        if not numa_nodes or not pod.annotations.is_exclusive:
            return bool(numa_nodes)
        holding = self.numa_holding_of(slot, numa_nodes, pod)
        needs = pod.requests if holding is None else holding.beside(pod.requests)
        whole, used = self._ledger.alloc_with(slot, dict(needs)), self._ledger.used[slot]
        return all(used[column] + amount <= whole[column] for column, amount in needs)

    def covers(self, slot: int, mask: int, pod: PodClass) -> bool:
        """Return whether the NUMA nodes of a claim still have the requests of the pod free."""
        numa_nodes = numa_nodes_of(mask)
        holding = (
            self.numa_holding_of(slot, numa_nodes, pod)
            if numa_nodes and slot < len(self.count)
            else None
        )
        if holding is None:
            return False
        alloc, taken, ledger = self.alloc[slot], self.taken[slot], self._ledger
        if not all(alloc[z, k] - taken[z, k] >= amount for z, k, amount in holding.parts):
            return False
        requested = dict(pod.requests) if holding.extra else {}
        return all(
            ledger.used[slot, c] + requested.get(c, 0) + more <= ledger.alloc[slot, c]
            for c, more in holding.extra
        )

    def take(self, row: int, slot: int, mask: int, pod: PodClass) -> int:
        """Charge a pod to its NUMA nodes, which are chosen now if its claim has none.

        Returns the mask with the NUMA nodes; the caller charges the pod to its node.
        """
        numa_nodes = numa_nodes_of(mask) or self.choose(slot, pod)
        holding = (
            self.numa_holding_of(slot, numa_nodes, pod)
            if numa_nodes and slot < len(self.count)
            else None
        )
        self.restore_claims(row, holding if holding is not None else NumaHolding(slot, (), ()))
        return with_numa_nodes(mask, numa_nodes if holding is not None else 0)

    def numa_holding_of(self, slot: int, numa_nodes: int, pod: PodClass) -> NumaHolding | None:
        """Return the holding of a class on the NUMA nodes of a mask.

        ``None`` if they have too little.
        """
        parts = self._parts(slot, numa_nodes, pod)
        return (
            NumaHolding(slot, parts, self._extra(slot, numa_nodes, pod))
            if parts is not None
            else None
        )

    def mask_of(self, slot: int, annotation: str, pod: str) -> int:
        """Return the claim mask of the NUMA nodes in a micro-topology annotation.

        Raises:
            InputError: the annotation is unreadable, or contains a NUMA node that does not exist.
        """
        numbers = self.numbers.get(slot, ())
        if not numbers:
            return 0
        mask = 0
        for number in read_micro_topology(annotation, pod):
            if number not in numbers:
                where, there = f"{pod}, annotation {MICRO_TOPOLOGY}", ", ".join(map(str, numbers))
                raise InputError(where, number, f"NUMA nodes that its node has: {there}")
            mask |= 1 << numbers.index(number)
        return with_numa_nodes(0, mask)

    def without_numa_nodes(self, rows: Sequence[int]) -> list[int]:
        """Return the rows of pods that request NUMA nodes and have none."""
        return [row for row in rows if row in self.holdings and not self.holdings[row].parts]

    def give_back(self, row: int) -> None:
        """Release a pod's NUMA nodes; the caller releases its charge on the node."""
        holding = self.holdings.pop(row, None)
        if holding is None:
            return
        for z, k, amount in holding.parts:
            self.taken[holding.slot, z, k] -= amount
        for column, amount in holding.extra:
            self._ledger.used[holding.slot, column] -= amount

    def with_holding(
        self, row: int, slot: int, requests: tuple[tuple[int, int], ...]
    ) -> tuple[tuple[int, int], ...]:
        """Return the requests of a pod or reservation with its additional charges on a slot."""
        holding = self.holdings.get(row)
        if holding is None or holding.slot != slot:
            return requests
        return holding.beside(requests)

    def annotation_of(self, row: int) -> str:
        """Return the micro-topology annotation of a pod's holding; empty if there is none."""
        holding = self.holdings.get(row)
        if holding is None or not holding.parts:
            return ""
        return micro_topology(self.numbers.get(holding.slot, ()), holding.parts, tuple(self.names))

    def foreign(self) -> npt.NDArray[np.int64]:
        """Return int64[slot, NUMA node, column]: reported usage of pods of other schedulers."""
        found = np.zeros_like(self.taken)
        for slot, parts in self._foreign.items():
            for z, k, amount in parts:
                found[slot, z, k] += amount
        return found

    def restore_claims(self, row: int, holding: NumaHolding) -> None:
        """Set a pod's holding."""
        self.holdings[row] = holding
        for z, k, amount in holding.parts:
            self.taken[holding.slot, z, k] += amount
        for column, amount in holding.extra:
            self._ledger.used[holding.slot, column] += amount

    # ------------------------------------------------------------ one machine and one pod

    def _requested(self, pod: PodClass) -> tuple[tuple[int, int], ...]:
        """Return (NUMA column, amount) requested by a class on NUMA nodes; cached by class."""
        cached = self._requests_by_class.get(pod.serial)
        if cached is None or cached[0] != len(self.names):
            if len(self._requests_by_class) > CACHE_LIMIT:
                self._requests_by_class.clear()
            requested = tuple((k, n) for k, n in enumerate(self.amounts(pod)) if n)
            self._requests_by_class[pod.serial] = cached = len(self.names), requested
        return cached[1]

    def amounts(self, pod: PodClass) -> list[int]:
        """Return the requests of a class by NUMA column, without individually managed devices."""
        requested = {self._ledger.resources.names[column]: n for column, n in pod.requests}
        return [requested.get(name, 0) for name in self.names]

    def machine(self, slot: int, pod: PodClass) -> NumaMachine:
        """Return the machine of a slot as input of ``choice``."""
        count, aligned = int(self.count[slot]), aligned_of(pod)
        free = self.alloc[slot, :count] - self.taken[slot, :count]
        ledger = self._ledger
        node_free = [int(ledger.alloc[slot, c] - ledger.used[slot, c]) for c in (CPU, MEMORY)]
        width = len(self.names)
        return NumaMachine(
            sockets=self.socket[slot, :count].tolist(),
            alloc=self.alloc[slot, :count, :width].tolist(),
            free=free[:, :width].tolist(),
            amounts=self.amounts(pod),
            aligned=[name in aligned for name in self.names],
            devices=[
                self._device_request(slot, request, request.kind in aligned)
                for request in pod.devices
            ],
            share=self.share[slot, :count].tolist(),
            node_free=node_free,
        )

    def _device_request(
        self, slot: int, request: DeviceRequest, aligned: bool
    ) -> NumaDeviceRequest:
        devices, count = self._ledger.devices, int(self.count[slot])
        kind, models = devices.kind_number(request.kind), devices.model_mask(request.models)
        fitting, installed = [0] * count, [0] * count
        for device in range(MAX_DEVICES):
            z = int(self.device_numa_node[slot, device])
            if devices.kind[slot, device] != kind or not 0 <= z < count:
                continue
            installed[z] += 1
            allowed = models >> int(devices.model[slot, device]) & 1
            fitting[z] += bool(allowed and devices.free[slot, device] >= request.milli)
        known = any(installed)
        return NumaDeviceRequest(
            request.count, tuple(fitting) if known else (), tuple(installed), aligned
        )

    def _extra(self, slot: int, numa_nodes: int, pod: PodClass) -> tuple[tuple[int, int], ...]:
        """Return the amounts of whole NUMA nodes beyond the requests of the pod."""
        if pod.annotations.numa is None or pod.annotations.numa.binding is not NumaBinding.WHOLE:
            return ()
        requested = dict(pod.requests)
        found = []
        for r, column in enumerate((CPU, MEMORY)):
            whole = sum(int(self.share[slot, z, r]) for z in bits(numa_nodes))
            found.append((column, max(0, whole - requested.get(column, 0))))
        return tuple(found)

    def _parts(
        self, slot: int, numa_nodes: int, pod: PodClass
    ) -> tuple[tuple[int, int, int], ...] | None:
        """Return the amounts of a pod on each NUMA node; ``None`` if they have too little."""
        inside = bits(numa_nodes)
        if not inside or inside[-1] >= self.count[slot]:
            return None
        if pod.annotations.numa is not None and pod.annotations.numa.binding is NumaBinding.ONE:
            known = self._known[slot]
            parts = tuple((inside[0], k, amount) for k, amount in self._requested(pod) if known[k])
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
    """Return the resources that count for the number of whole NUMA nodes."""
    return pod.annotations.numa.aligned if pod.annotations.numa is not None else ()

"""Charges of pods on nodes: the only code that changes usage together with the pods' rows.

Pods on an unknown node (not yet seen, or removed) are kept as strays until the node appears.
"""

from collections.abc import KeysView, Sequence

import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError
from stretto.state.classes.annotations import MICRO_TOPOLOGY
from stretto.state.classes.table import EXCLUSIVE, GPU_DEVICES, PodClass
from stretto.state.cluster.offers import OfferClaims
from stretto.state.cluster.reservations import PlaceReservations
from stretto.state.cluster.tables import NodeTables, PodTables
from stretto.state.numa.ledger import DEVICE_BITS, numa_nodes_of
from stretto.state.rows.devices import mask_to_text
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.units import Cure


class PodCharges:
    """Charges and refunds pods; keeps ledger, devices, ports, NUMA nodes and rows consistent."""

    def __init__(
        self,
        on_nodes: NodeTables,
        of_pods: PodTables,
        changes: ClusterChanges,
        abnormal: dict[str, str],
        *,
        all_placements_cure: bool,
    ) -> None:
        """Charge pods on these tables.

        Args:
            on_nodes: the tables by node.
            of_pods: the tables by pod.
            changes: records the cures of charges and refunds.
            abnormal: receives errors in annotations of bound pods.
            all_placements_cure: true if unknown rules may depend on every placement.
        """
        self._ledger, self._topology, self._nodes = (
            on_nodes.ledger,
            on_nodes.topology,
            on_nodes.nodes,
        )
        self._pods, self._classes, self._domains = of_pods.pods, of_pods.classes, of_pods.domains
        #: Reservations: charges of ended pods, kept for their successors.
        self.reservations = PlaceReservations(self._ledger, self._topology, self._pods)
        #: Capacity that frameworks hold besides the pods of their tasks.
        self.offers = OfferClaims(self._ledger)
        #: Cures of charges and refunds.
        self.changes = changes
        #: Unreadable objects: key to error message.
        self.abnormal = abnormal
        self._all_placements_cure = all_placements_cure
        self._strays: dict[str, set[int]] = {}
        #: Exclusive amounts of pods on overcommitted nodes, by row.
        self._held: dict[int, tuple[tuple[int, int], ...]] = {}

    def charge(self, row: int, slot: int, mask: int = 0, annotation: str = "") -> None:
        """Charge a pod's requests to a slot.

        A pod with devices but without a mask (bound by another scheduler) gets the likely devices.
        A pod with NUMA nodes gets those in its micro-topology ``annotation``, or the likely
        ones.
        """
        pod = self._classes[int(self._pods.class_id[row])]
        if pod.devices and not mask & DEVICE_BITS:
            for request in pod.devices:
                mask |= self.offers.guess(slot, request)
        if pod.annotations.numa is not None:
            mask = self._topology.take(row, slot, self._stated(row, slot, mask, annotation), pod)
        for request in pod.devices:
            self._ledger.devices.take(slot, mask, request)
        if pod.ports:
            self._ledger.learn_ports(pod.ports)
            self._ledger.ports.take(slot, pod.ports)
        self._ledger.charge(slot, pod.requests)
        self._hold(row, slot, pod)
        self.changes.add_cures(self.placement_cures(pod.id))
        self._pods.slot[row] = slot
        self._pods.log.add(row)
        self._pods.generation[row] = self._ledger.slots.generation[slot]
        self._pods.devices[row] = mask

    def _stated(self, row: int, slot: int, mask: int, annotation: str) -> int:
        """Return a claim's mask, extended by the NUMA nodes in the pod's annotation."""
        if not annotation:
            return mask
        pod = f"pod {self._pods.key(row)}"
        try:
            return mask | self._topology.mask_of(slot, annotation, pod)
        except InputError as error:
            self.abnormal[pod] = str(error)
            return mask

    def refund_ended(self, row: int, *, ours: bool) -> None:
        """Refund an ended pod; its charge may become a reservation, unless we evicted it."""
        pod = self._classes[int(self._pods.class_id[row])]
        reserves = pod.annotations.reserves and not ours and self._pods.slot[row] != NO_SLOT
        if reserves := reserves and self._pods.state[row] == PodState.BOUND:
            self.reservations.prepare(row, pod)
        self.refund(row)
        if reserves:
            self.reservations.settle()
        self.reservations.forget(row)

    def refund(self, row: int) -> None:
        """Remove a pod from its slot and release its charge."""
        slot = int(self._pods.slot[row])
        if slot == NO_SLOT:
            for rows in self._strays.values():
                rows.discard(row)
            return
        pod = self._classes[int(self._pods.class_id[row])]
        for request in pod.devices:
            self._ledger.devices.take(slot, int(self._pods.devices[row]), request, -1)
        self._release(row, slot)
        self._nodes.reports.pods.leave_one(row, slot, pod.requests)
        if pod.annotations.numa is not None:
            self._topology.give_back(row)
        if pod.ports:
            self._ledger.ports.release(slot, pod.ports)
        self._ledger.charge(slot, pod.requests, -1)
        self._pods.slot[row] = NO_SLOT
        self._pods.log.add(row)
        self._pods.devices[row] = 0
        self.changes.add_cures(Cure.POD_LEFT)

    # ------------------------------------------------------------ exclusive amounts

    def needs(self, pod: PodClass, slot: int, mask: int) -> tuple[tuple[int, int], ...]:
        """Amounts that a claim uses on a slot, by resource, with the rest of whole NUMA nodes."""
        if pod.annotations.numa is None or not self._topology.numbers.get(slot):
            return pod.requests
        holding = self._topology.numa_holding_of(slot, numa_nodes_of(mask), pod)
        return pod.requests if holding is None else holding.beside(pod.requests)

    def lowers_promises(self, class_ids: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """bool[k]: classes whose claims reduce the promised amounts of overcommitted slots."""
        if not self._ledger.promises.ratios:
            return np.zeros(len(class_ids), np.bool_)
        found: npt.NDArray[np.bool_] = (self._classes.special[class_ids] & EXCLUSIVE) > 0
        return found

    def exclusive(self, class_id: int, slot: int, mask: int) -> tuple[tuple[int, int], ...]:
        """Exclusive amounts of a claim of a class on an overcommitted slot, by resource column."""
        pod = self._classes[class_id]
        if not pod.annotations.is_exclusive or not self._ledger.promises.is_overcommitted(slot):
            return ()
        return self.needs(pod, slot, mask)

    def lost(self, class_id: int, slot: int, mask: int) -> dict[int, int]:
        """Maximum reduction of a slot's promises by a claim of a class, by resource column."""
        return self._ledger.promises.lost(slot, self.exclusive(class_id, slot, mask))

    def regained(self, row: int) -> dict[int, int]:
        """Minimum increase of a slot's promised amounts without a pod, by resource column."""
        held = self._held.get(row, ())
        return self._ledger.promises.regained(int(self._pods.slot[row]), held)

    def held_by(self, row: int) -> tuple[tuple[int, int], ...]:
        """Amounts of a pod with exclusive cores on an overcommitted slot; empty for others."""
        return self._held.get(row, ())

    def holding(self) -> KeysView[int]:
        """Rows of the pods with exclusive cores on overcommitted slots."""
        return self._held.keys()

    def hold_again(self, slot: int) -> None:
        """Recompute the exclusive amounts of a slot whose overcommit or NUMA nodes changed."""
        ledger = self._ledger
        ledger.hold(slot, tuple(ledger.promises.held_on(slot).items()), -1)
        for row in self._pods.on_slot(slot).tolist():
            before = self._held.pop(row, None)
            self._hold(row, slot, self._classes[int(self._pods.class_id[row])])
            if before is not None or row in self._held:
                self._pods.log.add(row)  # its eviction now frees another amount
        self.reservations.hold_again(slot)

    def _hold(self, row: int, slot: int, pod: PodClass) -> None:
        """Count the amounts of a pod with exclusive cores only once on an overcommitted slot."""
        if pod.annotations.is_exclusive and self._ledger.promises.is_overcommitted(slot):
            self._held[row] = self._topology.with_holding(row, slot, pod.requests)
            self._ledger.hold(slot, self._held[row])

    def _release(self, row: int, slot: int) -> None:
        """Undo ``_hold``."""
        held = self._held.pop(row, None)
        if held is not None:
            self._ledger.hold(slot, held, -1)

    # ------------------------------------------------------------ many pods at once

    def charge_plain(self, rows: npt.NDArray[np.int64], slots: npt.NDArray[np.int32]) -> None:
        """Charge many pods of plain classes (amounts only) at once."""
        if len(rows):
            self.changes.add_cures(self.placement_cures(self._pods.class_id[rows]))
        self._add_amounts(rows, slots, 1)
        self._pods.slot[rows] = slots
        self._pods.log.extend(rows)
        self._pods.generation[rows] = self._ledger.slots.generation[slots]

    def uncharge_plain(self, rows: npt.NDArray[np.int64], slots: npt.NDArray[np.int32]) -> None:
        """Revert ``charge_plain``."""
        self._add_amounts(rows, slots, -1)
        self._pods.slot[rows] = NO_SLOT
        self._pods.log.extend(rows)

    def _add_amounts(
        self, rows: npt.NDArray[np.int64], slots: npt.NDArray[np.int32], sign: int
    ) -> None:
        self._ledger.widen()
        requests = self._classes.requests_of(self._pods.class_id[rows])
        width = min(requests.shape[1], self._ledger.used.shape[1])
        for column in range(width):  # one call with all columns needs three times as long
            np.add.at(self._ledger.used[:, column], slots, sign * requests[:, column])
        self._ledger.touch(slots)

    def placement_cures(self, class_ids: npt.NDArray[np.int32] | int) -> Cure:
        """Cures of placing pods of these classes; none if no rule counts them."""
        if not self._all_placements_cure and not np.any(self._classes.counted[class_ids]):
            return Cure.NONE
        self._domains.record_placed(() if self._all_placements_cure else class_ids)
        return Cure.POD_PLACED

    def charge_unplaced(self, rows: Sequence[int], name: str) -> None:
        """Record pods on an unknown node as strays."""
        self._strays.setdefault(name, set()).update(rows)
        for row in rows:
            self._held.pop(row, None)

    def take_strays(self, name: str) -> list[int]:
        """Remove the strays of a node that has appeared; returns their rows, ascending."""
        return sorted(self._strays.pop(name, ()))

    def node_of(self, row: int) -> str:
        """Name of the node for which a pod is claimed or to which it is bound; empty for none."""
        slot = int(self._pods.slot[row])
        if slot != NO_SLOT:
            return self._nodes.names[slot]
        return next((name for name, rows in self._strays.items() if row in rows), "")

    def bind_annotations(self, row: int, mask: int) -> dict[str, str] | None:
        """Annotations written with a bind: the pod's devices and NUMA nodes."""
        annotations = {}
        if mask & DEVICE_BITS:
            annotations[GPU_DEVICES] = mask_to_text(mask)
        stated = self._topology.annotation_of(row)
        if stated:
            annotations[MICRO_TOPOLOGY] = stated
        return annotations or None

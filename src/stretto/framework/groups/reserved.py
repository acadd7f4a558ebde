"""Places pods with reservations or recommended nodes: there first, then anywhere."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.group_tables import DomainSearch, no_caps
from stretto.framework.compiled.placement import BatchPlacement, PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.groups.calls import SlotSetPlacer
from stretto.framework.groups.one_by_one import OneByOnePlacer
from stretto.framework.groups.recommended import still_recommended, wait_for
from stretto.framework.groups.tasks import GroupTask
from stretto.state.cluster.reservations import PlaceReservation
from stretto.state.numa.choice import bits
from stretto.state.numa.ledger import DEVICE_BITS
from stretto.state.rows.resources import PODS
from stretto.state.work.claims import AwaitedNode

Ids = npt.NDArray[np.int32]
PlaceAlone = Callable[[PlacementRequest], BatchPlacement]
"""Places a single pod anywhere."""
OwnPlace = tuple[int, int]
"""The slot of a pod, and its mask of devices and NUMA nodes."""


class ReservedPlacer:
    """Places single pods on their reservations or recommended nodes."""

    def __init__(
        self,
        runtime: Runtime,
        slot_sets: SlotSetPlacer,
        one_by_one: OneByOnePlacer,
        place_alone: PlaceAlone,
    ) -> None:
        """Use one runtime.

        Args:
            runtime: the shard's own snapshot.
            slot_sets: places pods on given slots.
            one_by_one: places pods with exclusive cores on given slots, within their promise.
            place_alone: places pods that fit on none of their own places, and holds their exclusive
                amounts.
        """
        self._runtime = runtime
        self._slot_sets = slot_sets
        self._one_by_one = one_by_one
        self._place_alone = place_alone

    def place(self, part: PlacementRequest, task: GroupTask) -> BatchPlacement:
        """Place the pods of one unit without a gang minimum."""
        ids = np.asarray(part.class_ids, np.int32)
        slots, masks = np.full(len(ids), -1, np.int32), np.zeros(len(ids), np.int32)
        used: set[int] = set()
        hints = still_recommended(self._runtime.engine, task.unit) if task.unit is not None else []
        waits: dict[int, AwaitedNode] = {}
        for i in range(len(part.rows)):
            alone = part.pod(i)
            own = self._on_reserved(alone, used) or self._on_recommended(alone, hints)
            if own is not None:
                slots[i], masks[i] = own
                continue
            wait = None if task.chooses else self._wait(hints, alone)
            if wait is not None:
                waits[i] = wait
                continue
            placed = self._place_alone(alone)
            slots[i], masks[i] = placed.slots[0], placed.devices[0]
        return BatchPlacement(slots, masks, 1, waits=waits)

    def _on_reserved(self, alone: PlacementRequest, used: set[int]) -> OwnPlace | None:
        """Place one pod on its first reservation that fits it and is not ``used``."""
        cluster, pod = self._runtime.engine.cluster, int(alone.class_ids[0])
        for place in cluster.reservations.for_row(int(alone.rows[0]), cluster.classes[pod]):
            if place.number not in used:
                self._show(place, 1)
                found = self._on_best(alone, np.array([place.slot], np.int32))
                if found is not None:
                    used.add(place.number)
                    return found
                self._show(place, -1)
        return None

    def _on_recommended(self, alone: PlacementRequest, hints: list[str]) -> OwnPlace | None:
        """Place one pod on a recommended node and mark the node as used."""
        if not hints:
            return None
        nodes = self._runtime.engine.cluster.nodes
        found = self._on_best(alone, nodes.slots_named(hints).astype(np.int32))
        if found is not None:
            hints.remove(nodes.names[found[0]])
        return found

    def _on_best(self, alone: PlacementRequest, slots: Ids) -> OwnPlace | None:
        """Place one pod on the best of some slots, and hold its exclusive amounts."""
        ids = np.asarray(alone.class_ids, np.int32)
        if self._runtime.engine.cluster.charges.lowers_promises(ids)[0]:
            start, own = np.array([0, len(slots)], np.int32), np.zeros(len(slots), np.uint8)
            search = DomainSearch(slots, start, own, np.zeros(1, np.int64))
            placed = self._one_by_one.place(alone, search, no_caps(len(slots)), [1])
            found = int(placed.slots[0]), int(placed.devices[0])
        else:
            job = self._slot_sets.try_slots(slots, ids)
            found = int(job.slot[0]), int(job.mask[0])
        return found if found[0] >= 0 else None

    def _wait(self, hints: list[str], alone: PlacementRequest) -> AwaitedNode | None:
        """Recommended node for which one pod waits, reserved for that pod."""
        class_id = int(alone.class_ids[0])
        if not hints or self._runtime.has_inter_pod_terms(np.array([class_id], np.int32)):
            return None
        wait = wait_for(self._runtime.engine, hints, int(alone.rows[0]), class_id)
        if wait is not None:
            hints.remove(self._runtime.engine.cluster.nodes.names[wait.slot])
        return wait

    def _show(self, place: PlaceReservation, sign: int) -> None:
        """Add the amounts of a reservation to the free amounts (1), or subtract them again (-1)."""
        columns, cluster, slot = self._runtime.columns, self._runtime.engine.cluster, place.slot
        ledger = cluster.ledger
        for column, amount in place.pod.requests:
            scaled = ledger.resources.scaled_request(column, amount)
            columns.free[column, slot] += sign * scaled
        columns.free[PODS, slot] += sign
        for request in place.pod.devices:
            kind = ledger.devices.kind_number(request.kind)
            for d in bits(place.mask & DEVICE_BITS):
                if columns.device_kind[slot, d] == kind:
                    columns.device_free[slot, d] += sign * request.milli
        if place.pod.ports:
            own = ledger.ports.own_mask(place.pod.ports)[: len(columns.ports)]
            shown = columns.ports[: len(own), slot]
            columns.ports[: len(own), slot] = shown & ~own if sign > 0 else shown | own
        hold = cluster.topology.holdings.get(place.number)
        for z, k, amount in hold.parts if hold is not None else ():
            self._slot_sets.numa.snapshot.free[slot, z, k] += sign * amount
        for column, amount in hold.extra if hold is not None else ():
            scaled = ledger.resources.scaled_request(column, amount)
            columns.free[column, slot] += sign * scaled
        columns.hold(slot, cluster.reservations.held_by(place), -sign)
        columns.append(np.array([slot], np.int64))

"""Places pods with reservations or recommended nodes: there first, then anywhere."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.group_tables import PlacementJob
from stretto.framework.compiled.placement import BatchPlacement, PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.groups.calls import SlotSetPlacer
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


class ReservedPlacer:
    """Places single pods on their reservations or recommended nodes."""

    def __init__(self, runtime: Runtime, slot_sets: SlotSetPlacer, place_alone: PlaceAlone) -> None:
        """Use one runtime; ``place_alone`` places pods that fit on none of their own places.

        It holds their exclusive amounts.
        """
        self._runtime = runtime
        self._slot_sets = slot_sets
        self._place_alone = place_alone

    def place(self, part: PlacementRequest, task: GroupTask) -> BatchPlacement:
        """Place the pods of one unit without a gang minimum."""
        ids = np.asarray(part.class_ids, np.int32)
        slots, masks = np.full(len(ids), -1, np.int32), np.zeros(len(ids), np.int32)
        used: set[int] = set()
        hints = still_recommended(self._runtime.engine, task.unit) if task.unit is not None else []
        waits: dict[int, AwaitedNode] = {}
        for i, row in enumerate(part.rows):
            mine = ids[i : i + 1]
            job = self._on_reserved(int(row), mine, used) or self._on_recommended(mine, hints)
            if job is not None:
                slots[i], masks[i] = job.slot[0], job.mask[0]
                self._runtime.hold(int(mine[0]), int(slots[i]), int(masks[i]))
                continue
            wait = None if task.chooses else self._wait(hints, int(row), mine)
            if wait is not None:
                waits[i] = wait
                continue
            alone = PlacementRequest(mine, [0, 1], [1], rows=part.rows[i : i + 1])
            placed = self._place_alone(alone)
            slots[i], masks[i] = placed.slots[0], placed.devices[0]
        return BatchPlacement(slots, masks, 1, waits=waits)

    def _on_reserved(self, row: int, ids: Ids, used: set[int]) -> PlacementJob | None:
        """Place one pod on its first reservation that fits it and is not ``used``."""
        cluster = self._runtime.engine.cluster
        for place in cluster.reservations.for_row(row, cluster.classes[int(ids[0])]):
            if place.number not in used:
                self._show(place, 1)
                job = self._slot_sets.try_slots(np.array([place.slot], np.int32), ids)
                if job.slot[0] >= 0:
                    used.add(place.number)
                    return job
                self._show(place, -1)
        return None

    def _on_recommended(self, ids: Ids, hints: list[str]) -> PlacementJob | None:
        """Place one pod on a recommended node and mark the node as used."""
        if not hints:
            return None
        nodes = self._runtime.engine.cluster.nodes
        job = self._slot_sets.try_slots(nodes.slots_named(hints).astype(np.int32), ids)
        if job.slot[0] < 0:
            return None
        hints.remove(nodes.names[int(job.slot[0])])
        return job

    def _wait(self, hints: list[str], row: int, ids: Ids) -> AwaitedNode | None:
        """Recommended node for which one pod waits, reserved for that pod."""
        if not hints or self._runtime.has_inter_pod_terms(ids):
            return None
        wait = wait_for(self._runtime.engine, hints, row, int(ids[0]))
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

"""Units of NUMA nodes, domains or caps whose pods other pods concern: one pod after another.

``kernels_within`` knows nothing of affinity, anti-affinity and spreading. A unit that has both
kinds of rules is placed pod by pod: the plain runtime's row says where a pod may go among the
others and how good each slot is, the domain and the caps narrow that, NUMA nodes are asked on the
best slots first. What a slot was before is kept, so that a domain that does not hold the unit is
left as it was. Slower than the kernels, and rare.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.group_tables import DomainCaps, DomainSearch
from stretto.framework.compiled.placement import BatchPlacement, PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.groups.calls import SlotSetRuntime


class _PlacedPod(NamedTuple):
    """A pod that was placed, and what its slot was before."""

    #: Its number in the unit.
    number: int
    #: Its class.
    class_id: int
    #: Its slot.
    slot: int
    #: Devices and NUMA nodes.
    mask: int
    #: The slot's part of every array of the snapshot.
    before: list[npt.NDArray[np.generic]]


class OneByOneRuntime(SlotSetRuntime):
    """Places units that rules between pods concern too."""

    def _place_one_by_one(
        self, part: PlacementRequest, search: DomainSearch, caps: DomainCaps, goals: Sequence[int]
    ) -> BatchPlacement:
        """One unit: the first goal that some domain can meet, in the first such domain."""
        count = len(part.class_ids)
        slots, masks = np.full(count, -1, np.int32), np.zeros(count, np.int32)
        for goal in goals:
            for d in range(len(search.start) - 1):
                found = self._fill(part, search, caps, d, goal)
                if found is None:
                    continue
                for home in found:
                    slots[home.number], masks[home.number] = home.slot, home.mask
                return BatchPlacement(slots, masks, 1, others=self.between.basis)
        return BatchPlacement(slots, masks, 1)

    def _fill(
        self, part: PlacementRequest, search: DomainSearch, caps: DomainCaps, d: int, goal: int
    ) -> list[_PlacedPod] | None:
        """Place a unit in one domain; ``None``, and no trace, where too few find a place."""
        first, last = int(search.start[d]), int(search.start[d + 1])
        places, domain = search.slots[first:last], caps.domain[:, first:last]
        room, homes = caps.room.copy(), list[_PlacedPod]()
        count, failed = len(part.class_ids), -1
        for i in range(count):
            class_id = int(part.class_ids[i])
            if count - i + len(homes) < goal:
                break
            if class_id == failed:
                continue
            values = self.row(class_id)[places].astype(np.int32)
            for q in range(len(room)):
                values[(domain[q] >= 0) & (room[q][np.maximum(domain[q], 0)] <= 0)] = 0
            at, home = self._finish_one(part, i, places, values)
            if home is None:
                failed = class_id
                continue
            homes.append(home)
            for q in range(len(room)):
                if domain[q, at] >= 0:
                    room[q, domain[q, at]] -= 1
        if homes and len(homes) >= goal:
            return homes
        for home in reversed(homes):
            self._undo(home)
        return None

    def _finish_one(
        self,
        part: PlacementRequest,
        i: int,
        places: npt.NDArray[np.int32],
        values: npt.NDArray[np.int32],
    ) -> tuple[int, _PlacedPod | None]:
        """One pod on the best place that takes it."""
        class_id = int(part.class_ids[i])
        bound = self.engine.cluster.classes[class_id].annotations.numa is not None
        order = np.argsort(-values, kind="stable")
        for at in order[: int(np.count_nonzero(values))].tolist():
            slot = int(places[at])
            before = [array.copy() for array in self._parts_of(slot)]
            if bound:
                job = self._try_slot(places[at : at + 1], np.array([class_id], np.int32))
                found, mask = int(job.slot[0]), int(job.mask[0])
            else:
                one = part.pod(i)._replace(pins=[slot])
                placed = Runtime.place(self, one)
                found, mask = int(placed.slots[0]), int(placed.devices[0])
            if found >= 0:
                return at, _PlacedPod(i, class_id, slot, mask, before)
        return -1, None

    def _parts_of(self, slot: int) -> list[npt.NDArray[np.generic]]:
        """What of the snapshot belongs to a slot, as views."""
        c = self.columns
        return [
            c.free[:, slot],
            c.ports[:, slot],
            c.device_free[slot],
            c.census[slot],
            self._numa.zones.free[slot],
        ]

    def _undo(self, home: _PlacedPod) -> None:
        """Leave a slot as it was before a pod came to it."""
        for array, before in zip(self._parts_of(home.slot), home.before, strict=True):
            array[...] = before
        self.columns.append(np.array([home.slot], np.int64))
        if self._has_inter_pod_terms(np.array([home.class_id], np.int32)):
            self.between.take(home.class_id, home.slot, -1)

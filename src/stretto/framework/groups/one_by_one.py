"""Places units that combine NUMA nodes, domains or caps with other rules, pod by pod.

The kernels for given slots do not support affinity, anti-affinity, topology spread, or exclusive
cores on overcommitted nodes. A unit with both is placed pod by pod: the row of the runtime gives
the feasible slots and their scores, the domain and the caps restrict them, and the NUMA nodes of
the best slots are checked first. The previous state of each slot is saved, so that slots are
restored if a domain cannot fit the unit. This is slower than the kernels, and rare.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.group_tables import OWN, DomainCaps, DomainSearch
from stretto.framework.compiled.placement import BatchPlacement, PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.engine.turns import place_members
from stretto.framework.groups.calls import SlotSetPlacer

Ids = npt.NDArray[np.int32]
MANY: Final = 64
"""Number of slots of a call that only slot rules rank: the best one with NUMA nodes is selected."""


class _PlacedPod(NamedTuple):
    """A placed pod, and the previous state of its slot."""

    #: Index of the pod in the unit.
    number: int
    #: Class of the pod.
    class_id: int
    #: Slot of the pod.
    slot: int
    #: Devices and NUMA nodes.
    mask: int
    #: The part of every snapshot array that belongs to the slot.
    before: list[npt.NDArray[np.generic]]


class CandidateWindow:
    """The best candidates that are not refused, in order; each is read once, however many fail."""

    def __init__(self, order: npt.NDArray[np.intp], width: int) -> None:
        """Start with the first ``width`` candidates of an order, the best first."""
        self._order, self._width, self._read = order, width, 0
        #: The current candidates, at most ``width``; empty after the last one.
        self.candidates = self._next(width)

    def skip(self) -> None:
        """Replace all candidates by the next ones."""
        self.candidates = self._next(self._width)

    def drop(self, at: int) -> None:
        """Replace the candidate at an index by the next one."""
        self.candidates = np.concatenate([np.delete(self.candidates, at), self._next(1)])

    def _next(self, count: int) -> npt.NDArray[np.intp]:
        self._read += count
        return self._order[self._read - count : self._read]


class OneByOnePlacer:
    """Places units to which inter-pod rules also apply."""

    def __init__(self, runtime: Runtime, slot_sets: SlotSetPlacer) -> None:
        """Use one runtime."""
        self._runtime = runtime
        self._slot_sets = slot_sets

    def place(
        self, part: PlacementRequest, search: DomainSearch, caps: DomainCaps, goals: Sequence[int]
    ) -> BatchPlacement:
        """Place one unit: the first pod count that some domain fits, in the first such domain."""
        count = len(part.class_ids)
        slots, masks = np.full(count, -1, np.int32), np.zeros(count, np.int32)
        for goal in goals:
            for d in range(len(search.start) - 1):
                found = self._fill(part, search, caps, d, goal)
                if found is None:
                    continue
                for home in found:
                    slots[home.number], masks[home.number] = home.slot, home.mask
                return BatchPlacement(slots, masks, 1, others=self._runtime.between.basis)
        return BatchPlacement(slots, masks, 1)

    def _fill(
        self, part: PlacementRequest, search: DomainSearch, caps: DomainCaps, d: int, goal: int
    ) -> list[_PlacedPod] | None:
        """Place a unit in one domain.

        If too few pods fit, restore the state and return ``None``.
        """
        first, last = int(search.start[d]), int(search.start[d + 1])
        places, domain = search.slots[first:last], caps.domain[:, first:last]
        capacity, homes = caps.capacity.copy(), list[_PlacedPod]()
        class_ids = [int(each) for each in part.class_ids]
        refused = {class_id: np.zeros(last - first, np.bool_) for class_id in class_ids}

        def place(i: int) -> bool:
            values = self._runtime.row(class_ids[i])[places].astype(np.int32)
            values[(values > 0) & (search.own[first:last] > 0)] += OWN
            for q in range(len(capacity)):
                values[(domain[q] >= 0) & (capacity[q][np.maximum(domain[q], 0)] <= 0)] = 0
            values[refused[class_ids[i]]] = 0
            at, home = self._finish_one(part, i, (places, values), refused[class_ids[i]])
            if home is None:
                return False
            homes.append(home)
            for q in range(len(capacity)):
                if domain[q, at] >= 0:
                    capacity[q, domain[q, at]] -= 1
            return True

        if place_members(class_ids, goal, place) >= max(1, goal):
            return homes
        for home in reversed(homes):
            self._undo(home)
        return None

    def _finish_one(
        self,
        part: PlacementRequest,
        i: int,
        scored: tuple[Ids, npt.NDArray[np.int32]],
        refused: npt.NDArray[np.bool_],
    ) -> tuple[int, _PlacedPod | None]:
        """Place one pod on the best slot that fits it.

        Args:
            part: the unit.
            i: the pod.
            scored: slots, and their values; 0 excludes a slot.
            refused: bool[slot]: set where a slot does not fit a pod of the class. Further
                placements only reduce free amounts, so such a slot need not be tried again.
        """
        places, values = scored
        ids = np.asarray(part.class_ids[i : i + 1], np.int32)
        annotations = self._runtime.engine.cluster.classes[int(ids[0])].annotations
        if annotations.numa is not None or self._slot_sets.chooses(ids):
            many = 1 if self._runtime.has_inter_pod_terms(ids) else MANY
            place = partial(self._by_slots, ids)
        else:
            many, place = 1, partial(self._by_score, part.pod(i))
        order = np.argsort(-values, kind="stable")[: int(np.count_nonzero(values))]
        window = CandidateWindow(order, many)
        while len(some := window.candidates):
            slots = places[some]
            saved = [each[slots] for each in self._by_slot()]
            found, mask = place(slots)
            if found < 0:
                refused[some] = True
                window.skip()
                continue
            at = int(np.flatnonzero(slots == found)[0])
            home = _PlacedPod(i, int(ids[0]), found, mask, [each[at] for each in saved])
            self._runtime.hold(home.class_id, home.slot, home.mask)
            if self._is_within_promise(home):
                return int(some[at]), home
            self._undo(home)
            refused[some[at]] = True
            window.drop(at)
        return -1, None

    def _is_within_promise(self, home: _PlacedPod) -> bool:
        """Return whether the exclusive amounts of a placed pod are free on its slot.

        The row counts the requests of the pod. Whole NUMA nodes may be larger than these, and their
        amounts are known only after the choice.
        """
        needs = self._runtime.engine.cluster.charges.exclusive(home.class_id, home.slot, home.mask)
        free = self._runtime.columns.free
        return all(free[column, home.slot] >= 0 for column, _ in needs)

    def _by_score(self, alone: PlacementRequest, slots: Ids) -> tuple[int, int]:
        """Place one pod on a slot; returns the slot, or -1, and its devices."""
        placed = self._runtime.place_by_score(alone._replace(pins=slots.tolist()))
        return int(placed.slots[0]), int(placed.devices[0])

    def _by_slots(self, ids: Ids, slots: Ids) -> tuple[int, int]:
        """Place one pod on the best of some slots that has NUMA nodes for it."""
        job = self._slot_sets.try_slots(slots, ids)
        return int(job.slot[0]), int(job.mask[0])

    def _by_slot(self) -> list[npt.NDArray[np.generic]]:
        """The arrays of the snapshot that placements change, as views with the slots first."""
        c = self._runtime.columns
        return [
            c.free.T,
            c.alloc.T,
            c.percent.T,
            c.ports.T,
            c.device_free,
            c.census,
            self._slot_sets.numa.snapshot.free,
        ]

    def _undo(self, home: _PlacedPod) -> None:
        """Restore a slot to its state before a pod was placed there."""
        self._runtime.hold(home.class_id, home.slot, home.mask, -1)
        for array, before in zip(self._by_slot(), home.before, strict=True):
            array[home.slot] = before
        self._runtime.columns.append(np.array([home.slot], np.int64))
        if self._runtime.has_inter_pod_terms(np.array([home.class_id], np.int32)):
            self._runtime.between.take(home.class_id, home.slot, -1)

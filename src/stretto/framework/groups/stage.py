"""The stage for placements that a score row cannot decide.

It covers NUMA nodes, domains, caps, reservations, and exclusive cores on overcommitted nodes. Units
without such requirements are passed to the later stages. The other units are placed on their
allowed slots, unit by unit in the order of the batch. Both use the same snapshot, so that neither
reads an outdated state.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from stretto.framework.compiled.group_tables import DomainCaps, DomainSearch, no_caps
from stretto.framework.compiled.placement import BatchPlacement, PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.engine.turns import Run, place_in_turn
from stretto.framework.groups.calls import SlotSetPlacer, new_job
from stretto.framework.groups.in_turn import InTurnPlacer
from stretto.framework.groups.one_by_one import OneByOnePlacer
from stretto.framework.groups.places import DomainOrder
from stretto.framework.groups.reserved import ReservedPlacer
from stretto.framework.groups.tasks import GroupTask, GroupTasks
from stretto.state.queries.domain_caps import count_by_domain, members, slots_of, unit_size
from stretto.state.work.units import Units

FIRST: Final = 8
"""Number of domains to try before listing the slots of all others."""

Tasks = dict[int, GroupTask]


class GroupStage:
    """Places units by domains, caps, NUMA nodes and reservations."""

    name = "groups"

    def __init__(self, runtime: Runtime, units: Units | None = None) -> None:
        """Use one runtime; ``units`` maps pods to units."""
        #: Places pods on given slots.
        self.slot_sets = SlotSetPlacer(runtime)
        self._runtime = runtime
        self._one_by_one = OneByOnePlacer(runtime, self.slot_sets)
        self._in_turn = InTurnPlacer(runtime, self._place_alone)
        self._reserved = ReservedPlacer(
            runtime, self.slot_sets, self._one_by_one, self._place_alone
        )
        self._tasks = GroupTasks(runtime, self.slot_sets, units if units is not None else Units())

    def sync(self) -> None:
        """Update the NUMA nodes from the ledger."""
        self.slot_sets.numa.sync(self._runtime.columns)

    def capacity(self, class_id: int, bound: int) -> int:
        """Return the bound, computed from NUMA nodes if the class requests them."""
        numa = self._runtime.engine.cluster.classes[class_id].annotations.numa is not None
        return self.slot_sets.capacity(class_id) if numa and bound else bound

    def places(self, part: PlacementRequest, *, when_idle: bool = False) -> DomainOrder | None:
        """Domains that the PodGroup of one unit allows; ``None`` for any node.

        Args:
            part: the unit.
            when_idle: true to use allocatable amounts instead of free ones.
        """
        return self._tasks.places(part, when_idle=when_idle)

    def concerns(self, request: PlacementRequest) -> Tasks | None:
        """The units of a batch that need this stage, by their number; ``None`` for none."""
        return self._tasks.of(request) or None

    def place(self, request: PlacementRequest, found: Tasks) -> BatchPlacement:
        """Place runs of other units and of this stage's units, in the order of the batch."""
        ids = np.asarray(request.class_ids, np.int32)
        concerned, units = self._runtime.has_inter_pod_terms(ids), len(request.at_least)

        def run_from(first: int) -> Run:
            task, last = found.get(first), first + 1
            if task is None:
                while last < units and last not in found:
                    last += 1
                return Run(last, partial(self._runtime.place_after, self))
            if not task.simple or (concerned and self._has_inter_pod_terms(request, first)):
                return Run(last, partial(self._place_unit, task=task))
            while last < units and last in found and found[last].simple:
                if concerned and self._has_inter_pod_terms(request, last):
                    break
                last += 1
            return Run(last, self.slot_sets.place_everywhere)

        return place_in_turn(request, run_from)

    def _has_inter_pod_terms(self, request: PlacementRequest, u: int) -> bool:
        """Return whether inter-pod rules apply to a unit of a request."""
        start, stop = int(request.starts[u]), int(request.starts[u + 1])
        ids = np.asarray(request.class_ids[start:stop], np.int32)
        return self._runtime.has_inter_pod_terms(ids)

    # ------------------------------------------------------------ one unit

    def _place_unit(self, part: PlacementRequest, task: GroupTask) -> BatchPlacement:
        """Place one unit that is not placed together with others."""
        if task.expected:
            return self._reserved.place(part, task)
        bound = self._tasks.is_bound(part.class_ids)
        if task.exclusive and not task.is_directed and not bound:
            return self._in_turn.place(part)
        return self._directed(part, task)

    def _place_alone(self, alone: PlacementRequest) -> BatchPlacement:
        """Place one pod without a reservation, anywhere; it holds its exclusive amounts."""
        ids, runtime = np.asarray(alone.class_ids, np.int32), self._runtime
        bound = self._tasks.is_bound(ids)
        exclusive = bool(runtime.engine.cluster.charges.lowers_promises(ids)[0])
        if bound and (exclusive or self._has_inter_pod_terms(alone, 0)):
            nothing = no_caps(runtime.columns.size)
            return self._one_by_one.place(alone, self.slot_sets.everywhere(), nothing, [1])
        place = self.slot_sets.place_everywhere if bound else partial(runtime.place_after, self)
        found = place(alone)
        if exclusive and found.slots[0] >= 0:
            runtime.hold(int(ids[0]), int(found.slots[0]), int(found.devices[0]))
        return found

    def _directed(self, part: PlacementRequest, task: GroupTask) -> BatchPlacement:
        """Place one unit with domains or caps: all of its pods in the first sufficient domain.

        If no domain fits all of its pods, use the first one that fits the minimum number.
        """
        ids = np.asarray(part.class_ids, np.int32)
        places, least = task.places, max(1, task.at_least)
        goals = [least] if places is None or least == len(ids) else [len(ids), least]
        if task.exclusive or self._runtime.has_inter_pod_terms(ids):
            search = self.slot_sets.everywhere() if places is None else self._search(places)
            return self._one_by_one.place(part, search, self._caps(task, search), goals)
        for goal in goals:
            for search in self._searches(places):
                job = new_job(ids, [0, len(ids)], [goal], [False])
                self.slot_sets.run(search, job, self._caps(task, search))
                if (job.slot >= 0).any():
                    return BatchPlacement(job.slot, job.mask, 1)
        return BatchPlacement(job.slot, job.mask, 1)

    def _searches(self, places: DomainOrder | None) -> Iterator[DomainSearch]:
        """The domains for one unit: a few first, because the first one usually suffices."""
        if places is None:
            yield self.slot_sets.everywhere()
        else:
            yield from map(self._search, places.parts(FIRST))

    def _search(self, places: DomainOrder) -> DomainSearch:
        own = self.slot_sets.own(places.slots)
        return DomainSearch(places.slots, places.start, own, np.zeros(1, np.int64))

    def _caps(self, task: GroupTask, search: DomainSearch) -> DomainCaps:
        """Number of further pods of a unit that each value of the capped labels allows."""
        cluster, places = self._runtime.engine.cluster, search.slots
        if not task.caps or task.unit is None or task.row < 0:
            return no_caps(len(places))
        size = unit_size(cluster, task.unit, task.row)
        held_on = slots_of(cluster, members(cluster, task.unit, task.row))
        columns = [cluster.nodes.labels.column(cap.key) for cap in task.caps]
        width = max(int(column.max(initial=0)) for column in columns) + 1
        capacity = np.zeros((len(columns), width), np.int32)
        for q, (cap, column) in enumerate(zip(task.caps, columns, strict=True)):
            held = count_by_domain(column, held_on, width)
            capacity[q] = cap.limit(size) - held
            capacity[q, 0] = 0  # a node without the label is in no domain: no bound
        domain = np.stack([column[places] for column in columns]).astype(np.int32)
        return DomainCaps(domain, capacity)

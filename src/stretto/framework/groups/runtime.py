"""A runtime that also places what a score row cannot say: NUMA nodes, domains, caps, kept places.

Pods that ask nothing of the kind go to the plain runtime untouched; one look at a column tells.
The others are placed by ``kernels_within`` in the slots that are open to them, unit by unit in the
order in which they came, on the same snapshot, so neither kind ever sees an old picture of the
other.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.api.types.godel import PodGroup
from stretto.base.rng import Rng
from stretto.framework.compiled.group_tables import DomainCaps, DomainSearch, PlacementJob, no_caps
from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.framework.engine.runtime import CompiledProfile
from stretto.framework.groups.calls import new_job
from stretto.framework.groups.one_by_one import OneByOneRuntime
from stretto.framework.groups.places import DomainOrder, GangDemand, GangDomains, is_directed
from stretto.framework.groups.recommended import still_recommended, wait_for
from stretto.state.classes.annotations import GPU, DomainCap
from stretto.state.classes.table import STAGED, PodClass
from stretto.state.cluster.reservations import PlaceReservation
from stretto.state.numa.choice import bits
from stretto.state.numa.ledger import DEVICE_BITS
from stretto.state.queries.domain_caps import (
    caps_of,
    count_by_domain,
    members,
    slots_of,
    unit_size,
)
from stretto.state.rows.pods import NO_SLOT
from stretto.state.rows.resources import PODS
from stretto.state.work.claims import AwaitedNode
from stretto.state.work.units import Unit, Units

GROUP_PREFIX: Final = "PodGroupUnit/"
FIRST: Final = 8
"""Domains that are tried before the slots of all others are listed."""
GPU_MILLI: Final = -1
"""Beside resource columns: milli of GPUs."""


class _GroupTask(NamedTuple):
    """One unit of a request that is not placed by score alone."""

    #: First pod.
    start: int
    #: After the last pod.
    stop: int
    #: Pods that must fit together.
    at_least: int
    #: The unit; ``None`` where the request does not say.
    unit: Unit | None
    #: Its caps.
    caps: tuple[DomainCap, ...]
    #: Where it must go; ``None`` for anywhere.
    places: DomainOrder | None
    #: Row of its first pod; -1 where the request does not say.
    row: int = -1
    #: Whether places are kept for its pods, or nodes recommended to them.
    expected: bool = False
    #: Whether it chooses rules that depend on what is on a slot: these are asked unit by unit.
    chooses: bool = False

    @property
    def simple(self) -> bool:
        """Whether it may be placed in one call with its neighbours."""
        return not (self.places is not None or self.caps or self.chooses or self.expected)


_BOUND: Final = _GroupTask(0, 0, 1, None, (), None)
"""A single pod that asks for NUMA nodes and nothing else of this kind."""


class GroupRuntime(OneByOneRuntime):
    """Places every pod of one shard."""

    def __init__(
        self, engine: CompiledProfile, rng: Rng, tier: str = "auto", units: Units | None = None
    ):
        """A runtime of its own snapshot; ``units`` tells which pods belong together."""
        super().__init__(engine, rng, tier)
        self._units = units if units is not None else Units()
        self._gangs = GangDomains(engine.cluster.nodes)

    def place(self, request: PlacementRequest) -> BatchPlacement:
        """Place a batch on the snapshot, in order; the snapshot shows the result at once."""
        cluster = self.engine.cluster
        ids = np.asarray(request.class_ids, np.int32)
        staged = (cluster.classes.special[ids] & STAGED) > 0
        if not cluster.directed and not cluster.recommended and not staged.any():
            return super().place(request)
        tasks = self._tasks(request, staged)
        if not tasks:
            return super().place(request)
        return self._place_in_turn(request, ids, tasks)

    # ------------------------------------------------------------ in the order of the request

    def _place_in_turn(
        self, request: PlacementRequest, ids: npt.NDArray[np.int32], tasks: dict[int, _GroupTask]
    ) -> BatchPlacement:
        """Runs of plain units and runs of others, one after another."""
        answer = np.full(len(ids), NOT_TRIED, np.int32)
        masks = np.zeros(len(ids), np.int32)
        units, u, others = len(request.at_least), 0, None
        waits: dict[int, AwaitedNode] = {}
        concerned = self._has_inter_pod_terms(ids)
        while u < units:
            first = u
            social = concerned and self._unit_has_pod_terms(request, u)
            simple = u in tasks and tasks[u].simple and not social
            while u < units and _kind(tasks, u) == _kind(tasks, first):
                u += 1
                if first in tasks and (
                    not simple or (concerned and self._unit_has_pod_terms(request, u))
                ):
                    break
            part = _part(request, ids, first, u)
            if first not in tasks:
                placed = super().place(part)
            elif simple:
                placed = self._place_in_all_slots(part)
            elif tasks[first].expected:
                placed = self._place_reserved(part, tasks[first])
            else:
                placed = self._place_directed(part, tasks[first])
            start, stop = int(request.starts[first]), int(request.starts[u])
            answer[start:stop], masks[start:stop] = placed.slots, placed.devices
            others = others or placed.others
            waits.update({start + i: each for i, each in placed.waits.items()})
            if placed.tried < u - first or self._blocks(request, u - 1, answer):
                return BatchPlacement(
                    answer, masks, first + placed.tried, others=others, waits=waits
                )
        return BatchPlacement(answer, masks, units, others=others, waits=waits)

    def _unit_has_pod_terms(self, request: PlacementRequest, u: int) -> bool:
        """Whether rules between pods concern a unit of a request."""
        if u >= len(request.at_least):
            return False
        start, stop = int(request.starts[u]), int(request.starts[u + 1])
        return self._has_inter_pod_terms(np.asarray(request.class_ids[start:stop], np.int32))

    def _blocks(self, request: PlacementRequest, u: int, answer: npt.NDArray[np.int32]) -> bool:
        """Whether a unit was a blocking one and failed."""
        if not len(request.blocking) or not request.blocking[u]:
            return False
        placed = int((answer[int(request.starts[u]) : int(request.starts[u + 1])] >= 0).sum())
        return placed < max(1, request.at_least[u])

    def _tasks(
        self, request: PlacementRequest, staged: npt.NDArray[np.bool_]
    ) -> dict[int, _GroupTask]:
        """The units that are not placed by score alone, by their number in the request."""
        cluster = self.engine.cluster
        if cluster.directed or cluster.recommended:
            wanted: Sequence[int] = range(len(request.at_least))
        else:
            wanted = np.unique(
                np.searchsorted(request.starts, np.flatnonzero(staged), side="right") - 1
            ).tolist()
        tasks: dict[int, _GroupTask] = {}
        undirected = not cluster.directed and not cluster.recommended
        alone: dict[int, bool] = {}
        for u in wanted:
            start, stop = int(request.starts[u]), int(request.starts[u + 1])
            if undirected and stop - start == 1:
                class_id = int(request.class_ids[start])
                if class_id not in alone:
                    alone[class_id] = _is_bound_alone(cluster.classes[class_id])
                if alone[class_id]:
                    tasks[u] = _BOUND
                    continue
            unit = self._units.of_row(int(request.rows[start])) if len(request.rows) else None
            group = self._group_of(unit)
            special = staged[start:stop].any()
            caps = caps_of(cluster, unit, int(request.class_ids[start])) if special or group else ()
            hinted = unit is not None and unit.key in cluster.recommended
            if not special and group is None and not hinted:
                continue
            places = None if self.only is not None else self.places(request.part(u, u + 1))
            chooses = self._chooses(request.class_ids[start:stop])
            expected = self._has_reservation(request, start, stop, unit) and places is None
            least = int(request.at_least[u])
            expected = expected and least <= 1 and not caps
            row = int(request.rows[start]) if len(request.rows) else -1
            task = _GroupTask(start, stop, least, unit, caps, places, row, expected, chooses)
            if group is not None or not task.simple or self._is_bound(request, start, stop):
                tasks[u] = task
        return tasks

    def places(self, part: PlacementRequest, *, when_idle: bool = False) -> DomainOrder | None:
        """Where one unit may go as its PodGroup says; ``None`` for anywhere.

        Args:
            part: the unit.
            when_idle: whether what nodes have counts, in place of what they have free.
        """
        unit = self._units.of_row(int(part.rows[0])) if len(part.rows) else None
        group = self._group_of(unit)
        if group is None or unit is None or not is_directed(group):
            return None
        asked = self._wanted(part, 0, len(part.class_ids), int(part.at_least[0]))
        held = self._slots_of(unit)
        return self._gangs.places(group, held, asked, self.columns, when_idle=when_idle)

    def _group_of(self, unit: Unit | None) -> PodGroup | None:
        """The PodGroup of a unit where it says where its pods go."""
        cluster = self.engine.cluster
        key = unit.key.removeprefix(GROUP_PREFIX) if unit is not None else ""
        return cluster.groups.get(key) if key in cluster.directed else None

    def _has_reservation(
        self, request: PlacementRequest, start: int, stop: int, unit: Unit | None
    ) -> bool:
        """Whether places are kept for pods of a unit, or nodes recommended to it."""
        cluster = self.engine.cluster
        if unit is not None and cluster.recommended.get(unit.key):
            return True
        if not cluster.reservations or not len(request.rows):
            return False
        classes = [cluster.classes[int(c)] for c in request.class_ids[start:stop]]
        rows = request.rows[start:stop]
        return any(
            cluster.reservations.for_row(int(r), p) for r, p in zip(rows, classes, strict=True)
        )

    def _is_bound(self, request: PlacementRequest, start: int, stop: int) -> bool:
        """Whether some pods of a unit are bound to NUMA nodes."""
        classes = self.engine.cluster.classes
        ids = np.unique(np.asarray(request.class_ids[start:stop])).tolist()
        return any(classes[class_id].annotations.numa is not None for class_id in ids)

    def _slots_of(self, unit: Unit) -> npt.NDArray[np.int64]:
        """int64[k]: slots of a unit's pods that are on nodes."""
        slots = self.engine.cluster.pods.slot[np.array(list(unit.bound), np.int64)]
        return np.asarray(slots[slots != NO_SLOT], np.int64)

    def _wanted(
        self, request: PlacementRequest, start: int, stop: int, at_least: int
    ) -> GangDemand:
        """What the pods of a unit that must fit ask in all: the ones that ask least."""
        classes = self.engine.cluster.classes
        ids, counts = np.unique(
            np.asarray(request.class_ids[start:stop], np.int32), return_counts=True
        )
        asked: dict[int, list[tuple[int, int]]] = {}
        for class_id, count in zip(ids.tolist(), counts.tolist(), strict=True):
            for column, amount in classes.scaled_requests(class_id):
                asked.setdefault(column, []).append((amount, count))
            milli = sum(d.count * d.milli for d in classes[class_id].devices if d.kind == GPU)
            asked.setdefault(GPU_MILLI, []).append((milli, count))
        least, pods = max(1, at_least), stop - start
        sums = {column: _least(each, pods, least) for column, each in asked.items()}
        return GangDemand([(c, n) for c, n in sums.items() if c >= 0], sums.get(GPU_MILLI, 0))

    # ------------------------------------------------------------ one run

    def _place_reserved(self, part: PlacementRequest, task: _GroupTask) -> BatchPlacement:
        """Pods for which places are kept, or nodes recommended: there first, else anywhere."""
        ids, cluster = np.asarray(part.class_ids, np.int32), self.engine.cluster
        answer, masks = np.full(len(ids), -1, np.int32), np.zeros(len(ids), np.int32)
        used: set[int] = set()
        hints = still_recommended(self.engine, task.unit) if task.unit is not None else []
        waits: dict[int, AwaitedNode] = {}
        for i, row in enumerate(part.rows):
            pod = cluster.classes[int(ids[i])]
            one = new_job(ids[i : i + 1], [0, 1], [1], [False])
            for place in cluster.reservations.for_row(int(row), pod):
                if place.number not in used and answer[i] < 0:
                    one = self._try_slots(place, ids[i : i + 1])
                    if one.slot[0] >= 0:
                        used.add(place.number)
                        answer[i], masks[i] = one.slot[0], one.mask[0]
            if answer[i] < 0 and hints:
                slots = cluster.nodes.slots_named(hints).astype(np.int32)
                one = self._try_slot(slots, ids[i : i + 1])
                answer[i], masks[i] = one.slot[0], one.mask[0]
                if answer[i] >= 0:
                    hints.remove(cluster.nodes.names[int(answer[i])])
            if answer[i] < 0 and hints and not task.chooses:
                social = self._has_inter_pod_terms(ids[i : i + 1])
                wait = None if social else wait_for(self.engine, hints, int(row), pod.id)
                if wait is not None:
                    waits[i] = wait
                    hints.remove(cluster.nodes.names[wait.slot])
                    continue
            if answer[i] < 0:
                alone = PlacementRequest(ids[i : i + 1], [0, 1], [1], rows=part.rows[i : i + 1])
                bound = self._is_bound(alone, 0, 1)
                if bound and self._has_inter_pod_terms(ids[i : i + 1]):
                    nothing = no_caps(self.columns.size)
                    placed = self._place_one_by_one(alone, self._everywhere(), nothing, [1])
                else:
                    placed = self._place_in_all_slots(alone) if bound else super().place(alone)
                answer[i], masks[i] = placed.slots[0], placed.devices[0]
        return BatchPlacement(answer, masks, 1, waits=waits)

    def _try_slots(self, place: PlaceReservation, ids: npt.NDArray[np.int32]) -> PlacementJob:
        """One pod in a kept place, which the snapshot shows as free for that long."""
        self._show(place, 1)
        job = self._try_slot(np.array([place.slot], np.int32), ids)
        if job.slot[0] < 0:
            self._show(place, -1)
        return job

    def _show(self, place: PlaceReservation, sign: int) -> None:
        """Show (or hide again) what a kept place holds as free."""
        columns, ledger, slot = self.columns, self.engine.cluster.ledger, place.slot
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
        hold = self.engine.cluster.topology.holdings.get(place.number)
        for z, k, amount in hold.parts if hold is not None else ():
            self._numa.zones.free[slot, z, k] += sign * amount
        for column, amount in hold.extra if hold is not None else ():
            scaled = ledger.resources.scaled_request(column, amount)
            columns.free[column, slot] += sign * scaled
        columns.append(np.array([slot], np.int64))

    def _place_directed(self, part: PlacementRequest, task: _GroupTask) -> BatchPlacement:
        """One unit with domains or caps: the whole of it in the first domain that holds it.

        If no domain holds all of its pods, the first that holds as many as must fit.
        """
        ids = np.asarray(part.class_ids, np.int32)
        places, least = task.places, max(1, task.at_least)
        goals = [least] if places is None or least == len(ids) else [len(ids), least]
        if self._has_inter_pod_terms(ids):
            search = self._everywhere() if places is None else self._search(places)
            return self._place_one_by_one(part, search, self._caps(task, search), goals)
        for goal in goals:
            for search in self._searches(places):
                job = new_job(ids, [0, len(ids)], [goal], [False])
                self._run(self._work(search, job, self._caps(task, search)))
                if (job.slot >= 0).any():
                    return BatchPlacement(job.slot, job.mask, 1)
        return BatchPlacement(job.slot, job.mask, 1)

    def _searches(self, places: DomainOrder | None) -> Iterator[DomainSearch]:
        """Where one unit is tried: in a few domains first, because the first mostly holds it."""
        if places is None:
            yield self._everywhere()
        else:
            yield from map(self._search, places.parts(FIRST))

    def _search(self, places: DomainOrder) -> DomainSearch:
        return DomainSearch(
            places.slots, places.start, self._own(places.slots), np.zeros(1, np.int64)
        )

    def _caps(self, task: _GroupTask, search: DomainSearch) -> DomainCaps:
        """What each value of the capped labels may still take, for one unit."""
        cluster, places = self.engine.cluster, search.slots
        if not task.caps or task.unit is None or task.row < 0:
            return no_caps(len(places))
        size = unit_size(cluster, task.unit, task.row)
        held_on = slots_of(cluster, members(cluster, task.unit, task.row))
        columns = [cluster.nodes.labels.column(cap.key) for cap in task.caps]
        width = max(int(column.max(initial=0)) for column in columns) + 1
        room = np.zeros((len(columns), width), np.int32)
        for q, (cap, column) in enumerate(zip(task.caps, columns, strict=True)):
            held = count_by_domain(column, held_on, width)
            room[q] = cap.limit(size) - held
            room[q, 0] = 0  # a node without the label belongs nowhere: nothing could be promised
        domain = np.stack([column[places] for column in columns]).astype(np.int32)
        return DomainCaps(domain, room)


def _is_bound_alone(pod: PodClass) -> bool:
    """Whether a class asks for NUMA nodes, and for nothing else of this kind."""
    asks = pod.annotations
    others = asks.reservation is not None or asks.caps or asks.hard or asks.soft
    return asks.numa is not None and not others


def _least(asked: list[tuple[int, int]], pods: int, least: int) -> int:
    """The sum of the ``least`` smallest amounts of so many pods; those not named ask nothing."""
    left, total = least - (pods - sum(count for _, count in asked)), 0
    for amount, count in sorted(asked):
        here = min(count, max(0, left))
        total += amount * here
        left -= here
    return total


def _kind(tasks: dict[int, _GroupTask], u: int) -> bool | None:
    """What sort of run a unit belongs to: plain, simple, or one of its own."""
    return None if u not in tasks else tasks[u].simple


def _part(
    request: PlacementRequest, ids: npt.NDArray[np.int32], first: int, last: int
) -> PlacementRequest:
    """Some units of a request as one of their own."""
    start, stop = int(request.starts[first]), int(request.starts[last])
    return PlacementRequest(
        class_ids=ids[start:stop],
        starts=[int(at) - start for at in request.starts[first : last + 1]],
        at_least=request.at_least[first:last],
        blocking=request.blocking[first:last] if len(request.blocking) else (),
        pins=request.pins[start:stop] if len(request.pins) else (),
        rows=request.rows[start:stop] if len(request.rows) else (),
    )

"""A runtime that also places what a score row cannot say: NUMA nodes, domains, caps, kept places.

Pods that ask nothing of the kind go to the plain runtime untouched; one look at a column tells.
The others are placed by ``kernels_within`` in the slots that are open to them, unit by unit in the
order in which they came, on the same snapshot, so neither kind ever sees an old picture of the
other.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.rng import Rng
from stretto.framework import within_numpy
from stretto.framework.gang_places import GangPlaces, Places, Wanted, is_directed
from stretto.framework.runtime import NOT_TRIED, Engine, Placement, Request, Runtime
from stretto.framework.zone_columns import ZoneColumns
from stretto.framework.zone_program import Caps, Job, Search, Work, no_caps
from stretto.state.classes import STAGED, PodClass
from stretto.state.pods import NO_SLOT
from stretto.state.slots import BLOCK
from stretto.state.topology_caps import caps_of, held_by_domain, unit_size
from stretto.state.topology_notes import GPU, DomainCap
from stretto.state.units import Unit, Units

GROUP_PREFIX: Final = "PodGroupUnit/"
GPU_MILLI: Final = -1
"""Beside resource columns: milli of GPUs."""


class _Task(NamedTuple):
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
    places: Places | None
    #: Whether it chooses rules that depend on what is on a slot: these are asked unit by unit.
    chooses: bool = False

    @property
    def simple(self) -> bool:
        """Whether it may be placed in one call with its neighbours."""
        return self.places is None and not self.caps and not self.chooses


class StagedRuntime(Runtime):
    """Places every pod of one shard."""

    def __init__(self, engine: Engine, rng: Rng, tier: str = "auto", units: Units | None = None):
        """A runtime of its own snapshot; ``units`` tells which pods belong together."""
        super().__init__(engine, rng, tier)
        self._units = units if units is not None else Units()
        self._numa = ZoneColumns(engine.cluster.topology, engine.cluster.ledger)
        self._gangs = GangPlaces(engine.cluster.nodes)
        self._cursor = np.zeros(1, np.int64)

    def sync(self) -> None:
        """Bring the snapshot up to date with the ledger."""
        super().sync()
        self._numa.sync(self.columns)

    def room(self, class_id: int) -> int:
        """An upper bound of how many pods of a class fit now; NUMA nodes count one each."""
        bound = super().room(class_id)
        pod = self.engine.cluster.classes[class_id]
        if bound == 0 or pod.asks.zones is None:
            return bound
        job = _job(np.array([class_id], np.int32), [0, 1], [1], [False])
        work = self._work(self._everywhere(), job, no_caps(self.columns.size))
        if self._kernel.name == "numpy":
            return within_numpy.count_within(self._program(), self._state(), work)
        from stretto.framework.kernels_within import count_within

        zones, asks, caps, search, _ = work
        program, state = self._program(), self._state()
        return int(count_within(program, state, zones, asks, caps, search, class_id))

    def place(self, request: Request) -> Placement:
        """Place a batch on the snapshot, in order; the snapshot shows the result at once."""
        cluster = self.engine.cluster
        ids = np.asarray(request.class_ids, np.int32)
        staged = (cluster.classes.special[ids] & STAGED) > 0
        if not cluster.directed and not staged.any():
            return super().place(request)
        tasks = self._tasks(request, staged)
        if not tasks:
            return super().place(request)
        return self._place_in_turn(request, ids, tasks)

    # ------------------------------------------------------------ in the order of the request

    def _place_in_turn(
        self, request: Request, ids: npt.NDArray[np.int32], tasks: dict[int, _Task]
    ) -> Placement:
        """Runs of plain units and runs of others, one after another."""
        answer = np.full(len(ids), NOT_TRIED, np.int32)
        masks = np.zeros(len(ids), np.int32)
        units, u = len(request.at_least), 0
        while u < units:
            first = u
            simple = u in tasks and tasks[u].simple
            while u < units and _kind(tasks, u) == _kind(tasks, first):
                u += 1
                if first in tasks and not simple:
                    break
            part = _part(request, ids, first, u)
            if first not in tasks:
                placed = super().place(part)
            elif simple:
                placed = self._place_open(part)
            else:
                placed = self._place_directed(part, tasks[first])
            start, stop = int(request.starts[first]), int(request.starts[u])
            answer[start:stop], masks[start:stop] = placed.slots, placed.devices
            if placed.tried < u - first or self._blocks(request, u - 1, answer):
                return Placement(answer, masks, first + placed.tried)
        return Placement(answer, masks, units)

    def _blocks(self, request: Request, u: int, answer: npt.NDArray[np.int32]) -> bool:
        """Whether a unit was a blocking one and failed."""
        if not len(request.blocking) or not request.blocking[u]:
            return False
        placed = int((answer[int(request.starts[u]) : int(request.starts[u + 1])] >= 0).sum())
        return placed < max(1, request.at_least[u])

    def _tasks(self, request: Request, staged: npt.NDArray[np.bool_]) -> dict[int, _Task]:
        """The units that are not placed by score alone, by their number in the request."""
        cluster = self.engine.cluster
        if cluster.directed:
            wanted: Sequence[int] = range(len(request.at_least))
        else:
            wanted = np.unique(
                np.searchsorted(request.starts, np.flatnonzero(staged), side="right") - 1
            ).tolist()
        tasks: dict[int, _Task] = {}
        for u in wanted:
            start, stop = int(request.starts[u]), int(request.starts[u + 1])
            unit = self._units.of_row(int(request.rows[start])) if len(request.rows) else None
            key = unit.key.removeprefix(GROUP_PREFIX) if unit is not None else ""
            group = cluster.groups.get(key) if key in cluster.directed else None
            special = staged[start:stop].any()
            caps = caps_of(cluster, unit, int(request.class_ids[start])) if special or group else ()
            if not special and group is None:
                continue
            places = None
            if group is not None and unit is not None and is_directed(group):
                held = self._slots_of(unit)
                asked = self._wanted(request, start, stop, int(request.at_least[u]))
                places = self._gangs.places(group, held, asked, self.columns)
            chooses = self._chooses(request.class_ids[start:stop])
            task = _Task(start, stop, int(request.at_least[u]), unit, caps, places, chooses)
            if group is not None or not task.simple or self._is_bound(request, start, stop):
                tasks[u] = task
        return tasks

    def _is_bound(self, request: Request, start: int, stop: int) -> bool:
        """Whether some pods of a unit are bound to NUMA nodes."""
        classes = self.engine.cluster.classes
        ids = np.unique(np.asarray(request.class_ids[start:stop])).tolist()
        return any(classes[class_id].asks.zones is not None for class_id in ids)

    def _chooses(self, class_ids: Sequence[int] | npt.NDArray[np.int32]) -> bool:
        """Whether some classes choose rules that the kernels do not know."""
        chosen, classes = self.engine.profile.chosen, self.engine.cluster.classes
        if chosen is None:
            return False
        return any(chosen.asks(classes[c]) for c in np.unique(np.asarray(class_ids)).tolist())

    def _slots_of(self, unit: Unit) -> npt.NDArray[np.int64]:
        """int64[k]: slots of a unit's pods that are on nodes."""
        slots = self.engine.cluster.pods.slot[np.array(list(unit.bound), np.int64)]
        return np.asarray(slots[slots != NO_SLOT], np.int64)

    def _wanted(self, request: Request, start: int, stop: int, at_least: int) -> Wanted:
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
        return Wanted([(c, n) for c, n in sums.items() if c >= 0], sums.get(GPU_MILLI, 0))

    # ------------------------------------------------------------ one run

    def _place_open(self, part: Request) -> Placement:
        """Units of NUMA nodes that may go anywhere."""
        ids = np.asarray(part.class_ids, np.int32)
        job = _job(ids, part.starts, part.at_least, part.blocking)
        tried = self._run(self._work(self._everywhere(), job, no_caps(self.columns.size)))
        return Placement(job.slot, job.mask, tried)

    def _place_directed(self, part: Request, task: _Task) -> Placement:
        """One unit with domains or caps: the whole of it in the first domain that holds it.

        If no domain holds all of its pods, the first that holds as many as must fit.
        """
        ids = np.asarray(part.class_ids, np.int32)
        search = self._everywhere() if task.places is None else self._search(task.places)
        least = max(1, task.at_least)
        goals = [least] if task.places is None or least == len(ids) else [len(ids), least]
        job = _job(ids, [0, len(ids)], goals[:1], [False])
        for goal in goals:
            job = _job(ids, [0, len(ids)], [goal], [False])
            self._run(self._work(search, job, self._caps(task, search)))
            if (job.slot >= 0).any():
                break
        return Placement(job.slot, job.mask, 1)

    def _run(self, work: Work) -> int:
        """One kernel call."""
        program, state = self._program(), self._state()
        if not len(work.search.slots):
            work.job.slot[:] = -1
            return len(work.job.at_least)
        self.columns.room_in_log(2 * len(work.job.local) + 1)
        table = self.engine.compiler.table
        chosen = self._chosen_rows(work.job.class_id)
        if chosen is not None:
            program = (program[0], self.engine.compiler.static._replace(extra=chosen), *program[2:])
            table.extra_row[work.job.class_id] = np.arange(len(chosen))
        try:
            return self._call(program, state, work)
        finally:
            table.extra_row[work.job.class_id] = -1

    def _chosen_rows(self, class_ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int16] | None:
        """int16[class, slot]: what the rules that classes choose say now; ``None`` for nothing."""
        rules, classes = self.engine.profile.chosen, self.engine.cluster.classes
        if rules is None or not self._chooses(class_ids):
            return None
        slots = np.arange(self.columns.size)
        rows = [rules.slot_values(classes[c], self.view, slots) for c in class_ids.tolist()]
        return np.stack(rows).astype(np.int16)

    def _call(self, program: tuple[object, ...], state: tuple[Any, ...], work: Work) -> int:
        """The kernel of this runtime's tier."""
        log, log_state = self.columns.log, self.columns.log_state
        pick = int(self.engine.profile.device_pick)
        if self._kernel.name == "numpy":
            return within_numpy.place_within(program, state, work, (log, log_state), pick)
        from stretto.framework.kernels_within import place_within

        return int(place_within(program, state, *work, log, log_state, pick))

    def _work(self, search: Search, job: Job, caps: Caps) -> Work:
        """The classes of a job compiled, and everything that a kernel reads."""
        self._make_ready(job.class_id)
        classes: list[PodClass] = [self.engine.cluster.classes[c] for c in job.class_id.tolist()]
        return Work(self._numa.zones, self._numa.asks(classes), caps, search, job)

    def _everywhere(self) -> Search:
        """Every node, the own ones first, equal ones in turn."""
        slots = np.flatnonzero(self.columns.live).astype(np.int32)
        start = np.array([0, len(slots)], np.int32)
        return Search(slots, start, self._own(slots), self._cursor)

    def _search(self, places: Places) -> Search:
        return Search(places.slots, places.start, self._own(places.slots), np.zeros(1, np.int64))

    def _own(self, slots: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
        """uint8[k]: 1 where a slot is of the own partition, where there is one."""
        if self.own_block.all():
            return np.zeros(len(slots), np.uint8)
        return self.own_block[slots // BLOCK]

    def _caps(self, task: _Task, search: Search) -> Caps:
        """What each value of the capped labels may still take, for one unit."""
        cluster, places = self.engine.cluster, search.slots
        if not task.caps or task.unit is None:
            return no_caps(len(places))
        size = unit_size(cluster, task.unit)
        columns = [cluster.nodes.labels.column(cap.key) for cap in task.caps]
        width = max(int(column.max(initial=0)) for column in columns) + 1
        room = np.zeros((len(columns), width), np.int32)
        for q, (cap, column) in enumerate(zip(task.caps, columns, strict=True)):
            held = held_by_domain(column, self._slots_of(task.unit), width)
            room[q] = cap.limit(size) - held
            room[q, 0] = 0  # a node without the label belongs nowhere: nothing could be promised
        domain = np.stack([column[places] for column in columns]).astype(np.int32)
        return Caps(domain, room)


def _least(asked: list[tuple[int, int]], pods: int, least: int) -> int:
    """The sum of the ``least`` smallest amounts of so many pods; those not named ask nothing."""
    left, total = least - (pods - sum(count for _, count in asked)), 0
    for amount, count in sorted(asked):
        here = min(count, max(0, left))
        total += amount * here
        left -= here
    return total


def _kind(tasks: dict[int, _Task], u: int) -> bool | None:
    """What sort of run a unit belongs to: plain, simple, or one of its own."""
    return None if u not in tasks else tasks[u].simple


def _part(request: Request, ids: npt.NDArray[np.int32], first: int, last: int) -> Request:
    """Some units of a request as one of their own."""
    start, stop = int(request.starts[first]), int(request.starts[last])
    return Request(
        class_ids=ids[start:stop],
        starts=[int(at) - start for at in request.starts[first : last + 1]],
        at_least=request.at_least[first:last],
        blocking=request.blocking[first:last] if len(request.blocking) else (),
        pins=request.pins[start:stop] if len(request.pins) else (),
        rows=request.rows[start:stop] if len(request.rows) else (),
    )


def _job(
    ids: npt.NDArray[np.int32],
    starts: Sequence[int],
    at_least: Sequence[int],
    blocking: Sequence[bool],
) -> Job:
    """Units to place, their answers still open."""
    classes, local = np.unique(ids, return_inverse=True)
    if not len(blocking):
        blocking = [False] * len(at_least)
    return Job(
        class_id=classes.astype(np.int32),
        local=local.astype(np.int32),
        start=np.asarray(starts, np.int32),
        at_least=np.asarray(at_least, np.int32),
        blocking=np.asarray(blocking, np.uint8),
        slot=np.full(len(ids), NOT_TRIED, np.int32),
        mask=np.zeros(len(ids), np.int32),
    )

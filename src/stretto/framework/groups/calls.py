"""Kernel calls of ``kernels_within``: classes compiled, slots listed, the tier chosen.

What is placed where is said by ``staged_runtime``; here is how a call is made over one shard's
snapshot of amounts and of NUMA nodes.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stretto.base.rng import Rng
from stretto.framework.compiled.group_tables import (
    DomainCaps,
    DomainSearch,
    PlacementJob,
    PlacementWork,
    no_caps,
)
from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.framework.engine.runtime import CompiledProfile, Runtime
from stretto.framework.groups.numa_snapshot import NumaColumns
from stretto.framework.kernels.numpy import groups
from stretto.state.classes.table import PodClass
from stretto.state.rows.slots import BLOCK

MANY: Final = 512
"""Places from which on the values of a class are taken from its whole row, made in one pass."""
COMPILE_FROM: Final = 4096
"""Pods times places that the NumPy form computes before the compiled kernels are loaded."""


class SlotSetRuntime(Runtime):
    """A runtime that can also place inside given slots."""

    def __init__(self, engine: CompiledProfile, rng: Rng, tier: str = "auto") -> None:
        """A runtime of its own snapshot."""
        super().__init__(engine, rng, tier)
        self._numa = NumaColumns(engine.cluster.topology, engine.cluster.ledger)
        self._cursor = np.zeros(1, np.int64)
        self._plain_work = 0

    def sync(self) -> None:
        """Bring the snapshot up to date with the ledger."""
        super().sync()
        self._numa.sync(self.columns)

    def room(self, class_id: int) -> int:
        """An upper bound of how many pods of a class fit now; NUMA nodes count one each."""
        bound = super().room(class_id)
        pod = self.engine.cluster.classes[class_id]
        if bound == 0 or pod.annotations.numa is None:
            return bound
        job = new_job(np.array([class_id], np.int32), [0, 1], [1], [False])
        work = self._work(self._everywhere(), job, no_caps(self.columns.size))
        if not self._compiles(work):
            return groups.count_in_slots(self._program(), self._state(), work)
        from stretto.framework.kernels.groups.place import count_in_slots

        zones, asks, caps, search, _ = work
        program, state = self._program(), self._state()
        return int(count_in_slots(program, state, zones, asks, caps, search, class_id))

    def _place_in_all_slots(self, part: PlacementRequest) -> BatchPlacement:
        """Units of NUMA nodes that may go anywhere."""
        ids = np.asarray(part.class_ids, np.int32)
        job = new_job(ids, part.starts, part.at_least, part.blocking)
        tried = self._run(self._work(self._everywhere(), job, no_caps(self.columns.size)))
        return BatchPlacement(job.slot, job.mask, tried)

    def _try_slot(self, slots: npt.NDArray[np.int32], ids: npt.NDArray[np.int32]) -> PlacementJob:
        """One pod on some slots, as far as other pods let it go there."""
        concerned, class_id = self._has_inter_pod_terms(ids), int(ids[0])
        if concerned:
            slots = slots[self.row(class_id)[slots] > 0]
        job = new_job(ids, [0, 1], [1], [False])
        start = np.array([0, len(slots)], np.int32)
        search = DomainSearch(slots, start, np.zeros(len(slots), np.uint8), np.zeros(1, np.int64))
        self._run(self._work(search, job, no_caps(len(slots))))
        if concerned and job.slot[0] >= 0:
            self.between.take(class_id, int(job.slot[0]), 1)
            self.between.placed(ids, job.slot)
        return job

    def _run(self, work: PlacementWork) -> int:
        """One kernel call."""
        program, state = self._program(), self._state()
        if not len(work.search.slots):
            work.job.slot[:] = -1
            return len(work.job.at_least)
        self.columns.has_log_capacity(2 * len(work.job.local) + 1)
        table = self.engine.compiler.table
        chosen = self._chosen_rows(work.job.class_id)
        if chosen is not None:
            program = (program[0], self.engine.compiler.static._replace(extra=chosen), *program[2:])
            table.extra_row[work.job.class_id] = np.arange(len(chosen))
        try:
            return self._call(program, state, work)
        finally:
            table.extra_row[work.job.class_id] = -1

    def _has_rows(self, class_ids: npt.NDArray[np.int32]) -> bool:
        """Whether the plain runtime's rows say what slots are worth to these classes."""
        chosen = self.engine.compiler.table.extra_row[class_ids] >= 0
        return not (chosen.any() or self._has_inter_pod_terms(class_ids))

    def _compiles(self, work: PlacementWork) -> bool:
        """Whether this call uses the compiled kernels.

        Importing and loading them takes a second, so the NumPy form does the first pods on the
        first nodes, with equal results.
        """
        if not self._kernel.compiles_searches:
            return False
        self._plain_work += len(work.job.local) * len(work.search.slots)
        return self._plain_work > COMPILE_FROM

    def _chosen_rows(self, class_ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int16] | None:
        """int16[class, slot]: what the rules that classes choose say now; ``None`` for nothing."""
        rules, classes = self.engine.profile.chosen, self.engine.cluster.classes
        if rules is None or not self._chooses(class_ids):
            return None
        slots = np.arange(self.columns.size)
        rows = [rules.slot_values(classes[c], self.view, slots) for c in class_ids.tolist()]
        return np.stack(rows).astype(np.int16)

    def _call(
        self, program: tuple[object, ...], state: tuple[Any, ...], work: PlacementWork
    ) -> int:
        """The kernel of this runtime's tier."""
        log, log_state = self.columns.log, self.columns.log_state
        pick = int(self.engine.profile.device_pick)
        if not self._compiles(work):
            return groups.place_in_slots(program, state, work, (log, log_state), pick)
        from stretto.framework.kernels.groups.place import place_in_slots

        rows = np.zeros((0, 0), np.int16)
        if len(work.search.slots) >= MANY and self._has_rows(work.job.class_id):
            rows = np.stack([self.row(c) for c in work.job.class_id.tolist()])
        return int(place_in_slots(program, state, *work, log, log_state, pick, rows))

    def _work(self, search: DomainSearch, job: PlacementJob, caps: DomainCaps) -> PlacementWork:
        """The classes of a job compiled, and everything that a kernel reads."""
        self._make_ready(job.class_id)
        classes: list[PodClass] = [self.engine.cluster.classes[c] for c in job.class_id.tolist()]
        return PlacementWork(self._numa.zones, self._numa.asks(classes), caps, search, job)

    def _everywhere(self) -> DomainSearch:
        """Every node, the own ones first, equal ones in turn."""
        live = self.columns.live > 0 if self.only is None else (self.columns.live > 0) & self.only
        slots = np.flatnonzero(live).astype(np.int32)
        start = np.array([0, len(slots)], np.int32)
        return DomainSearch(slots, start, self._own(slots), self._cursor)

    def _own(self, slots: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
        """uint8[k]: 1 where a slot is of the own partition, where there is one."""
        if self.own_block.all():
            return np.zeros(len(slots), np.uint8)
        return self.own_block[slots // BLOCK]

    def _chooses(self, class_ids: Sequence[int] | npt.NDArray[np.int32]) -> bool:
        """Whether some classes choose rules that the kernels do not know."""
        chosen, classes = self.engine.profile.chosen, self.engine.cluster.classes
        if chosen is None:
            return False
        return any(chosen.asks(classes[c]) for c in np.unique(np.asarray(class_ids)).tolist())


def new_job(
    ids: npt.NDArray[np.int32],
    starts: Sequence[int],
    at_least: Sequence[int],
    blocking: Sequence[bool],
) -> PlacementJob:
    """Units to place, their answers still open."""
    classes, local = np.unique(ids, return_inverse=True)
    if not len(blocking):
        blocking = [False] * len(at_least)
    return PlacementJob(
        class_id=classes.astype(np.int32),
        local=local.astype(np.int32),
        start=np.asarray(starts, np.int32),
        at_least=np.asarray(at_least, np.int32),
        blocking=np.asarray(blocking, np.uint8),
        slot=np.full(len(ids), NOT_TRIED, np.int32),
        mask=np.zeros(len(ids), np.int32),
    )

"""Kernel calls that place pods on given slots: compile classes, list slots, select the tier."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.group_tables import (
    DomainCaps,
    DomainSearch,
    PlacementJob,
    PlacementWork,
    no_caps,
)
from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.framework.compiled.tables import StaticTable
from stretto.framework.engine.runtime import Runtime
from stretto.framework.groups.numa_snapshot import NumaColumns
from stretto.framework.kernels.numpy import groups
from stretto.state.classes.table import PodClass
from stretto.state.rows.slots import BLOCK

MANY: Final = 512
"""Number of slots from which values come from the whole row of a class, built in one pass."""
COMPILE_FROM: Final = 4096
"""Pods times slots up to which the NumPy form is used, before the compiled form is loaded."""


class SlotSetPlacer:
    """Places pods on given slots, on the snapshot of a runtime and its copy of the NUMA nodes."""

    def __init__(self, runtime: Runtime) -> None:
        """Use one runtime; the NUMA nodes are empty until ``sync``."""
        #: The copy of the NUMA nodes.
        self.numa = NumaColumns(runtime.engine.cluster.topology, runtime.engine.cluster.ledger)
        self._runtime = runtime
        self._engine = runtime.engine
        self._cursor = np.zeros(1, np.int64)
        self._plain_work = 0

    def capacity(self, class_id: int) -> int:
        """Number of nodes on which a class with NUMA requests fits at present: one pod per node."""
        job = new_job(np.array([class_id], np.int32), [0, 1], [1], [False])
        work = self._work(self.everywhere(), job, no_caps(self._runtime.columns.size))
        if not self._compiles(work):
            return groups.count_in_slots(self._numpy_program(), self._runtime.scores.state(), work)
        from stretto.framework.kernels.groups.place import count_in_slots

        numa, requests, caps, search, _ = work
        program, state = self._program(), self._runtime.scores.state()
        return int(count_in_slots(program, state, numa, requests, caps, search, class_id))

    def place_everywhere(self, part: PlacementRequest) -> BatchPlacement:
        """Place units with NUMA requests that may use any node."""
        ids = np.asarray(part.class_ids, np.int32)
        job = new_job(ids, part.starts, part.at_least, part.blocking)
        tried = self.run(self.everywhere(), job, no_caps(self._runtime.columns.size))
        return BatchPlacement(job.slot, job.mask, tried)

    def try_slots(self, slots: npt.NDArray[np.int32], ids: npt.NDArray[np.int32]) -> PlacementJob:
        """Place one pod on some slots, if inter-pod rules allow it there."""
        runtime, class_id = self._runtime, int(ids[0])
        concerned = runtime.has_inter_pod_terms(ids)
        if concerned:
            slots = slots[runtime.row(class_id)[slots] > 0]
        job = new_job(ids, [0, 1], [1], [False])
        start = np.array([0, len(slots)], np.int32)
        search = DomainSearch(slots, start, np.zeros(len(slots), np.uint8), np.zeros(1, np.int64))
        self.run(search, job, no_caps(len(slots)))
        if concerned and job.slot[0] >= 0:
            runtime.between.take(class_id, int(job.slot[0]), 1)
            runtime.between.placed(ids, job.slot)
        return job

    def run(self, search: DomainSearch, job: PlacementJob, caps: DomainCaps) -> int:
        """Call the kernel once: results are in the job; returns the number of units tried."""
        work = self._work(search, job, caps)
        if not len(search.slots):
            job.slot[:] = -1
            return len(job.at_least)
        self._runtime.columns.has_log_capacity(2 * len(job.local) + 1)
        chosen, static = self._chosen_rows(job.class_id), None
        table = self._engine.compiler.table
        if chosen is not None:
            static = self._engine.compiler.static._replace(extra=chosen)
            table.extra_row[job.class_id] = np.arange(len(chosen))
        try:
            return self._call(work, static)
        finally:
            table.extra_row[job.class_id] = -1

    def everywhere(self) -> DomainSearch:
        """Search over every node, the shard's own partition first, equal nodes in rotation."""
        live, only = self._runtime.columns.live > 0, self._runtime.only
        slots = np.flatnonzero(live if only is None else live & only).astype(np.int32)
        start = np.array([0, len(slots)], np.int32)
        return DomainSearch(slots, start, self.own(slots), self._cursor)

    def own(self, slots: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
        """uint8[k]: 1 where a slot belongs to the shard's own partition, if it has one."""
        own_block = self._runtime.own_block
        if own_block.all():
            return np.zeros(len(slots), np.uint8)
        return own_block[slots // BLOCK]

    def chooses(self, class_ids: Sequence[int] | npt.NDArray[np.int32]) -> bool:
        """Return whether some classes select rules that the kernels do not include."""
        chosen, classes = self._engine.profile.chosen, self._engine.cluster.classes
        if chosen is None:
            return False
        return any(chosen.applies_to(classes[c]) for c in np.unique(np.asarray(class_ids)).tolist())

    def _program(self) -> tuple[Any, ...]:
        return self._runtime.scores.program(self._runtime.only)

    def _numpy_program(self, static: StaticTable | None = None) -> tuple[Any, ...]:
        """The compiled profile with its Python rules, which only the NumPy form evaluates."""
        rules, (classes, own, *rest) = self._runtime.scores.rules, self._program()
        values = () if rules is None else (rules.slot_values,)
        return (classes, own if static is None else static, *rest, *values)

    def _compiles(self, work: PlacementWork) -> bool:
        """Return whether to use the compiled form: for supported profiles, if there is enough work.

        The first compilation takes a minute or two. The NumPy form places a few pods on a few nodes
        with the same result.
        """
        scores = self._runtime.scores
        if not scores.kernel.compiles_searches or scores.rules is not None:
            return False
        self._plain_work += len(work.job.local) * len(work.search.slots)
        return self._plain_work > COMPILE_FROM

    def _call(self, work: PlacementWork, static: StaticTable | None) -> int:
        """Call the kernel of the tier; ``static`` replaces the static rows of the profile."""
        scores, columns = self._runtime.scores, self._runtime.columns
        pick = int(self._engine.profile.device_pick)
        if not self._compiles(work):
            log, program = (columns.log, columns.log_state), self._numpy_program(static)
            return groups.place_in_slots(program, scores.state(), work, log, pick)
        from stretto.framework.kernels.groups.place import place_in_slots

        program, rows = self._program(), np.zeros((0, 0), np.int16)
        if static is not None:
            program = (program[0], static, *program[2:])
        if len(work.search.slots) >= MANY and self._has_rows(work.job.class_id):
            rows = np.stack([self._runtime.row(c) for c in work.job.class_id.tolist()])
        logged = columns.log, columns.log_state
        return int(place_in_slots(program, scores.state(), *work, *logged, pick, rows))

    def _has_rows(self, class_ids: npt.NDArray[np.int32]) -> bool:
        """Return whether the rows of the runtime contain the values of these classes."""
        chosen = self._engine.compiler.table.extra_row[class_ids] >= 0
        return not (chosen.any() or self._runtime.has_inter_pod_terms(class_ids))

    def _chosen_rows(self, class_ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int16] | None:
        """int16[class, slot]: current results of rules that classes select; ``None`` for none."""
        rules, classes = self._engine.profile.chosen, self._engine.cluster.classes
        if rules is None or not self.chooses(class_ids):
            return None
        slots, view = np.arange(self._runtime.columns.size), self._runtime.view
        rows = [rules.slot_values(classes[c], view, slots) for c in class_ids.tolist()]
        return np.stack(rows).astype(np.int16)

    def _work(self, search: DomainSearch, job: PlacementJob, caps: DomainCaps) -> PlacementWork:
        """Compile the classes of a job and collect all arrays that a kernel reads."""
        self._runtime.make_ready(job.class_id)
        classes: list[PodClass] = [self._engine.cluster.classes[c] for c in job.class_id.tolist()]
        return PlacementWork(self.numa.snapshot, self.numa.requests(classes), caps, search, job)


def new_job(
    ids: npt.NDArray[np.int32],
    starts: Sequence[int],
    at_least: Sequence[int],
    blocking: Sequence[bool],
) -> PlacementJob:
    """Units to place, without results."""
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

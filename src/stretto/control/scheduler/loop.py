"""A scheduling loop: turns the units of its inbox into plans on its own snapshot.

Each cycle places dispatched units in order and proposes the result as one plan. A loop writes only
to its snapshot. If a loop is lost, no decision is lost, because the dispatcher still tracks every
dispatched row. A loop answers each dispatched row by a claim or a setback, unless its pod was
deleted or the row was dispatched again.
"""

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.base.arrays import named_tuples
from stretto.control.scheduler.candidates import HostCandidates
from stretto.control.scheduler.preemption import ShardPreemption
from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.framework.placers import Placer
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import Pods
from stretto.state.work.claims import AwaitedNode, Plan, UnitClaims, UnitPreemption
from stretto.state.work.units import BY_EVICTION, Cure, Dispatch, Setback, SetbackReason, Unit

BATCH: Final = 1024
"""Pods placed in one cycle: large enough to amortise a kernel call, small enough for a fast answer.
"""

NO_CLASS: Final = -1
"""Class id that means "no single class is to blame"."""

ANY_SLOT: Final = -1
"""Slot that means "the shard chooses the node"."""

SENT_AGAIN: Final = -1
"""Serial in the inbox for a row that a later dispatch contains: no pod has it."""

CuresOf = Callable[[int], Cure]
"""Maps a class id to the events that may let its pods fit."""


class LoopId(NamedTuple):
    """Identity of a loop."""

    #: Number of the shard.
    shard: int
    #: Sub-cluster; empty for the loop over every node.
    sub_cluster: str = ""


class LoopHelpers(NamedTuple):
    """Extensions of the plans of a loop."""

    #: Finds victims for pods that fit nowhere; ``None`` without preemption.
    preempting: ShardPreemption | None = None
    #: Adds hosts to try if the first one refuses; ``None`` for one host per claim.
    candidates: HostCandidates | None = None


NO_HELPERS: Final = LoopHelpers()
"""Plans of placed pods alone, with one host per claim."""


class SchedulingLoop:
    """One scheduling loop: inbox in, plans out."""

    def __init__(
        self,
        identity: LoopId,
        runtime: Placer,
        pods: Pods,
        cures_of: CuresOf,
        helpers: LoopHelpers = NO_HELPERS,
    ) -> None:
        """Create a loop over the cluster's pods.

        Args:
            identity: shard and sub-cluster of the loop.
            runtime: engine of the loop, with a snapshot of its own.
            pods: the cluster's pods.
            cures_of: maps a class id to the events that may let its pods fit.
            helpers: extensions of its plans.
        """
        #: Number of the shard.
        self.number = identity.shard
        #: Sub-cluster whose units it places; empty for the loop over every node.
        self.sub_cluster = identity.sub_cluster
        #: Engine and snapshot of the loop.
        self.runtime = runtime
        #: Finds victims for pods that fit nowhere; ``None`` without preemption.
        self.preempting = helpers.preempting
        self._candidates = helpers.candidates
        self._pods = pods
        self._cures_of = cures_of
        #: Rows of the pods in the inbox.
        self.rows: list[int] = []
        self._inbox: list[Dispatch] = []
        self._serials: list[int] = []

    def capacity(self, class_id: int) -> int:
        """Upper bound of the pods of a class that fit now, plus ``BY_EVICTION`` if more may."""
        self.runtime.sync()
        capacity = self.runtime.capacity(class_id)
        return capacity + BY_EVICTION if self.chance(class_id) else capacity

    def chance(self, class_id: int) -> bool:
        """Return whether preemption may help pods of a class that was refused."""
        if self.preempting is None:
            return False
        self.runtime.sync()
        return self.preempting.chance(class_id)

    def accept(self, dispatches: Iterable[Dispatch]) -> None:
        """Add work to the inbox; serials are stored to recognise reused rows.

        The dispatcher sends a row again only after it has withdrawn the earlier dispatch, for
        example if the row was reused. The later dispatch alone counts, so that a plan contains each
        row once.
        """
        work = list(dispatches)
        rows = [row for dispatch in work for row in dispatch.rows]
        if self.rows and (again := set(rows).intersection(self.rows)):
            for i in [i for i, row in enumerate(self.rows) if row in again]:
                self._serials[i] = SENT_AGAIN
        self._inbox += work
        self.rows += rows
        self._serials += self._pods.serial[np.array(rows, np.int64)].tolist()

    def cycle(self, limit: int = BATCH) -> Plan | None:
        """Place the oldest units of the inbox, about ``limit`` pods; ``None`` if it is empty."""
        if not self.rows:
            return None
        work, setbacks = self._take(limit)
        self.runtime.sync()
        rows = [row for dispatch in work for row in dispatch.rows]
        starts = _starts(work)
        index = np.array(rows, np.int64)
        placement = self.runtime.place(
            PlacementRequest(
                class_ids=self._pods.class_id[index],
                starts=starts,
                at_least=[dispatch.at_least or 1 for dispatch in work],
                blocking=[dispatch.blocking for dispatch in work],
                rows=rows,
                pins=_pins(work),
            )
        )
        if _is_blocked(work, starts, placement):
            setbacks.extend(self._give_up_inbox())
        plan = self._plan(work, index, starts, placement, setbacks)
        waits = {rows[i]: wait for i, wait in placement.waits.items()}
        if self._candidates is not None:
            fixed = [row for each in work if each.slots for row in each.rows]
            plan = self._candidates.extend(plan, fixed)
        if waits:
            plan = plan._replace(setbacks=_without(plan.setbacks, waits))
        if plan.setbacks and self.preempting is not None:
            plan = self.preempting.extend(plan)
        return self._with_preemptions(plan, work, waits) if waits else plan

    def _with_preemptions(
        self, plan: Plan, work: Sequence[Dispatch], waits: Mapping[int, AwaitedNode]
    ) -> Plan:
        """Return the plan with additional claims that wait for victims."""
        columns, at, count = self.runtime.columns, len(plan.rows), len(plan.units)
        whose = {row: dispatch.unit for dispatch in work for row in dispatch.rows if row in waits}
        index = np.array(list(whose), np.int64)
        slots = np.array([waits[row].slot for row in whose], np.int32)
        masks = np.array([waits[row].mask for row in whose], np.int32)
        return plan._replace(
            rows=np.concatenate([plan.rows, index]),
            serials=np.concatenate([plan.serials, self._pods.serial[index]]),
            slots=np.concatenate([plan.slots, slots]),
            generations=np.concatenate([plan.generations, columns.generation[slots]]),
            versions=np.concatenate([plan.versions, columns.version[slots]]),
            devices=np.concatenate([plan.devices, masks]),
            units=[
                *plan.units,
                *(UnitClaims(u, i, i + 1, 1) for i, u in enumerate(whose.values(), at)),
            ],
            preemptions=[
                *plan.preemptions,
                *(
                    UnitPreemption(i, (), (), awaited=waits[row].awaited)
                    for i, row in enumerate(whose, count)
                ),
            ],
        )

    def _give_up_inbox(self) -> list[Setback]:
        """Return the inbox untried after a blocking unit failed."""
        left = self._untried(self._inbox, self._serials)
        self._inbox, self.rows, self._serials = [], [], []
        return left

    def _take(self, limit: int) -> tuple[list[Dispatch], list[Setback]]:
        """Units whose pods are still pending, and setbacks for the other rows."""
        starts = _starts(self._inbox)
        count = min(bisect_left(starts, limit), len(self._inbox))
        stop = starts[count]
        taken, self._inbox = self._inbox[:count], self._inbox[count:]
        rows, self.rows = self.rows[:stop], self.rows[stop:]
        serials, self._serials = self._serials[:stop], self._serials[stop:]
        index = np.array(rows, np.int64)
        fresh = (self._pods.serial[index] == serials) & (
            self._pods.state[index] == PodState.DISPATCHED
        )
        if fresh.all():
            return taken, []
        work: list[Dispatch] = []
        setbacks: list[Setback] = []
        for dispatch, (at, stop) in zip(taken, pairwise(starts), strict=False):
            if fresh[at:stop].all():
                work.append(dispatch)
            else:
                setbacks += self._untried([dispatch], serials[at:stop])
        return work, setbacks

    def _untried(self, work: Sequence[Dispatch], serials: Sequence[int]) -> list[Setback]:
        """Setbacks of units that were not tried, for rows that still belong to the dispatched pods.

        The dispatcher needs no answer for a deleted pod. An answer for its row would count for the
        pod that has the row now, whose own dispatch is still in an inbox.
        """
        found, at = list[Setback](), iter(serials)
        for dispatch in work:
            sent = zip(dispatch.rows, islice(at, len(dispatch.rows)), strict=True)
            rows = tuple(row for row, serial in sent if self._pods.serial[row] == serial)
            if rows:
                found.append(_untried_setback(dispatch.unit, rows))
        return found

    def _plan(
        self,
        work: list[Dispatch],
        rows: npt.NDArray[np.int64],
        starts: list[int],
        placement: BatchPlacement,
        setbacks: list[Setback],
    ) -> Plan:
        """Claims for placed pods, setbacks for the others."""
        placed = placement.slots >= 0
        before = np.concatenate([[0], np.cumsum(placed)])
        units: list[UnitClaims] = []
        if placed.all():
            whose = [dispatch.unit for dispatch in work]
            least = [dispatch.at_least for dispatch in work]
            units = list(named_tuples(UnitClaims, whose, starts, starts[1:], least))
        else:
            marks = before.tolist()
            for dispatch, start in zip(work, starts, strict=False):
                stop = start + len(dispatch.rows)
                first, last = marks[start], marks[stop]
                if last > first:
                    units.append(UnitClaims(dispatch.unit, first, last, dispatch.at_least))
                if last - first < stop - start:
                    setbacks.append(self._set_back(dispatch, start, placement))
        slots = placement.slots[placed]
        columns = self.runtime.columns
        claimed = rows[placed]
        return Plan(
            shard=self.number,
            rows=claimed,
            serials=self._pods.serial[claimed],
            slots=slots,
            generations=columns.generation[slots],
            versions=columns.version[slots],
            devices=placement.devices[placed],
            units=units,
            setbacks=setbacks,
            volumes={int(before[i]): chosen for i, chosen in placement.volumes.items()},
            basis=placement.basis,
            others=placement.others,
        )

    def _set_back(self, dispatch: Dispatch, start: int, placement: BatchPlacement) -> Setback:
        """The unplaced pods of one unit, and the events that may cure them."""
        answers = placement.slots[start : start + len(dispatch.rows)].tolist()
        left = tuple(row for row, slot in zip(dispatch.rows, answers, strict=True) if slot < 0)
        if all(slot == NOT_TRIED for slot in answers):
            return _untried_setback(dispatch.unit, left)
        if placement.said and any(start <= i < start + len(answers) for i in placement.said):
            return _with_reasons_by_pod(dispatch, left, start, placement)
        together = self._gang_cures(dispatch, left)
        if together is not None:
            return Setback(dispatch.unit, left, NO_CLASS, together)
        class_id = int(self._pods.class_id[self._first_unfit(dispatch, left)])
        return Setback(dispatch.unit, left, class_id, self._cures_of(class_id))

    def _gang_cures(self, dispatch: Dispatch, left: tuple[int, ...]) -> Cure | None:
        """The cures of a gang with placement groups; ``None`` for other units.

        The cures of one member that does not fit are not sufficient: the members on which it
        depends may not fit either.
        """
        class_ids = set(self._pods.class_id[list(left)].tolist())
        if not dispatch.unit.is_gang or len(class_ids) < 2:
            return None
        cures = Cure.NONE
        for class_id in class_ids:
            cures |= self._cures_of(class_id)
        return cures if cures & Cure.POD_PLACED else None

    def _first_unfit(self, dispatch: Dispatch, left: tuple[int, ...]) -> int:
        """The first row whose class does not fit now, or the first row of an incomplete gang."""
        if not dispatch.unit.is_gang:
            return left[0]
        seen: set[int] = set()
        for row in left:
            class_id = int(self._pods.class_id[row])
            if class_id not in seen and self.runtime.capacity(class_id) == 0:
                return row
            seen.add(class_id)
        return left[0]


def _without(setbacks: Sequence[Setback], rows: Container[int]) -> list[Setback]:
    """Setbacks without the pods to which preemption promised a node."""
    found = []
    for each in setbacks:
        kept = [i for i, row in enumerate(each.rows) if row not in rows]
        if kept:
            left = tuple(each.rows[i] for i in kept)
            said = tuple(each.messages[i] for i in kept) if each.messages else ()
            found.append(msgspec.structs.replace(each, rows=left, messages=said))
    return found


def _starts(work: Sequence[Dispatch]) -> list[int]:
    """Start of each unit's rows in the batch, with the end of the last."""
    return list(accumulate([len(dispatch.rows) for dispatch in work], initial=0))


def _pins(work: Sequence[Dispatch]) -> list[int]:
    """The slot of each row of the batch, -1 for any; empty if no unit has slots."""
    if not any(dispatch.slots for dispatch in work):
        return []
    return [slot for each in work for slot in each.slots or [ANY_SLOT] * len(each.rows)]


def _is_blocked(work: list[Dispatch], starts: list[int], placement: BatchPlacement) -> bool:
    """Return whether a blocking unit failed; only the last unit of a batch can."""
    if not work or placement.tried < len(work):
        return bool(work)
    placed = int((placement.slots[starts[-2] :] >= 0).sum())
    return work[-1].blocking and placed < max(1, work[-1].at_least)


def _with_reasons_by_pod(
    dispatch: Dispatch, left: tuple[int, ...], start: int, placement: BatchPlacement
) -> Setback:
    """A setback with reasons by pod: the cures of every pod wake the unit."""
    said = {row: placement.said.get(i) for i, row in enumerate(dispatch.rows, start)}
    cures, messages = Cure.NONE, []
    for row in left:
        mine = said[row]
        cures |= mine.cures if mine is not None else Cure.NONE
        messages.append(mine.message if mine is not None else "")
    return Setback(dispatch.unit, left, -1, cures, messages=tuple(messages))


def _untried_setback(unit: Unit, rows: tuple[int, ...]) -> Setback:
    """Rows that were not tried."""
    return Setback(unit, rows, -1, Cure.NONE, SetbackReason.GIVEN_BACK)

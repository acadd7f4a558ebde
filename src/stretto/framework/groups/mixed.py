"""The stage for gangs with members of different sizes: attempts in several orders.

One order of members can fail although another succeeds. Uniform gangs and single pods go to the
stages after this one unchanged.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import BatchPlacement, PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.engine.turns import Run, place_in_turn
from stretto.framework.groups.stage import GroupStage
from stretto.state.queries.gang_attempts import (
    Attempt,
    GangKinds,
    NodeAmounts,
    attempts,
    gang_amounts,
    kinds_of,
)
from stretto.state.queries.packing import PackingProblem

DOMAINS: Final = 64
"""Maximum number of topology domains in which an assignment is searched."""


class MixedGangStage:
    """Places gangs whose members belong to different classes."""

    name = "mixed gangs"

    def __init__(self, runtime: Runtime, groups: GroupStage) -> None:
        """Use one runtime; ``groups`` returns the domains of a gang."""
        self._runtime = runtime
        self._groups = groups
        self._cluster = runtime.engine.cluster

    def sync(self) -> None:
        """Do nothing: amounts are read when a gang is placed."""

    def capacity(self, class_id: int, bound: int) -> int:
        """Return the bound unchanged."""
        return bound

    def concerns(self, request: PlacementRequest) -> set[int] | None:
        """Units with a minimum above one and different classes; ``None`` if there are none."""
        if len(request.at_least) == len(request.class_ids) or max(request.at_least) <= 1:
            return None  # single pods, or units that start with one pod
        if len(request.pins):
            return None  # the stage before has restricted them to their nodes
        least = np.asarray(request.at_least)
        ids = np.asarray(request.class_ids, np.int32)
        changes = np.flatnonzero(ids[1:] != ids[:-1]) + 1
        starts = np.asarray(request.starts)
        units = np.searchsorted(starts, changes, side="right") - 1
        inside = (starts[units] != changes) & (least[units] > 1)
        found: set[int] = set(units[inside].tolist())
        return found or None

    def place(self, request: PlacementRequest, found: set[int]) -> BatchPlacement:
        """Place runs of other units, and mixed gangs one by one, in the order of the batch."""
        units = len(request.at_least)

        def run_from(u: int) -> Run:
            if u in found:
                return Run(u + 1, self._gang)
            last = u + 1
            while last < units and last not in found:
                last += 1
            return Run(last, partial(self._runtime.place_after, self))

        return place_in_turn(request, run_from)

    def _gang(self, part: PlacementRequest) -> BatchPlacement:
        """Place one gang: all members if an attempt allows it, otherwise its minimum."""
        count, least = len(part.class_ids), int(part.at_least[0])
        made = self._meet(part, count)
        if made.slots.min() < 0 and least < count:
            made = self._meet(part, least)
        return made

    def _meet(self, part: PlacementRequest, goal: int) -> BatchPlacement:
        """Place at least ``goal`` members of a gang, by the first attempt that succeeds."""
        kinds = kinds_of(part.class_ids)
        self._runtime.make_ready(kinds.ids.astype(np.int32))
        columns = self._runtime.columns
        everywhere = NodeAmounts(columns.free, columns.device_free, columns.device_kind)
        amounts = gang_amounts(self._cluster, kinds.ids, everywhere)
        made = None
        for attempt in attempts(kinds, goal, lambda: self._problems(part, kinds, amounts), amounts):
            made = self._try(part, attempt, goal)
            if int((made.slots >= 0).sum()) >= goal:
                return made
        assert made is not None
        return made

    def _try(self, part: PlacementRequest, attempt: Attempt, goal: int) -> BatchPlacement:
        """Run one attempt; the results are in the order of the request."""
        order = np.array(attempt.order, np.int64)
        request = PlacementRequest(
            class_ids=np.asarray(part.class_ids, np.int32)[order],
            starts=[0, len(order)],
            at_least=[goal],
            rows=np.asarray(part.rows)[order].tolist() if len(part.rows) else (),
            pins=attempt.nodes,
        )
        if attempt.nodes:
            placed = self._runtime.place_by_score(request)
        else:
            placed = self._runtime.place_after(self, request)
        slots, devices = np.empty_like(placed.slots), np.empty_like(placed.devices)
        slots[order], devices[order] = placed.slots, placed.devices
        return placed._replace(
            slots=slots,
            devices=devices,
            said={attempt.order[i]: each for i, each in placed.said.items()},
            volumes={attempt.order[i]: each for i, each in placed.volumes.items()},
            waits={attempt.order[i]: each for i, each in placed.waits.items()},
        )

    def _problems(
        self,
        part: PlacementRequest,
        kinds: GangKinds,
        amounts: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    ) -> list[PackingProblem]:
        """Packing problems of a gang that amounts and eligibility decide; otherwise empty."""
        ids = kinds.ids.astype(np.int32)
        if self._runtime.has_inter_pod_terms(ids) or self._has_volumes(part):
            return []
        if self._cluster.charges.lowers_promises(ids).any():
            return []
        domains = self._domains(part)
        if domains is None:
            return []
        need, free = amounts
        rows = np.stack([self._runtime.row(c) > 0 for c in ids.tolist()])
        if self._runtime.only is not None:
            rows &= self._runtime.only
        if not domains:
            return [PackingProblem(free, need, rows, kinds.counts)]
        found = []
        for slots in domains[:DOMAINS]:
            inside = np.zeros(rows.shape[1], np.bool_)
            inside[slots] = True
            found.append(PackingProblem(free, need, rows & inside, kinds.counts))
        return found

    def _has_volumes(self, part: PlacementRequest) -> bool:
        if not self._cluster.records or not len(part.rows):
            return False
        return bool((self._cluster.pods.volumes[np.asarray(part.rows, np.int64)] > 0).any())

    def _domains(self, part: PlacementRequest) -> Sequence[npt.NDArray[np.int32]] | None:
        """Slots by domain, empty for any node; ``None`` if other constraints decide, too."""
        tasks = self._groups.concerns(part)
        if tasks is None:
            return ()
        task = tasks[0]
        kinds = np.unique(np.asarray(part.class_ids)).tolist()
        bound = any(self._cluster.classes[c].annotations.numa is not None for c in kinds)
        if task.places is None or task.caps or task.chooses or task.expected or bound:
            return None
        return [task.places.slots[a:b] for a, b in pairwise(task.places.start.tolist())]

"""Finds the units of a batch that need more than a score: NUMA, domains, caps, reservations."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.api.types.godel import PodGroup
from stretto.framework.compiled.placement import PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.groups.calls import SlotSetPlacer
from stretto.framework.groups.places import DomainOrder, GangDemand, GangDomains, is_directed
from stretto.state.classes.annotations import GPU, DomainCap
from stretto.state.classes.table import STAGED, PodClass
from stretto.state.queries.domain_caps import GROUP_PREFIX, caps_of
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.units import Unit, Units

GPU_MILLI: Final = -1
"""Key of GPU thousandths, in addition to resource columns."""


class GroupTask(NamedTuple):
    """One unit of a request that a score alone cannot place."""

    #: Index of the first pod.
    start: int
    #: Index after the last pod.
    stop: int
    #: Number of pods that must fit together.
    at_least: int
    #: The unit; ``None`` if the request does not specify it.
    unit: Unit | None
    #: Caps of the unit.
    caps: tuple[DomainCap, ...]
    #: Required places; ``None`` for any node.
    places: DomainOrder | None
    #: Row of its first pod; -1 if the request does not specify it.
    row: int = -1
    #: True if pods of the unit have reservations or recommended nodes.
    expected: bool = False
    #: True if the unit selects rules that depend on the state of a slot: evaluated per unit.
    chooses: bool = False
    #: True if the pods lower the promised amounts of their nodes: placed one after another.
    exclusive: bool = False

    @property
    def simple(self) -> bool:
        """True if it may share one call with its neighbours."""
        return not (self.is_directed or self.expected or self.exclusive)

    @property
    def is_directed(self) -> bool:
        """True if domains, caps or selected rules restrict the slots of the whole unit."""
        return self.places is not None or bool(self.caps) or self.chooses


_BOUND: Final = GroupTask(0, 0, 1, None, (), None)
"""A single pod with NUMA requests and no other requirement of this stage."""


class GroupTasks:
    """Finds the units that a score cannot place, and their allowed places."""

    def __init__(self, runtime: Runtime, slot_sets: SlotSetPlacer, units: Units) -> None:
        """Use one runtime; ``units`` maps pods to units."""
        self._runtime = runtime
        self._cluster = runtime.engine.cluster
        self._slot_sets = slot_sets
        self._units = units
        self._gangs = GangDomains(self._cluster.nodes)

    def of(self, request: PlacementRequest) -> dict[int, GroupTask]:
        """The units of a request that a score alone cannot place, by number in the request."""
        cluster = self._cluster
        ids = np.asarray(request.class_ids, np.int32)
        exclusive = cluster.charges.lowers_promises(ids)
        staged = ((cluster.classes.special[ids] & STAGED) > 0) | exclusive
        directed = bool(cluster.directed or cluster.recommended)
        if not directed and not staged.any():
            return {}
        tasks: dict[int, GroupTask] = {}
        alone: dict[int, bool] = {}
        for u in self._candidates(request, staged, directed=directed):
            start, stop = int(request.starts[u]), int(request.starts[u + 1])
            if not directed and stop - start == 1 and not exclusive[start]:
                class_id = int(ids[start])
                if class_id not in alone:
                    alone[class_id] = _is_bound_alone(cluster.classes[class_id])
                if alone[class_id]:
                    tasks[u] = _BOUND
                    continue
            task = self._task(request, u, special=bool(staged[start:stop].any()))
            if exclusive[start:stop].any():
                task = (task or _anywhere(request, u))._replace(exclusive=True)
            if task is not None:
                tasks[u] = task
        return tasks

    def _candidates(
        self, request: PlacementRequest, staged: npt.NDArray[np.bool_], *, directed: bool
    ) -> Sequence[int]:
        if directed:
            return range(len(request.at_least))
        units = np.searchsorted(request.starts, np.flatnonzero(staged), side="right") - 1
        found: list[int] = np.unique(units).tolist()
        return found

    def _task(self, request: PlacementRequest, u: int, *, special: bool) -> GroupTask | None:
        """Task of one unit; ``None`` if a score can place the unit."""
        cluster = self._cluster
        start, stop = int(request.starts[u]), int(request.starts[u + 1])
        unit = self._units.of_row(int(request.rows[start])) if len(request.rows) else None
        group = self._group_of(unit)
        caps = caps_of(cluster, unit, int(request.class_ids[start])) if special or group else ()
        hinted = unit is not None and unit.key in cluster.recommended
        if not special and group is None and not hinted:
            return None
        places = None if self._runtime.only is not None else self.places(request.part(u, u + 1))
        least = int(request.at_least[u])
        expected = self._has_reservation(request, start, stop, unit) and places is None
        task = GroupTask(
            start=start,
            stop=stop,
            at_least=least,
            unit=unit,
            caps=caps,
            places=places,
            row=int(request.rows[start]) if len(request.rows) else -1,
            expected=expected and least <= 1 and not caps,
            chooses=self._slot_sets.chooses(request.class_ids[start:stop]),
        )
        bound = self.is_bound(request.class_ids[start:stop])
        return task if group is not None or not task.simple or bound else None

    def places(self, part: PlacementRequest, *, when_idle: bool = False) -> DomainOrder | None:
        """Domains that the PodGroup of one unit allows; ``None`` for any node.

        Args:
            part: the unit.
            when_idle: true to use allocatable amounts instead of free ones.
        """
        unit = self._units.of_row(int(part.rows[0])) if len(part.rows) else None
        group = self._group_of(unit)
        if group is None or unit is None or not is_directed(group):
            return None
        demand = self._demand(part)
        held, columns = self._slots_of(unit), self._runtime.columns
        return self._gangs.places(group, held, demand, columns, when_idle=when_idle)

    def is_bound(self, class_ids: Sequence[int] | npt.NDArray[np.int32]) -> bool:
        """Return whether some of these classes request NUMA nodes."""
        classes = self._cluster.classes
        ids = np.unique(np.asarray(class_ids)).tolist()
        return any(classes[class_id].annotations.numa is not None for class_id in ids)

    def _group_of(self, unit: Unit | None) -> PodGroup | None:
        """PodGroup of a unit, if it restricts its pods to domains."""
        cluster = self._cluster
        key = unit.key.removeprefix(GROUP_PREFIX) if unit is not None else ""
        return cluster.groups.get(key) if key in cluster.directed else None

    def _has_reservation(
        self, request: PlacementRequest, start: int, stop: int, unit: Unit | None
    ) -> bool:
        """Return whether pods of a unit have reservations or recommended nodes."""
        cluster = self._cluster
        if unit is not None and cluster.recommended.get(unit.key):
            return True
        if not cluster.reservations or not len(request.rows):
            return False
        classes = [cluster.classes[int(c)] for c in request.class_ids[start:stop]]
        rows = request.rows[start:stop]
        return any(
            cluster.reservations.for_row(int(r), p) for r, p in zip(rows, classes, strict=True)
        )

    def _slots_of(self, unit: Unit) -> npt.NDArray[np.int64]:
        """int64[k]: slots of the bound pods of a unit."""
        slots = self._cluster.pods.slot[np.array(list(unit.bound), np.int64)]
        return np.asarray(slots[slots != NO_SLOT], np.int64)

    def _demand(self, part: PlacementRequest) -> GangDemand:
        """Minimum total requests of the pods of a unit that must fit."""
        classes = self._cluster.classes
        ids, counts = np.unique(np.asarray(part.class_ids, np.int32), return_counts=True)
        demand: dict[int, list[tuple[int, int]]] = {}
        for class_id, count in zip(ids.tolist(), counts.tolist(), strict=True):
            for column, amount in classes.scaled_requests(class_id):
                demand.setdefault(column, []).append((amount, count))
            milli = sum(d.count * d.milli for d in classes[class_id].devices if d.kind == GPU)
            demand.setdefault(GPU_MILLI, []).append((milli, count))
        least, pods = max(1, int(part.at_least[0])), len(part.class_ids)
        sums = {column: _least(each, pods, least) for column, each in demand.items()}
        return GangDemand([(c, n) for c, n in sums.items() if c >= 0], sums.get(GPU_MILLI, 0))


def _anywhere(request: PlacementRequest, u: int) -> GroupTask:
    """A unit of a request without a requirement of its own."""
    start, stop = int(request.starts[u]), int(request.starts[u + 1])
    return GroupTask(start, stop, int(request.at_least[u]), None, (), None)


def _is_bound_alone(pod: PodClass) -> bool:
    """Return whether a class requests NUMA nodes and has no other requirement of this stage."""
    annotations = pod.annotations
    others = (
        annotations.reservation is not None
        or annotations.caps
        or annotations.hard
        or annotations.soft
    )
    return annotations.numa is not None and not others


def _least(demand: list[tuple[int, int]], pods: int, least: int) -> int:
    """Sum of the ``least`` smallest amounts; pods that are not listed request nothing."""
    left, total = least - (pods - sum(count for _, count in demand)), 0
    for amount, count in sorted(demand):
        here = min(count, max(0, left))
        total += amount * here
        left -= here
    return total

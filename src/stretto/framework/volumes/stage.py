"""The stage for pods with volumes.

Batches without such pods are passed to the later stages. A unit with volumes is placed pod by pod:
the volume rules select the allowed slots, the rules and scores of the profile place the class on
one of them, and the selected volumes are assumed before the next pod. An incomplete gang is removed
again with its volumes. Single pods with equal volume requirements are placed together.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.engine.turns import Run, place_in_turn
from stretto.framework.groups.places import DomainOrder
from stretto.framework.plugins.volumes import VolumeRule
from stretto.framework.volume_binder.pvcs import pvc_key
from stretto.framework.volume_binder.volumes import VolumeDecision
from stretto.framework.volumes.alike import UnboundPvcs
from stretto.framework.volumes.refusals import has_no_slot, placement_failure
from stretto.framework.volumes.rules import VolumeJudgement, VolumeRules
from stretto.state.work.claims import PlacementFailure, VolumeChoice

MANY: Final = 512
"""Maximum number of pods with equal volume requirements that are placed at a time."""


class _VolumePlacement(NamedTuple):
    """A placed pod, with the data to remove it again."""

    #: Index of the pod in the request.
    place: int
    #: Slot of the pod.
    slot: int
    #: Devices of the pod.
    mask: int
    #: Selected volumes of the pod.
    found: VolumeDecision | None


class VolumeStage:
    """Places the pods with volumes of one shard."""

    name = "volumes"

    def __init__(
        self, runtime: Runtime, places: Callable[[PlacementRequest], DomainOrder | None]
    ) -> None:
        """Use one runtime; ``places`` returns the placement restrictions of a unit's PodGroup."""
        names = frozenset(
            r.NAME for r in runtime.engine.profile.filters if isinstance(r, VolumeRule)
        )
        self._runtime = runtime
        self._cluster = runtime.engine.cluster
        self._places = places
        self._volumes = VolumeRules(runtime.engine.cluster, names)
        #: Number of pods with equal volume requirements that are placed together.
        self._many = MANY

    def sync(self) -> None:
        """Do nothing: volumes are read when a batch has some."""

    def capacity(self, class_id: int, bound: int) -> int:
        """Return the bound unchanged."""
        return bound

    def concerns(self, request: PlacementRequest) -> npt.NDArray[np.bool_] | None:
        """bool[pod]: pods with volumes; ``None`` if there are none."""
        if not self._cluster.records or not len(request.rows):
            return None
        has = self._cluster.pods.volumes[np.asarray(request.rows, np.int64)] > 0
        return has if has.any() else None

    def place(self, request: PlacementRequest, found: npt.NDArray[np.bool_]) -> BatchPlacement:
        """Place runs of units without volumes, and units with some, in the order of the batch."""
        self._volumes.view.sync()
        starts, units = request.starts, len(request.at_least)
        with_some = [bool(found[starts[u] : starts[u + 1]].any()) for u in range(units)]
        one_by_one = bool(self._cluster.directed) or any(request.blocking)

        def run_from(u: int) -> Run:
            last = u + 1
            if not with_some[u]:
                while last < units and not with_some[last]:
                    last += 1
                return Run(last, partial(self._runtime.place_after, self))
            alike = [] if one_by_one else self._run_of_alike(request, u, with_some)
            if len(alike) > 1:
                return Run(u + len(alike), partial(self._together, run=alike))
            return Run(last, self._unit)

        return place_in_turn(request, run_from)._replace(basis=self._cluster.basis)

    def _run_of_alike(
        self, request: PlacementRequest, u: int, with_some: Sequence[bool]
    ) -> list[UnboundPvcs]:
        """Single pods, from a unit on, with equal volume requirements and separate PVCs."""
        found: list[UnboundPvcs] = []
        used: set[tuple[str, str]] = set()
        starts = request.starts
        while u < len(with_some) and with_some[u] and starts[u + 1] - starts[u] == 1:
            pvcs = self._volumes.fresh(int(request.rows[starts[u]]))
            if pvcs is None or (found and pvcs.requested != found[0].requested):
                break
            mine = set(map(pvc_key, pvcs.pvcs))
            if not used.isdisjoint(mine):
                break
            used |= mine
            found.append(pvcs)
            u += 1
        return found

    def _together(self, part: PlacementRequest, run: Sequence[UnboundPvcs]) -> BatchPlacement:
        """Place single pods with equal volume requirements, many in one call.

        Pods whose slot becomes full during the run are removed and placed again.
        """
        count, begin, others = len(run), 0, None
        slots, masks = np.full(count, -1, np.int32), np.zeros(count, np.int32)
        said: dict[int, PlacementFailure] = {}
        volumes: dict[int, VolumeChoice] = {}
        while begin < count:
            judged = self._volumes.judge(int(part.rows[begin]))
            if has_no_slot(judged):
                said.update(self._no_node_for_all(part, begin, judged))
                break
            many = part.part(begin, min(count, begin + self._many))
            placed = self._within(many, judged.allowed)
            done = self._settle(many, placed, run[begin:], judged)
            volumes.update({begin + i: each for i, each in done.volumes.items()})
            said.update({begin + i: each for i, each in done.said.items()})
            end = begin + done.tried
            slots[begin:end] = placed.slots[: done.tried]
            masks[begin:end] = placed.devices[: done.tried]
            others = placed.others if others is None else others
            whole = end == begin + len(placed.slots)
            self._many = min(2 * self._many, MANY) if whole else max(1, done.tried)
            begin = end
        return BatchPlacement(slots, masks, count, said, volumes, None, others)

    def _settle(
        self,
        part: PlacementRequest,
        placed: BatchPlacement,
        run: Sequence[UnboundPvcs],
        judged: VolumeJudgement,
    ) -> BatchPlacement:
        """Assign volumes, in order, to pods that were placed together, until a slot is full."""
        said: dict[int, PlacementFailure] = {}
        volumes: dict[int, VolumeChoice] = {}
        alike = self._volumes.alike(int(part.rows[0]), judged)
        slots, rows, at = placed.slots.tolist(), np.asarray(part.rows).tolist(), 0
        known: VolumeJudgement | None = judged
        for at, (slot, row) in enumerate(zip(slots, rows, strict=True)):
            if slot < 0:
                known = known or self._volumes.judge(row)
                said[at] = self._failure(int(part.class_ids[at]), known)
                continue
            position = self._volumes.view.position(slot)
            found = None if position is None else alike.find(run[at].pvcs, position)
            if found is None:
                break
            self._volumes.view.assume(row, slot, found)
            known = None
            choice = found.choice
            if choice is not None:
                volumes[at] = choice
        else:
            return placed._replace(said=said, volumes=volumes)
        assert at > 0, "where a pod may go, its volumes are found"
        for i in reversed(range(at, len(slots))):
            if slots[i] >= 0:
                self._runtime.give_back(int(part.class_ids[i]), slots[i], int(placed.devices[i]))
        return placed._replace(tried=at, said=said, volumes=volumes)

    def _no_node_for_all(
        self, part: PlacementRequest, begin: int, judged: VolumeJudgement
    ) -> dict[int, PlacementFailure]:
        """Failures of pods, from index ``begin`` on, whose volumes allow no node."""
        by_class: dict[int, PlacementFailure] = {}
        for class_id in dict.fromkeys(int(each) for each in part.class_ids[begin:]):
            by_class[class_id] = self._failure(class_id, judged)
        return {i: by_class[int(part.class_ids[i])] for i in range(begin, len(part.class_ids))}

    def _within(
        self, part: PlacementRequest, allowed: npt.NDArray[np.bool_] | None
    ) -> BatchPlacement:
        """Place with the rules and scores of the profile on some slots."""
        with self._runtime.confined(allowed):
            return self._runtime.place_after(self, part)

    def _unit(self, part: PlacementRequest) -> BatchPlacement:
        """Place one unit in the first domain of its PodGroup that fits it."""
        count, at_least = len(part.class_ids), max(1, int(part.at_least[0]))
        places = self._places(part)
        if places is None:
            return self._inside(part, None, at_least)
        size = self._cluster.ledger.slots.size
        placed = self._inside(part, np.zeros(size, np.bool_), at_least)
        for goal in dict.fromkeys((count, at_least)):
            for first, last in pairwise(places.start.tolist()):
                home = np.zeros(size, np.bool_)
                home[places.slots[first:last]] = True
                placed = self._inside(part, home, goal)
                if (placed.slots >= 0).any():
                    return placed
        return placed

    def _inside(
        self, part: PlacementRequest, home: npt.NDArray[np.bool_] | None, at_least: int
    ) -> BatchPlacement:
        """Place one unit, pod by pod: at least a minimum number, or none.

        ``home`` contains the allowed slots.
        """
        count = len(part.class_ids)
        slots, masks = np.full(count, NOT_TRIED, np.int32), np.zeros(count, np.int32)
        said: dict[int, PlacementFailure] = {}
        homes: list[_VolumePlacement] = []
        for i in range(count):
            if count - i + len(homes) < at_least:
                break
            found = self._one(part, i, home, said)
            slots[i] = -1 if found is None else found.slot
            if found is not None:
                masks[i] = found.mask
                homes.append(found)
        if len(homes) < at_least:
            self._take_back(part, homes)
            slots[:], masks[:], homes = -1, 0, []
        chosen = {h.place: h.found.choice for h in homes if h.found is not None}
        volumes = {i: each for i, each in chosen.items() if each is not None}
        return BatchPlacement(slots, masks, 1, said, volumes)

    def _one(
        self,
        part: PlacementRequest,
        i: int,
        home: npt.NDArray[np.bool_] | None,
        said: dict[int, PlacementFailure],
    ) -> _VolumePlacement | None:
        """Place one pod where its volumes and the domain of its unit allow it."""
        row, alone = int(part.rows[i]), part.pod(i)
        judged = self._volumes.judge(row) if self._cluster.pods.volumes[row] else None
        allowed = home
        if judged is not None and judged.allowed is not None:
            allowed = judged.allowed if home is None else judged.allowed & home
        if (judged is not None and judged.nowhere[1]) or (
            allowed is not None and not allowed.any()
        ):
            if judged is not None:
                said[i] = self._failure(int(part.class_ids[i]), judged)
            return None
        placed = self._within(alone, allowed)
        slot = int(placed.slots[0])
        if slot < 0 or judged is None:
            if judged is not None:
                said[i] = self._failure(int(part.class_ids[i]), judged)
            return _VolumePlacement(i, slot, int(placed.devices[0]), None) if slot >= 0 else None
        found = self._volumes.found(judged, slot)
        self._volumes.view.assume(row, slot, found)
        return _VolumePlacement(i, slot, int(placed.devices[0]), found)

    def _take_back(self, part: PlacementRequest, homes: Sequence[_VolumePlacement]) -> None:
        """Remove the pods of a unit in reverse order."""
        for home in reversed(homes):
            self._runtime.give_back(int(part.class_ids[home.place]), home.slot, home.mask)
            if home.found is not None:
                self._volumes.view.forget(int(part.rows[home.place]), home.found)

    def _failure(self, class_id: int, judged: VolumeJudgement) -> PlacementFailure:
        """Reason why a pod is unschedulable."""
        return placement_failure(self._runtime, class_id, judged)

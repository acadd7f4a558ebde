"""A runtime that also places pods with volumes.

Batches without such pods go through untouched; one look at a column tells. A unit that has some is
placed pod by pod in its turn: the volume rules say where the pod may go, its class is placed inside
that by the profile's own rules and scores, and what it gets there is assumed before the next pod is
looked at. A gang that falls short is taken back with its volumes.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.rng import Rng
from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.framework.engine.diagnosis import message_of
from stretto.framework.engine.runtime import CompiledProfile
from stretto.framework.groups.runtime import GroupRuntime
from stretto.framework.plugins.volumes import VolumeRule
from stretto.framework.volume_binder.claims import pvc_key
from stretto.framework.volume_binder.volumes import VolumeDecision
from stretto.framework.volumes.alike import UnboundPvcs
from stretto.framework.volumes.rules import VolumeJudgement, VolumeRules
from stretto.state.work.claims import AwaitedNode, PlacementFailure, VolumeChoice
from stretto.state.work.units import Cure, Units

MANY: Final = 512
"""Pods whose volumes ask the same that are placed at a time."""


class _VolumePlacement(NamedTuple):
    """A pod that was placed, to be taken back perhaps."""

    #: Its place in the request.
    place: int
    #: Its slot.
    slot: int
    #: Its devices.
    mask: int
    #: What it gets.
    found: VolumeDecision | None


class VolumeRuntime(GroupRuntime):
    """Places every pod of one shard, those with volumes too."""

    def __init__(
        self, engine: CompiledProfile, rng: Rng, tier: str = "auto", units: Units | None = None
    ):
        """A runtime of its own snapshot."""
        super().__init__(engine, rng, tier, units)
        names = frozenset(r.NAME for r in engine.profile.filters if isinstance(r, VolumeRule))
        self._volumes = VolumeRules(engine.cluster, names)
        #: Pods with volumes that ask the same are placed so many at a time.
        self._many = MANY

    def place(self, request: PlacementRequest) -> BatchPlacement:
        """Place a batch on the snapshot, in order; the snapshot shows the result at once."""
        if not self.engine.cluster.records or not len(request.rows):
            return super().place(request)
        has = self.engine.cluster.pods.volumes[np.asarray(request.rows, np.int64)] > 0
        if not has.any():
            return super().place(request)
        self._volumes.view.sync()
        return self._in_turn(request, has)._replace(basis=self.engine.cluster.basis)

    def _in_turn(self, request: PlacementRequest, has: npt.NDArray[np.bool_]) -> BatchPlacement:
        """Runs of units without volumes, and units with some one by one."""
        count, units = len(request.class_ids), len(request.at_least)
        slots, masks = np.full(count, NOT_TRIED, np.int32), np.zeros(count, np.int32)
        said: dict[int, PlacementFailure] = {}
        volumes: dict[int, VolumeChoice] = {}
        with_some = [
            bool(has[request.starts[u] : request.starts[u + 1]].any()) for u in range(units)
        ]
        waits: dict[int, AwaitedNode] = {}
        u, others = 0, None
        one_by_one = bool(self.engine.cluster.directed) or any(request.blocking)
        while u < units:
            looks = with_some[u] and not one_by_one
            run = self._run_of_alike(request, u, with_some) if looks else []
            last = u + max(1, len(run))
            while not with_some[u] and last < units and not with_some[last]:
                last += 1
            part = request.part(u, last)
            start, stop = int(request.starts[u]), int(request.starts[last])
            if with_some[u]:
                placed = self._together(part, run) if len(run) > 1 else self._unit(part)
            else:
                placed = super().place(part)
            slots[start:stop], masks[start:stop] = placed.slots, placed.devices
            said.update({start + i: each for i, each in placed.said.items()})
            volumes.update({start + i: each for i, each in placed.volumes.items()})
            waits.update({start + i: each for i, each in placed.waits.items()})
            others = placed.others if others is None else others
            if placed.tried < last - u or self._is_blocked(part, placed):
                u += placed.tried
                return BatchPlacement(slots, masks, u, said, volumes, None, others, waits)
            u = last
        return BatchPlacement(slots, masks, units, said, volumes, None, others, waits)

    def _run_of_alike(
        self, request: PlacementRequest, u: int, with_some: Sequence[bool]
    ) -> list[UnboundPvcs]:
        """Single pods from a unit on whose volumes ask the same, each of claims of its own."""
        found: list[UnboundPvcs] = []
        used: set[tuple[str, str]] = set()
        starts = request.starts
        while u < len(with_some) and with_some[u] and starts[u + 1] - starts[u] == 1:
            claims = self._volumes.fresh(int(request.rows[starts[u]]))
            if claims is None or (found and claims.asked != found[0].asked):
                break
            mine = set(map(pvc_key, claims.claims))
            if not used.isdisjoint(mine):
                break
            used |= mine
            found.append(claims)
            u += 1
        return found

    def _together(self, part: PlacementRequest, run: Sequence[UnboundPvcs]) -> BatchPlacement:
        """Single pods whose volumes ask the same, many in one call.

        Those whose slot is full once others are there are taken back and placed again.
        """
        count, begin, others = len(run), 0, None
        slots, masks = np.full(count, -1, np.int32), np.zeros(count, np.int32)
        said: dict[int, PlacementFailure] = {}
        volumes: dict[int, VolumeChoice] = {}
        while begin < count:
            judged = self._volumes.judge(int(part.rows[begin]))
            if _has_no_slot(judged):
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
        """Give pods that were placed together their volumes, in order, until a slot is full."""
        said: dict[int, PlacementFailure] = {}
        volumes: dict[int, VolumeChoice] = {}
        alike = self._volumes.alike(int(part.rows[0]), judged)
        slots, rows, at = placed.slots.tolist(), np.asarray(part.rows).tolist(), 0
        known: VolumeJudgement | None = judged
        for at, (slot, row) in enumerate(zip(slots, rows, strict=True)):
            if slot < 0:
                known = known or self._volumes.judge(row)
                said[at] = self._no_place(int(part.class_ids[at]), known)
                continue
            position = self._volumes.view.position(slot)
            found = None if position is None else alike.find(run[at].claims, position)
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
                self.give_back(int(part.class_ids[i]), slots[i], int(placed.devices[i]))
        return placed._replace(tried=at, said=said, volumes=volumes)

    def _no_node_for_all(
        self, part: PlacementRequest, begin: int, judged: VolumeJudgement
    ) -> dict[int, PlacementFailure]:
        """What is said of pods, from one on, whose volumes let them go nowhere."""
        by_class: dict[int, PlacementFailure] = {}
        for class_id in dict.fromkeys(int(each) for each in part.class_ids[begin:]):
            by_class[class_id] = self._no_place(class_id, judged)
        return {i: by_class[int(part.class_ids[i])] for i in range(begin, len(part.class_ids))}

    def _within(
        self, part: PlacementRequest, allowed: npt.NDArray[np.bool_] | None
    ) -> BatchPlacement:
        """Place by the profile's rules inside some slots."""
        self.only = allowed
        try:
            return super().place(part)
        finally:
            self.only = None

    def _is_blocked(self, part: PlacementRequest, placed: BatchPlacement) -> bool:
        """Whether the last unit of a part blocks and failed."""
        if not len(part.blocking) or not part.blocking[-1]:
            return False
        begin = int(part.starts[-2])
        return int((placed.slots[begin:] >= 0).sum()) < max(1, int(part.at_least[-1]))

    def _unit(self, part: PlacementRequest) -> BatchPlacement:
        """One unit, in the first of the places that its PodGroup names which holds it."""
        count, at_least = len(part.class_ids), max(1, int(part.at_least[0]))
        places = self.places(part)
        if places is None:
            return self._inside(part, None, at_least)
        size = self.engine.cluster.ledger.slots.size
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
        """One unit, pod by pod, as many at least or none; ``home`` are the slots it may use."""
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
        """One pod: where its volumes and its unit's place allow it, by the profile's rules."""
        row, alone = int(part.rows[i]), part.pod(i)
        judged = self._volumes.judge(row) if self.engine.cluster.pods.volumes[row] else None
        allowed = home
        if judged is not None and judged.allowed is not None:
            allowed = judged.allowed if home is None else judged.allowed & home
        if (judged is not None and judged.nowhere[1]) or (
            allowed is not None and not allowed.any()
        ):
            if judged is not None:
                said[i] = self._no_place(int(part.class_ids[i]), judged)
            return None
        placed = self._within(alone, allowed)
        slot = int(placed.slots[0])
        if slot < 0 or judged is None:
            if judged is not None:
                said[i] = self._no_place(int(part.class_ids[i]), judged)
            return _VolumePlacement(i, slot, int(placed.devices[0]), None) if slot >= 0 else None
        found = self._volumes.found(judged, slot)
        self._volumes.view.assume(row, slot, found)
        return _VolumePlacement(i, slot, int(placed.devices[0]), found)

    def _take_back(self, part: PlacementRequest, homes: Sequence[_VolumePlacement]) -> None:
        """Undo the places of a unit, the last first."""
        for home in reversed(homes):
            self.give_back(int(part.class_ids[home.place]), home.slot, home.mask)
            if home.found is not None:
                self._volumes.view.forget(int(part.rows[home.place]), home.found)

    def _no_place(self, class_id: int, judged: VolumeJudgement) -> PlacementFailure:
        """Why a pod fits nowhere, each node under the first rule that refuses it."""
        cluster = self.engine.cluster
        pod, slots = cluster.classes[class_id], cluster.nodes.live_slots()
        reason = judged.nowhere[1]
        if reason:
            message = f"0/{len(slots)} nodes are available: {reason}."
            return PlacementFailure(Cure.POD_CHANGED | Cure.VOLUME_CHANGED, message)
        counts: Counter[str] = Counter()
        cures, left = Cure.POD_CHANGED | Cure.NODE_ADDED, np.ones(len(slots), np.bool_)
        by_rule = {each.rule: each for each in judged.said}
        for asked in self.engine.profile.filters:
            before = left
            if asked.NAME in by_rule:
                said = by_rule[asked.NAME]
                refused = said.refused[slots] & left
                for number, count in enumerate(np.bincount(said.which[slots][refused])):
                    for text in said.reasons[number] if count else ():
                        counts[text] += int(count)
                left = left & ~refused
                cures |= asked.CURES if refused.any() else Cure.NONE
            elif asked.signature(pod) is not None:
                for each in asked.refusals(pod, self.view, slots):
                    counts[each.reason] += int((each.mask & before).sum())
                    left = left & ~each.mask
                cures |= asked.cures(pod) if (before & ~left).any() else Cure.NONE
        return PlacementFailure(cures, message_of(+counts, int(left.sum()), len(slots)))


def _has_no_slot(judged: VolumeJudgement) -> bool:
    """Whether a pod's volumes let it go nowhere."""
    return bool(judged.nowhere[1]) or (judged.allowed is not None and not judged.allowed.any())

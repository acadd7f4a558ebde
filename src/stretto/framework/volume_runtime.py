"""A runtime that also places pods with volumes.

Batches without such pods go through untouched; one look at a column tells. A unit that has some is
placed pod by pod in its turn: the volume rules say where the pod may go, its class is placed inside
that by the profile's own rules and scores, and what it gets there is assumed before the next pod is
looked at. A gang that falls short is taken back with its volumes.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.rng import Rng
from stretto.framework.diagnosis import message_of
from stretto.framework.exact.cures import CURES
from stretto.framework.exact.volumes import Found
from stretto.framework.placement import NOT_TRIED, Placement, Request
from stretto.framework.plugins.volumes import VolumeRule
from stretto.framework.runtime import Engine
from stretto.framework.staged_runtime import StagedRuntime
from stretto.framework.volume_rules import Judged, VolumeRules, choice_of
from stretto.state.claims import NoPlace, VolumeChoice
from stretto.state.units import Cure, Units


class _Home(NamedTuple):
    """A pod that was placed, to be taken back perhaps."""

    #: Its place in the request.
    place: int
    #: Its slot.
    slot: int
    #: Its devices.
    mask: int
    #: What it gets.
    found: Found | None


class VolumeRuntime(StagedRuntime):
    """Places every pod of one shard, those with volumes too."""

    def __init__(self, engine: Engine, rng: Rng, tier: str = "auto", units: Units | None = None):
        """A runtime of its own snapshot."""
        super().__init__(engine, rng, tier, units)
        names = frozenset(r.NAME for r in engine.profile.filters if isinstance(r, VolumeRule))
        self._volumes = VolumeRules(engine.cluster, names)

    def place(self, request: Request) -> Placement:
        """Place a batch on the snapshot, in order; the snapshot shows the result at once."""
        if not self.engine.cluster.records or not len(request.rows):
            return super().place(request)
        has = self.engine.cluster.pods.volumes[np.asarray(request.rows, np.int64)] > 0
        if not has.any():
            return super().place(request)
        self._volumes.view.sync()
        return self._in_turn(request, has)._replace(basis=self.engine.cluster.basis)

    def _in_turn(self, request: Request, has: npt.NDArray[np.bool_]) -> Placement:
        """Runs of units without volumes, and units with some one by one."""
        count, units = len(request.class_ids), len(request.at_least)
        slots, masks = np.full(count, NOT_TRIED, np.int32), np.zeros(count, np.int32)
        said: dict[int, NoPlace] = {}
        volumes: dict[int, VolumeChoice] = {}
        with_some = [
            bool(has[request.starts[u] : request.starts[u + 1]].any()) for u in range(units)
        ]
        u, others = 0, None
        while u < units:
            last = u + 1
            while not with_some[u] and last < units and not with_some[last]:
                last += 1
            part = request.part(u, last)
            start, stop = int(request.starts[u]), int(request.starts[last])
            placed = self._unit(part) if with_some[u] else super().place(part)
            slots[start:stop], masks[start:stop] = placed.slots, placed.devices
            said.update({start + i: each for i, each in placed.said.items()})
            volumes.update({start + i: each for i, each in placed.volumes.items()})
            others = placed.others if others is None else others
            if placed.tried < last - u or self._is_blocked(part, placed):
                return Placement(slots, masks, u + placed.tried, said, volumes, None, others)
            u = last
        return Placement(slots, masks, units, said, volumes, None, others)

    def _is_blocked(self, part: Request, placed: Placement) -> bool:
        """Whether the last unit of a part blocks and failed."""
        if not len(part.blocking) or not part.blocking[-1]:
            return False
        begin = int(part.starts[-2])
        return int((placed.slots[begin:] >= 0).sum()) < max(1, int(part.at_least[-1]))

    def _unit(self, part: Request) -> Placement:
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
        self, part: Request, home: npt.NDArray[np.bool_] | None, at_least: int
    ) -> Placement:
        """One unit, pod by pod, as many at least or none; ``home`` are the slots it may use."""
        count = len(part.class_ids)
        slots, masks = np.full(count, NOT_TRIED, np.int32), np.zeros(count, np.int32)
        said: dict[int, NoPlace] = {}
        homes: list[_Home] = []
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
        chosen = {h.place: choice_of(h.found) for h in homes if h.found is not None}
        volumes = {i: each for i, each in chosen.items() if each is not None}
        return Placement(slots, masks, 1, said, volumes)

    def _one(
        self,
        part: Request,
        i: int,
        home: npt.NDArray[np.bool_] | None,
        said: dict[int, NoPlace],
    ) -> _Home | None:
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
        self.only = allowed
        try:
            placed = super().place(alone)
        finally:
            self.only = None
        slot = int(placed.slots[0])
        if slot < 0 or judged is None:
            if judged is not None:
                said[i] = self._no_place(int(part.class_ids[i]), judged)
            return _Home(i, slot, int(placed.devices[0]), None) if slot >= 0 else None
        found = self._volumes.found(judged, slot)
        self._volumes.view.assume(row, slot, found)
        return _Home(i, slot, int(placed.devices[0]), found)

    def _take_back(self, part: Request, homes: Sequence[_Home]) -> None:
        """Undo the places of a unit, the last first."""
        for home in reversed(homes):
            self.give_back(int(part.class_ids[home.place]), home.slot, home.mask)
            if home.found is not None:
                self._volumes.view.forget(int(part.rows[home.place]), home.found)

    def _no_place(self, class_id: int, judged: Judged) -> NoPlace:
        """Why a pod fits nowhere, each node under the first rule that refuses it."""
        cluster = self.engine.cluster
        pod, slots = cluster.classes[class_id], cluster.nodes.live_slots()
        reason = judged.nowhere[1]
        if reason:
            message = f"0/{len(slots)} nodes are available: {reason}."
            return NoPlace(Cure.POD_CHANGED | Cure.VOLUME_CHANGED, message)
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
                cures |= CURES[asked.NAME] if refused.any() else Cure.NONE
            elif asked.signature(pod) is not None:
                for each in asked.refusals(pod, self.view, slots):
                    counts[each.reason] += int((each.mask & before).sum())
                    left = left & ~each.mask
                cures |= asked.cures(pod) if (before & ~left).any() else Cure.NONE
        return NoPlace(cures, message_of(+counts, int(left.sum()), len(slots)))

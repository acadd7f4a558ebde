"""With inter-pod rules, both tiers place as a plain scan by the rules does.

Random clusters (``between_world``), batches of units with gangs that fail and are undone, pins,
plans of which some claims are granted and others refused, events of others in between, tie rules.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.base.registry import Registry
from stretto.base.rng import Rng
from stretto.framework.compiled.placement import BatchPlacement, PlacementRequest
from stretto.framework.contract.rule import (
    BoolArray,
    FilterRule,
    IntArray,
    Rule,
    Scope,
    ScoreRule,
    SlotArray,
    View,
)
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.kernels.numpy.place import choose
from stretto.framework.kernels.tiers import has_numba
from stretto.framework.plugins.table import RULES
from stretto.framework.profile.profile import Profile, load_profile
from stretto.state.classes.table import PodClass
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.slots import BLOCK
from tests.properties.between_world import Shape, World, shapes

TIERS = ("numpy", *(["numba"] if has_numba() else []))
COMPILING = pytest.mark.timeout(400)
ties = st.sampled_from(["rotate", "order", "name"])


class EvenPods(FilterRule, ScoreRule):
    """Depends on what the batch itself places on a slot; ignores every third class."""

    NAME: ClassVar[str] = "EvenPods"
    SCOPE: ClassVar[Scope] = Scope.SLOT

    def signature(self, pod: PodClass) -> int | None:
        return pod.id if pod.id % 3 else None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        return np.asarray(view.columns.free[0, slots] >= 300 * ((slots + pod.id) % 4))

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        return np.asarray((view.columns.free[0, slots] // 100 + slots) % 60, np.int32)


class NearTheMean(EvenPods):
    """Depends on every slot."""

    NAME: ClassVar[str] = "NearTheMean"
    SCOPE: ClassVar[Scope] = Scope.DOMAIN

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        free = view.columns.free[3]
        return np.asarray(free[slots] >= free[view.columns.live > 0].mean() - 1)


OWN: Final[Registry[type[Rule]]] = Registry(
    "plugin",
    {**{n: RULES.get(n) for n in RULES.names()}, "EvenPods": EvenPods, "NearTheMean": NearTheMean},
)
FORMS: Final[dict[str, dict[str, Any]]] = {
    "plain": {},
    "rows": {"score": {"enabled": [{"name": "AdaptiveCpuToMemRatio", "weight": 2}]}},
    "slot rule": {p: {"enabled": [{"name": "EvenPods"}]} for p in ("filter", "score")},
    "domain rule": {p: {"enabled": [{"name": "NearTheMean"}]} for p in ("filter", "score")},
    "both": {
        p: {"enabled": [{"name": "EvenPods"}, {"name": "NearTheMean"}]} for p in ("filter", "score")
    },
}
forms = st.sampled_from(sorted(FORMS))


def profile_of(tie: str, form: str) -> Profile:
    """A profile with a tie rule and some rules beyond the default ones."""
    return load_profile({"profiles": [{"plugins": FORMS[form], "stretto": {"tieRule": tie}}]}, OWN)


class Plain(Runtime):
    """Every pod looks at every node, by the rules' own functions; nothing is remembered."""

    def place(self, request: PlacementRequest) -> BatchPlacement:
        ids = np.asarray(request.class_ids, np.int32)
        self.make_ready(np.unique(ids))
        self.between.ready(np.unique(ids))
        slots = np.full(len(ids), -1, np.int32)
        pins = request.pins if len(request.pins) else [-1] * len(ids)
        for start, stop, least in zip(
            request.starts, request.starts[1:], request.at_least, strict=False
        ):
            self._place_unit(ids, pins, slots, (start, stop, least))
            if int((slots[start:stop] >= 0).sum()) < least:
                for i in range(start, stop):
                    self._put(int(ids[i]), int(slots[i]), -1)
                slots[start:stop] = -1
        self.between.placed(ids[slots >= 0], slots[slots >= 0])
        return BatchPlacement(slots, np.zeros(len(ids), np.int32), len(request.at_least))

    def _place_unit(
        self,
        ids: npt.NDArray[np.int32],
        pins: Sequence[int],
        slots: npt.NDArray[np.int32],
        unit: tuple[int, int, int],
    ) -> None:
        """Pods in order, again and again while that helps; no further than there is hope."""
        start, stop, least = unit
        waiting, lost, helped = list(range(start, stop)), 0, True
        while helped:
            helped, refused = False, []
            for i in waiting:
                if stop - start - lost < least:
                    return
                slots[i] = self._find(int(ids[i]), int(pins[i]))
                self._put(int(ids[i]), int(slots[i]), 1)
                wants = self.engine.cluster.classes[int(ids[i])].terms
                if slots[i] >= 0:
                    helped = True
                elif wants.affinity_keys or wants.hard or self.engine.python_rules.over_domains:
                    refused.append(i)
                else:
                    lost += 1
            waiting = refused

    def _find(self, class_id: int, pin: int) -> int:
        row = self.reference_row(class_id)
        if pin >= 0:
            return pin if row[pin] > 0 else -1
        return choose(row, row.reshape(-1, BLOCK).max(axis=1), self.choice(), 0)

    def _put(self, class_id: int, slot: int, sign: int) -> None:
        if slot < 0:
            return
        for column, amount in [*self.engine.cluster.classes.scaled_requests(class_id), (3, 1)]:
            self.columns.free[column, slot] -= sign * amount
        self.between.take(class_id, slot, sign)


class Stage:
    """One world, and a runtime of each kind over it."""

    def __init__(self, shape: Shape, tie: str, form: str) -> None:
        self.world = World(shape)
        profile = profile_of(tie, form)
        engine = CompiledProfile(profile, self.world.cluster)
        self.plain: Runtime = Plain(engine, Rng(3), "numpy")
        self.runtimes = [Runtime(engine, Rng(3), tier) for tier in TIERS]

    def request(self) -> tuple[PlacementRequest, list[int]]:
        """Units of new pods, gangs among them."""
        world, starts, least, rows = self.world, [0], [], list[int]()
        for _ in range(int(world.rng.integers(1, 5))):
            size = int(world.rng.integers(1, 5))
            rows += [world.feed.row(world.add_pod()) for _ in range(size)]
            starts.append(len(rows))
            least.append(int(world.rng.integers(1, size + 1)))
        pins = [self.pin() for _ in rows]
        ids = world.cluster.pods.class_id[rows]
        return PlacementRequest(ids, starts, least, (), pins), rows

    def pin(self) -> int:
        slots = self.world.cluster.nodes.live_slots()
        return int(self.world.pick(slots)) if self.world.chance(0.1) else -1

    def grant(self, rows: list[int], slots: npt.NDArray[np.int32]) -> None:
        """Most claims are granted; the others are looked at again at the next sync."""
        cluster = self.world.cluster
        for row, slot in zip(rows, slots.tolist(), strict=True):
            if slot >= 0 and self.world.chance(0.8):
                cluster.charges.charge(row, slot)
                cluster.pods.state[row] = PodState.ASSUMED
            elif slot >= 0:
                cluster.ledger.touch([slot])


def check(shape: Shape, tie: str, form: str = "plain") -> tuple[int, int]:
    """Live through a world in every tier and plainly; pods placed and refused."""
    stage = Stage(shape, tie, form)
    placed = refused = 0
    for _ in range(shape.steps):
        for _ in range(2):
            stage.world.happen()
        request, rows = stage.request()
        for runtime in (stage.plain, *stage.runtimes):
            runtime.sync()
        wanted = stage.plain.place(request).slots
        for tier, runtime in zip(TIERS, stage.runtimes, strict=True):
            assert runtime.place(request).slots.tolist() == wanted.tolist(), (tier, form)
            mine = int(request.class_ids[0])
            runtime.sync()
            assert np.array_equal(runtime.row(mine), runtime.reference_row(mine)), (tier, form)
        stage.grant(rows, wanted)
        placed += int((wanted >= 0).sum())
        refused += int((wanted < 0).sum())
    return placed, refused


@COMPILING
@given(shapes, ties)
@settings(max_examples=15)
def test_both_tiers_place_as_the_rules_one_by_one(shape: Shape, tie: str) -> None:
    check(shape, tie)


@COMPILING
@given(shapes, ties, forms)
@settings(max_examples=15)
def test_both_tiers_place_alike_by_scores_per_slot_and_by_python_rules(
    shape: Shape, tie: str, form: str
) -> None:
    check(shape, tie, form)


@COMPILING
@pytest.mark.parametrize("form", sorted(FORMS))
def test_the_worlds_place_and_refuse_pods_by_any_rules(form: str) -> None:
    totals = np.zeros(2, np.int64)
    for seed in range(6):
        totals += check(Shape(seed, 7, 3, 5, 8, 4), "rotate", form)
    assert (totals > 10).all(), totals


@pytest.mark.timeout(1800)
@pytest.mark.slow
@given(shapes, ties, forms)
@settings(max_examples=3000)
def test_both_tiers_place_as_the_rules_in_long_runs(shape: Shape, tie: str, form: str) -> None:
    check(shape, tie, form)


@COMPILING
def test_the_worlds_place_and_refuse_pods() -> None:
    totals = np.zeros(2, np.int64)
    for seed in range(8):
        totals += check(Shape(seed, 7, 3, 5, 8, 4), "rotate")
    assert (totals > 20).all(), totals

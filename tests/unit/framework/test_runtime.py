"""One runtime by hand: what is placed, what is kept, what is shared."""

from typing import Any

import numpy as np
import pytest

from stretto.base.rng import Rng
from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.framework.engine import score_cache as module
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.profile.profile import load_profile
from stretto.state.classes import table as classes_module
from stretto.state.rows.devices import MAX_MODELS
from stretto.state.work.units import Cure
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import DELETED, MODIFIED, ClusterFeed


class Bench(ClusterFeed):
    """A cluster and one runtime over it."""

    def __init__(self, *nodes: bytes, profile: str = "default") -> None:
        super().__init__(*nodes)
        self.engine = CompiledProfile(load_profile(profile), self.cluster)
        self.runtime = Runtime(self.engine, Rng(0), "numpy")
        self.runtime.sync()

    def a_class(self, **form: Any) -> int:
        return self.class_of(make_pod("p", **form))

    def place(self, *ids: int, least: int = 0, **more: Any) -> BatchPlacement:
        """Single pods, or one gang of ``least``."""
        if least:
            return self.runtime.place(PlacementRequest(ids, [0, len(ids)], [least], **more))
        return self.runtime.place(
            PlacementRequest(ids, range(len(ids) + 1), [1] * len(ids), **more)
        )

    def true(self, class_id: int) -> bool:
        self.runtime.sync()
        row = self.runtime.row(class_id)
        return np.array_equal(row, self.runtime.reference_row(class_id))


def test_an_empty_cluster_admits_no_pod() -> None:
    desk = Bench()
    reported = desk.place(desk.a_class())
    assert (reported.slots.tolist(), reported.tried) == ([-1], 1)
    assert (desk.runtime.capacity(0), len(desk.runtime.row(0))) == (0, 0)


def test_an_empty_batch_places_nothing() -> None:
    desk = Bench(make_node("n"))
    assert len(desk.place().slots) == 0


def test_pods_of_a_batch_see_one_another() -> None:
    desk = Bench(make_node("n", cpu="2"))
    assert desk.place(*[desk.a_class(cpu="1")] * 3).slots.tolist() == [0, 0, -1]


def test_a_gang_is_placed_whole_or_not() -> None:
    desk = Bench(make_node("n", cpu="2"))
    one = desk.a_class(cpu="1")
    assert desk.place(one, one, one, least=3).slots.tolist() == [-1, -1, -1]
    assert desk.place(one, one, one, least=2).slots.tolist() == [0, 0, -1]


def test_a_blocking_unit_that_fails_ends_the_batch() -> None:
    desk = Bench(make_node("n", cpu="2"))
    ids = desk.a_class(cpu="9"), desk.a_class(cpu="1")
    reported = desk.place(*ids, blocking=[True, False])
    assert (reported.slots.tolist(), reported.tried) == ([-1, NOT_TRIED], 1)


def test_a_pinned_pod_goes_there_or_nowhere() -> None:
    desk = Bench(make_node("n", cpu="2"), make_node("m", cpu="2"))
    one = desk.a_class(cpu="2")
    assert desk.place(one, one, pins=[1, 1]).slots.tolist() == [1, -1]


def test_a_refused_placement_is_forgotten_at_the_next_sync() -> None:
    desk = Bench(make_node("n", cpu="2"))
    one = desk.a_class(cpu="2")
    desk.place(one)
    assert desk.runtime.capacity(one) == 0
    desk.cluster.ledger.touch([0])
    desk.runtime.sync()
    assert desk.runtime.capacity(one) == 1


def test_capacity_counts_the_scarcest_resource_of_each_slot() -> None:
    desk = Bench(make_node("n", cpu="4", memory="2Gi"), make_node("m", cpu="1", memory="9Gi"))
    assert desk.runtime.capacity(desk.a_class(cpu="1", memory="1Gi")) == 3


@pytest.mark.parametrize(
    "form",
    [{"cpu": "9"}, {"gpus": 1}, {"spec": {"nodeSelector": {"a": "b"}}}, {"resources": {"x": "1"}}],
)
def test_a_pod_that_fits_nowhere_has_no_capacity(form: dict[str, Any]) -> None:
    desk = Bench(make_node("n"))
    assert desk.runtime.capacity(desk.a_class(**form)) == 0


def test_capacity_for_ports_is_at_least_one_per_slot() -> None:
    desk = Bench(make_node("n"))
    one = desk.a_class(ports=[80])
    assert desk.runtime.capacity(one) >= 1
    desk.place(one)
    assert desk.runtime.capacity(one) == 0


@pytest.mark.parametrize(
    ("form", "cure"),
    [
        ({}, Cure.POD_LEFT),
        ({"gpus": 1}, Cure.POD_LEFT),
        ({"spec": {"nodeSelector": {"a": "b"}}}, Cure.NODE_LABELS),
    ],
)
def test_a_class_is_cured_by_what_its_rules_read(form: dict[str, Any], cure: Cure) -> None:
    desk = Bench(make_node("n"))
    assert desk.engine.cures_of(desk.a_class(**form)) & cure


def test_a_node_that_changes_is_evaluated_again() -> None:
    desk = Bench(make_node("n"), make_node("m"))
    one = desk.a_class(spec={"nodeSelector": {"a": "b"}})
    assert desk.runtime.capacity(one) == 0
    desk.node(make_node("n", labels={"a": "b"}), MODIFIED)
    assert desk.true(one)
    assert (desk.runtime.capacity(one) > 0, desk.engine.is_eligible(one, 0)) == (True, True)


def test_a_new_gpu_model_is_found_when_its_node_is_added() -> None:
    desk = Bench(make_node("n", gpus=1, model="A"))
    ids = [desk.a_class(gpus=1, gpu_models=f"m{n}") for n in range(MAX_MODELS + 20)]
    assert [desk.runtime.capacity(each) for each in ids] == [0] * len(ids)
    desk.node(make_node("m", gpus=1, model=f"m{MAX_MODELS + 19}"))
    assert desk.true(ids[-1])
    assert desk.runtime.capacity(ids[-1]) > 0


def test_an_id_that_is_given_again_has_a_row_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes_module, "CLASS_LIMIT", 0)
    desk = Bench(make_node("n", cpu="4"))
    first = desk.a_class(cpu="9")
    assert desk.runtime.capacity(first) == 0
    desk.pod(make_pod("p"), DELETED, uid=f"uid-{desk.version - 1}")
    second = desk.a_class(cpu="1")
    assert (second == first, desk.runtime.capacity(second), desk.true(second)) == (True, 4, True)


def test_the_row_unused_for_longest_is_given_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE_BYTES", 0)
    desk = Bench(make_node("n"))
    ids = [desk.a_class(cpu=f"{n}m") for n in range(1, 70)]
    for each in [*ids, ids[0], *ids[60:]]:
        desk.runtime.row(each)
    entry = desk.runtime.scores.entries.entry
    assert (entry[ids[68]] >= 0, entry[ids[1]], len(desk.runtime.scores.entries.position)) == (
        True, -1, 64,
    )  # fmt: skip


def test_shards_share_rules_but_not_snapshots() -> None:
    desk = Bench(make_node("n", cpu="2"))
    other = Runtime(desk.engine, Rng(1), "numpy")
    other.sync()
    one = desk.a_class(cpu="2")
    desk.place(one)
    assert (desk.runtime.capacity(one), other.capacity(one)) == (0, 1)


@pytest.mark.parametrize("profile", ["random", "default"])
def test_the_same_seed_draws_the_same_places(profile: str) -> None:
    def places() -> list[int]:
        desk = Bench(*[make_node(f"n{n}") for n in range(9)], profile=profile)
        return desk.place(*[desk.a_class()] * 30).slots.tolist()

    assert places() == places()


def test_own_blocks_come_first_and_others_when_they_are_full() -> None:
    desk = Bench(*[make_node(f"n{n}", cpu="1", zone=f"z{n}") for n in range(2)])
    desk.runtime.own_block[:] = (0, 1)
    one = desk.a_class(cpu="1")
    assert (desk.place(one, one).slots // 64).tolist() == [1, 0]

"""Fast code decides as its plain counterpart, which the ablation bench measures."""

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.base.rng import Rng
from stretto.framework.compiled.placement import PlacementRequest
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.profile.profile import load_profile
from stretto.state.rows.slots import BLOCK, SlotMap
from stretto.testing import make_node, make_pod
from stretto_lab.bench.ablation.plain import (
    CopyingRuntime,
    PlainNodeList,
    ScanningRuntime,
    parts_of_new_classes,
)
from stretto_lab.bench.ablation.scene import Ablation, AblationOptions
from stretto_lab.bench.ablation.score_cache import run_ablation
from stretto_lab.bench.ablation.victims import preemption
from tests.support.hand_fed_cluster import ClusterFeed

FORMS: list[dict[str, Any]] = [
    {"cpu": "500m"},
    {"cpu": "2", "memory": "4Gi"},
    {"cpu": "1", "ports": [80]},
    {"cpu": "100m", "gpus": 1, "gpu_milli": 400},
    {"cpu": "9"},
]
units = st.lists(
    st.tuples(st.integers(0, len(FORMS) - 1), st.integers(1, 3), st.booleans()), max_size=12
)
Unit = tuple[int, int, bool]


def runtime_of() -> tuple[Runtime, list[int]]:
    """Six nodes in two zones, and a class of each form."""
    feed = ClusterFeed()
    for number in range(6):
        gpus = 2 * (number % 2)
        feed.node(make_node(f"n{number}", cpu=str(2 + number), gpus=gpus, zone="ab"[number % 2]))
    classes = [feed.class_of(make_pod(f"p{n}", **form)) for n, form in enumerate(FORMS)]
    runtime = Runtime(CompiledProfile(load_profile("default"), feed.cluster), Rng(1), "numpy")
    runtime.sync()
    return runtime, classes


def request_of(batch: list[Unit], classes: list[int]) -> PlacementRequest:
    """Units of like pods; a gang needs all of them, a blocking one ends the batch."""
    ids = [classes[form] for form, size, _ in batch for _ in range(size)]
    starts = np.concatenate([[0], np.cumsum([size for _, size, _ in batch])]).astype(int).tolist()
    return PlacementRequest(
        ids, starts, [size for _, size, _ in batch], [last for _, _, last in batch]
    )


def decided(batch: list[Unit], plain: type[ScanningRuntime] | None) -> tuple[Any, ...]:
    runtime, classes = runtime_of()
    place = plain(runtime).place if plain is not None else runtime.place
    answer = place(request_of(batch, classes))
    return answer.slots.tolist(), answer.devices.tolist(), answer.tried


@settings(max_examples=25)
@given(units)
def test_cached_scores_decide_as_recomputed_scores(batch: list[Unit]) -> None:
    assert decided(batch, None) == decided(batch, ScanningRuntime)


@given(units)
def test_a_batch_is_cut_wherever_a_class_comes_again(batch: list[Unit]) -> None:
    request = request_of(batch, list(range(len(FORMS))))
    parts = list(parts_of_new_classes(request))
    assert [i for _, part in parts for i in part.class_ids] == list(request.class_ids)
    for first, part in parts:
        begins = [int(part.class_ids[start]) for start in part.starts[:-1]]
        assert len(begins) == len(set(begins))
        assert request.class_ids[first] == part.class_ids[0]


@settings(max_examples=20)
@given(units)
def test_a_snapshot_that_is_copied_again_decides_the_same(batch: list[Unit]) -> None:
    (following, classes), (copied, _) = runtime_of(), runtime_of()
    copying = CopyingRuntime(copied)
    for runtime, sync in ((following, following.sync), (copied, copying.sync)):
        slot = int(runtime.engine.cluster.nodes.by_name["n5"])
        runtime.engine.cluster.ledger.charge(slot, [(0, 1500)])
        sync()
    request = request_of(batch, classes)
    assert following.place(request).slots.tolist() == copied.place(request).slots.tolist()


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=60))
def test_slots_and_the_plain_list_hold_the_same_nodes(moves: list[tuple[int, bool]]) -> None:
    slots, plain, held = SlotMap(), PlainNodeList(), dict[str, int]()
    for number, (zone, comes) in enumerate(moves):
        if comes:
            held[f"n{number}"] = slots.add(f"z{zone}")
            plain.add(f"n{number}", f"z{zone}")
        elif held:
            name, slot = held.popitem()
            slots.remove(slot)
            plain.remove(name)
    zones = Counter(slots.zone_names[slots.block_zone[slot // BLOCK]] for slot in held.values())
    assert sorted(plain.order) == sorted(held)
    assert zones.total() == int(slots.live.sum())


def test_the_plain_list_takes_zones_in_turn() -> None:
    plain = PlainNodeList()
    plain.fill([("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("c1", "c")])
    assert plain.order == ["a1", "b1", "c1", "a2", "a3"]


def test_the_bench_measures_every_part_and_finds_the_answers_equal() -> None:
    requested = AblationOptions(nodes=64, running_per_node=2, pods=48, classes=8, rounds=1)
    found = run_ablation(requested, [preemption])
    assert len({each.part for each in found}) == 5
    assert all(isinstance(each, Ablation) and each.factor > 0 for each in found)
    assert sum(each.whole_factor is not None for each in found) == 4

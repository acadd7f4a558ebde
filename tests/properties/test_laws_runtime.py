"""Cached rows equal the rules' own answers after any changes; ``capacity`` is never wrong."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.base.rng import Rng
from stretto.framework.compiled.placement import PlacementRequest
from stretto.framework.engine import score_cache as module
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.kernels.tiers import has_numba
from stretto.framework.profile.profile import load_profile
from stretto.state.cluster.cluster import Cluster
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import DELETED, MODIFIED, ClusterFeed

PROFILES = [
    "default",
    "packing",
    "fgd",
    "best-fit",
    "dot-prod",
    "gpu-packing",
    "gpu-clustering",
    "random",
]
TIERS = ["numpy", "numba"]
FORMS: list[dict[str, Any]] = [
    {"cpu": "500m"},
    {"cpu": "2", "memory": "4Gi"},
    {"cpu": "1", "ports": [80]},
    {"cpu": "1", "ports": [81, 82]},
    {"cpu": "100m", "gpus": 1, "gpu_milli": 400},
    {"cpu": "100m", "gpus": 2, "gpu_models": "A|C"},
    {"cpu": "1", "spec": {"nodeSelector": {"disk": "ssd"}}},
    {"cpu": "1", "spec": {"tolerations": [{"key": "t", "operator": "Exists"}]}},
    {"cpu": "1", "resources": {"x.io/a": "2"}},
]
NODES: list[dict[str, Any]] = [
    {"cpu": "4", "zone": "a"},
    {"cpu": "8", "zone": "b", "gpus": 4, "model": "A", "labels": {"disk": "ssd"}},
    {"cpu": "2", "zone": "a", "taints": [{"key": "t", "value": "", "effect": "NoSchedule"}]},
    {"cpu": "8", "gpus": 2, "model": "B", "resources": {"x.io/a": "5"}},
    {"cpu": "1", "pods": 2, "unschedulable": True},
]
moves = st.lists(
    st.tuples(
        st.sampled_from(["grant", "grant", "refuse", "end", "node", "change", "lose", "look"]),
        st.integers(0, 15),
        st.integers(0, 8),
    ),
    max_size=25,
)


class Stage:
    """A cluster, an engine over it, and one shard's runtime."""

    def __init__(self, profile: str, tier: str) -> None:
        self.feed = ClusterFeed()
        for number, form in enumerate(NODES):
            self.feed.node(make_node(f"n{number}", **form))
        self.engine = CompiledProfile(load_profile(profile), self.feed.cluster)
        self.runtime = Runtime(self.engine, Rng(1), tier)
        self.runtime.sync()
        self.pods = 0

    @property
    def cluster(self) -> Cluster:
        return self.feed.cluster

    def play(self, move: str, which: int, form: int) -> None:
        if move in ("grant", "refuse"):
            self.place(form, 1 + which % 4, granted=move == "grant")
        elif move == "end" and self.cluster.pods.row(f"p{which}") is not None:
            self.feed.pod(make_pod(f"p{which}"), DELETED)
        elif move == "lose":
            self.feed.lose(f"n{which}")
        elif move in ("node", "change"):
            self.feed.node(make_node(f"n{which}", **NODES[form % len(NODES)]), MODIFIED)
        self.runtime.sync()

    def place(self, form: int, count: int, granted: bool) -> int:
        """Place this number of pods and confirm their claims; returns how many found a node."""
        names = [f"p{self.pods + number}" for number in range(count)]
        self.pods += count
        for name in names:
            self.feed.pod(make_pod(name, **FORMS[form]))
        rows = [self.feed.row(name) for name in names]
        self.runtime.sync()
        reported = self.runtime.place(
            PlacementRequest(self.cluster.pods.class_id[rows], list(range(count + 1)), [1] * count)
        )
        for row, slot, mask in zip(rows, reported.slots, reported.devices, strict=True):
            if slot >= 0 and granted:
                self.cluster.charges.charge(row, int(slot), int(mask))
            elif slot >= 0:
                self.cluster.ledger.touch([int(slot)])
        return int((reported.slots >= 0).sum())

    def classes(self) -> list[int]:
        return sorted({int(self.cluster.pods.class_id[row]) for row in self.cluster.pods.rows()})

    def wrong(self) -> list[tuple[int, list[int]]]:
        """Classes whose kept row is not what the rules say, and where."""
        found = []
        for class_id in self.classes():
            kept, true = self.runtime.row(class_id), self.runtime.reference_row(class_id)
            if not np.array_equal(kept, true):
                found.append((class_id, np.flatnonzero(kept != true).tolist()))
        return found


@pytest.fixture(params=TIERS)
def tier(request: pytest.FixtureRequest) -> str:
    if request.param == "numba" and not has_numba():
        pytest.skip("numba is not installed")
    return str(request.param)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_kept_row_equals_the_result_of_the_rules(profile: str, tier: str) -> None:
    @settings(max_examples=25)
    @given(moves)
    def holds(script: list[tuple[str, int, int]]) -> None:
        stage = Stage(profile, tier)
        for move in script:
            stage.play(*move)
            assert stage.wrong() == []

    holds()


def test_a_row_that_was_evicted_from_the_cache_is_recomputed(
    tier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CACHE_BYTES", 0)
    stage = Stage("default", tier)
    for number in range(150):
        stage.feed.pod(make_pod(f"c{number}", cpu=f"{10 * number}m"))
    assert stage.wrong() == []
    stage.place(0, 4, granted=True)
    stage.runtime.sync()
    assert stage.wrong() == []
    assert len(stage.runtime.scores.entries.position) == 64


@given(moves, st.integers(0, 8))
def test_capacity_is_an_upper_bound_and_zero_when_nothing_fits(
    script: list[tuple[str, int, int]], form: int
) -> None:
    stage = Stage("default", "numpy")
    for move in script:
        stage.play(*move)
    stage.feed.pod(make_pod("asks", **FORMS[form]))
    stage.runtime.sync()
    capacity = stage.runtime.capacity(int(stage.cluster.pods.class_id[stage.feed.row("asks")]))
    placed = stage.place(form, 60, granted=False)
    assert placed <= capacity
    assert (capacity == 0) == (placed == 0)

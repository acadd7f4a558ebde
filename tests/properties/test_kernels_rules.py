"""A row of the class cache is what the profile's own rules say, slot by slot."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.base.rng import Rng
from stretto.framework.compiled.typical import TypicalPod, typical_pods
from stretto.framework.contract.rule import Scope, View
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.kernels.tiers import has_numba
from stretto.framework.plugins.table import RULES
from stretto.framework.profile.profile import Profile, load_profile
from stretto.state.classes.table import PodClass
from tests.support.slot_cluster import SlotSketch

pytestmark = pytest.mark.timeout(300)  # the first example may compile the kernels

TIERS = ["numpy", *(["numba"] if has_numba() else [])]
SIZES = st.sampled_from([0, 100, 250, 500, 900, 1500, 4000])

nodes = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from(["1", "2500m", "8", "200"]),
        "memory": st.sampled_from(["1Gi", "3000Mi", "64Gi"]),
        "gpus": st.integers(0, 8),
        "model": st.sampled_from(["T4", "V100", "A10"]),
        "pods": st.sampled_from([1, 3, 110]),
        "resources": st.sampled_from([{}, {"ephemeral-storage": "10Gi"}, {"example.com/nic": "4"}]),
        "taints": st.sampled_from([[], [{"key": "a", "effect": "PreferNoSchedule"}]]),
        "labels": st.sampled_from([{}, {"disk": "ssd"}]),
    }
)
pod_forms = st.fixed_dictionaries(
    {"cpu": SIZES.map("{}m".format), "memory": SIZES.map("{}Mi".format)},
    optional={
        "gpus": st.integers(1, 4),
        "gpu_models": st.sampled_from(["T4", "T4|A10"]),
        "ports": st.lists(st.sampled_from([80, 443]), min_size=1, max_size=2, unique=True),
        "resources": st.sampled_from(
            [{"ephemeral-storage": "4Gi"}, {"example.com/nic": "1"}, {"example.com/none": "1"}]
        ),
        "spec": st.just({"nodeSelector": {"disk": "ssd"}}),
    },
)
shares = st.sampled_from([None, 100, 500, 700])
weights = st.integers(1, 20)
resources = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["cpu", "memory", "ephemeral-storage", "example.com/nic"]),
            "weight": st.integers(1, 3),
        }
    ),
    max_size=3,
    unique_by=lambda item: item["name"],
)
SHAPE = [
    {"utilization": 0, "score": 0},
    {"utilization": 70, "score": 10},
    {"utilization": 100, "score": 3},
]


@st.composite
def profiles(draw: Any) -> Profile:
    """Any of the score rules with any weights, and any strategy of the fit."""
    strategy: dict[str, Any] = {
        "type": draw(
            st.sampled_from(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"])
        ),
        "resources": draw(resources),
    }
    if strategy["type"] == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": SHAPE}
    names = draw(st.lists(st.sampled_from(SCORES), unique=True, max_size=4))
    enabled = [{"name": name, "weight": draw(weights)} for name in names]
    balanced = {"name": "NodeResourcesBalancedAllocation", "args": {"resources": draw(resources)}}
    return load_profile(
        {
            "profiles": [
                {
                    "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": enabled}},
                    "pluginConfig": [
                        {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}},
                        balanced,
                    ],
                }
            ]
        }
    )


SCORES = [name for name, rule in RULES.items() if hasattr(rule, "score")]


def sketch_of(
    machines: list[dict[str, Any]], running: list[tuple[int, dict[str, Any]]]
) -> SlotSketch:
    """A cluster with pods on it where they fit, and GPUs by the lowest index."""
    sketch = SlotSketch(*machines)
    ledger = sketch.cluster.ledger
    for number, requested in running:
        name = f"n{number % len(machines)}"
        pod, slot = sketch.pod(**requested), sketch.slot(name)
        free = np.flatnonzero(ledger.devices.free[slot] == 1000).tolist()
        need = sum(request.count for request in pod.devices)
        if ledger.fits(slot, pod.requests) and need <= len(free):
            sketch.run(name, pod, free[:need])
    return sketch


def requested_row(profile: Profile, pod: PodClass, view: View, slots: np.ndarray) -> list[int]:
    """The answers of the rules, one slot at a time."""
    passes = np.ones(len(slots), np.bool_)
    for rule in profile.filters:
        passes &= rule.filter(pod, view, slots)
        refused = np.zeros(len(slots), np.bool_)
        for refusal in rule.refusals(pod, view, slots):
            refused |= refusal.mask
        assert refused.tolist() == (~rule.filter(pod, view, slots)).tolist(), rule.NAME
    total = np.zeros(len(slots), np.int64)
    for scorer, weight in profile.scores:
        if scorer.SCOPE is Scope.STATIC and scorer.signature(pod) is None:
            continue  # the rule does not concern this class
        score = scorer.score(pod, view, slots)
        assert score.dtype == np.int32, scorer.NAME
        assert ((score >= 0) & (score <= 100))[passes].all(), scorer.NAME
        total += weight * score
    return np.where(passes, 1 + total, 0).tolist()


@given(
    st.lists(nodes, min_size=1, max_size=9),
    st.lists(st.tuples(st.integers(0, 8), pod_forms), max_size=12),
    pod_forms,
    shares,
    profiles(),
)
def test_a_row_equals_the_result_of_the_rules(
    machines: list[dict[str, Any]],
    running: list[tuple[int, dict[str, Any]]],
    requested: dict[str, Any],
    share: int | None,
    profile: Profile,
) -> None:
    sketch = sketch_of(machines, running)
    if share is not None and requested.get("gpus"):
        requested = {**requested, "gpus": 1, "gpu_milli": share}
    pod = sketch.pod(**requested)
    kinds = [
        (TypicalPod(1000, 1, 500), 3),
        (TypicalPod(500, 2, 1000), 2),
        (TypicalPod(100, 0, 0), 1),
    ]
    sketch.typical = typical_pods(kinds, sketch.cluster.ledger.devices)
    engine = CompiledProfile(profile, sketch.cluster)
    engine.typical = sketch.typical
    for tier in TIERS:
        runtime = Runtime(engine, Rng(0), tier)
        runtime.sync()
        row = runtime.row(pod.id)[sketch.slots].tolist()
        assert row == requested_row(profile, pod, sketch.view, sketch.slots), tier

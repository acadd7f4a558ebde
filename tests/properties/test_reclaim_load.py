"""Reclaim where LoadAware refuses nodes: victims as on a second cluster without them.

The reference builds the same cluster again, deletes a set of pods there, and asks whether the
newcomer is placed. It tries every set of pods of one node.
"""

import json
from itertools import chain, combinations
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, QUEUE
from stretto.base.clock import timestamp
from stretto.framework.profile.profile import load_profile
from stretto.testing import Harness, make_node
from tests.support.recreating_harness import queue_object, queue_pod

pytestmark = pytest.mark.timeout(240)

CORES, GUARANTEE = 8, 4
PROFILE = load_profile(
    {
        "profiles": [
            {
                "plugins": {"filter": {"enabled": [{"name": "LoadAware"}]}},
                "pluginConfig": [{"name": "LoadAware", "args": {"usageThresholds": {"cpu": 65}}}],
            }
        ]
    }
)


class Borrower(NamedTuple):
    """A running pod of a queue without a guarantee."""

    slot: int
    cores: int
    used: int


class LoadScene(NamedTuple):
    """Two nodes with pods, the use of other processes on each, and the newcomer's cores."""

    borrowers: list[Borrower]
    others: tuple[int, int]
    cores: int

    def on(self, slot: int) -> list[str]:
        return [f"b{i}" for i, pod in enumerate(self.borrowers) if pod.slot == slot]


@st.composite
def scenes(draw: st.DrawFn) -> LoadScene:
    borrowers = []
    for slot in (0, 1):
        left = CORES
        for _ in range(draw(st.integers(1, 3))):
            cores = draw(st.integers(1, min(4, left)))
            borrowers.append(Borrower(slot, cores, draw(st.integers(0, cores))))
            left -= cores
            if not left:
                break
    others = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    return LoadScene(borrowers, others, draw(st.integers(1, GUARANTEE)))


def cluster_of(scene: LoadScene) -> Harness:
    """The nodes with their pods, measured after the pods had started."""
    nodes = [make_node(f"n{i}", cpu=str(CORES)) for i in (0, 1)]
    harness = Harness(nodes, profile=PROFILE, config={"tier": "numpy"})
    harness.create(QUEUE, queue_object("a", guarantee={"cpu": str(GUARANTEE)}), queue_object("b"))
    pods = [
        queue_pod(f"b{i}", "b", str(pod.cores), node=f"n{pod.slot}")
        for i, pod in enumerate(scene.borrowers)
    ]
    harness.submit(*pods)
    harness.settle(1)
    harness.create(CUSTOM_NODE_RESOURCE, *(report(scene, slot) for slot in (0, 1)))
    harness.settle(1)
    return harness


def report(scene: LoadScene, slot: int) -> bytes:
    pods = [(f"b{i}", pod.used) for i, pod in enumerate(scene.borrowers) if pod.slot == slot]
    use = scene.others[slot] + sum(used for _, used in pods)
    groups = [
        {"genericUsage": {"cpu": str(used)}, "podList": [f"default/{name}"]} for name, used in pods
    ]
    metric = {
        "updateTime": timestamp(60.0),
        "groupMetric": groups,
        "nodeMetric": {"genericUsage": {"cpu": str(use), "memory": "1Gi"}},
    }
    status = {"nodeMetricStatus": metric}
    return json.dumps({"metadata": {"name": f"n{slot}"}, "status": status}).encode()


def outcome(scene: LoadScene, gone: tuple[str, ...] = ()) -> tuple[bool, frozenset[str]]:
    """Return whether the new pod is placed without these pods, and the pods evicted for it."""
    harness = cluster_of(scene)
    for name in gone:
        harness.delete(name)
    before = set(harness.placements())
    harness.submit(queue_pod("new", "a", str(scene.cores)))
    harness.settle(40)
    assert harness.breaches() == []
    left = harness.placements()
    return bool(left["new"]), frozenset(before - set(left))


def is_enough(scene: LoadScene, gone: tuple[str, ...]) -> bool:
    """Return whether the new pod is placed without these pods and without further evictions."""
    return outcome(scene, gone) == (True, frozenset())


@settings(max_examples=6)
@given(scenes())
def test_reclaim_evicts_what_lets_the_load_filter_accept_a_node(scene: LoadScene) -> None:
    placed, evicted = outcome(scene)
    if evicted:
        assert placed
        assert is_enough(scene, tuple(sorted(evicted)))
        assert not any(is_enough(scene, tuple(sorted(evicted - {one}))) for one in evicted)
    elif not placed:
        sets = chain.from_iterable(
            combinations(names, count)
            for names in map(scene.on, (0, 1))
            for count in range(1, len(names) + 1)
        )
        assert not any(is_enough(scene, each) for each in sets)


def test_reclaim_frees_a_node_that_only_its_load_excludes() -> None:
    """A core is free on n0; the use of b0 exceeds the threshold, and n1 is loaded by others."""
    scene = LoadScene([Borrower(0, 4, 4), Borrower(0, 3, 0), Borrower(1, 1, 0)], (2, 7), 1)
    assert outcome(scene) == (True, frozenset({"b0"}))

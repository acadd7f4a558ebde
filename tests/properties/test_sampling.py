"""Evaluating some nodes only: the default is all nodes; smaller samples rotate."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.base.errors import InputError
from stretto.framework.engine.sampling import NodeSampling
from stretto.framework.profile.profile import load_profile
from stretto.state.nodes.table import NodeFacts
from stretto.testing import Harness, make_node, make_pod

Step = tuple[str, int]
steps = st.lists(
    st.tuples(st.sampled_from(("pod", "pod", "gang", "gone")), st.integers(0, 9)),
    min_size=3,
    max_size=14,
)


def settled(profile: dict[str, Any], done: list[Step], nodes: int = 9) -> dict[str, str]:
    harness = Harness(
        [make_node(f"n{i}", cpu=str(1 + i % 3), zone=f"z{i % 3}") for i in range(nodes)],
        profile=load_profile({"profiles": [profile]}),
        config={"tier": "numpy"},
    )
    for at, (what, number) in enumerate(done):
        if what == "pod":
            harness.submit(
                make_pod(f"p{at}", cpu=f"{200 + 150 * number}m", ports=[80][: number % 2])
            )
        elif what == "gang":
            harness.group(f"g{at}", 3)
            each = [make_pod(f"g{at}-{i}", cpu="400m", group=f"g{at}") for i in range(3)]
            harness.submit(*each)
        elif harness.placements():
            names = sorted(harness.placements())
            harness.delete(names[number % len(names)])
        harness.settle(2)
    assert harness.breaches() == []
    return harness.placements()


@settings(max_examples=15)
@given(done=steps)
def test_all_nodes_by_percentage_or_quota_are_the_same_as_none(done: list[Step]) -> None:
    every = settled({}, done)
    assert settled({"percentageOfNodesToScore": 100}, done) == every
    assert settled({"stretto": {"nodesToScore": 9}}, done) == every


@settings(max_examples=10)
@given(done=steps, quota=st.integers(1, 5))
def test_a_sample_decides_the_same_again_and_leaves_no_pod_out(
    done: list[Step], quota: int
) -> None:
    requested = {"stretto": {"nodesToScore": quota}}
    found = settled(requested, done)
    assert settled(requested, done) == found
    assert bool(found) <= any(found.values()) or not any(settled({}, done).values())


def test_searches_begin_where_the_last_one_ended_and_hop_over_zones() -> None:
    pods: list[Step] = [("pod", 0)] * 9
    found = settled({"stretto": {"nodesToScore": 1}}, pods)
    assert sorted(found.values()) == sorted(f"n{i}" for i in range(9))


@pytest.mark.parametrize(
    ("percentage", "nodes", "wanted"),
    [
        (0, 50, 50),
        (0, 1000, 420),
        (0, 5000, 500),
        (0, 20_000, 1000),
        (30, 1000, 300),
        (5, 500, 100),
    ],
)
def test_as_many_nodes_are_searched_as_by_kube_scheduler(
    percentage: int, nodes: int, wanted: int
) -> None:
    profile = load_profile({"percentageOfNodesToScore": percentage, "profiles": [{}]})
    assert NodeSampling(profile, NodeFacts()).wanted(nodes) == wanted


def test_a_profile_has_its_own_value_or_that_of_all_profiles() -> None:
    own = {"percentageOfNodesToScore": 20, "profiles": [{"percentageOfNodesToScore": 40}]}
    assert load_profile(own).percentage == 40
    assert load_profile({"percentageOfNodesToScore": 20, "profiles": [{}]}).percentage == 20
    assert load_profile("default").percentage is None


@pytest.mark.parametrize("value", [-1, 101, "ten", 1.5])
def test_a_percentage_that_is_none_is_refused_by_its_path(value: object) -> None:
    with pytest.raises(InputError, match="percentageOfNodesToScore"):
        load_profile({"profiles": [{"percentageOfNodesToScore": value}]})


def test_the_best_of_what_was_found_is_taken() -> None:
    nodes = [make_node(f"n{i}", cpu="4") for i in range(4)]
    profile = load_profile({"profiles": [{"stretto": {"nodesToScore": 2}}]})
    harness = Harness(nodes, profile=profile, config={"tier": "numpy"})
    harness.submit(make_pod("a", cpu="3"))
    harness.settle()
    runtime = harness.plane.shards[0].default.runtime
    harness.submit(make_pod("b", cpu="500m"))
    harness.settle()
    first, then = (int(harness.node_of(name)[1:]) for name in "ab")
    assert (first, then) == (0, 2)
    assert np.all(runtime.columns.live[:1])

"""Gangs with members of different sizes start if and only if some assignment exists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import ReasonCode
from stretto.state.queries.packing import PackingProblem, pack, without_spare
from stretto.testing import Harness, make_node, make_pod
from tests.support.references.gangs import Amounts, gang_fits

NODES = st.lists(
    st.tuples(st.integers(3, 10), st.integers(3, 10), st.integers(0, 3)), min_size=1, max_size=4
)
MEMBERS = st.lists(
    st.tuples(st.integers(1, 6), st.integers(1, 6), st.sampled_from([0, 0, 1, 2])),
    min_size=2,
    max_size=6,
)


def harness_of(nodes: list[Amounts], profile: str, busy: int = 0) -> Harness:
    """Nodes of (cpu, memory, gpus); ``busy`` of them run one pod that uses all CPU and memory."""
    harness = Harness(
        [
            make_node(f"n{i}", cpu=str(cpu), memory=f"{memory}Gi", gpus=gpus)
            for i, (cpu, memory, gpus) in enumerate(nodes)
        ],
        profile=profile,
        config={"tier": "numpy"},
    )
    harness.submit(
        *[
            make_pod(f"busy-{i}", cpu=str(cpu), memory=f"{memory}Gi", node=f"n{i}")
            for i, (cpu, memory, _) in enumerate(nodes[:busy])
        ]
    )
    harness.settle()
    return harness


def submit_gang(harness: Harness, members: list[Amounts], at_least: int) -> int:
    """Submit a gang; the number of its pods that have a node."""
    harness.group("g", at_least)
    names = [f"g-{i}" for i in range(len(members))]
    harness.submit(
        *[
            make_pod(name, cpu=str(cpu), memory=f"{memory}Gi", gpus=gpus, group="g")
            for name, (cpu, memory, gpus) in zip(names, members, strict=True)
        ]
    )
    harness.settle(2)
    assert harness.breaches() == []
    return sum(harness.node_of(name) != "" for name in names)


@pytest.mark.parametrize("profile", ["default", "packing", "kube-parity"])
@given(nodes=NODES, members=MEMBERS, spare=st.integers(0, 2))
def test_a_gang_starts_exactly_if_some_assignment_exists(
    profile: str, nodes: list[Amounts], members: list[Amounts], spare: int
) -> None:
    at_least = max(2, len(members) - spare)
    placed = submit_gang(harness_of(nodes, profile), members, at_least)
    assert (placed >= at_least) == gang_fits(nodes, members, at_least)
    assert placed >= at_least or placed == 0


@given(nodes=NODES, members=MEMBERS, busy=st.integers(0, 4))
def test_a_gang_is_too_big_exactly_if_no_empty_cluster_holds_it(
    nodes: list[Amounts], members: list[Amounts], busy: int
) -> None:
    harness = harness_of(nodes, "default", busy)
    if submit_gang(harness, members, len(members)):
        return
    plane = harness.plane
    scene = live_scene(plane.cluster, plane.config.profile, plane.units, plane.dispatcher.views)
    gang = explain_pod(scene, "g-0").gang
    assert gang is not None
    fits = gang_fits(nodes, members, len(members))
    assert (gang.fitting_if_empty == len(members)) == fits
    codes = [each.code for each in explain_pod(scene, "g-0").reasons]
    assert (ReasonCode.GANG_TOO_BIG in codes) == (not fits)
    assert gang.fitting_if_empty == max(
        count for count in range(len(members) + 1) if gang_fits(nodes, members, count)
    )


@given(nodes=NODES, members=MEMBERS, at_least=st.integers(1, 6))
def test_the_search_is_complete_and_its_assignments_hold(
    nodes: list[Amounts], members: list[Amounts], at_least: int
) -> None:
    at_least = min(at_least, len(members))
    kinds = sorted(set(members))
    counts = tuple(members.count(kind) for kind in kinds)
    eligible = np.ones((len(kinds), len(nodes)), np.bool_)
    free, need = np.array(nodes, np.int64), np.array(kinds, np.int64)
    found = pack(PackingProblem(free, need, eligible, counts), at_least)
    assert found.is_proven
    assert (found.nodes is not None) == gang_fits(nodes, members, at_least)
    alike = PackingProblem(
        *(np.repeat(free, 3, axis=0), need, np.repeat(eligible, 3, axis=1)), counts
    )
    assert (pack(without_spare(alike), at_least).nodes is None) == (
        pack(alike, at_least).nodes is None
    )
    if found.nodes is not None:
        assert sum(map(len, found.nodes)) >= at_least
        for amounts, here in zip(need, found.nodes, strict=True):
            np.subtract.at(free, list(here), amounts)
        assert (free >= 0).all()

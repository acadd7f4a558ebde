"""Gödel's cases about fading priorities, sampling, snapshots and second managers of a node."""

import json
from typing import Any

import numpy as np
import pytest

from stretto.api.wire.kinds import NM_NODE, NODE
from stretto.control.queues.config import QueueConfig
from stretto.control.queues.fading_priority import decayed_priority
from stretto.framework.profile.profile import load_profile
from stretto.state.ingest.second_managers import allocatable_of
from stretto.state.rows.snapshot import Columns
from stretto.stores.store import Deletion, Patch
from stretto.testing import Harness, make_node, make_pod
from tests.support.hand_fed_cluster import same_columns
from tests.unit.control.dispatcher.fake_cluster import Desk

PLAIN = {"tier": "numpy"}

# ---------------------------------------------------------------- 12: fading priorities


@pytest.mark.parametrize(("attempts", "left"), list(enumerate([10, 5, 0, -5, 10, 5])))
def test_case_12_a_priority_fades_and_comes_back(attempts: int, left: int) -> None:
    assert decayed_priority(10, attempts, step=5, floor=0) == left


@pytest.mark.parametrize("priority", [0, -7])
def test_case_12_a_priority_at_the_floor_has_nothing_to_lose(priority: int) -> None:
    assert {decayed_priority(priority, attempts) for attempts in range(5)} == {priority}


def test_case_12_a_unit_that_fails_again_and_again_goes_behind_others_and_comes_back() -> None:
    """The others fail too, each once a round, and have less to lose."""
    desk = Desk(QueueConfig("default", "FadingPriority"))
    desk.arrive("high", priority=20)
    desk.arrive("low", priority=15, class_id=1)
    firsts = []
    for _ in range(8):
        sent = desk.sent()
        firsts.append(sent[0])
        desk.no_place("high")
        if "low" in sent:
            desk.place("low")
            desk.arrive("low", priority=15, class_id=1)
        desk.wake()
    assert firsts == ["high", "low", "low", "low"] * 2


# ---------------------------------------------------------------- 17: how many nodes are looked at


@pytest.mark.parametrize("percentage", [0, 40])
def test_case_17_every_node_is_checked_whatever_share_is_configured(percentage: int) -> None:
    """Upstream stops at a sample (60 of 1,000, or 40 %); here the best node is never missed."""
    profile = load_profile({"percentageOfNodesToScore": percentage, "profiles": [{}]})
    nodes = [make_node(f"n{i:04}", cpu="4") for i in range(200)]
    nodes[-1] = make_node("best", cpu="64", memory="512Gi")
    for where in (-1, 0, 100):
        nodes[where], nodes[-1] = nodes[-1], nodes[where]
        harness = Harness(nodes, profile=profile, config=PLAIN)
        harness.submit(make_pod("p", cpu="3", memory="24Gi"))
        harness.settle()
        assert harness.node_of("p") == "best"


# ---------------------------------------------------------------- 36: snapshots


def seen_by(harness: Harness) -> Columns:
    """The state of the single shard."""
    runtime = harness.plane.shards[0].default.runtime
    runtime.sync()
    return runtime.columns


def add_node(harness: Harness) -> None:
    harness.create_nodes(make_node("new", cpu="2", zone="z"))


def grow_node(harness: Harness) -> None:
    patch = {"status": {"allocatable": {"cpu": "9", "memory": "32Gi", "pods": "110"}}}
    harness.store.patch_status(NODE, [Patch("", "a", patch)])


def remove_node(harness: Harness) -> None:
    harness.store.delete(NODE, [Deletion("", "b")])


def add_pod(harness: Harness) -> None:
    harness.submit(make_pod("p", cpu="3"))


def add_bound_pod(harness: Harness) -> None:
    harness.submit(make_pod("q", cpu="1", node="a", scheduler="other"))


def remove_pod(harness: Harness) -> None:
    harness.delete("first")


def remove_pod_and_its_node(harness: Harness) -> None:
    node = harness.node_of("first")
    harness.delete("first")
    harness.store.delete(NODE, [Deletion("", node)])


def replace_node(harness: Harness) -> None:
    harness.replace(NODE, make_node("a", cpu="3"))


MOVES = [add_node, grow_node, remove_node, add_pod, add_bound_pod, remove_pod]
MORE = [remove_pod_and_its_node, replace_node]
SEQUENCES = [
    *([move] for move in [*MOVES, *MORE]),
    MOVES,
    MOVES[::-1],
    [remove_node, add_node, add_pod, remove_pod],
    [replace_node, add_bound_pod, grow_node],
    [add_pod, replace_node, remove_pod],
]


@pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda s: "+".join(m.__name__ for m in s))
def test_case_36_after_any_sequence_the_snapshot_is_what_the_cluster_is(sequence: Any) -> None:
    harness = Harness([make_node("a", cpu="4"), make_node("b", cpu="4")], config=PLAIN)
    harness.submit(make_pod("first", cpu="1"))
    harness.settle()
    seen_by(harness)
    for move in sequence:
        move(harness)
        harness.settle()
        fresh = Columns(harness.plane.cluster.ledger)
        fresh.sync()
        assert (same_columns(seen_by(harness), fresh), harness.breaches()) == ([], [])


def test_case_36_a_read_copies_only_the_nodes_that_have_changed() -> None:
    harness = Harness([make_node(f"n{i}", cpu="4") for i in range(50)], config=PLAIN)
    harness.submit(*(make_pod(f"p{i}", cpu="1") for i in range(10)))
    harness.settle()
    columns = seen_by(harness)
    before = columns.free.copy()
    harness.submit(make_pod("q", cpu="1", node="n7", scheduler="other"))
    harness.settle()
    columns.free[:, 1] = before[:, 1] + 1  # a mark on an unchanged node stays
    mine = harness.plane.cluster.nodes.by_name["n7"]
    seen_by(harness)
    changed = np.flatnonzero((columns.free != before).any(axis=0)).tolist()
    assert changed == sorted({1, mine})


def test_case_36_a_node_that_moves_to_another_sub_cluster_is_that_ones_at_once() -> None:
    plugins = {"filter": {"enabled": [{"name": "SubCluster"}]}}
    config = [{"name": "SubCluster", "args": {"key": "sub", "isolated": True}}]
    profile = load_profile({"profiles": [{"plugins": plugins, "pluginConfig": config}]})
    harness = Harness([make_node("n", cpu="9", labels={"sub": "x"})], profile=profile, config=PLAIN)
    for name, sub in (("px", "x"), ("py", "y")):
        harness.submit(make_pod(name, spec={"nodeSelector": {"sub": sub}}))
        harness.settle()
    assert harness.placements() == {"px": "n", "py": ""}
    harness.store.patch(NODE, [Patch("", "n", {"metadata": {"labels": {"sub": "y"}}})])
    harness.submit(make_pod("qx", spec={"nodeSelector": {"sub": "x"}}))
    harness.settle()
    assert harness.placements() == {"px": "n", "py": "n", "qx": ""}


# ---------------------------------------------------------------- 37: a node's second manager


@pytest.mark.parametrize(
    ("node", "capacity", "allocatable", "expected"),
    [
        ({"cpu": 190}, {"cpu": 100}, {"cpu": 99}, {"cpu": 189}),
        ({"cpu": 190}, {"memory": 8}, {"memory": 7}, {"cpu": 190, "memory": 7}),
        ({"cpu": 190}, {"cpu": 300}, {"cpu": 0}, {"cpu": 0}),
        ({"cpu": 190}, {"cpu": 1}, {"cpu": 9}, {"cpu": 190}),
    ],
)
def test_case_37_what_the_second_manager_keeps_the_first_cannot_give(
    node: dict[str, int],
    capacity: dict[str, int],
    allocatable: dict[str, int],
    expected: dict[str, int],
) -> None:
    assert allocatable_of(node, capacity, allocatable) == expected


def manager(capacity: str, allocatable: str) -> bytes:
    status = {"resourceCapacity": {"cpu": capacity}, "resourceAllocatable": {"cpu": allocatable}}
    body = {"apiVersion": NM_NODE.api_version, "kind": "NMNode", "metadata": {"name": "n"}}
    return json.dumps({**body, "status": status}).encode()


@pytest.mark.parametrize("first", ["node", "manager"])
def test_case_37_whichever_comes_first_and_until_the_manager_goes(first: str) -> None:
    harness = Harness(config=PLAIN)
    for what in (first, "manager" if first == "node" else "node"):
        if what == "node":
            harness.create_nodes(make_node("n", cpu="4"))
        else:
            harness.create(NM_NODE, manager("3", "1"))
        harness.settle()
    harness.submit(make_pod("p", cpu="2"), make_pod("q", cpu="1"))
    harness.settle()
    assert sorted(harness.placements().values()) == ["", "n"]
    harness.store.delete(NM_NODE, [Deletion("", "n")])
    harness.settle()
    assert (set(harness.placements().values()), harness.breaches()) == ({"n"}, [])


def test_case_37_a_node_that_grows_under_its_manager_keeps_what_that_keeps() -> None:
    harness = Harness([make_node("n", cpu="4")], config=PLAIN)
    harness.create(NM_NODE, manager("3", "1"))
    harness.submit(make_pod("p", cpu="4"))
    harness.settle()
    assert harness.node_of("p") == ""
    patch = {"status": {"allocatable": {"cpu": "6", "memory": "32Gi", "pods": "110"}}}
    harness.store.patch_status(NODE, [Patch("", "n", patch)])
    harness.settle()
    assert (harness.node_of("p"), harness.breaches()) == ("n", [])


def test_case_37_a_manager_that_cannot_be_read_has_no_effect() -> None:
    harness = Harness([make_node("n", cpu="4")], config=PLAIN)
    harness.create(NM_NODE, b'{"metadata": {"name": "n"}, "status": {"resourceCapacity": "all"}}')
    harness.submit(make_pod("p", cpu="4"))
    harness.settle()
    assert harness.node_of("p") == "n"
    assert "resourceCapacity" in harness.plane.cluster.abnormal["nmnode n"]

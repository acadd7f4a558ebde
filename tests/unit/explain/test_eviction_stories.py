"""The stories of evicted pods and of the pods that get their capacity, for each cause."""

import json
from pathlib import Path
from typing import Any

import pytest

from stretto.api.wire.kinds import EVENT, QUEUE
from stretto.control.reporting.reporter import ReportConfig
from stretto.explain.records.steps import StepFact
from stretto.framework.profile.profile import load_profile
from stretto.state.work.evictions import EvictionCause
from stretto.testing import Harness, make_node, make_pod
from tests.support.recorded_harness import RecordedHarness
from tests.support.recreating_harness import queue_object, queue_pod

OWNER = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "web",
    "uid": "w",
    "controller": True,
}


def step(found: tuple[StepFact, ...], name: str) -> tuple[str, str]:
    """Detail and cause of the only step of a name."""
    (fact,) = (each for each in found if each.step == name)
    return fact.detail, fact.cause


def recorded(tmp_path: Path, *nodes: bytes, **stretto: Any) -> RecordedHarness:
    profile = load_profile({"profiles": [{"stretto": stretto}]})
    config = {"tier": "numpy", "report": ReportConfig()}
    return RecordedHarness(tmp_path, Harness(nodes, profile=profile, config=config))


def preemption(tmp_path: Path) -> RecordedHarness:
    """Two pods of priority 1 are evicted for one of priority 9."""
    reported = recorded(tmp_path, make_node("n", cpu="4"))
    reported.submit(*(make_pod(f"low-{i}", cpu="2", priority=1) for i in range(2)))
    reported.submit(make_pod("high", cpu="4", priority=9))
    reported.at.settle(5.0)
    return reported


def reclaim(tmp_path: Path) -> RecordedHarness:
    """A queue without a guarantee has borrowed the node of a queue with one."""
    reported = recorded(tmp_path, make_node("n", cpu="2"))
    reported.at.create(QUEUE, queue_object("vision", guarantee={"cpu": "2"}), queue_object("ads"))
    reported.submit(*(queue_pod(f"bids-{i}", "ads") for i in range(2)))
    reported.submit(queue_pod("train", "vision"))
    reported.at.settle(10.0)
    return reported


def moves(tmp_path: Path) -> RecordedHarness:
    """Two nodes with a pod each, which one of them can hold."""
    rules = {"everySeconds": 60, "goal": "nodes", "moves": 5}
    reported = recorded(tmp_path, *(make_node(n, cpu="8") for n in "ab"), reschedule=rules)
    reported.submit(*(make_pod(f"p-{n}", cpu="1", node=n, owner=OWNER) for n in "ab"))
    reported.at.settle(61.0)
    return reported


def overcommit(tmp_path: Path) -> RecordedHarness:
    """Another client has bound three pods to a node for two."""
    reported = recorded(tmp_path, make_node("n", cpu="2"), evictOverCommitted={"afterSeconds": 10})
    reported.submit(*(make_pod(f"p-{i}", cpu="1", node="n", owner=OWNER) for i in range(3)))
    reported.at.settle(20.0)
    return reported


def broken_gang(tmp_path: Path) -> RecordedHarness:
    """Two pods of a gang of three are bound, and the third fits no node."""
    reported = recorded(tmp_path, make_node("n", cpu="2"))
    reported.at.group("g", 3, scheduleTimeoutSeconds=5)
    reported.submit(*(make_pod(f"m-{i}", cpu="1", node="n", group="g") for i in range(2)))
    reported.submit(make_pod("m-2", cpu="1", group="g"))
    reported.at.settle(60.0)
    return reported


def test_a_preempted_pod_names_its_preemptor_and_the_node(tmp_path: Path) -> None:
    said = preemption(tmp_path).story("low-0")
    assert step(said.steps, "preempted") == (
        "evicted from n",
        "preempted by default/high (priority 9)",
    )
    assert said.steps[-1].step == "left"


def test_a_preemptor_names_its_victims_with_their_priorities(tmp_path: Path) -> None:
    said = preemption(tmp_path).story("high")
    assert [each.step for each in said.steps] == ["seen", "nominated", "evicts", "bound"]
    detail, cause = step(said.steps, "evicts")
    assert cause == "they have a lower priority"
    assert sorted(detail.split(" and ")) == [f"default/low-{i} (priority 1) on n" for i in range(2)]


def test_a_reclaimed_pod_names_the_queue_and_the_unit_and_the_node(tmp_path: Path) -> None:
    said = reclaim(tmp_path).story("bids-1")
    assert step(said.steps, "reclaimed") == (
        "evicted from n",
        "queue vision reclaims its guarantee for default/train",
    )


def test_the_unit_of_a_reclaim_names_its_victims(tmp_path: Path) -> None:
    said = reclaim(tmp_path).story("train")
    assert step(said.steps, "evicts") == (
        "default/bids-1 (priority 0) on n",
        "queue vision reclaims its guarantee for default/train",
    )


def test_a_moved_pod_names_the_goal_and_the_recommended_node(tmp_path: Path) -> None:
    reported = moves(tmp_path)
    (stays,) = reported.at.placements()
    target = reported.at.node_of(stays)
    (moved,) = {"p-a", "p-b"} - {stays}
    assert step(reported.story(moved).steps, "moved") == (
        f"evicted from {moved[-1]}",
        f"moved to free nodes; {target} is recommended for its successor",
    )


def test_a_pod_evicted_for_over_commitment_names_the_node(tmp_path: Path) -> None:
    said = overcommit(tmp_path).story("p-2")
    assert step(said.steps, "over-commit") == ("evicted from n", "node n is over-committed")


def test_a_pod_of_a_broken_gang_names_the_gang(tmp_path: Path) -> None:
    said = broken_gang(tmp_path).story("m-0")
    assert step(said.steps, "gang broken") == (
        "evicted from n",
        "gang default/g has 2 of 3 pods at its deadline",
    )


@pytest.mark.parametrize(
    ("scene", "victim", "reason", "cause"),
    [
        (preemption, "low-0", "Preempted", EvictionCause.PREEMPTION),
        (reclaim, "bids-1", "Reclaimed", EvictionCause.RECLAIM),
        (moves, "p-", "Rescheduled", EvictionCause.RESCHEDULE),
        (overcommit, "p-2", "NodeOverCommitted", EvictionCause.OVER_COMMITTED),
        (broken_gang, "m-0", "GangReleased", EvictionCause.GANG),
    ],
)
def test_an_event_and_a_metric_report_each_cause(
    tmp_path: Path, scene: Any, victim: str, reason: str, cause: EvictionCause
) -> None:
    at = scene(tmp_path).at
    events = [json.loads(each.body) for each in at.store.list(EVENT).records]
    about = [e["involvedObject"]["name"] for e in events if e["reason"] == reason]
    assert any(name.startswith(victim) for name in about)
    assert at.plane.cluster.evictions.counts[cause] == len(about)

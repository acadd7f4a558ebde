"""Pods that are never evicted: foreign pods, and those protected by a profile or by themselves."""

from typing import Any

import pytest

from stretto.framework.profile.profile import load_profile
from stretto.state.rows.lifecycle import PodState
from stretto.testing import Harness, make_node
from tests.support.preemption_plane import clean, high, low, running, state


def theirs(name: str = "theirs", **more: Any) -> bytes:
    """A running pod of another scheduler."""
    return low(name, scheduler="other", node="n", **more)


def test_pods_of_other_schedulers_are_left_alone() -> None:
    plane = running(theirs())
    plane.submit(high())
    plane.settle()
    assert plane.placements() == {"theirs": "n", "high": ""}
    assert state(plane, "high") is PodState.UNSCHEDULABLE
    assert clean(plane)


def test_a_profile_may_allow_evictions_of_pods_of_other_schedulers() -> None:
    plane = running(theirs(), protect={"otherSchedulers": False})
    plane.submit(high())
    plane.settle()
    assert plane.placements() == {"high": "n"}


def test_under_kube_schedulers_own_rules_any_pod_may_be_evicted() -> None:
    settings = {"rules": "exact", "tieRule": "name"}
    for preemption, left in ((True, "high"), ({"protect": {"otherSchedulers": True}}, "theirs")):
        profile = load_profile({"profiles": [{"stretto": {**settings, "preemption": preemption}}]})
        plane = Harness([make_node("n", cpu="4")], profile=profile, config={"tier": "numpy"})
        plane.submit(theirs())
        plane.settle()
        plane.submit(high())
        plane.settle()
        assert {name for name, node in plane.placements().items() if node} == {left}


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_pods_that_differ_in_their_scheduler_alone_are_distinguished(first: str) -> None:
    made = {"ours": low("ours", cpu="2", node="n"), "theirs": theirs(cpu="2")}
    plane = running(made.pop(first), *made.values())
    plane.submit(high(cpu="2"))
    plane.settle()
    assert set(plane.placements()) == {"theirs", "high"}


def test_a_pod_that_forbids_it_is_not_preempted() -> None:
    note = {"godel.bytedance.com/can-be-preempted": "false"}
    plane = running(low(annotations=note))
    plane.submit(high())
    plane.settle()
    assert plane.node_of("low") == "n"


@pytest.mark.parametrize("agrees", [True, False])
def test_a_profile_may_request_agreement(agrees: bool) -> None:
    note = {"godel.bytedance.com/can-be-preempted": "true"} if agrees else {}
    plane = running(low(annotations=note), optIn=True)
    plane.submit(high())
    plane.settle()
    assert (plane.node_of("high") == "n") is agrees


def test_a_priority_that_the_profile_protects_is_not_preempted() -> None:
    plane = running(low(priority=7), protect={"fromPriority": 7})
    plane.submit(high())
    plane.settle()
    assert plane.node_of("low") == "n"


def test_a_pod_that_has_just_started_is_preempted_later() -> None:
    plane = running(low(), protect={"startedWithinSeconds": 60})
    plane.submit(high())
    plane.settle()
    assert plane.node_of("low") == "n"
    plane.settle(400)
    assert plane.node_of("high") == "n"

"""A pod's story: every step with its cause, the declined ones and the end included."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.api.kinds.table import all_kinds
from stretto.api.wire.kinds import POD
from stretto.base.errors import NotFoundError
from stretto.control.reporting.reporter import ReportConfig
from stretto.explain.story import Story, story_of_objects
from stretto.testing import Harness, make_node, make_pod
from tests.support.recorded_harness import RecordedHarness


def recorded(folder: Path, *nodes: bytes, **config: Any) -> RecordedHarness:
    return RecordedHarness(folder, Harness(nodes=nodes, config={"tier": "numpy", **config}))


def words(story: Story) -> list[str]:
    return [step.step for step in story.steps]


def test_a_pod_that_waited_was_declined_woken_and_placed(tmp_path: Path) -> None:
    run = recorded(tmp_path, make_node("n", cpu="4"))
    run.submit(make_pod("first", cpu="3"))
    run.submit(make_pod("second", cpu="2"))
    run.at.delete("first")
    run.at.settle(1.0)
    said = run.story("second")
    assert words(said) == ["seen", "no place", "woken", "placed", "bound"]
    assert "0/1 nodes are available: 1 Insufficient cpu." in said.steps[1].detail
    assert "when a pod is removed from its node" in said.steps[1].cause
    assert said.steps[2].detail == "capacity was freed on a node"
    assert (said.declined, said.node, said.waits) == (1, "n", None)


def test_a_pod_that_has_gone_has_its_story_still(tmp_path: Path) -> None:
    run = recorded(tmp_path, make_node("n"))
    run.submit(make_pod("web"))
    run.at.delete("web")
    run.at.settle(1.0)
    said = run.story("web")
    assert words(said) == ["seen", "placed", "bound", "left"]
    assert said.state == "gone"


def test_a_pod_that_stays_pending_reports_why(tmp_path: Path) -> None:
    run = recorded(tmp_path, make_node("n", cpu="4"))
    run.submit(make_pod("big", cpu="64"))
    said = run.story("big")
    assert said.waits is not None
    assert said.waits.code.value == "too-big"


def test_a_pod_skipped_after_an_equal_pod_failed_reports_it(tmp_path: Path) -> None:
    run = recorded(tmp_path, make_node("n", cpu="4"))
    run.submit(make_pod("big", cpu="64"))
    run.submit(make_pod("like", cpu="64"))
    assert words(run.story("like")) == ["seen", "passed over"]


def test_a_gate_and_its_removal_are_steps(tmp_path: Path) -> None:
    run = recorded(tmp_path, make_node("n"))
    run.submit(make_pod("held", spec={"schedulingGates": [{"name": "g"}]}))
    said = run.story("held")
    assert said.steps[0].cause == "held by a scheduling gate"
    assert said.state == "gated"


def test_a_gang_below_its_minimum_reports_how_many_had_to_fit(tmp_path: Path) -> None:
    run = recorded(tmp_path, make_node("n", cpu="4"))
    run.at.group("g", 3)
    run.submit(*(make_pod(f"p{i}", cpu="2", group="g") for i in range(3)))
    declined = next(step for step in run.story("p0").steps if step.step == "no place")
    assert "1/1 nodes are available, but not for 3 pods together." in declined.detail


def test_an_unknown_pod_names_the_nearest_gone_ones_too(tmp_path: Path) -> None:
    run = recorded(tmp_path, make_node("n"))
    run.submit(make_pod("web-1"))
    run.at.delete("web-1")
    run.at.settle(1.0)
    with pytest.raises(NotFoundError, match="did you mean web-1"):
        run.story("web-2")


def test_the_objects_of_a_store_show_what_was_reported_there(tmp_path: Path) -> None:
    run = recorded(tmp_path, make_node("n", cpu="4"), report=ReportConfig())
    run.submit(make_pod("first", cpu="4"), make_pod("second", cpu="4"))
    run.at.delete("first")
    run.at.settle(15.0)
    records = [each for kind in all_kinds() for each in run.at.store.list(kind).records]
    said = story_of_objects(records, "second", "a store")
    assert words(said) == ["seen", "no place", "placed", "bound"]
    assert said.steps[1].detail == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 No preemption victims found for incoming pod."
    )
    with pytest.raises(NotFoundError, match="did you mean second"):
        story_of_objects(records, "secnd", "a store")


def written(pod: bytes, status: dict[str, Any]) -> bytes:
    return msgspec.json.encode({**msgspec.json.decode(pod), "status": status})


def test_without_events_a_condition_shows_why_a_pod_waits_and_gates_are_named() -> None:
    why = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}
    late = {**why, "lastTransitionTime": "2026-01-02T03:05:05Z"}
    harness = Harness(nodes=[make_node("n")], config={"tier": "numpy"})
    gates = [{"name": "x.io/quota"}, {"name": "x.io/other"}]
    harness.submit(
        written(make_pod("old", cpu="64"), {"conditions": [late]}),
        make_pod("gated", spec={"schedulingGates": gates}),
    )
    records = harness.store.list(POD).records
    old, gated = (story_of_objects(records, name, "a store") for name in ("old", "gated"))
    assert [(each.step, each.detail) for each in old.steps[1:]] == [("no place", why["message"])]
    held = [(each.step, each.detail) for each in gated.steps[1:]]
    assert held == [("held", "scheduling gates: x.io/quota, x.io/other")]

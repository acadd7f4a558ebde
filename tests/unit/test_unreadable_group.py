"""A pod with a malformed PodGroup reports the error until the object is corrected."""

import json
from typing import Any

import pytest

from stretto.api.kinds.table import all_kinds
from stretto.api.wire.kinds import POD, POD_GROUP
from stretto.control.reporting.reporter import ReportConfig
from stretto.explain.story import story_of_objects
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import Reason, ReasonCode
from stretto.stores.store import Deletion, Patch, WriteOutcome
from stretto.testing import Harness, make_group, make_node, make_pod

SAID = "PodGroup default/g cannot be read: spec.minMember: got 'two', expected a whole number"


@pytest.fixture
def harness() -> Harness:
    """A group whose minMember is a word, and its two pods."""
    return a_harness(make_group("g", "two"))  # type: ignore[arg-type]


def a_harness(*groups: bytes) -> Harness:
    config = {"tier": "numpy", "report": ReportConfig(again_after=1.0)}
    found = Harness([make_node("n")], config=config)
    found.create(POD_GROUP, *groups)
    found.submit(*(make_pod(name, group="g") for name in ("a", "b")))
    found.settle(5.0)
    return found


def put_least(harness: Harness, least: object) -> None:
    """The group's owner edits ``minMember``."""
    patch = Patch("default", "g", {"spec": {"minMember": least}})
    assert harness.store.patch(POD_GROUP, [patch])[0].outcome is WriteOutcome.OK


def condition(harness: Harness) -> str:
    """Return the messages of the first pod's conditions."""
    record = harness.store.get(POD, "default", "a")
    assert record is not None
    conditions: list[dict[str, Any]] = json.loads(record.body)["status"]["conditions"]
    return " ".join(each.get("message", "") for each in conditions)


def explained(harness: Harness) -> Reason:
    """Why the first pod waits."""
    plane = harness.plane
    views = plane.dispatcher.views
    scene = live_scene(plane.cluster, plane.config.profile, plane.units, views)
    dominant = explain_pod(scene, "a").dominant
    assert dominant is not None
    return dominant


def test_a_pod_reports_the_wrong_field_of_its_group_and_the_expected_value(
    harness: Harness,
) -> None:
    assert SAID in condition(harness)


def test_explain_shows_the_same(harness: Harness) -> None:
    said = explained(harness)
    assert (said.code, said.sentence) == (ReasonCode.UNREADABLE_GROUP, f"Its {SAID}.")


def test_so_does_the_story(harness: Harness) -> None:
    records = [record for kind in all_kinds() for record in harness.store.list(kind).records]
    assert any(SAID in step.detail for step in story_of_objects(records, "a", "objects").steps)


def test_the_group_itself_reports_the_error_too(harness: Harness) -> None:
    wrong = harness.plane.cluster.abnormal["podgroup default/g"]
    assert wrong == SAID.partition(": ")[2]


def test_a_corrected_group_lets_its_pods_run(harness: Harness) -> None:
    put_least(harness, 2)
    harness.settle(1.0)
    assert [harness.node_of(name) for name in ("a", "b")] == ["n", "n"]


def test_a_deleted_malformed_group_is_reported_as_missing(
    harness: Harness,
) -> None:
    harness.store.delete(POD_GROUP, [Deletion("default", "g")])
    harness.settle(5.0)
    assert explained(harness).code is ReasonCode.UNKNOWN_GROUP
    assert condition(harness) == "PodGroup default/g does not exist"


def test_an_unreadable_group_that_is_recreated_releases_its_pods(harness: Harness) -> None:
    harness.store.delete(POD_GROUP, [Deletion("default", "g")])
    harness.settle(1.0)
    harness.create(POD_GROUP, make_group("g", 2))
    harness.settle(1.0)
    assert harness.node_of("a") == "n"


def test_a_group_that_breaks_counts_as_it_was_read_last() -> None:
    harness = a_harness(make_group("g", 3))
    put_least(harness, "three")
    harness.submit(make_pod("c", group="g"))
    harness.settle(1.0)
    assert harness.node_of("c") == "n"


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ({"spec": {}}, "spec.minMember: got nothing, expected a value, it is required"),
        ({"spec": [2]}, "spec: got [2], expected an object"),
        (
            {"spec": {"minMember": 2, "scheduleTimeoutSeconds": "soon"}},
            "spec.scheduleTimeoutSeconds: got 'soon', expected a whole number",
        ),
    ],
)
def test_every_wrong_field_is_named(group: dict[str, Any], words: str) -> None:
    meta = {"name": "g", "namespace": "default"}
    harness = a_harness(json.dumps({"kind": "PodGroup", "metadata": meta, **group}).encode())
    assert f"PodGroup default/g cannot be read: {words}" in condition(harness)

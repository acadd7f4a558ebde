"""The recorder and what it is made of: reasons in order, names that are near."""

import pytest

from stretto.base.clock import seconds_since
from stretto.base.nearest import nearest
from stretto.explain.records.recorder import Recorder, StepKind
from stretto.explain.words.reasons import TIERS, ReasonCode, ReasonTier, reason, sort_reasons
from stretto.testing import Harness, make_node, make_pod


def watched(*pods: bytes) -> Recorder:
    harness = Harness(nodes=[make_node("n", cpu="2")], config={"tier": "numpy", "shards": 2})
    recorder = Recorder(harness.plane.cluster, seconds_since(0.0))
    harness.plane.observers.append(recorder.observe)
    harness.submit(*pods)
    harness.settle()
    return recorder


def test_a_batch_of_claims_is_one_entry_of_columns() -> None:
    recorder = watched(*[make_pod(f"p{i}") for i in range(5)])
    placed = [each for each in recorder.batches if each.kind is StepKind.PLACED]
    assert sum(len(each.serials) for each in placed) == 5
    assert all(len(each.serials) == len(each.slots) for each in placed)


def test_pods_that_find_no_node_are_noted_by_cures() -> None:
    recorder = watched(make_pod("a", cpu="3"), make_pod("b", cpu="4"))
    assert {each.kind for each in recorder.batches} == {StepKind.NO_PLACE}


def test_every_code_has_a_tier_and_every_code_its_own_text() -> None:
    assert set(TIERS) == set(ReasonCode)
    assert len({code.value for code in ReasonCode}) == len(ReasonCode)


def test_the_dominant_reason_comes_first() -> None:
    some = [
        reason(ReasonCode.QUEUED, "q"),
        reason(ReasonCode.TOO_BIG, "t"),
        reason(ReasonCode.NO_CAPACITY, "n"),
    ]
    assert [each.code for each in sort_reasons(some)] == [
        ReasonCode.TOO_BIG,
        ReasonCode.NO_CAPACITY,
        ReasonCode.QUEUED,
    ]
    assert sort_reasons(some)[0].tier is ReasonTier.NEVER_FITS


@pytest.mark.parametrize(("name", "first"), [("web-12", "web-1"), ("wbe-7", "web-7"), ("n9", "n1")])
def test_the_nearest_name_is_reported_first(name: str, first: str) -> None:
    assert nearest(name, ["web-1", "web-7", "n1", "other"])[0] == first


def test_a_million_names_are_no_obstacle() -> None:
    names = (f"pod-{n}" for n in range(100_000))
    assert nearest("pod-9999x", names)[0].startswith("pod-9999")

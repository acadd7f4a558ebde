"""Katalyst's recommended requests."""

import pytest

from stretto_lab.models.katalyst.percentiles import (
    DAY_S,
    OomRecord,
    RecommendedResource,
    RecommendedWorkload,
    UseError,
    UseHistory,
    UseSample,
    memory_after_kills,
    recommended_memory,
)

MIB = 1 << 20
WEB = RecommendedWorkload("ns", "web")


@pytest.mark.parametrize(
    ("ages", "said"),
    [((), "no samples yet"), ((DAY_S + 1,), "last 24 hours"), ((0, DAY_S - 1), "less than 24")],
)
def test_too_little_use_recommends_nothing(ages: tuple[float, ...], said: str) -> None:
    history = UseHistory(RecommendedResource.CPU)
    history.add([UseSample(10 * DAY_S - age, 1.0) for age in ages])
    with pytest.raises(UseError, match=said):
        history.percentile(0.9, 10 * DAY_S)


def test_memory_is_recommended_in_whole_mebibytes() -> None:
    assert recommended_memory(1.5 * MIB, 0.0) == 2 * MIB
    assert recommended_memory(1.5 * MIB, 0.0, least=2.5 * MIB) == 3 * MIB
    assert [recommended_memory(each, 0.0) for each in (0.5, 3, 1025)] == [0, 3, 2048]


def test_the_first_kill_of_a_pod_with_this_prefix_counts() -> None:
    kills = [
        OomRecord("ns", "website-1", "c", 500 * MIB, 0),
        OomRecord("ns", "web-1", "c", 900 * MIB, 0),
    ]
    assert memory_after_kills(WEB, "c", kills, DAY_S) == pytest.approx(600 * MIB)


def test_an_old_first_kill_hides_the_others() -> None:
    kills = [
        OomRecord("ns", "web-1", "c", 500 * MIB, 0),
        OomRecord("ns", "web-2", "c", 900 * MIB, 8 * DAY_S),
    ]
    assert memory_after_kills(WEB, "c", kills, 8 * DAY_S) == 0.0

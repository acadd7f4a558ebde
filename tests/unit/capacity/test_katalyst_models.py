"""Katalyst's recommended requests."""

import pytest

from stretto.capacity.histograms.decaying import BucketScale, DecayingHistogram
from stretto.capacity.model.profiles import CapacityProfile
from stretto.capacity.recommendation.percentiles import (
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


def test_a_sample_weighs_half_as_much_one_half_life_later() -> None:
    histogram = DecayingHistogram(BucketScale(1.0, 1.05, 1000.0), half_life_s=60.0)
    histogram.add(10.0, 1.0, at_s=0.0)
    histogram.add(100.0, 0.6, at_s=60.0)
    assert histogram.percentile(0.45) < 20
    assert histogram.percentile(0.46) > 100


def test_a_percentile_survives_a_year_of_decay() -> None:
    histogram = DecayingHistogram(BucketScale(1.0, 1.05, 1000.0), half_life_s=60.0)
    for day in range(365):
        histogram.add(10.0, 1.0, at_s=day * DAY_S)
    assert 10 <= histogram.percentile(0.9) < 12


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


@pytest.mark.parametrize(
    ("profile", "limit"), [(CapacityProfile.STRETTO, 900), (CapacityProfile.KATALYST, 500)]
)
def test_the_largest_kill_of_the_workload_itself_counts(
    profile: CapacityProfile, limit: int
) -> None:
    kills = [
        OomRecord("ns", "website-1", "c", 500 * MIB, 0),
        OomRecord("ns", "web-1", "c", 900 * MIB, 0),
    ]
    assert memory_after_kills(WEB, "c", kills, DAY_S, profile) == pytest.approx(
        max(limit + 100, 1.2 * limit) * MIB
    )

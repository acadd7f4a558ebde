"""Histograms in which old samples lose weight."""

from stretto.capacity.histograms.decaying import BucketScale, DecayingHistogram

DAY_S = 86_400.0


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

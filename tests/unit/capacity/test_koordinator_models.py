"""Koordinator's models in rare states."""

import numpy as np

from stretto.capacity.histograms.peaks import PeakConfig
from stretto.capacity.load import estimate
from stretto.capacity.model.classes import Band
from stretto.capacity.reclaim.batch import percent_of

GPU = "nvidia.com/gpu"


def test_a_resource_without_a_name_in_the_band_is_not_expected_to_be_used() -> None:
    found = estimate.estimate({GPU: 2}, {}, {GPU: 100}, Band.BATCH)
    assert found == {GPU: 0}


def test_online_pods_use_any_resource_under_its_own_name() -> None:
    assert estimate.estimate({GPU: 2}, {}, {GPU: 100}) == {GPU: 2}


def test_a_percentage_is_a_ratio_of_floats_as_in_koordinator() -> None:
    assert percent_of(np.array([[96_000, 100]]), (29, 29)).tolist() == [[27_839, 28]]
    assert PeakConfig(safety_margin_percent=15).with_margin((100, 1_000)) == (114, 1_150)

"""Koordinator's load models in rare states."""

from dataclasses import replace

import numpy as np
import pytest

from stretto.capacity.histograms.peaks import PeakConfig
from stretto.capacity.load import estimate, rules, thresholds
from stretto.capacity.load.rules import IncomingPod, LoadedNode, LoadRules, Thresholds
from stretto.capacity.load.thresholds import LoadedMember, LoadLimits, Percents
from stretto.capacity.load.usage import NodeReport, Percentile
from stretto.capacity.model import demand
from stretto.capacity.model.classes import Band
from stretto.capacity.model.reserved import NodeReservation
from stretto.capacity.reclaim.batch import percent_of

GPU = "nvidia.com/gpu"
BUSY = LoadedNode({"cpu": 1000}, NodeReport({"cpu": 990}))
LIMITS = Thresholds({"cpu": 65}, {}, {"cpu": 0}, Percentile("p95"))


def test_a_resource_without_a_name_in_the_band_is_not_expected_to_be_used() -> None:
    found = estimate.estimate({GPU: 2}, {}, {GPU: 100}, Band.BATCH)
    assert found == {GPU: 0}


def test_online_pods_use_any_resource_under_its_own_name() -> None:
    assert estimate.estimate({GPU: 2}, {}, {GPU: 100}) == {GPU: 2}


def test_a_limit_of_zero_stays_unlimited_with_overhead() -> None:
    assert demand.limits_with_overhead({"cpu": 0}, {"cpu": 100}) == {"cpu": 0}


def test_percentile_limits_of_zero_disable_the_other_limits() -> None:
    assert rules.reject(BUSY, IncomingPod({}), LIMITS, LoadRules(LIMITS)) is None


def test_limits_of_the_latest_use_apply_without_percentile_limits() -> None:
    limits = replace(LIMITS, percentile={})
    assert rules.reject(BUSY, IncomingPod({}), limits, LoadRules(limits)) is not None


def bounds_of(low: dict[str, float], high: dict[str, float]) -> thresholds.LoadBounds:
    member = LoadedMember("n", {"cpu": 100, "memory": 100}, {}, {}, {})
    limits = LoadLimits(Percents(low, high))
    return thresholds.bounds([member], limits)["n"].node


def test_a_high_threshold_without_a_low_one_is_ignored() -> None:
    assert bounds_of({"memory": 10}, {"memory": 20, "cpu": 20}).high == {"cpu": 100, "memory": 20}


def test_a_resource_with_a_low_threshold_only_is_high_when_used() -> None:
    assert bounds_of({"memory": 10}, {}).high == {"memory": 0}


def test_thresholds_above_the_allocatable_amount_are_kept() -> None:
    assert bounds_of({"memory": 10}, {"memory": 120}).high == {"memory": 120}


def test_a_percentage_is_a_ratio_of_floats_as_in_koordinator() -> None:
    assert percent_of(np.array([[96_000, 100]]), (29, 29)).tolist() == [[27_839, 28]]
    assert PeakConfig(safety_margin_percent=15).with_margin((100, 1_000)) == (114, 1_150)


@pytest.mark.parametrize("cpus", ["0-", "0,", "0,,1", " 1", "0-1-2", "1_0", "0-4097"])
def test_an_unreadable_list_of_cpus_reserves_nothing(cpus: str) -> None:
    assert NodeReservation(500, 7, cpus).amounts() == (0, 0)


def test_a_list_of_cpus_replaces_the_reserved_amount() -> None:
    assert NodeReservation(500, 7, "0-3,2-5,+9,3-1").amounts() == (7_000, 7)

"""Koordinator's filter and thresholds by load in rare states."""

from dataclasses import replace

from stretto_lab.models.koordinator.load import rules, thresholds
from stretto_lab.models.koordinator.load.rules import IncomingPod, LoadedNode, LoadRules, Thresholds
from stretto_lab.models.koordinator.load.thresholds import LoadedMember, LoadLimits, Percents
from stretto_lab.models.koordinator.load.usage import NodeReport, Percentile

BUSY = LoadedNode({"cpu": 1000}, NodeReport({"cpu": 990}))
LIMITS = Thresholds({"cpu": 65}, {}, {"cpu": 0}, Percentile("p95"))


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

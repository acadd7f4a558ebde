"""Requests and limits of pods in Koordinator's models."""

from stretto_lab.models.koordinator import demand


def test_a_limit_of_zero_stays_unlimited_with_overhead() -> None:
    assert demand.limits_with_overhead({"cpu": 0}, {"cpu": 100}) == {"cpu": 0}

"""Katalyst's ratios of overcommitted nodes, and its readings of pods."""

import pytest

from stretto_lab.models.katalyst.ratios import (
    ContainerUse,
    effective_ratio,
    pod_cpu_request,
    pod_cpu_use,
)


def test_the_use_of_a_pod_is_its_largest_reading() -> None:
    pod = [ContainerUse(cpu=1.0, load_1m=0.5), ContainerUse(load_1m=2.0, load_5m=0.25)]
    assert pod_cpu_use(pod) == 2.5


def test_an_init_container_counts_if_it_needs_more_whole_cores() -> None:
    assert pod_cpu_request([700, 700], 1900) == 1400
    assert pod_cpu_request([700, 700], 2100) == 2100


@pytest.mark.parametrize(
    ("static", "measured", "ratio"),
    [("1.5", None, 1.5), ("1.5", "1.2", 1.2), ("0.5", None, 1.0), (None, "3", 1.0)],
)
def test_the_smaller_ratio_applies_and_never_one_below_one(
    static: str | None, measured: str | None, ratio: float
) -> None:
    assert effective_ratio(static, measured) == ratio


@pytest.mark.parametrize(
    ("static", "measured"),
    [("x", None), ("nan", None), ("inf", None), ("", None), ("2", "x"), ("2", "")],
)
def test_an_unreadable_ratio_turns_overcommit_off(static: str, measured: str | None) -> None:
    assert effective_ratio(static, measured) == 1.0


@pytest.mark.parametrize("measured", ["nan", "inf"])
def test_a_measured_ratio_without_a_bound_leaves_the_configured_one(measured: str) -> None:
    assert effective_ratio("2", measured) == 2.0

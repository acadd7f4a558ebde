"""Overcommit: measured and configured ratios and amplified amounts."""

import math

import pytest

from stretto.base.errors import InputError
from stretto.capacity.overcommit.configured import read_ratio
from stretto.capacity.overcommit.floats import parse_float
from stretto.capacity.overcommit.measured import LoadTargets, measured_ratio
from stretto.framework.profile.capacity.overcommit import (
    NodeScenario,
    OvercommitPool,
    read_overcommit,
)
from stretto.state.rows.promises import amplified

CPU = LoadTargets(node_load=0.6, pod_load=0.4)


@pytest.mark.parametrize(
    ("request_cores", "use", "ratio"), [(4, 1, 1.59375), (8, 5, 1.0), (0, 0, 1.0), (4, 0, 1.75)]
)
def test_idle_cores_are_offered_again_by_the_load_per_requested_core(
    request_cores: float, use: float, ratio: float
) -> None:
    assert measured_ratio(16, request_cores, use, CPU) == pytest.approx(ratio)


def test_more_use_never_raises_the_measured_ratio() -> None:
    ratios = [measured_ratio(16, 8, use / 4, CPU) for use in range(40)]
    assert ratios == sorted(ratios, reverse=True)


def test_a_node_without_a_load_target_for_pods_is_not_overcommitted_while_it_idles() -> None:
    assert measured_ratio(16, 8, 0, LoadTargets(0.6, 0.0)) == 1.0


def test_exclusive_cores_are_not_amplified() -> None:
    assert amplified(16_000, 4_000, 1.5) == 22_000


def pool_of(form: object) -> OvercommitPool:
    rules = read_overcommit({"pools": {"online": form}}, "overcommit")
    assert rules is not None
    return rules.pools["online"]


POOL = {"caps": {"cpu": 3.0}, "scenarios": [{"ratios": {"cpu": 2.0}, "hours": [22, 6]}]}


@pytest.mark.parametrize(("hour", "ratio"), [(23, 2.0), (5, 2.0), (6, 3.0), (12, 3.0)])
def test_the_coefficient_of_the_scenario_applies_below_the_cap(hour: int, ratio: float) -> None:
    pool = pool_of(POOL)
    assert pool.choose("cpu", NodeScenario(hour=hour), {}).ratio == ratio


def test_old_metrics_turn_off_what_is_not_configured() -> None:
    pool = pool_of(POOL)
    assert pool.choose("cpu", NodeScenario(), None).ratio == 1.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"caps": {"cpu": 0.5}}, r"overcommit\.pools\.online\.caps\.cpu: got 0\.5"),
        ({"caps": {"cpu": "x"}}, "overcommit"),
        ({"scenarios": [{"ratios": {}, "hours": [3]}]}, r"scenarios\[0\]\.hours"),
        ({"cap": {}}, "unknown field"),
    ],
)
def test_an_invalid_pool_is_refused_with_its_path(change: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        pool_of(POOL | change)


@pytest.mark.parametrize("text", [" 2", "2 ", "1__0", "x", "nan", "inf", "1e400", "", None])
def test_a_ratio_that_is_not_a_finite_number_of_go_is_unreadable(text: str | None) -> None:
    assert read_ratio(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [("1.5", 1.5), ("+.5", 0.5), ("5.", 5.0), ("1E5", 1e5), ("1_0", 10.0), ("1e-400", 0.0)],
)
def test_decimal_numbers_are_read(text: str, number: float) -> None:
    assert parse_float(text) == number


@pytest.mark.parametrize(
    ("text", "number"), [("0x1p1", 2.0), ("-0X1.8P0", -1.5), ("0x_1_0p1", 32.0), ("0x.8p1", 1.0)]
)
def test_hexadecimal_numbers_are_read(text: str, number: float) -> None:
    assert parse_float(text) == number


def test_infinity_and_nan_are_read_in_any_case() -> None:
    assert [parse_float(text) for text in ("Inf", "-INFINITY")] == [math.inf, -math.inf]
    assert math.isnan(parse_float("NaN") or 0.0)


OTHERS = ["", ".", " 1", "1\n", "1_", "1__0", "1_.5", "1e", "0x1", "0x1p9999", "1e400", "+nan"]


@pytest.mark.parametrize("text", [*OTHERS, "\u0661"])
def test_other_texts_are_not_numbers(text: str) -> None:
    assert parse_float(text) is None

"""Expected start of a waiting pod: the plane's future on a copy, and its error."""

from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import POD_GROUP
from stretto.base.errors import InputError, UnknownNameError
from stretto.inputs.traces.philly import PhillyJob
from stretto.sim.history.forecast import KnownRunTime, TypicalRunTimes, forecast
from stretto.testing import Harness, make_group, make_node, make_pod
from stretto_lab.studies.forecast import ForecastStudy, forecast_plot, study_forecast


def pod(name: str, lasts: float | None, cpu: str = "1", **more: Any) -> bytes:
    notes = {} if lasts is None else {"stretto.dev/duration": str(lasts)}
    return make_pod(name, cpu=cpu, annotations=notes, **more)


def busy(*pods: bytes, cpu: str = "1") -> Harness:
    """One node, and pods that arrive one by one; the first ones that fit run."""
    harness = Harness([make_node("n", cpu=cpu)], config={"tier": "numpy"})
    for each in pods:
        harness.submit(each)
        harness.settle()
    return harness


def reported(harness: Harness) -> dict[str, float]:
    """Pod to the seconds after which it is expected to start."""
    pods, units = harness.plane.cluster.pods, harness.plane.units
    starts = forecast(harness.plane).after_s
    rows = [row for row in pods.rows().tolist() if pods.slot[row] < 0]
    found = [(pods.name[row], units.of_row(row)) for row in rows]
    return {name: starts[unit.key] for name, unit in found if unit is not None}


def test_a_pending_pod_starts_when_the_earlier_ones_have_ended() -> None:
    harness = busy(pod("a", 100), pod("b", 50), pod("c", 50))
    assert reported(harness) == {"b": 100.0, "c": 150.0}


def test_what_has_run_already_is_taken_off() -> None:
    harness = busy(pod("a", 100), pod("b", 50))
    harness.settle(30.0)
    assert reported(harness)["b"] == pytest.approx(70.0)


def test_behind_what_never_ends_there_is_no_start() -> None:
    assert reported(busy(pod("a", None), pod("b", 50))) == {"b": inf}


def test_the_smaller_one_passes_where_the_queue_lets_it() -> None:
    harness = busy(pod("a", 100), pod("big", 50, cpu="2"), pod("small", 10), cpu="2")
    assert reported(harness) == {"big": 100.0}
    assert harness.node_of("small") == "n"


def test_a_gang_starts_when_all_it_needs_fit_together() -> None:
    harness = busy(pod("a", 100), pod("b", 300), cpu="2")
    harness.create(POD_GROUP, make_group("g", 2, scheduleTimeoutSeconds=10_000))
    harness.submit(*[pod(f"g{n}", 10, group="g") for n in range(2)])
    harness.settle()
    assert set(reported(harness).values()) == {300.0}


def a_gang_behind(lasts: float, timeout: int, waited: float = 0.0) -> Harness:
    """A gang of two that waits for a pod which runs so long, and has waited already."""
    harness = busy(pod("a", lasts), cpu="2")
    harness.create(POD_GROUP, make_group("g", 2, scheduleTimeoutSeconds=timeout))
    harness.submit(*[pod(f"g{n}", 10, group="g") for n in range(2)])
    harness.settle(waited)
    return harness


@pytest.mark.parametrize(
    ("timeout", "waited", "late"), [(300, 0.0, 300.0), (300, 100.0, 200.0), (300, 301.0, 0.0)]
)
def test_a_gang_that_times_out_before_capacity_is_free_never_starts(
    timeout: int, waited: float, late: float
) -> None:
    starts = forecast(a_gang_behind(1_000, timeout, waited).plane)
    key = "PodGroupUnit/default/g"
    assert (starts.after_s[key], starts.late_s) == (inf, {key: pytest.approx(late, abs=1)})


def test_a_gang_that_finds_capacity_in_time_is_not_late() -> None:
    starts = forecast(a_gang_behind(1_000, 1_100, 20.0).plane)
    assert starts.after_s == {"PodGroupUnit/default/g": pytest.approx(980, abs=1)}
    assert starts.late_s == {}


def test_a_pod_behind_a_timed_out_gang_starts_without_it() -> None:
    harness = a_gang_behind(1_000, 300)
    harness.submit(pod("wide", 10, cpu="2"))
    harness.settle()
    assert reported(harness)["wide"] == pytest.approx(1_000, abs=1)


def test_a_query_changes_nothing() -> None:
    harness = busy(pod("a", 100), pod("b", 50))
    before = harness.placements(), harness.plane.binder.counts.copy(), harness.clock.monotonic()
    reported(harness)
    assert before == (
        harness.placements(), harness.plane.binder.counts, harness.clock.monotonic(),
    )  # fmt: skip


def test_the_horizon_ends_the_view() -> None:
    harness = busy(pod("a", 100), pod("b", 50))
    assert set(forecast(harness.plane, horizon_s=99.0).after_s.values()) == {inf}


def test_typical_run_times_are_medians_of_units_of_the_same_size() -> None:
    typical = TypicalRunTimes()
    for seconds in (10.0, 20.0, 30.0, 40.0, 50.0):
        typical.learn(1, seconds)
        typical.learn(8, 10 * seconds)
    assert typical.lasts(KnownRunTime(1, inf)) == 30.0
    assert typical.lasts(KnownRunTime(7, inf)) == 300.0


def test_what_has_run_for_long_is_expected_to_go_on_like_those_that_ran_longer() -> None:
    typical = TypicalRunTimes()
    for seconds in (10.0, 20.0, 30.0, 40.0, 50.0):
        typical.learn(1, seconds)
    assert typical.lasts(KnownRunTime(1, inf, 35.0)) == 50.0 - 35.0
    assert typical.lasts(KnownRunTime(1, inf, 60.0)) == 60.0


def test_before_anything_has_ended_nothing_is_typical() -> None:
    assert TypicalRunTimes().lasts(KnownRunTime(1, inf)) == inf


jobs = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 4), st.integers(1, 30)), min_size=1, max_size=12
)


@settings(max_examples=5)
@given(jobs)
def test_first_come_first_served_with_known_run_times_is_forecast_to_the_second(
    drawn: list[tuple[int, int, int]],
) -> None:
    trace = [PhillyJob(str(n), float(s), g, float(d)) for n, (s, g, d) in enumerate(drawn)]
    _, points = study_forecast(trace, ForecastStudy(gpus=4, samples=100))
    assert all(point.predicted_s == pytest.approx(point.waited_s) for point in points)


TRACE = [PhillyJob(str(n), 40.0 * n, 1 + n % 4, 100.0 + 7 * (n % 5)) for n in range(60)]


@pytest.mark.slow
def test_typical_run_times_give_an_answer_that_is_off() -> None:
    report, points = study_forecast(TRACE, ForecastStudy(gpus=4, run_times="typical", samples=30))
    assert 0 < report.forecasts == len(points)
    assert report.median_error_s > 0
    assert 0 < report.near <= 1


@pytest.mark.slow
def test_later_short_jobs_pass_a_job_and_make_it_wait_longer_than_predicted() -> None:
    report, _ = study_forecast(TRACE, ForecastStudy(gpus=4, queue="sjf", samples=30))
    assert report.bias_s < 0


def test_the_plot_is_a_picture() -> None:
    found = study_forecast(TRACE[:20], ForecastStudy(gpus=4, samples=5))
    assert list(forecast_plot([found])) == ["forecast.png", "forecast.svg"]


def test_a_study_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(UnknownNameError):
        ForecastStudy(run_times="guessed")
    with pytest.raises(InputError):
        ForecastStudy(samples=0)

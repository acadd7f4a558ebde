"""Philly jobs through the real plane, against a queue written in twenty plain lines."""

from pathlib import Path

import msgspec
import pytest

from stretto.base.errors import InputError, UnknownNameError
from stretto.base.rng import Rng
from stretto.inputs.philly import PhillyJob, load_jobs
from stretto.sim.philly import simulate_philly
from tests.references import pool

#: The first of these compiles the kernels where nobody has done so yet.
pytestmark = pytest.mark.timeout(240)


def some_jobs(seed: int, count: int = 120) -> list[PhillyJob]:
    """Jobs that crowd: several at one instant, some of no length, some too big."""
    rng = Rng(seed)
    return [
        PhillyJob(
            str(i), rng.randint(0, 40) * 0.5, rng.choice([1, 1, 2, 4, 9]), rng.randint(0, 60) / 10
        )
        for i in range(count)
    ]


def agree(jobs: list[PhillyJob] | tuple[PhillyJob, ...], gpus: int) -> None:
    ours = msgspec.to_builtins(simulate_philly(jobs, gpus).report)
    theirs = pool.run(jobs, gpus)
    assert {key: pytest.approx(value) for key, value in theirs.items()} == ours


@pytest.mark.parametrize("seed", range(4))
def test_crowded_jobs_start_when_a_plain_queue_starts_them(seed: int) -> None:
    agree(some_jobs(seed), 8)


def test_the_first_weeks_of_the_real_trace_agree(shared_data: Path) -> None:
    agree(load_jobs(shared_data / "philly_vc" / "philly_vc_0e4a51.csv")[:400], 16)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "gpus"), [("0e4a51", 64), ("ee9e8c", 128)])
def test_whole_traces_agree(shared_data: Path, name: str, gpus: int) -> None:
    agree(load_jobs(shared_data / "philly_vc" / f"philly_vc_{name}.csv"), gpus)


def test_jobs_of_one_instant_go_by_number_not_by_text() -> None:
    jobs = [PhillyJob("10", 0.0, 2, 5.0), PhillyJob("9", 0.0, 2, 1.0)]
    report = simulate_philly(jobs, 2).report
    assert report.max_wait_s == 1.0


def test_the_head_of_the_queue_blocks_what_would_fit() -> None:
    jobs = [PhillyJob("1", 0, 1, 10), PhillyJob("2", 1, 2, 1), PhillyJob("3", 2, 1, 1)]
    assert simulate_philly(jobs, 2).report.max_wait_s == 9.0
    assert simulate_philly(jobs, 2, "fifo-skip").report.mean_wait_s == 3.0


def test_a_pool_without_gpus_is_refused() -> None:
    with pytest.raises(InputError, match="gpus: got 0"):
        simulate_philly(some_jobs(0), 0)


def test_an_unknown_order_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean fifo"):
        simulate_philly(some_jobs(0), 8, "fif")


def test_nothing_that_fits_is_a_report_without_waits() -> None:
    report = simulate_philly([PhillyJob("1", 0, 4, 1)], 2).report
    assert (report.started, report.skipped_too_big, report.mean_wait_s) == (0, 1, None)

"""Philly jobs through the real plane, against a queue written in twenty plain lines."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from stretto.base.errors import InputError, UnknownNameError
from stretto.base.rng import Rng
from stretto.inputs.traces.philly import PhillyJob, load_jobs
from stretto.sim.traces.philly import replay_jobs, simulate_philly
from tests.support.references import pool

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)

POLICIES = ("fifo", "sjf", "skip", "easy")


def some_jobs(seed: int, count: int = 120, shortest: int = 0) -> list[PhillyJob]:
    """Jobs that crowd: several at one instant, some of no length (``shortest``), some too big."""
    rng = Rng(seed)
    return [
        PhillyJob(
            str(i),
            rng.randint(0, 40) * 0.5,
            rng.choice([1, 1, 2, 4, 9]),
            rng.randint(shortest, 60) / 10,
        )
        for i in range(count)
    ]


def start_times(jobs: Sequence[PhillyJob], gpus: int, policy: str) -> dict[int, float]:
    """Seconds at which each job started; all pods of one start together."""
    fitting, record = replay_jobs(jobs, gpus, policy)
    owner = [int(job.job_id) for job in fitting for _ in range(job.gpus)]
    pairs = set(zip(owner, (record.started / 10).tolist(), strict=True))
    assert len(pairs) == len(fitting)
    return dict(pairs)


def agree(jobs: Sequence[PhillyJob], gpus: int, policy: str) -> None:
    theirs = {each.job.number: each.at / 10 for each in pool.starts(jobs, gpus, policy)}
    assert start_times(jobs, gpus, policy) == theirs


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "seed", [1, 13, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 11))]
)
def test_crowded_jobs_start_when_a_plain_queue_starts_them(seed: int, policy: str) -> None:
    agree(some_jobs(seed), 9, policy)


@pytest.mark.parametrize("seed", [1, pytest.param(13, marks=pytest.mark.slow)])
def test_crowded_jobs_start_when_conservative_backfill_starts_them(seed: int) -> None:
    agree(some_jobs(seed, 60, shortest=1), 9, "conservative")


def test_single_pods_do_not_pass_gangs_that_came_first() -> None:
    agree(some_jobs(13, 200), 9, "skip")


@pytest.mark.parametrize("policy", POLICIES)
def test_gangs_beyond_one_batch_of_a_shard_keep_their_order(policy: str) -> None:
    rng = Rng(3)
    sizes = [1, 200, 400, 600, 900]
    jobs = [
        PhillyJob(str(i), rng.randint(0, 40) / 2, rng.choice(sizes), rng.randint(0, 60) / 10)
        for i in range(20)
    ]
    agree(jobs, 1000, policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("name", "gpus"), [("0e4a51", 16), ("ee9e8c", 32)])
def test_the_first_weeks_of_the_real_traces_agree(
    shared_data: Path, name: str, gpus: int, policy: str
) -> None:
    agree(load_jobs(shared_data / "philly_vc" / f"philly_vc_{name}.csv")[:150], gpus, policy)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("name", "gpus"), [("0e4a51", 64), ("ee9e8c", 128)])
def test_whole_traces_agree(shared_data: Path, name: str, gpus: int, policy: str) -> None:
    agree(load_jobs(shared_data / "philly_vc" / f"philly_vc_{name}.csv"), gpus, policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_report_equals_that_of_the_plain_queue(policy: str) -> None:
    ours = msgspec.to_builtins(simulate_philly(some_jobs(2), 8, policy).report)
    theirs = pool.run(some_jobs(2), 8, policy)
    assert {key: pytest.approx(value) for key, value in theirs.items()} == ours


#: A pool of 4: job 1 holds 3 of it until 10; job 2, the head, needs all 4. Job 3 is small and
#: long, job 4 small and over by 10, job 5 small and over too late to end by 10.
BY_HAND = [
    PhillyJob("1", 0, 3, 10),
    PhillyJob("2", 1, 4, 5),
    PhillyJob("3", 2, 1, 20),
    PhillyJob("4", 3, 1, 7),
    PhillyJob("5", 4, 1, 6),
]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("fifo", {1: 0, 2: 10, 3: 15, 4: 15, 5: 15}),  # nothing passes job 2
        ("skip", {1: 0, 3: 2, 4: 10, 5: 10, 2: 22}),  # job 3 takes the free GPU, job 2 starves
        ("easy", {1: 0, 4: 3, 2: 10, 3: 15, 5: 15}),  # job 4 ends at 10, when job 2 can start
        ("sjf", {1: 0, 2: 10, 5: 15, 4: 15, 3: 15}),  # job 2 is the shortest, and blocks
    ],
)
def test_five_jobs_by_hand(policy: str, expected: dict[int, float]) -> None:
    assert start_times(BY_HAND, 4, policy) == expected


def test_conservative_backfill_delays_no_waiting_job() -> None:
    """Job 4 fits next to job 2, the head, and would delay job 3, which needs all GPUs."""
    jobs = [
        PhillyJob("1", 0, 3, 10),
        PhillyJob("2", 1, 3, 5),
        PhillyJob("3", 2, 4, 5),
        PhillyJob("4", 3, 1, 30),
    ]
    assert start_times(jobs, 4, "easy") == {1: 0, 4: 3, 2: 10, 3: 33}
    assert start_times(jobs, 4, "conservative") == {1: 0, 2: 10, 3: 15, 4: 20}


def test_an_estimate_replaces_the_run_time_for_backfill_only() -> None:
    late = [msgspec.structs.replace(job, estimate_s=50) for job in BY_HAND]
    assert start_times(late, 4, "easy")[4] > 3  # it seems to end after the head could start
    assert start_times(late, 4, "fifo") == start_times(BY_HAND, 4, "fifo")


def test_on_nodes_a_large_job_needs_whole_nodes() -> None:
    """Two jobs of 3 leave 1 GPU on each of two nodes: a job of 2 waits, although 2 are free."""
    jobs = [PhillyJob("1", 0, 3, 10), PhillyJob("2", 0, 3, 10), PhillyJob("3", 1, 2, 5)]
    _, record = replay_jobs(jobs, 8, "fifo", node_gpus=4)
    assert (record.started / 10).tolist() == [0, 0, 10]
    report = simulate_philly(jobs, 8, "fifo", None, 4).report
    assert report.gpu_util == pytest.approx((3 * 10 + 3 * 10 + 2 * 5) / (8 * 15))


def test_nodes_must_divide_the_pool() -> None:
    with pytest.raises(InputError, match="gpus per node: got 5, expected a divisor of the 8 GPUs"):
        simulate_philly(BY_HAND, 8, "fifo", None, 5)


def test_long_units_may_use_what_the_head_does_not_need() -> None:
    jobs = [PhillyJob("1", 0, 3, 10), PhillyJob("2", 1, 3, 5), PhillyJob("3", 2, 1, 99)]
    assert start_times(jobs, 4, "easy") == {1: 0, 2: 10, 3: 2}


def test_a_shorter_job_that_comes_later_goes_before_a_blocked_one() -> None:
    jobs = [PhillyJob("1", 0, 3, 10), PhillyJob("2", 1, 4, 5), PhillyJob("3", 2, 1, 4)]
    assert start_times(jobs, 4, "sjf") == {1: 0, 3: 2, 2: 10}


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

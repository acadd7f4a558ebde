"""Timetables: the earliest start of a job with running pods and reservations."""

import pytest

from stretto.control.queues.timetable import PoolGround, Timetable, expected_end
from stretto.state.queues.end_times import NEVER
from stretto.state.queues.starts import StartJob


def job(size: int, duration: int = NEVER) -> StartJob:
    return StartJob((0,), (size,), 1, duration, ((0, size),))


def table(free: int, *ends: tuple[int, int], now: int = 0) -> Timetable:
    """``ends``: (expected end, freed amount)."""
    return Timetable(PoolGround({0: free}, [(end, {0: n}) for end, n in ends], now), now)


def reserve(found: Timetable, size: int, duration: int, *, failed: bool = False) -> int:
    """Reserve for a job; its start."""
    made = found.earliest(job(size, duration), after_an_end=failed)
    assert made is not None
    found.add(made)
    return made.start


def test_a_job_starts_at_the_first_end_with_enough_capacity() -> None:
    assert reserve(table(1, (10, 1), (20, 2), (30, 5)), 4, 5) == 20


def test_a_job_that_fits_starts_now_unless_it_has_failed() -> None:
    assert reserve(table(4, (10, 1)), 4, 5) == 0
    assert reserve(table(4, (10, 1)), 4, 5, failed=True) == 10


def test_a_job_that_never_fits_has_no_start() -> None:
    assert table(1, (10, 3)).earliest(job(9)) is None
    assert table(1, (10, 3)).earliest(job(9)) is None


def test_later_jobs_start_only_if_they_delay_no_reservation() -> None:
    found = table(2, (10, 3))
    assert reserve(found, 4, 100) == 10
    assert found.starts_now(job(2, 10)) is not None
    assert found.starts_now(job(2, 11)) is None
    assert found.starts_now(job(1, NEVER)) is not None


def test_a_longer_job_of_the_same_pods_starts_no_earlier() -> None:
    found = table(2, (10, 3))
    reserve(found, 4, 100)
    assert found.starts_now(job(2, 11)) is None
    assert found.starts_now(job(2, 50)) is None
    assert found.starts_now(job(2, 3)) is not None


def test_each_reservation_is_kept_by_those_after_it() -> None:
    """Of 4, 3 are in use until 10: a job of 4, then small ones before, next to and after it."""
    found = table(1, (10, 3))
    assert reserve(found, 4, 5) == 10
    assert reserve(found, 1, 20) == 15
    assert reserve(found, 1, 10) == 0
    assert reserve(found, 3, 5) == 15
    assert reserve(found, 2, 5) == 20


def test_a_job_that_runs_counts_until_its_end() -> None:
    found = table(4, (10, 1))
    found.occupy(job(3, 6))
    assert reserve(found, 2, 5) == 6
    found.occupy(job(9, 6))
    assert len(found.reservations) == 2


def test_a_reserved_job_without_an_estimate_never_gives_back() -> None:
    found = table(1, (10, 3))
    assert reserve(found, 3, NEVER) == 10
    assert found.earliest(job(2, 5)) is None
    assert reserve(found, 1, 5) == 0


@pytest.mark.parametrize(
    ("end", "now", "expected"),
    [(10, 4, 10), (10, 10, 10), (10, 12, 14), (10, 13, 14), (10, 30, 42)],
)
def test_a_pod_beyond_its_estimate_is_expected_to_exceed_it_twice_as_long(
    end: int, now: int, expected: int
) -> None:
    assert expected_end(end, now) == expected


def test_ends_beyond_an_estimate_move_the_reservation() -> None:
    assert reserve(table(1, (10, 3), now=30), 4, 5) == 42


def test_the_search_halves_many_ends_with_the_same_result() -> None:
    ends = [(10 * i, 1) for i in range(1, 200)]
    for size in (1, 2, 57, 150, 200):
        assert reserve(table(1, *ends), size, 5) == 10 * (size - 1)

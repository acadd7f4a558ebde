"""Peaks and integrals over a record."""

import numpy as np

from stretto.sim.engine import WorkRecord
from stretto.sim.usage import AmountUsage, usage


def record(*rows: tuple[int, int, int, int], ticks: list[int]) -> WorkRecord:
    """A record of (started, ended, start round, end round)."""
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return WorkRecord(*columns, np.zeros(len(rows), np.bool_), np.array(ticks, np.int64))


def test_the_integral_is_amount_times_ticks() -> None:
    found = usage(record((0, 4, 0, 1), (4, 10, 1, 2), ticks=[0, 4, 10]), np.array([3, 2]))
    assert (found.peak, found.amount_ticks) == (3, 3 * 4 + 2 * 6)


def test_usage_that_ends_in_a_round_is_freed_before_anything_starts() -> None:
    found = usage(record((0, 5, 0, 1), (5, 6, 1, 2), ticks=[0, 5, 6]), np.array([8, 8]))
    assert found.peak == 8


def test_what_still_runs_counts_until_the_last_round() -> None:
    found = usage(record((1, -1, 0, -1), ticks=[1, 7]), np.array([5]))
    assert found.amount_ticks == 30


def test_a_line_is_in_percent_over_hours() -> None:
    line = AmountUsage(np.array([3600, 7200]), np.array([5, 0])).line("x", 10, 1.0)
    assert (list(line.x), list(line.y)) == ([0.0, 1.0], [50.0, 0.0])


def test_a_long_line_is_thinned_and_keeps_its_ends() -> None:
    ticks = np.arange(50_000)
    line = AmountUsage(ticks, ticks).line("x", 1, 1.0)
    assert len(line.x) <= 2000
    assert line.y[-1] == 100.0 * 49_999

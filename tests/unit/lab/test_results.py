"""Results of laboratory commands: durations in tables, and partial results after Ctrl-C."""

from collections.abc import Iterator

import pytest

from stretto.cli.progress import SilentProgress
from stretto_lab.commands.results import collect, duration_cells, human_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.0 s"), (59.94, "59.9 s"), (60.0, "1.0 min"), (-90.0, "-1.5 min"),
     (3600.0, "1.0 h"), (99_301.59, "27.6 h"), (36_000_000.0, "10,000.0 h")],
)  # fmt: skip
def test_durations_have_a_readable_unit(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


def test_only_fields_in_seconds_become_durations() -> None:
    names, cells = duration_cells({"queue": "a", "mean_wait_s": 7200.0, "started": 3})
    assert (names, cells) == (["queue", "mean wait", "started"], ["a", "2.0 h", 3])


def interrupted_after(count: int) -> Iterator[int]:
    yield from range(count)
    raise KeyboardInterrupt


def test_ctrl_c_returns_the_results_so_far() -> None:
    assert collect(interrupted_after(2), SilentProgress()) == ([0, 1], True)
    assert collect(range(2), SilentProgress()) == ([0, 1], False)


def test_ctrl_c_before_the_first_result_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt):
        collect(interrupted_after(0), SilentProgress())

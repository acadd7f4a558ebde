"""Simulated rollouts keep their limits and finish: updates, rescaling, migration, lost members."""

import pytest

from stretto_lab.studies.rollout.figures import RolloutFigures, measure


def broken(figures: RolloutFigures) -> tuple[int, int, int]:
    return figures.above, figures.below, figures.unfinished


def test_updates_alone_keep_the_limits_and_finish() -> None:
    assert broken(measure(range(60), events=0)) == (0, 0, 0)


@pytest.mark.timeout(120)
def test_updates_with_events_keep_the_limits_and_finish() -> None:
    figures = measure(range(1_000_000, 1_000_120), events=6)
    assert figures.events > 200
    assert broken(figures) == (0, 0, 0)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_updates_with_events_keep_the_limits_and_finish() -> None:
    assert broken(measure(range(2_000_000, 2_006_000), events=6)) == (0, 0, 0)

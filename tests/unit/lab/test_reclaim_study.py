"""The reclaim study: shares add up, throttled tasks are evicted, the same seed repeats a run."""

import pytest

from stretto.base.errors import InputError
from stretto.framework.profile.capacity.reclaim import Estimator
from stretto.inputs.traces.measured_use import UseTrace, load_measured_use
from stretto_lab.studies.reclaim.sweep import (
    ReclaimPoint,
    ReclaimStudy,
    reclaim_plots,
    reclaim_points,
)
from stretto_lab.studies.reclaim.tasks import BatchFigures, BatchNode

SMALL = ReclaimStudy(nodes=1, cores=16, hours=2.0)
IDLE = UseTrace("made", "none", {"a": (0,) * 12})


@pytest.fixture(scope="module")
def points() -> list[ReclaimPoint]:
    return list(reclaim_points(SMALL, load_measured_use()))


def test_every_estimator_runs_at_every_limit(points: list[ReclaimPoint]) -> None:
    lenders = {"requests", "hindsight", *(each.value for each in Estimator)}
    assert {(p.lender, p.limit_pct) for p in points} == {(n, x) for n in lenders for x in (65, 100)}
    assert len(points) == SMALL.runs


def test_no_node_is_used_beyond_its_cores(points: list[ReclaimPoint]) -> None:
    assert all(each.node_pct <= 100 for each in points)


def test_the_same_seed_gives_the_same_points(points: list[ReclaimPoint]) -> None:
    assert list(reclaim_points(SMALL, load_measured_use())) == points


def test_the_figure_has_a_panel_for_each_limit(points: list[ReclaimPoint]) -> None:
    assert set(reclaim_plots(points)) == {"reclaim.png", "reclaim.svg"}


def test_idle_pods_lend_what_they_request_except_to_the_careful() -> None:
    found = {each.lender: each for each in reclaim_points(SMALL, IDLE) if each.limit_pct == 100}
    assert found["hindsight"].loaned_pct == 100
    assert found["requests"].loaned_pct < found["batch"].loaned_pct < found["canonical"].loaned_pct
    assert all(each.throttled_pct == 0 for each in found.values() if each.loaned_pct <= 100)


def test_tasks_that_share_cores_are_throttled_and_lose_nothing() -> None:
    node, figures = BatchNode(4000, 100), BatchFigures()
    for _ in range(12):
        node.step(4000, 1000, figures)  # four tasks on three cores
    assert (figures.evicted, figures.done, figures.throttled) == (0, 0, 12)


def test_tasks_without_enough_cpu_are_evicted_the_newest_first() -> None:
    node, figures = BatchNode(10_000, 100), BatchFigures()
    node.step(4000, 0, figures)
    node.step(8000, 6000, figures)  # eight tasks on four cores: five stay
    assert (figures.evicted, figures.lost) == (3, 0)


def test_a_limit_beyond_the_node_is_refused() -> None:
    with pytest.raises(InputError, match="limits"):
        ReclaimStudy(limits=(150,))

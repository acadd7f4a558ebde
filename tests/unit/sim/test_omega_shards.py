"""Shards that take time to decide: what partitions save, and what packing without them costs."""

from itertools import pairwise

import pytest

from stretto.base.errors import InputError
from stretto.sim.plots.figures import draw_plots
from stretto_lab.studies.omega.planning import BinderTime
from stretto_lab.studies.omega.shards import (
    ShardPoint,
    ShardStudy,
    shard_plots,
    shard_points,
    shard_runs,
)

STUDY = ShardStudy(nodes=256, pods=1200, shards=(1, 4), decisions_s=(0.001, 0.02), batch=20)


@pytest.fixture(scope="module")
def points() -> dict[tuple[str, int, bool, float], ShardPoint]:
    found = list(shard_points(STUDY))
    return {(e.policy, e.shards, e.partitions, e.decision_s): e for e in found}


Points = dict[tuple[str, int, bool, float], ShardPoint]


@pytest.mark.slow
def test_every_pod_is_placed_in_every_run(points: Points) -> None:
    assert {each.placed for each in points.values()} == {1200}
    assert len(points) == sum(1 for _ in shard_runs(STUDY)) == 12


@pytest.mark.slow
def test_one_shard_never_conflicts(points: Points) -> None:
    assert {each.redone_pct for each in points.values() if each.shards == 1} == {0.0}


@pytest.mark.slow
def test_one_shard_decides_batch_after_batch(points: Points) -> None:
    one = points["default", 1, False, 0.02]
    assert one.took_s == pytest.approx(1200 / 20 * 0.02 + 1200 * STUDY.commit_s)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["default", "packing"])
def test_with_partitions_four_shards_are_nearly_four_times_as_fast(
    points: Points, policy: str
) -> None:
    one, four = points[policy, 1, False, 0.02], points[policy, 4, True, 0.02]
    assert one.took_s > 3.5 * four.took_s
    assert four.redone_pct < 1


@pytest.mark.slow
def test_packing_without_partitions_is_redone_again_and_again(points: Points) -> None:
    apart, together = (points["packing", 4, each, 0.02] for each in (True, False))
    assert together.redone_pct > 20 > apart.redone_pct
    assert together.took_s > apart.took_s


@pytest.mark.slow
def test_spreading_without_partitions_costs_little(points: Points) -> None:
    spread, packed = (points[each, 4, False, 0.02] for each in ("default", "packing"))
    assert spread.redone_pct < packed.redone_pct


@pytest.mark.slow
def test_partitions_hardly_loosen_the_packing(points: Points) -> None:
    one, four = points["packing", 1, False, 0.02], points["packing", 4, True, 0.02]
    assert one.nodes_used <= four.nodes_used <= one.nodes_used + 4


def test_the_binder_takes_plans_one_after_the_other() -> None:
    binding = BinderTime(0.5)
    begins = [binding.turn(ready, 2) for ready in (1.0, 1.0, 1.5, 9.0)]
    assert begins == [1.0, 2.0, 3.0, 9.0]
    assert all(later - sooner >= 1.0 for sooner, later in pairwise(begins))


def test_the_same_seed_gives_the_same_figures() -> None:
    small = ShardStudy(nodes=64, pods=100, shards=(2,), decisions_s=(0.01,), batch=10)
    assert list(shard_points(small)) == list(shard_points(small))


@pytest.mark.slow
def test_the_plots_are_pictures(points: Points) -> None:
    pictures = draw_plots(shard_plots(list(points.values())))
    assert sum(each.startswith(b"\x89PNG") for each in pictures.values()) == 4
    assert sum(name.endswith(".svg") for name in pictures) == 4


def point(shards: int, partitions: bool, decision_s: float, redone_pct: float) -> ShardPoint:
    return ShardPoint(shards, decision_s, "packing", partitions, 9, 1.0, 9.0, 0.0, redone_pct, 3)


def test_runs_without_competing_shards_are_one_curve_in_the_plot_of_repeated_work() -> None:
    points = [point(s, p, 0.01, s * 10.0 * (not p)) for s in (2, 4) for p in (True, False)]
    plots = shard_plots([point(1, False, 0.01, 0.0), *points])
    svg = draw_plots(plots)["shards-packing-redone.svg"].decode()
    assert svg.count("shards without partitions</text>") == 2
    assert svg.count(">with partitions</text>") == 1
    assert "1 shard" not in svg


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"decisions_s": (-1.0,)}, {"commit_s": -1.0}])
def test_a_study_that_makes_no_sense_is_refused(wrong: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError):
        ShardStudy(**wrong)

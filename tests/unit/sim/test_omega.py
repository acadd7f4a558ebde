"""Omega's experiment: the cases of its own simulator by hand, and what each mode means."""

import pytest
from msgspec.structs import replace

from stretto.base.errors import InputError
from stretto.sim.plots.figures import draw_plots
from stretto.state.work.claims import CommitMode, ConflictMode
from stretto_lab.studies.omega.model import OmegaCell, OmegaJob, OmegaRun
from stretto_lab.studies.omega.simulation import run_omega
from stretto_lab.studies.omega.sweep import (
    HULK,
    MODES,
    PLAIN,
    Mode,
    OmegaPoint,
    OmegaStudy,
    omega_jobs,
    omega_plots,
    omega_points,
    runs_of,
)

FIT, VERSION = ConflictMode.FIT, ConflictMode.VERSION
ALL = CommitMode.ALL_OR_NOTHING


def one_machine(*jobs: OmegaJob, cores: int = 10, **more: object) -> OmegaRun:
    """Jobs on a single machine; a second of thinking for each job and each task."""
    size = {"cpu_milli": 1000 * cores, "memory_mib": 65536}
    requested = {"machines": 1, "job_s": 1.0, "task_s": 1.0, **size, **more}
    return run_omega(jobs, OmegaCell(**requested))  # type: ignore[arg-type]


def test_forty_jobs_of_one_task_end_at_121() -> None:
    jobs = [OmegaJob(float(i), 1, float(i)) for i in range(1, 41)]
    run = run_omega(jobs, OmegaCell(machines=1000, job_s=1, task_s=1))
    assert (run.ends_s, run.done, run.conflict_fraction) == (121.0, 40, 0.0)


def test_jobs_that_arrive_faster_than_decisions_wait_0_1_3_6() -> None:
    run = one_machine(*[OmegaJob(float(i), i, float(i)) for i in range(1, 5)])
    assert run.waits_s == (0.0, 1.0, 3.0, 6.0)
    assert run.schedulers[0].useful_s == 2 + 3 + 4 + 5


def test_of_two_commits_to_one_machine_the_second_conflicts() -> None:
    jobs = [OmegaJob(0.0, 1, 9.0, 250, 768), OmegaJob(0.0, 1, 9.0, 250, 768)]
    run = one_machine(*jobs, cores=1, schedulers=2, conflicts=VERSION, commit=ALL)
    assert [each.failed for each in run.schedulers] == [0, 1]
    assert (run.granted, run.refused, run.done) == (2, 1, 2)


def test_by_fit_the_same_two_both_succeed() -> None:
    run = one_machine(OmegaJob(0.0, 1, 9.0, 250), OmegaJob(0.0, 1, 9.0, 250), cores=1, schedulers=2)
    assert [each.failed for each in run.schedulers] == [0, 0]


def test_what_was_refused_is_thought_about_again_a_second_later() -> None:
    run = one_machine(
        OmegaJob(0.0, 1, 5.0), OmegaJob(0.0, 1, 5.0), cores=1, schedulers=2, until_s=60.0
    )
    thought = run.schedulers[1]  # refused at 2; looks at 3 and 6, when all is taken, and at 9
    assert (thought.wasted_s, thought.fruitless_s, thought.useful_s) == (2.0, 4.0, 2.0)
    assert run.ends_s == 9.0 + 2.0 + 5.0


def test_incremental_keeps_what_fits_and_all_or_nothing_none_of_it() -> None:
    jobs = [OmegaJob(0.0, 3, 99.0), OmegaJob(0.0, 3, 99.0)]
    requested = {"cores": 4, "schedulers": 2, "until_s": 4.5}
    assert one_machine(*jobs, **requested).granted == 4  # type: ignore[arg-type]
    assert one_machine(*jobs, commit=ALL, **requested).granted == 3  # type: ignore[arg-type]


def test_two_schedulers_never_reject_each_other_without_end() -> None:
    jobs = [OmegaJob(0.0, 1, 1000.0), OmegaJob(4.0, 1, 1000.0), OmegaJob(7.0, 1, 1000.0)]
    cell = OmegaCell(machines=1, schedulers=3, job_s=10, task_s=0, conflicts=VERSION, until_s=200)
    run = run_omega(jobs, cell)
    assert (run.done, run.refused) == (3, 3)


def test_a_job_that_fits_nowhere_is_given_up() -> None:
    run = one_machine(OmegaJob(0.0, 1, 5.0, 99_000))
    assert (run.done, run.abandoned) == (0, 1)
    assert run.conflict_fraction is None


def test_what_fills_the_cell_is_never_given_out() -> None:
    jobs = [OmegaJob(0.0, 400, 9.0, 1000, 1)]
    run = run_omega(jobs, OmegaCell(machines=100, fill=0.75, job_s=1, task_s=0, until_s=1.5))
    assert run.granted == 100


COARSE = Mode(VERSION, CommitMode.ALL_OR_NOTHING)
SMALL = OmegaStudy(
    machines=40, jobs_per_s=1.0, tasks=4, hours=0.1, decisions_s=(0.1, 3.0), schedulers=(1, 4),
    modes_at=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def points() -> list[OmegaPoint]:
    return list(omega_points(SMALL))


def point(points: list[OmegaPoint], schedulers: int, decision_s: float, mode: Mode) -> OmegaPoint:
    """The point of a run."""
    found = [(e.schedulers, e.decision_s, e.mode) for e in points]
    return points[found.index((schedulers, decision_s, mode))]


@pytest.mark.slow
def test_the_paper_s_shape_conflicts_and_busyness_rise_with_decision_time(
    points: list[OmegaPoint],
) -> None:
    short, long = (point(points, 4, s, PLAIN) for s in (0.1, 3.0))
    assert (short.conflict_fraction or 0) < (long.conflict_fraction or 0)
    assert short.busyness < long.busyness


@pytest.mark.slow
def test_the_paper_s_shape_more_schedulers_are_less_busy_and_conflict_more(
    points: list[OmegaPoint],
) -> None:
    one, four = (point(points, n, 3.0, PLAIN) for n in (1, 4))
    assert one.busyness > four.busyness
    assert one.conflict_fraction == 0.0
    assert (four.conflict_fraction or 0) > 0


@pytest.mark.slow
def test_the_paper_s_shape_coarse_detection_and_all_or_nothing_cost_more(
    points: list[OmegaPoint],
) -> None:
    cost = {mode: point(points, 4, 3.0, mode) for mode in MODES}
    plain, worst = cost[PLAIN], cost[COARSE]
    assert (worst.conflict_fraction or 0) > (plain.conflict_fraction or 0)
    assert worst.refused > plain.refused
    assert worst.busyness >= plain.busyness


@pytest.mark.slow
def test_more_hosts_per_task_cost_fewer_conflicts_and_a_worse_host(
    points: list[OmegaPoint],
) -> None:
    one, three, ten, by_load = (point(points, 4, 3.0, mode) for mode in HULK)
    assert (one.conflict_fraction or 0) > (three.conflict_fraction or 0)
    assert (three.conflict_fraction or 0) >= (ten.conflict_fraction or 0)
    assert one.rank_mean == 0.0 < three.rank_mean
    assert (by_load.conflict_fraction or 0) < (one.conflict_fraction or 0)


@pytest.mark.slow
def test_a_study_runs_every_combination_once(points: list[OmegaPoint]) -> None:
    assert len(points) == len(set(runs_of(SMALL))) == 2 + 2 * len(MODES)


@pytest.mark.slow
def test_the_same_study_gives_the_same_points() -> None:
    short = replace(SMALL, hours=0.02, schedulers=(4,), decisions_s=(3.0,))
    assert list(omega_points(short)) == list(omega_points(short))


@pytest.mark.slow
def test_the_plots_are_pictures(points: list[OmegaPoint]) -> None:
    pictures = draw_plots(omega_plots(points, 4))
    assert sum(each.startswith(b"\x89PNG") for each in pictures.values()) == 5
    assert sum(name.endswith(".svg") for name in pictures) == 5


def test_the_jobs_hold_the_load_that_was_requested() -> None:
    study = OmegaStudy(hours=5.0)
    held = sum(job.tasks * job.cpu_milli / 1000 * job.lasts_s for job in omega_jobs(study))
    assert held / (5 * 3600) == pytest.approx(study.load * 4000, rel=0.1)


@pytest.mark.parametrize(
    "wrong", [{"hours": 0.0}, {"fill": 0.9, "load": 0.2}, {"decisions_s": ()}, {"tasks": -1.0}]
)
def test_a_study_that_makes_no_sense_is_refused(wrong: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError):
        OmegaStudy(**wrong)


def test_a_cell_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="schedulers"):
        OmegaCell(schedulers=0)
    with pytest.raises(InputError, match="fill"):
        OmegaCell(fill=1.0)

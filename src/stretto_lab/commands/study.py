"""``stretto study``: experiments in virtual time, with tables, JSON and plots."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.cli import options
from stretto.cli.number_lists import counts, seconds
from stretto.cli.options import ABOVE_0, POSITIVE, SHARE, CommandContext
from stretto_lab.commands import capacity_studies, offer_studies
from stretto_lab.commands.results import collect, human_duration, show_records, write_plots

if TYPE_CHECKING:
    from stretto_lab.studies.omega.sweep import OmegaPoint

study = click.Group(
    "study",
    params=options.shared_options(out=False),
    help="Experiments in virtual time: costs and gains of a design.",
)


@dataclass(frozen=True)
class OmegaOptions:
    """Options of ``study omega``."""

    #: Machines.
    machines: int
    #: Numbers of schedulers, separated by commas.
    schedulers: str
    #: Decision times of a job in seconds, separated by commas.
    decisions: str
    #: Decision time per task in seconds.
    task_s: float
    #: Number of schedulers for the comparison of modes.
    modes_at: int
    #: Hours simulated.
    hours: float
    #: Jobs per second.
    jobs_per_s: float
    #: Share of cores that is always in use.
    fill: float
    #: Share of cores that jobs use.
    load: float
    #: Profile that chooses machines.
    policy: str


@options.command(
    "omega",
    OmegaOptions,
    example="""
        stretto study omega --out out --json out/omega.json
        stretto study omega --schedulers 4 --decisions 1 --modes-at 4 --hours 0.5
    """,
    out=True,
)
@click.option("--machines", type=POSITIVE, default=1000, show_default=True, help="Machines.")
@click.option(
    "--schedulers",
    default="1,2,4,8,16,32",
    show_default=True,
    metavar="N,...",
    help="Scheduler counts.",
)
@click.option(
    "--decisions",
    default="0.1,0.3,1,3,10,30",
    show_default=True,
    metavar="S,...",
    help="Decision times per job in seconds.",
)
@click.option(
    "--task-s",
    type=options.FiniteRange(min=0),
    default=0.005,
    show_default=True,
    help="Decision time per task in seconds.",
)
@click.option(
    "--modes-at",
    type=POSITIVE,
    default=8,
    show_default=True,
    help="Number of schedulers for the comparison of modes.",
)
@click.option("--hours", type=ABOVE_0, default=1.0, show_default=True, help="Hours simulated.")
@click.option("--jobs-per-s", type=ABOVE_0, default=0.5, show_default=True, help="Jobs per second.")
@click.option(
    "--fill", type=SHARE, default=0.6, show_default=True, help="Share of cores always in use."
)
@click.option(
    "--load", type=SHARE, default=0.25, show_default=True, help="Share of cores used by jobs."
)
@click.option(
    "--policy", default="random", show_default=True, metavar="NAME", help="Scheduling profile."
)
def omega(common: CommandContext, opts: OmegaOptions) -> None:
    """Reproduce Omega's conflict curves: schedulers with a decision time, on shared state.

    Shows conflicts and busyness by decision time, number of schedulers and mode, with the real
    snapshots, plans and conflict check. docs/appendix/omega.md explains the figures. Ctrl-C reports
    the runs that are done.
    """
    import msgspec

    from stretto.sim.policies import check_policies
    from stretto_lab.studies.omega.sweep import OmegaStudy, omega_plots, omega_points, runs_of

    check_policies([opts.policy])
    wanted = OmegaStudy(
        machines=opts.machines,
        fill=opts.fill,
        load=opts.load,
        jobs_per_s=opts.jobs_per_s,
        hours=opts.hours,
        decisions_s=seconds("--decisions", opts.decisions),
        task_s=opts.task_s,
        schedulers=counts("--schedulers", opts.schedulers),
        modes_at=opts.modes_at,
        policy=opts.policy,
        seed=common.seed,
    )
    _check_plots(common)
    with common.console.progress("omega", sum(1 for _ in runs_of(wanted))) as bar:
        points, interrupted = collect(omega_points(wanted), bar)
    _show_omega(common, points)
    found = {"study": msgspec.to_builtins(wanted), "points": msgspec.to_builtins(points)}
    document = found | _partial(interrupted=interrupted)
    common.result("stretto.study.omega/v1", document, omega_plots(points, opts.modes_at))
    _end(interrupted=interrupted)


@dataclass(frozen=True)
class ShardStudyOptions:
    """Options of ``study shards``."""

    #: Nodes.
    nodes: int
    #: Pods, all pending at the start.
    pods: int
    #: Numbers of shards, separated by commas.
    shards: str
    #: Decision times of a batch in milliseconds, separated by commas.
    decisions_ms: str
    #: Pods per decision.
    batch: int
    #: Binder time per claim in microseconds.
    commit_us: float


@options.command(
    "shards",
    ShardStudyOptions,
    example="""
        stretto study shards --out out --json out/shards.json
        stretto study shards --shards 1,4 --decisions-ms 10 --nodes 200 --pods 2000
    """,
    out=True,
)
@click.option("--nodes", type=POSITIVE, default=1000, show_default=True, help="Nodes of 32 cores.")
@click.option(
    "--pods", type=POSITIVE, default=10_000, show_default=True, help="Pods of 1, 2 or 4 cores."
)
@click.option(
    "--shards", default="1,2,4,8", show_default=True, metavar="N,...", help="Shard counts."
)
@click.option(
    "--decisions-ms",
    default="0,1,3,10,30,100",
    show_default=True,
    metavar="MS,...",
    help="Decision times per batch in milliseconds.",
)
@click.option("--batch", type=POSITIVE, default=50, show_default=True, help="Pods per decision.")
@click.option(
    "--commit-us",
    type=options.FiniteRange(min=0),
    default=6.0,
    show_default=True,
    help="Binder time per claim in microseconds.",
)
def shards(common: CommandContext, opts: ShardStudyOptions) -> None:
    """Measure shards with a decision time: throughput, conflicts and repeated work.

    Runs with and without partitions, spreading and packing, in virtual time with the real
    dispatcher, shards and binder. docs/performance.md explains the figures. Ctrl-C reports the
    runs that are done.
    """
    import msgspec

    from stretto_lab.studies.omega.shards import (
        ShardStudy,
        shard_plots,
        shard_points,
        shard_runs,
    )

    wanted = ShardStudy(
        nodes=opts.nodes,
        pods=opts.pods,
        shards=counts("--shards", opts.shards),
        decisions_s=tuple(ms / 1000 for ms in seconds("--decisions-ms", opts.decisions_ms)),
        batch=opts.batch,
        commit_s=opts.commit_us / 1e6,
        seed=common.seed,
    )
    _check_plots(common)
    with common.console.progress("shards", sum(1 for _ in shard_runs(wanted))) as bar:
        points, interrupted = collect(shard_points(wanted), bar)
    rows = [
        (
            each.policy,
            each.shards,
            "yes" if each.partitions else "no",
            1000 * each.decision_s,
            each.placed,
            each.pods_per_s,
            each.conflicts_pct,
            each.redone_pct,
            each.nodes_used,
        )
        for each in points
    ]
    names = "policy,shards,partitions,decision (ms),placed,pods/s,conflicts %,redone %,nodes used"
    common.console.table(names.split(","), rows)
    found = {"study": msgspec.to_builtins(wanted), "points": msgspec.to_builtins(points)}
    document = found | _partial(interrupted=interrupted)
    common.result("stretto.study.shards/v1", document, shard_plots(points))
    _end(interrupted=interrupted)


@dataclass(frozen=True)
class ForecastOptions:
    """Options of ``study forecast``."""

    #: Philly job list.
    pods: Path
    #: GPUs of the pool.
    gpus: int
    #: Queue policies, separated by commas.
    queue: str
    #: Sources of run times, separated by commas.
    run_times: str
    #: Jobs to forecast.
    samples: int


@options.command(
    "forecast",
    ForecastOptions,
    example="""
        stretto study forecast --pods jobs.csv --gpus 64 --queue fifo,easy --out out
    """,
    out=True,
)
@click.option("--pods", type=options.INPUT_FILE, required=True, help="A Philly job list.")
@click.option("--gpus", type=POSITIVE, default=64, show_default=True, help="Size of the pool.")
@click.option(
    "--queue",
    default="fifo,skip,easy,sjf",
    show_default=True,
    metavar="POLICY,...",
    help="Queue policies to compare.",
)
@click.option(
    "--run-times",
    default="known,typical",
    show_default=True,
    metavar="NAME,...",
    help="Run times of the forecast: known or typical.",
)
@click.option("--samples", type=POSITIVE, default=100, show_default=True, help="Jobs to forecast.")
def forecast(common: CommandContext, opts: ForecastOptions) -> None:
    """Forecast when pending jobs start, and compare with the actual starts.

    A trace runs through a pool of GPUs; forecasts simulate a copy of the plane.
    docs/guides/researcher/forecast.md explains the figures.
    """
    import msgspec

    from stretto.control.queues.policies import policy_named
    from stretto.inputs.traces.philly import load_jobs
    from stretto_lab.studies.forecast import ForecastStudy, forecast_plot, study_forecast

    jobs = load_jobs(opts.pods)
    wanted = [
        ForecastStudy(opts.gpus, queue, times, opts.samples)
        for queue in opts.queue.split(",")
        for times in opts.run_times.split(",")
        if policy_named(queue)
    ]
    _check_plots(common)
    found = []
    for each in wanted:
        with common.console.progress(f"{each.queue}, {each.run_times}", opts.samples) as bar:
            found.append(study_forecast(jobs, each, bar.update))
    reports = [msgspec.structs.asdict(report) for report, _ in found]
    show_records(common, reports)
    points = [msgspec.to_builtins(points) for _, points in found]
    whole = [{**report, "points": each} for report, each in zip(reports, points, strict=True)]
    common.console.json("stretto.study.forecast/v1", {"reports": whole})
    if common.out is not None:
        write_plots(common, forecast_plot(found))


def _show_omega(common: CommandContext, points: "list[OmegaPoint]") -> None:
    rows = [
        (
            each.schedulers,
            human_duration(each.decision_s),
            each.conflicts.value,
            each.commit.value,
            "by load" if each.hosts is None else each.hosts,
            each.conflict_fraction,
            each.busyness,
            each.refused,
            each.rank_mean,
            each.behind_mean,
            "-" if each.wait_mean_s is None else human_duration(each.wait_mean_s),
            "saturated" if each.saturated else "",
        )
        for each in points
    ]
    columns = [
        "schedulers",
        "decision",
        "conflict by",
        "commit",
        "hosts",
        "conflicts per success",
        "busyness",
        "claims refused",
        "mean rank",
        "points behind",
        "mean wait",
        "",
    ]
    common.console.table(columns, rows)


def _check_plots(common: CommandContext) -> None:
    if common.out is not None:
        from stretto.sim.plots.figures import check_plots

        check_plots()


def _partial(*, interrupted: bool) -> dict[str, bool]:
    """The member that marks partial results."""
    return {"partial": True} if interrupted else {}


def _end(*, interrupted: bool) -> None:
    """Exit like after Ctrl-C if the results are partial."""
    if interrupted:
        raise KeyboardInterrupt


study.add_command(omega)
study.add_command(shards)
study.add_command(forecast)
study.add_command(capacity_studies.one_pool)
study.add_command(capacity_studies.pool_use)
study.add_command(capacity_studies.reclaim)
study.add_command(capacity_studies.seasonal)
study.add_command(offer_studies.offers)
study.add_command(offer_studies.five_questions)

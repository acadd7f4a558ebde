"""``stretto study``: experiments in virtual time, each with a table, JSON and plots."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.cli import options, sinks
from stretto.cli.number_lists import counts, seconds
from stretto.cli.options import ABOVE_0, POSITIVE, SHARE, CommandContext

if TYPE_CHECKING:
    from stretto_lab.studies.omega.sweep import OmegaPoint

study = click.Group(
    "study",
    params=options.shared_options(out=False),
    help="Experiments in virtual time: what a design costs and gains.",
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
    #: Seconds of thinking for each task.
    task_s: float
    #: Schedulers with which every mode is run.
    modes_at: int
    #: Hours simulated.
    hours: float
    #: Jobs a second.
    jobs_per_s: float
    #: Part of the cores taken by what never ends.
    fill: float
    #: Part of the cores that jobs hold.
    load: float
    #: How machines are chosen.
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
    "--schedulers", default="1,2,4,8,16,32", show_default=True, metavar="N,...", help="How many."
)
@click.option(
    "--decisions",
    default="0.1,0.3,1,3,10,30",
    show_default=True,
    metavar="S,...",
    help="Seconds of thinking for each job.",
)
@click.option(
    "--task-s",
    type=options.FiniteRange(min=0),
    default=0.005,
    show_default=True,
    help="Seconds of thinking for each task.",
)
@click.option(
    "--modes-at", type=POSITIVE, default=8, show_default=True, help="Schedulers for all modes."
)
@click.option("--hours", type=ABOVE_0, default=1.0, show_default=True, help="Hours simulated.")
@click.option("--jobs-per-s", type=ABOVE_0, default=0.5, show_default=True, help="Jobs a second.")
@click.option("--fill", type=SHARE, default=0.6, show_default=True)
@click.option("--load", type=SHARE, default=0.25, show_default=True)
@click.option("--policy", default="random", show_default=True, metavar="NAME", help="A profile.")
def omega(common: CommandContext, asked: OmegaOptions) -> None:
    """Omega's experiment: schedulers that think for a while, and what their claims run into.

    Conflicts and busyness over the decision time, by the number of schedulers and by mode, on the
    real snapshots, plans and judge. What the figures mean is in docs/appendix/omega.md.
    """
    import msgspec

    from stretto.sim.policies import check_policies
    from stretto_lab.studies.omega.sweep import OmegaStudy, omega_plots, run_study, runs_of

    check_policies([asked.policy])
    wanted = OmegaStudy(
        machines=asked.machines,
        fill=asked.fill,
        load=asked.load,
        jobs_per_s=asked.jobs_per_s,
        hours=asked.hours,
        decisions_s=seconds("--decisions", asked.decisions),
        task_s=asked.task_s,
        schedulers=counts("--schedulers", asked.schedulers),
        modes_at=asked.modes_at,
        policy=asked.policy,
        seed=common.seed,
    )
    _check_plots(common)
    with common.console.progress("omega", sum(1 for _ in runs_of(wanted))) as bar:
        points = run_study(wanted, bar.update)
    _show_omega(common, points)
    found = {"study": msgspec.to_builtins(wanted), "points": msgspec.to_builtins(points)}
    common.console.json("stretto.study.omega/v1", found)
    if common.out is not None:
        _write(common, omega_plots(points, asked.modes_at))


@dataclass(frozen=True)
class ShardStudyOptions:
    """Options of ``study shards``."""

    #: Nodes.
    nodes: int
    #: Pods, all there at the beginning.
    pods: int
    #: Numbers of shards, separated by commas.
    shards: str
    #: Decision times of a batch in milliseconds, separated by commas.
    decisions_ms: str
    #: Pods that a shard decides at once.
    batch: int
    #: Microseconds of the binder for each claim.
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
@click.option("--nodes", type=POSITIVE, default=1000, show_default=True, help="Of 32 cores.")
@click.option("--pods", type=POSITIVE, default=10_000, show_default=True, help="1, 2 or 4 cores.")
@click.option("--shards", default="1,2,4,8", show_default=True, metavar="N,...", help="How many.")
@click.option(
    "--decisions-ms",
    default="0,1,3,10,30,100",
    show_default=True,
    metavar="MS,...",
    help="From the snapshot to the plan.",
)
@click.option("--batch", type=POSITIVE, default=50, show_default=True, help="Pods of one decision.")
@click.option(
    "--commit-us",
    type=options.FiniteRange(min=0),
    default=6.0,
    show_default=True,
    help="The binder's time for a claim.",
)
def shards(common: CommandContext, asked: ShardStudyOptions) -> None:
    """Shards that take time to decide, in one plane: throughput, conflicts and redone work.

    With and without partitions, spreading and packing, in virtual time over the real dispatcher,
    shards and binder. What the figures mean is in docs/appendix/omega.md.
    """
    import msgspec

    from stretto_lab.studies.omega.shards import (
        ShardStudy,
        run_shard_study,
        shard_plots,
        shard_runs,
    )

    wanted = ShardStudy(
        nodes=asked.nodes,
        pods=asked.pods,
        shards=counts("--shards", asked.shards),
        decisions_s=tuple(ms / 1000 for ms in seconds("--decisions-ms", asked.decisions_ms)),
        batch=asked.batch,
        commit_s=asked.commit_us / 1e6,
        seed=common.seed,
    )
    _check_plots(common)
    with common.console.progress("shards", sum(1 for _ in shard_runs(wanted))) as bar:
        points = run_shard_study(wanted, bar.update)
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
    common.console.json("stretto.study.shards/v1", found)
    if common.out is not None:
        _write(common, shard_plots(points))


@dataclass(frozen=True)
class ForecastOptions:
    """Options of ``study forecast``."""

    #: The list of jobs.
    pods: Path
    #: GPUs of the pool.
    gpus: int
    #: Orders of the queue, separated by commas.
    queue: str
    #: Where run times are taken from, separated by commas.
    run_times: str
    #: Jobs that are asked about.
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
@click.option("--queue", default="fifo,skip,easy,sjf", show_default=True, metavar="ORDER,...")
@click.option("--run-times", default="known,typical", show_default=True, metavar="NAME,...")
@click.option("--samples", type=POSITIVE, default=100, show_default=True, help="Jobs asked about.")
def forecast(common: CommandContext, asked: ForecastOptions) -> None:
    """Forecast when waiting jobs start, and hold it against what happens.

    A trace runs through a pool of GPUs; in between the plane's future is simulated on a copy. What
    the figures mean is in docs/guides/researcher/forecast.md.
    """
    import msgspec

    from stretto.control.queues.policies import policy_named
    from stretto.inputs.traces.philly import load_jobs
    from stretto_lab.studies.forecast import ForecastStudy, forecast_plot, study_forecast

    jobs = load_jobs(asked.pods)
    wanted = [
        ForecastStudy(asked.gpus, queue, times, asked.samples)
        for queue in asked.queue.split(",")
        for times in asked.run_times.split(",")
        if policy_named(queue)
    ]
    _check_plots(common)
    found = []
    for each in wanted:
        with common.console.progress(f"{each.queue}, {each.run_times}", asked.samples) as bar:
            found.append(study_forecast(jobs, each, bar.update))
    reports = [msgspec.structs.asdict(report) for report, _ in found]
    names = [name.replace("_", " ") for name in reports[0]]
    common.console.table(names, [tuple(each.values()) for each in reports])
    points = [msgspec.to_builtins(points) for _, points in found]
    whole = [{**report, "points": each} for report, each in zip(reports, points, strict=True)]
    common.console.json("stretto.study.forecast/v1", {"reports": whole})
    if common.out is not None:
        _write(common, {"forecast.png": forecast_plot(found)})


@dataclass(frozen=True)
class OnePoolOptions:
    """Options of ``study one-pool``."""

    #: Machines.
    nodes: int
    #: Hours that count.
    hours: float


@options.command(
    "one-pool",
    OnePoolOptions,
    example="""
        stretto study one-pool --out out --json out/one-pool.json
        stretto study one-pool --nodes 200
    """,
    out=True,
)
@click.option("--nodes", type=click.IntRange(20, 20_000), default=2000, show_default=True)
@click.option("--hours", type=options.FiniteRange(0.1, 48), default=24.0, show_default=True)
def one_pool(common: CommandContext, asked: OnePoolOptions) -> None:
    """A day of services, training and batch in one pool, and in two of together the same size.

    Real arrivals of Azure VMs and Philly jobs under a tide of services, over the real queues,
    preemption and reclaim. What the figures mean is in docs/appendix/one-pool.md.
    """
    import msgspec

    from stretto_lab.studies.one_pool.report import OnePoolStudy, one_pool_plots, run_one_pool

    wanted = OnePoolStudy(asked.nodes, asked.hours, common.seed)
    _check_plots(common)
    with common.console.progress("one pool", 3) as bar:
        found = run_one_pool(wanted, bar.update)
    common.console.table(
        ["pool", "CPU mean %", "CPU peak %", "GPU mean %", "GPU peak %"],
        [
            (e.name, e.mean_cpu_pct, e.peak_cpu_pct, e.mean_gpu_pct, e.peak_gpu_pct)
            for e in found.pools
        ],
    )
    for pool in found.pools:
        lines = [msgspec.structs.asdict(each) for each in pool.queues]
        names = [name.replace("_", " ") for name in lines[0]]
        common.console.table(names, [tuple(each.values()) for each in lines], pool.name)
    common.console.json("stretto.study.one-pool/v1", msgspec.to_builtins(found))
    if common.out is not None:
        _write(common, one_pool_plots(found))


def _show_omega(common: CommandContext, points: "list[OmegaPoint]") -> None:
    rows = [
        (
            each.schedulers,
            each.decision_s,
            each.conflicts.value,
            each.commit.value,
            each.conflict_fraction,
            each.busyness,
            each.refused,
            each.wait_mean_s,
            "saturated" if each.saturated else "",
        )
        for each in points
    ]
    columns = [
        "schedulers",
        "decision (s)",
        "conflict by",
        "commit",
        "conflicts per success",
        "busyness",
        "claims refused",
        "mean wait (s)",
        "",
    ]
    common.console.table(columns, rows)


def _check_plots(common: CommandContext) -> None:
    if common.out is not None:
        from stretto.sim.plots import check_plots

        check_plots()


def _write(common: CommandContext, pictures: dict[str, bytes]) -> None:
    """Plots into the output folder."""
    assert common.out is not None
    for name, picture in pictures.items():
        sinks.write_whole(common.out / name, picture)
        common.console.note(f"written: {common.out / name}")


study.add_command(omega)
study.add_command(shards)
study.add_command(forecast)
study.add_command(one_pool)

"""Studies of capacity: ``one-pool``, ``pool-use``, ``reclaim`` and ``seasonal``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from stretto.cli import options
from stretto.cli.number_lists import counts, seconds
from stretto.cli.options import ABOVE_0, POSITIVE, CommandContext
from stretto_lab.commands.results import collect, show_records, write_plots

USE_OPTION: Final = click.option(
    "--use",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of measured CPU use, one file per machine.  [default: bundled series]",
)
"""The option of studies on measured use."""
COLUMNS = (
    "lender",
    "limit %",
    "loaned %",
    "batch %",
    "node %",
    "core h done",
    "core h won",
    "throttled s per core h",
    "throttled %",
    "evicted per 1,000 core h",
    "lost %",
)
"""Columns of the table, in the order of the fields of a point."""
MEMORY_COLUMNS = (
    "lender",
    "loaned %",
    "batch %",
    "node %",
    "short %",
    "killed % per h",
    "worst %",
)
"""Columns of the table of memory, in the order of the fields of a point."""


@dataclass(frozen=True)
class OnePoolOptions:
    """Options of ``study one-pool``."""

    #: Machines.
    nodes: int
    #: Measured hours, after the warm-up.
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
@click.option(
    "--nodes",
    type=options.WholeRange(20, 20_000),
    default=2000,
    show_default=True,
    help="Machines.",
)
@click.option(
    "--hours", type=options.FiniteRange(0.1, 48), default=24.0, show_default=True, help="Hours."
)
def one_pool(common: CommandContext, opts: OnePoolOptions) -> None:
    """Compare one pool for services, training and batch with two separate pools.

    One day with real arrivals of Azure VMs and Philly jobs, and services with a daily load curve,
    on the real queues, preemption and reclaim. docs/appendix/one-pool.md explains the figures.
    """
    import msgspec

    from stretto.sim.plots.figures import check_plots
    from stretto_lab.studies.one_pool.report import OnePoolStudy, one_pool_plots, run_one_pool

    wanted = OnePoolStudy(opts.nodes, opts.hours, common.seed)
    if common.out is not None:
        check_plots()
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
        show_records(common, [msgspec.structs.asdict(each) for each in pool.queues], pool.name)
    document = msgspec.to_builtins(found)
    common.result("stretto.study.one-pool/v1", document, one_pool_plots(found))


@dataclass(frozen=True)
class PoolUseOptions(OnePoolOptions):
    """Options of ``study pool-use``."""

    #: Folder of measured usage; the bundled series without it.
    use: Path | None


@options.command(
    "pool-use",
    PoolUseOptions,
    example="""
        stretto study pool-use --out out --json out/pool-use.json
        stretto study pool-use --use planetlab/20110303 --nodes 100
    """,
    out=True,
)
@click.option(
    "--nodes",
    type=options.WholeRange(20, 20_000),
    default=40,
    show_default=True,
    help="Machines.",
)
@click.option(
    "--hours", type=options.FiniteRange(0.1, 48), default=24.0, show_default=True, help="Hours."
)
@USE_OPTION
def pool_use(common: CommandContext, opts: PoolUseOptions) -> None:
    """Compare the use of a day of one pool, with overcommit, reclaimed batch and elasticity.

    The work is that of ``study one-pool``; pods repeat the use of measured machines.
    docs/appendix/one-pool.md explains the figures.
    """
    import msgspec

    from stretto.inputs.traces.measured_use import load_measured_use, read_use
    from stretto.sim.plots.figures import check_plots
    from stretto_lab.studies.one_pool.real_use import run_real_use, use_plot
    from stretto_lab.studies.one_pool.report import OnePoolStudy
    from stretto_lab.studies.one_pool.variants import VARIANTS

    wanted = OnePoolStudy(opts.nodes, opts.hours, common.seed)
    use = load_measured_use() if opts.use is None else read_use(opts.use)
    if common.out is not None:
        check_plots()
    with common.console.progress("pool use", len(VARIANTS)) as bar:
        found = run_real_use(wanted, use, bar.update)
    show_records(common, [msgspec.structs.asdict(each) for each in found.points])
    document = msgspec.to_builtins(found)
    common.result("stretto.study.pool-use/v1", document, [use_plot(found)])


@dataclass(frozen=True)
class ReclaimStudyOptions:
    """Options of ``study reclaim``."""

    #: Folder of measured usage; the bundled series without it.
    use: Path | None
    #: Folder of measured memory, to compare the estimators of memory; ``None`` for those of CPU.
    memory: Path | None
    #: Nodes.
    nodes: int
    #: Cores of a node.
    cores: int
    #: Hours after the warm-up.
    hours: float
    #: Percent of the cores that online pods may request.
    requested: int
    #: Maximum usage in percent up to which batch tasks may fill a node, separated by commas.
    limits: str


@options.command(
    "reclaim",
    ReclaimStudyOptions,
    example="""
        stretto study reclaim --out out --json out/reclaim.json
        stretto study reclaim --use planetlab/20110303 --limits 80
        stretto study reclaim --memory rnd/2013-7
    """,
    out=True,
)
@USE_OPTION
@click.option(
    "--memory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of virtual machines of GWA-T-12: compare the estimators of memory, not of CPU.",
)
@click.option("--nodes", type=POSITIVE, default=20, show_default=True, help="Nodes.")
@click.option(
    "--cores",
    type=options.WholeRange(16, 1024),
    default=32,
    show_default=True,
    help="Cores of a node.",
)
@click.option(
    "--hours",
    type=options.FiniteRange(0.1, 720),
    default=48.0,
    show_default=True,
    help="Hours after the warm-up of 24 hours.",
)
@click.option(
    "--requested",
    type=options.WholeRange(1, 100),
    default=90,
    show_default=True,
    help="Percent of the cores that online pods request.",
)
@click.option(
    "--limits",
    default="65,100",
    show_default=True,
    metavar="PERCENT,...",
    help="Use of a node up to which batch may fill it.",
)
def reclaim(common: CommandContext, opts: ReclaimStudyOptions) -> None:
    """Compare the estimators of reclaimed capacity on measured CPU use, or on measured memory.

    Online pods with the sizes of Azure VMs repeat the use of measured machines; batch tasks run on
    the loan of each estimator. With --memory, the virtual machines of a trace fill nodes of 256 GiB
    by their requests. docs/appendix/reclaim.md explains the figures. Ctrl-C reports the runs that
    are done.
    """
    if opts.memory is not None:
        options.refuse_given(("use", "cores", "limits"), "not with --memory")
        _reclaim_memory(common, opts, opts.memory)
    else:
        _reclaim_cpu(common, opts)


def _reclaim_memory(common: CommandContext, opts: ReclaimStudyOptions, folder: Path) -> None:
    """Compare the estimators of memory."""
    import msgspec

    from stretto.inputs.traces.memory_use import read_memory_use
    from stretto.sim.plots.figures import check_plots
    from stretto_lab.studies.reclaim.memory import (
        MemoryStudy,
        MemoryStudyResult,
        memory_plots,
        memory_points,
    )

    study = MemoryStudy(opts.nodes, hours=opts.hours, requested=opts.requested, seed=common.seed)
    if common.out is not None:
        check_plots()
    vms = read_memory_use(folder)
    with common.console.progress("reclaim memory", study.runs) as bar:
        points, interrupted = collect(memory_points(study, vms), bar)
    common.console.table(MEMORY_COLUMNS, [msgspec.structs.astuple(each) for each in points])
    found = MemoryStudyResult(study, len(vms), points, partial=interrupted or msgspec.UNSET)
    common.console.json("stretto.study.reclaim-memory/v1", msgspec.to_builtins(found))
    if common.out is not None:
        write_plots(common, memory_plots(points))
    if interrupted:
        raise KeyboardInterrupt


def _reclaim_cpu(common: CommandContext, opts: ReclaimStudyOptions) -> None:
    """Compare the estimators of CPU."""
    import msgspec

    from stretto.inputs.traces.measured_use import load_measured_use, read_use
    from stretto.sim.plots.figures import check_plots
    from stretto_lab.studies.reclaim.sweep import ReclaimStudy, reclaim_plots, reclaim_points

    limits = counts("--limits", opts.limits)
    study = ReclaimStudy(opts.nodes, opts.cores, opts.hours, opts.requested, limits, common.seed)
    use = load_measured_use() if opts.use is None else read_use(opts.use)
    if common.out is not None:
        check_plots()
    with common.console.progress("reclaim", study.runs) as bar:
        points, interrupted = collect(reclaim_points(study, use), bar)
    common.console.table(COLUMNS, [msgspec.structs.astuple(each) for each in points])
    found: dict[str, object] = {
        "study": msgspec.to_builtins(study),
        "source": use.source,
        "points": msgspec.to_builtins(points),
    }
    common.console.json(
        "stretto.study.reclaim/v1", found | ({"partial": True} if interrupted else {})
    )
    if common.out is not None:
        write_plots(common, reclaim_plots(points))
    if interrupted:
        raise KeyboardInterrupt


@dataclass(frozen=True)
class SeasonalOptions:
    """Options of ``study seasonal``."""

    #: Folder of measured usage; the bundled series without it.
    use: Path | None
    #: Seconds of a season.
    season: float
    #: Seconds from the last value to the forecast one, separated by commas.
    ahead: str
    #: Names of the predictors; empty for the built-in ones.
    predictors: tuple[str, ...]


@options.command(
    "seasonal",
    SeasonalOptions,
    example="""
        stretto study seasonal --out out --json out/seasonal.json
        stretto study seasonal --season 604800 --ahead 3600 --predictor seasonal
    """,
    out=True,
)
@USE_OPTION
@click.option(
    "--season", type=ABOVE_0, default=86_400.0, show_default=True, help="Seconds of a season."
)
@click.option(
    "--ahead",
    default="300,3600,21600",
    show_default=True,
    metavar="S,...",
    help="Seconds from the last value to the forecast one.",
)
@click.option(
    "--predictor",
    "predictors",
    multiple=True,
    metavar="NAME",
    help="Measure this predictor; may be repeated.  [default: all built-in ones]",
)
def seasonal(common: CommandContext, opts: SeasonalOptions) -> None:
    """Measure how far the predictors of demand miss measured series.

    docs/guides/scaling.md explains the predictors and the figures.
    """
    import msgspec

    from stretto.inputs.traces.measured_use import load_measured_use, read_use
    from stretto.sim.plots.figures import check_plots
    from stretto_lab.studies.seasonal import (
        SeasonalResult,
        SeasonalStudy,
        seasonal_plot,
        seasonal_points,
    )

    study = SeasonalStudy(opts.season, seconds("--ahead", opts.ahead), opts.predictors)
    use = load_measured_use() if opts.use is None else read_use(opts.use)
    if common.out is not None:
        check_plots()
    found = SeasonalResult(study, use.source, tuple(seasonal_points(study, use)))
    rows: list[dict[str, object]] = [
        {"series": each.series, "ahead_s": each.ahead_s, "mean": each.mean}
        | {f"{name} %": value for name, value in each.errors_pct.items()}
        for each in found.points
    ]
    show_records(common, rows)
    document = msgspec.to_builtins(found)
    common.result("stretto.study.seasonal/v1", document, [seasonal_plot(found)])

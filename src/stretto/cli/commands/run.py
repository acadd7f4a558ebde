"""``stretto run``: a scenario on the production plane, in real time."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto.base.errors import DoesNotFitError, InputError
from stretto.cli import options, sinks
from stretto.cli.console import Console
from stretto.cli.interrupts import DeferredInterrupt
from stretto.cli.kernels.tier import tier_of
from stretto.cli.options import CommandContext
from stretto.cli.parts import plugins
from stretto.cli.parts.runs.monitor import Monitor
from stretto.cli.parts.runs.prepared import (
    SCENARIO,
    FinishedRun,
    RunOptions,
    live_run,
    loaded_scenario,
    prepared_run,
    ran_as_fleet,
)

if TYPE_CHECKING:
    from stretto.sim.counters import StepCounters
    from stretto.sim.real_time import LiveRun, RunSample


DEFAULT_OUT: Final = "the default output folder (see --out)"


@options.command(
    "run",
    RunOptions,
    example="""
        stretto run quickstart
        stretto run examples/openb.yaml
        stretto run examples/quickstart.yaml --store sqlite:run.db --shards 2 --require-all
        stretto run examples/quickstart.yaml --metrics-port 9100 --metrics-file run.prom
    """,
    out=True,
)
@SCENARIO
@click.option(
    "--store", default="memory", metavar="memory|sqlite:PATH", help="Store of the objects [memory]."
)
@click.option(
    "--shards",
    type=options.WholeRange(1, 64),
    metavar="N",
    help="Number of shards [the scenario's].",
)
@click.option(
    "--policy",
    default="",
    metavar="NAME",
    shell_complete=options.completes("profiles"),
    help="Scoring policy (see `stretto policies`) [the scenario's].",
)
@click.option(
    "--profile",
    default="",
    metavar="NAME|FILE",
    shell_complete=options.completes("profiles"),
    help="Scheduling profile [the scenario's].",
)
@click.option(
    "--speed",
    type=options.FiniteRange(0, 1e9),
    metavar="X",
    help="Scenario seconds per second; 0 is as fast as possible.",
)
@click.option("--require-all", is_flag=True, help="Exit with 3 if pods stay pending.")
@click.option("--plots/--no-plots", default=True, help="Draw plots as PNG and SVG [yes].")
@options.TIER
@options.PLUGIN
@click.option(
    "--events/--no-events",
    default=None,
    help="Write events and conditions of pending pods [only to durable stores].",
)
@click.option(
    "--metrics-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Write metrics in the Prometheus text format at the end.",
)
@click.option(
    "--metrics-port",
    type=options.WholeRange(1, 65535),
    metavar="N",
    help="Serve /metrics on 127.0.0.1 during the run.",
)
def run(common: CommandContext, opts: RunOptions) -> None:
    """Run a scenario through the scheduler in real time and report.

    SCENARIO is a YAML file that defines nodes and workloads (docs/reference/scenario.md), or the
    name of a bundled example (see `stretto examples`). With a SQLite store, an interrupted run
    resumes when it is started again. Ctrl-C ends the run with a partial report.
    """
    from stretto.cli.views.run_report import announce_run, report_run, short_name
    from stretto.sim.counters import StepCounters

    if ran_as_fleet(common, opts):
        return
    scenario = loaded_scenario(common, opts)
    out = _out_folder(common, opts, scenario.name)
    opts = replace(opts, tier=tier_of(opts.tier, common.console.note))
    with prepared_run(scenario, opts) as ready:
        plane, resumed = ready.site.plane, ready.feeder.resumed
        plugins.warn_unused(common.console, opts.plugin, plane.config.profile)
        monitor = Monitor(plane, opts.metrics_file, opts.metrics_port)
        announce_run(common.console, ready)
        for line in ready.notes:
            common.console.note(line)
        live, timeline = live_run(ready)
        counters = StepCounters(plane)
        with monitor:
            ended = _drive(common.console, live, (counters, monitor), ready.pods)
        plugins.report_health(common.console, plane.config.profile)
        job = FinishedRun(
            scenario,
            ready.rules,
            ready.site,
            live,
            counters,
            timeline,
            ready.controllers.switches if ready.controllers is not None else (),
            ready.controllers.moves if ready.controllers is not None else (),
            resumed,
            ended is not None,
        )
        report = report_run(common.console, job, out)
    if ended is not None:
        raise ended
    if opts.require_all and report.pending:
        first = report.waiting[0]
        why = first.sentence.rstrip(".")
        hint = f"for details: stretto explain {short_name(first.example)}"
        raise DoesNotFitError(f"{report.pending:,} of {report.pods:,} pods", why, hint)


def _out_folder(common: CommandContext, opts: RunOptions, name: str) -> Path | None:
    """Return the folder for plots, checked before any work; ``None`` for no plots."""
    if not opts.plots:
        return None
    if common.out is not None:
        return common.out
    folder = Path("out") / name
    try:
        sinks.check_folder(DEFAULT_OUT, folder if folder.parent.exists() else folder.parent)
    except InputError as error:
        common.console.warn(f"no plots: {error}")
        return None
    return folder


def _drive(
    console: Console, live: "LiveRun", watchers: "tuple[StepCounters, Monitor]", pods: int
) -> KeyboardInterrupt | None:
    """Run to the end or until interrupted; return the error of an interruption."""
    counters, monitor = watchers
    with DeferredInterrupt() as interrupt, console.progress("placing", pods) as progress:

        def on_sample(sample: "RunSample") -> None:
            monitor.tick(sample.seconds)
            rate = counters.placed / sample.seconds if sample.seconds > 0 else 0
            waiting = f"pending {sample.pending:,} · {rate:,.0f}/s"
            done = sample.placed + sample.ended
            progress.update(done, f"placed {sample.placed:,} · {waiting}", pods)

        try:
            live.run(on_sample, interrupt.check)
        except KeyboardInterrupt as ended:
            live.pause()
            return ended
    return None

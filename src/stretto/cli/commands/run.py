"""``stretto run``: a scenario through the real plane, in real time."""

import shutil
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stretto.base.errors import DoesNotFitError, StrettoError
from stretto.cli import options, sinks
from stretto.cli.commands import plugins
from stretto.cli.commands.monitor import Monitor
from stretto.cli.console import Console
from stretto.cli.interrupts import DeferredInterrupt
from stretto.cli.kernels.tier import tier_of
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.inputs.scenario.schema import Scenario
    from stretto.sim.counters import StepCounters
    from stretto.sim.real_time import LiveRun, RunSample
    from stretto.sim.report import RunReport
    from stretto.sim.setup import LiveSite, SchedulingRules


@dataclass(frozen=True)
class RunOptions:
    """Options of ``run``."""

    #: The scenario's file.
    scenario: Path
    #: ``memory`` or ``sqlite:PATH``.
    store: str
    #: Scheduler shards; ``None`` takes the scenario's.
    shards: int | None
    #: Policy instead of the scenario's; empty keeps it.
    policy: str
    #: Profile instead of the scenario's; empty keeps it.
    profile: str
    #: Seconds of the scenario per second; ``None`` takes the scenario's.
    speed: float | None
    #: Whether pods that are left without a node are an error.
    require_all: bool
    #: Whether plots are drawn.
    plots: bool
    #: Kernels: ``auto``, ``numba`` or ``numpy``.
    tier: str
    #: Files with rules of their own.
    plugin: tuple[Path, ...]
    #: Whether what waits is told in the store; ``None`` where the store outlives the run.
    events: bool | None
    #: A file for metrics; ``None`` for none.
    metrics_file: Path | None
    #: A port of this machine for metrics; ``None`` for none.
    metrics_port: int | None


@options.command(
    "run",
    RunOptions,
    example="""
        stretto run examples/openb.yaml
        stretto run examples/quickstart.yaml --store sqlite:run.db --shards 2 --require-all
        stretto run examples/quickstart.yaml --metrics-port 9100 --metrics-file run.prom
    """,
    out=True,
)
@click.argument("scenario", type=options.INPUT_FILE)
@click.option("--store", default="memory", metavar="memory|sqlite:PATH", help="Where objects live.")
@click.option("--shards", type=click.IntRange(1, 64), metavar="N", help="Scheduler shards.")
@click.option("--policy", default="", metavar="NAME", help="Scoring policy, such as fgd.")
@click.option("--profile", default="", metavar="NAME|FILE", help="Scheduling profile.")
@click.option(
    "--speed",
    type=options.FiniteRange(0, 1e9),
    metavar="X",
    help="Seconds of the scenario per second; 0 is as fast as it goes.",
)
@click.option("--require-all", is_flag=True, help="Exit 3 when pods are left without a node.")
@click.option("--plots/--no-plots", default=True, help="Draw plots as PNG [yes].")
@options.TIER
@options.PLUGIN
@click.option(
    "--events/--no-events",
    default=None,
    help="Write events and conditions for pods that wait [where the store is durable].",
)
@click.option(
    "--metrics-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Write metrics in Prometheus' text form at the end.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="Serve /metrics on 127.0.0.1 while it runs.",
)
def run(common: CommandContext, asked: RunOptions) -> None:
    """Run the scheduler over a scenario in real time and report.

    SCENARIO is a YAML file that names machines and work (docs/reference/scenario.md). With a SQLite
    store an interrupted run goes on when it is started again. Ctrl-C ends it with a partial report.
    """
    from stretto.base.clock import WallClock
    from stretto.base.rng import Rng
    from stretto.inputs.scenario.feed import materialise
    from stretto.inputs.scenario.read import check_scenario, load_scenario
    from stretto.sim.counters import StepCounters
    from stretto.sim.feeder import Feeder
    from stretto.sim.real_time import LiveRun
    from stretto.sim.setup import (
        SchedulingRules,
        build_site,
        open_store,
        overridden,
        profile_source,
    )

    scenario = overridden(
        load_scenario(asked.scenario),
        seed=common.seed if common.seed_given else None,
        shards=asked.shards,
        speed=asked.speed,
    )
    check_scenario(scenario)
    source = profile_source(scenario, asked.policy, asked.profile, asked.plugin)
    out = _out_folder(common.out, scenario.name)
    tier = tier_of(asked.tier, common.console.note)
    rng, clock = Rng(scenario.seed), WallClock()
    feed = materialise(scenario, rng)
    with closing(open_store(asked.store, clock, rng.child("store"))) as store:
        feeder = Feeder(feed, store, scenario.name)
        events = asked.store != "memory" if asked.events is None else asked.events
        rules = SchedulingRules(source, tier, events, asked.plugin)
        site = build_site(scenario, feed, rules, store, clock)
        plugins.warn_unused(common.console, asked.plugin, site.plane.config.profile)
        monitor = Monitor(site.plane, asked.metrics_file, asked.metrics_port)
        _announce(common.console, scenario, site, feeder.resumed)
        meter = StepCounters(site.plane)
        live = LiveRun(site.plane, feeder, clock, scenario.speed)
        with monitor:
            ended = _drive(common.console, live, (meter, monitor), feed.pods)
        plugins.tell(common.console, site.plane.config.profile)
        job = _FinishedRun(scenario, rules, site, live, meter, feeder.resumed, ended is not None)
        report = _finish(common.console, job, out, plots=asked.plots)
    if ended is not None:
        raise ended
    if asked.require_all and report.pending:
        first = report.waiting[0]
        why = first.sentence.rstrip(".")
        hint = f"ask why: stretto explain {_short(first.example)}"
        raise DoesNotFitError(f"{report.pending:,} of {report.pods:,} pods", why, hint)


@dataclass(frozen=True)
class _FinishedRun:
    """A run that has ended, with all that its report is made from."""

    #: What was run.
    scenario: "Scenario"
    #: What its profile was made from.
    rules: "SchedulingRules"
    #: Store and plane.
    site: "LiveSite"
    #: What happened.
    live: "LiveRun"
    #: What was counted.
    meter: "StepCounters"
    #: Whether it went on with an interrupted run.
    resumed: bool
    #: Whether it was ended before it was over.
    partial: bool


def _out_folder(given: Path | None, name: str) -> Path:
    """The folder for plots, made and checked before any work."""
    if given is not None:
        return given
    folder = Path("out") / name
    if not folder.parent.exists():
        sinks.check_folder("the default output folder (see --out)", folder.parent)
    sinks.check_folder("the default output folder (see --out)", folder)
    return folder


def _announce(console: Console, scenario: "Scenario", site: "LiveSite", resumed: bool) -> None:
    profile = site.plane.config.profile
    how = f"{len(site.plane.shards)} shards, profile {profile.name}, seed {scenario.seed}"
    console.note(f"{'going on with' if resumed else 'running'} {scenario.name}: {how}")
    for note in profile.notes:
        console.detail(f"profile: {note}")


def _drive(
    console: Console, live: "LiveRun", watchers: "tuple[StepCounters, Monitor]", pods: int
) -> KeyboardInterrupt | None:
    """Run to the end, or until somebody ends it; then the error to end with is returned."""
    meter, monitor = watchers
    with DeferredInterrupt() as held, console.progress("placing", pods) as progress:

        def told(sample: "RunSample") -> None:
            monitor.tick(sample.seconds)
            rate = meter.placed / sample.seconds if sample.seconds > 0 else 0
            waiting = f"pending {sample.pending:,} · {rate:,.0f}/s"
            done = sample.placed + sample.ended
            progress.update(done, f"placed {sample.placed:,} · {waiting}", pods)

        try:
            live.run(told, held.check)
        except KeyboardInterrupt as ended:
            live.pause()
            return ended
    return None


def _finish(console: Console, job: _FinishedRun, out: Path, *, plots: bool) -> "RunReport":
    """Report, record, plots, and what to try next."""
    import msgspec

    from stretto.sim.report import SCHEMA, summarise

    sample = job.live.sample()
    report = summarise(job.site.plane, job.meter, partial=job.partial)
    more = {
        "scenario": job.scenario.name,
        "profile": job.site.plane.config.profile.name,
        "seed": job.scenario.seed,
        "shards": job.scenario.shards,
        "resumed": job.resumed,
        "arrived": sample.arrived,
        "ended": sample.ended,
    }
    told: dict[str, Any] = {**more, **msgspec.to_builtins(report)}
    record = _record(console, job, told)  # first: whoever reads the tables may go away early
    _show(console, report, job, sample)
    drawn = _draw(console, report, out) if plots else []
    if drawn:
        console.data(f"plots in {out}: {', '.join(drawn)}")
    _try_next(console, job, report if record else None)
    console.json(SCHEMA, {**told, "record": record, "out": str(out), "plots": drawn})
    return report


# ---------------------------------------------------------------- what is shown


def _show(console: Console, report: "RunReport", job: _FinishedRun, sample: "RunSample") -> None:
    """The figures as tables."""
    from stretto.sim.report import tables

    head = "interrupted, so far" if report.partial else "done"
    ended = f"{sample.ended:,} ended, " if sample.ended else ""
    console.data(
        f"{job.scenario.name}: {head}: {sample.arrived:,} pods came: {report.placed:,} are on "
        f"{report.nodes:,} nodes, {ended}{report.pending:,} pending"
    )
    for table in tables(report):
        console.table(table.columns, table.rows, table.title)
    if report.waiting:
        console.data(f"\n{report.waiting[0].example}: {report.waiting[0].sentence}")
    console.data()


def _try_next(console: Console, job: _FinishedRun, report: "RunReport | None") -> None:
    """Commands that answer the next question, with names of this run."""
    if report is None:
        return
    pods, typed = job.site.plane.cluster.pods, _as_typed()
    rules = "".join(f" --plugin {path}" for path in job.rules.plugins)
    console.note("try next:")
    if report.waiting:
        pod = _short(report.waiting[0].example)
        console.note(f"  {typed} explain {pod}{rules}    # why it is pending")
    placed = [row for row in pods.rows().tolist() if pods.slot[row] >= 0]
    if placed:
        pod = _short(pods.key(placed[len(placed) // 2]))
        console.note(f"  {typed} explain {pod}{rules}    # why it is where it is")
    console.note(f"  {typed} explain --runs    # the records of earlier runs")


def _as_typed() -> str:
    """This program as its user types it: by its path where the shell would not find it."""
    started = sys.argv[0]
    found = shutil.which("stretto") or Path(started).name != "stretto"
    return "stretto" if found else started


def _short(pod: str) -> str:
    """A pod as it may be typed: without the default namespace."""
    return pod.removeprefix("default/")


# ---------------------------------------------------------------- what is written


def _record(console: Console, job: _FinishedRun, told: dict[str, Any]) -> str:
    """Write the record of the run; where it cannot be written, say so and go on."""
    from stretto.base.clock import timestamp
    from stretto.explain.records.record_file import RecordSources, RunFacts, write_record
    from stretto.explain.records.records import RunRecords

    live, plane = job.live, job.site.plane
    started = timestamp(plane.clock.now() - live.seconds)
    records = RunRecords()
    try:
        path = records.new(job.scenario.name, started)
        facts = RunFacts(
            name=path.stem,
            source=job.scenario.source,
            started=started,
            seconds=live.seconds,
            seed=job.scenario.seed,
            shards=job.scenario.shards,
            profile=job.rules.source,
            plugins=tuple(str(path.resolve()) for path in job.rules.plugins),
            scheduler_names=tuple(sorted(plane.cluster.config.scheduler_names)),
            interrupted=job.partial,
            steps_dropped=live.recorder.dropped,
            queues=tuple(plane.dispatcher.views.queues()),
            summary=told,
        )
        parts = RecordSources(
            job.site.store, plane.cluster, plane.units, live.recorder, live.start, live.failures,
            plane.dispatcher.views,
        )  # fmt: skip
        write_record(path, facts, parts)
        records.prune()
    except (OSError, StrettoError) as error:
        console.warn(f"this run is not recorded, so explain will not know it: {error}")
        return ""
    console.detail(f"record {path}")
    return facts.name


def _draw(console: Console, report: "RunReport", out: Path) -> list[str]:
    """Draw the plots; without the plotting library, warn and name the extra."""
    from stretto.base.errors import MissingExtraError
    from stretto.sim.plots import check_plots
    from stretto.sim.report import plots

    try:
        check_plots()
    except MissingExtraError as error:
        console.warn(
            f"Plots skipped: matplotlib is not installed (pip install 'stretto[{error.extra}]')."
        )
        return []
    drawn = plots(report)
    for name, content in drawn.items():
        sinks.write_whole(out / name, content)
    return list(drawn)

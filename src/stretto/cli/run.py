"""``stretto run``: a scenario through the real plane, in real time."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stretto.base.errors import DoesNotFitError, StrettoError
from stretto.cli import options, sinks
from stretto.cli.console import Console
from stretto.cli.options import Common

if TYPE_CHECKING:
    from stretto.inputs.scenario_schema import Scenario
    from stretto.sim.live import LiveRun, Sample
    from stretto.sim.live_report import RunReport
    from stretto.sim.live_setup import ProfileSource, Site

#: Reasons for waiting that are listed without ``-v``.
SHOWN = 5


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


@options.command(
    "run",
    RunOptions,
    example="""
        stretto run examples/openb.yaml
        stretto run examples/quickstart.yaml --store sqlite:run.db --shards 2 --require-all
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
    type=click.FloatRange(0, 1e9),
    metavar="X",
    help="Seconds of the scenario per second; 0 is as fast as it goes.",
)
@click.option("--require-all", is_flag=True, help="Exit 3 when pods are left without a node.")
@click.option("--plots/--no-plots", default=True, help="Draw plots as PNG [yes].")
def run(common: Common, asked: RunOptions) -> None:
    """Run the scheduler over a scenario in real time and report.

    SCENARIO is a YAML file that names machines and work (docs/scenario.md). With a SQLite store an
    interrupted run goes on when it is started again. Ctrl-C ends it with a partial report.
    """
    from stretto.base.clock import WallClock
    from stretto.base.rng import Rng
    from stretto.inputs.feed import materialise
    from stretto.inputs.scenario import check_scenario, load_scenario
    from stretto.sim.feeder import Feeder
    from stretto.sim.live import LiveRun
    from stretto.sim.live_setup import build_site, open_store, overridden, profile_source

    scenario = overridden(
        load_scenario(asked.scenario),
        seed=common.seed if common.seed_given else None,
        shards=asked.shards,
        speed=asked.speed,
    )
    check_scenario(scenario)
    source = profile_source(scenario, asked.policy, asked.profile)
    out = _out_folder(common.out, scenario.name)
    rng, clock = Rng(scenario.seed), WallClock()
    feed = materialise(scenario, rng)
    with closing(open_store(asked.store, clock, rng.child("store"))) as store:
        feeder = Feeder(feed, store, scenario.name)
        site = build_site(scenario, feed, source, store, clock)
        _announce(common.console, scenario, site, feeder.resumed)
        live = LiveRun(site.plane, feeder, clock, scenario.speed)
        ended = _drive(common.console, live, feed.pods)
        job = _Job(scenario, source, site, live, feeder.resumed, ended is not None)
        report = _finish(common.console, job, out, plots=asked.plots)
    if ended is not None:
        raise ended
    if asked.require_all and report.pending:
        first = report.reasons[0]
        hint = f"ask why: stretto explain {_short(first.example)}"
        raise DoesNotFitError(f"{report.pending:,} of {report.pods:,} pods", first.sentence, hint)


@dataclass(frozen=True)
class _Job:
    """A run that has ended, with all that its report is made from."""

    #: What was run.
    scenario: "Scenario"
    #: What its profile was made from.
    source: "ProfileSource"
    #: Store and plane.
    site: "Site"
    #: What happened.
    live: "LiveRun"
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


def _announce(console: Console, scenario: "Scenario", site: "Site", resumed: bool) -> None:
    profile = site.plane.config.profile
    how = f"{len(site.plane.shards)} shards, profile {profile.name}, seed {scenario.seed}"
    console.note(f"{'going on with' if resumed else 'running'} {scenario.name}: {how}")
    for note in profile.notes:
        console.detail(f"profile: {note}")


def _drive(console: Console, live: "LiveRun", pods: int) -> KeyboardInterrupt | None:
    """Run to the end, or until somebody ends it; then the error to end with is returned."""
    with console.progress("placing", pods) as progress:

        def told(sample: "Sample") -> None:
            rate = live.bound / sample.seconds if sample.seconds > 0 else 0
            waiting = f"pending {sample.pending:,} · {rate:,.0f}/s"
            done = sample.placed + sample.ended
            progress.update(done, f"placed {sample.placed:,} · {waiting}", pods)

        try:
            live.run(told)
        except KeyboardInterrupt as ended:
            live.pause()
            return ended
    return None


def _finish(console: Console, job: _Job, out: Path, *, plots: bool) -> "RunReport":
    """Report, record, plots, and what to try next."""
    import msgspec

    from stretto.explain.scene import live_scene
    from stretto.sim.live_report import SCHEMA, Outline, report_of

    plane = job.site.plane
    scene = live_scene(plane.cluster, plane.config.profile, plane.units)
    outline = Outline(job.scenario.name, job.scenario.seed, job.resumed)
    report = report_of(job.live, plane, outline, scene, job.partial)
    _show(console, report)
    record = _record(console, job, report)
    drawn = _draw(console, job, report, out) if plots else []
    if drawn:
        console.data(f"plots in {out}: {', '.join(drawn)}")
    _try_next(console, report, record)
    told: dict[str, Any] = msgspec.to_builtins(report)
    console.json(SCHEMA, {**told, "record": record, "out": str(out), "plots": drawn})
    return report


# ---------------------------------------------------------------- what is shown


def _show(console: Console, report: "RunReport") -> None:
    """The figures as tables."""
    from stretto.sim.live_report import rows_of_models

    head = "interrupted, so far" if report.partial else "done"
    ended = f"{report.ended:,} ended, " if report.ended else ""
    console.data(
        f"{report.scenario}: {head}: {report.pods:,} pods came: {report.placed:,} are on "
        f"{report.nodes:,} nodes, {ended}{report.pending:,} pending"
    )
    if report.reasons:
        shown = report.reasons if console.verbose else report.reasons[:SHOWN]
        rows = [(each.pods, each.tier, each.example, each.sentence) for each in shown]
        console.table(["pending", "tier", "such as", "why"], rows)
    if report.gpu_models:
        columns = ["GPU model", "nodes", "GPUs", "allocated %", "fragmented %"]
        console.table(columns, rows_of_models(report.gpu_models))
    waits = report.wait_ms
    wait = f"{waits.p50:,.1f} / {waits.p90:,.1f} / {waits.p99:,.1f} ms" if waits else "-"
    rows_of_run: list[tuple[str, str]] = [
        ("CPU and memory allocated", f"{report.cpu_pct:.1f} % and {report.memory_pct:.1f} %"),
        ("placing took", f"{report.seconds:.2f} s, {report.pods_per_s:,.0f} pods/s"),
        ("wait from first sight to bind (p50 / p90 / p99)", wait),
        ("conflicts between shards", f"{report.conflicts:,}"),
    ]
    console.table(["run", ""], rows_of_run)
    console.data()


def _try_next(console: Console, report: "RunReport", record: str) -> None:
    """Commands that answer the next question, with names of this run."""
    if not record:
        return
    console.note("try next:")
    if report.reasons:
        pod = _short(report.reasons[0].example)
        console.note(f"  stretto explain {pod}    # why it is pending")
    if report.placed_example:
        pod = _short(report.placed_example)
        console.note(f"  stretto explain {pod}    # why it is where it is")
    console.note("  stretto explain --runs    # the records of earlier runs")


def _short(pod: str) -> str:
    """A pod as it may be typed: without the default namespace."""
    return pod.removeprefix("default/")


# ---------------------------------------------------------------- what is written


def _record(console: Console, job: _Job, report: "RunReport") -> str:
    """Write the record of the run; where it cannot be written, say so and go on."""
    import msgspec

    from stretto.base.clock import timestamp
    from stretto.explain.record_file import Parts, RunFacts, write_record
    from stretto.explain.records import Records

    live, plane = job.live, job.site.plane
    started = timestamp(plane.clock.now() - live.seconds)
    records = Records()
    try:
        path = records.new(job.scenario.name, started)
        facts = RunFacts(
            name=path.stem,
            source=job.scenario.source,
            started=started,
            seconds=live.seconds,
            seed=job.scenario.seed,
            shards=report.shards,
            profile=job.source,
            scheduler_names=tuple(sorted(plane.cluster.config.scheduler_names)),
            interrupted=job.partial,
            steps_dropped=live.recorder.dropped,
            summary=msgspec.to_builtins(report),
        )
        parts = Parts(
            job.site.store, plane.cluster, plane.units, live.recorder, live.start, live.failures
        )
        write_record(path, facts, parts)
        records.prune()
    except (OSError, StrettoError) as error:
        console.warn(f"this run is not recorded, so explain will not know it: {error}")
        return ""
    console.detail(f"record {path}")
    return facts.name


def _draw(console: Console, job: _Job, report: "RunReport", out: Path) -> list[str]:
    """Draw the plots; without the plotting library say how to get it."""
    from stretto.base.errors import NotAllowedError
    from stretto.sim.live_plots import plots_of
    from stretto.sim.plots import check_plots

    try:
        check_plots()
    except NotAllowedError as error:
        console.warn(str(error))
        return []
    drawn = []
    for name, content in plots_of(report, job.live.samples, job.live.waits_s()):
        sinks.write_whole(out / name, content)
        drawn.append(name)
    return drawn

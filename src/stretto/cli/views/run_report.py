"""The results of ``stretto run``: report, run record, plots and suggestions."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stretto.base.errors import StrettoError
from stretto.cli import sinks
from stretto.cli.console import Console
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.cli.parts.runs.prepared import FinishedRun, ScenarioRun
    from stretto.sim.real_time import RunSample
    from stretto.sim.report import RunReport

NO_PLOTS: Final = "Plots skipped: matplotlib is not installed (pip install 'stretto[reports]')."
"""Warning without matplotlib."""


def announce_run(console: Console, ready: "ScenarioRun") -> None:
    """Write a note with the settings of a run."""
    site, scenario = ready.site, ready.scenario
    profile = site.plane.config.profile
    shards = format_count(len(site.plane.shards), "shard")
    settings = f"{shards}, profile {profile.name}, seed {scenario.seed}"
    console.note(f"{'resuming' if ready.feeder.resumed else 'running'} {scenario.name}: {settings}")
    for note in profile.notes:
        console.detail(f"profile: {note}")


def report_run(console: Console, job: "FinishedRun", out: Path | None) -> "RunReport":
    """Write the record and the plots of a run, then its report and suggestions."""
    import msgspec

    from stretto.sim.report import SCHEMA, placements_of, summarise

    sample = job.live.sample()
    report = summarise(job.site.plane, job.counters, partial=job.partial)
    more = {
        "scenario": job.scenario.name,
        "profile": job.site.plane.config.profile.name,
        "seed": job.scenario.seed,
        "shards": job.scenario.shards,
        "resumed": job.resumed,
        "arrived": sample.arrived,
        "ended": sample.ended,
        "refused": len(job.live.refused),
        "switches": msgspec.to_builtins(list(job.switches)),
        "moves": msgspec.to_builtins(list(job.moves)),
    }
    fields: dict[str, Any] = {**more, **msgspec.to_builtins(report)}
    record = _record(console, job, fields)  # First, because stdout may be closed early.
    drawn = _draw(console, report, job, out) if out is not None else []
    _show(console, report, job, sample)
    if out is not None and drawn:
        console.data(f"written: {', '.join(str(out / name) for name in drawn)}")
    _try_next(console, job, report if record else None)
    if console.writes_json:
        fields["placements"] = msgspec.to_builtins(placements_of(job.site.plane.cluster))
    console.json(SCHEMA, {**fields, "record": record, "out": str(out or ""), "plots": drawn})
    return report


# ---------------------------------------------------------------- output


def _show(console: Console, report: "RunReport", job: "FinishedRun", sample: "RunSample") -> None:
    """Write the figures as tables."""
    from stretto.sim.report import move_table, switch_table, tables

    head = "interrupted, so far" if report.partial else "done"
    ended = f"{sample.ended:,} finished, " if sample.ended else ""
    arrived, nodes = format_count(sample.arrived, "pod"), format_count(report.nodes, "node")
    console.data(
        f"{job.scenario.name}: {head}: {arrived} arrived, {report.placed:,} on {nodes}, "
        f"{ended}{report.pending:,} pending"
    )
    refused = job.live.refused
    if refused:
        first = next(iter(refused.values()))
        console.data(f"{format_count(len(refused), 'pod')} refused, for example: {first}")
    more = [switch_table(job.switches)] if job.switches else []
    more += [move_table(job.moves)] if job.moves else []
    for table in (*tables(report), *more):
        console.table(table.columns, table.rows, table.title)
    if report.waiting:
        console.data(f"\n{report.waiting[0].example}: {report.waiting[0].sentence}")
    console.data()


def _try_next(console: Console, job: "FinishedRun", report: "RunReport | None") -> None:
    """Suggest commands with names from this run."""
    if report is None:
        return
    pods, typed = job.site.plane.cluster.pods, _program()
    rules = "".join(f" --plugin {path}" for path in job.rules.plugins)
    console.note("try next:")
    if report.waiting:
        pod = short_name(report.waiting[0].example)
        console.note(f"  {typed} explain {pod}{rules}    # why it is pending")
    placed = [row for row in pods.rows().tolist() if pods.slot[row] >= 0]
    if placed:
        pod = short_name(pods.key(placed[len(placed) // 2]))
        console.note(f"  {typed} explain {pod}{rules}    # why it is on its node")
    if report.pending > 1:
        console.note(f"  {typed} explain --pending{rules}    # all pending pods, by cause")
    if job.scenario.queues:
        console.note(f"  {typed} queues    # the queue tree")
    console.note(f"  {typed} get runs    # list run records")


def _program() -> str:
    """Return the program as typed: with its path if the shell would not find it."""
    started = sys.argv[0]
    found = shutil.which("stretto") or Path(started).name != "stretto"
    return "stretto" if found else started


def short_name(pod: str) -> str:
    """Return the name of a pod without the default namespace."""
    return pod.removeprefix("default/")


# ---------------------------------------------------------------- files


def _record(console: Console, job: "FinishedRun", fields: dict[str, Any]) -> str:
    """Write the run record; a failure is a warning."""
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
            ended_at=live.elapsed,
            summary=fields,
        )
        parts = RecordSources(
            job.site.store, plane.cluster, plane.units, live.recorder, live.seconds_at,
            live.failures, plane.dispatcher.views,
        )  # fmt: skip
        write_record(path, facts, parts)
        records.prune()
    except (OSError, StrettoError) as error:
        console.warn(f"run not recorded, so explain cannot read it: {error}")
        return ""
    console.detail(f"record {path}")
    return facts.name


def _draw(console: Console, report: "RunReport", job: "FinishedRun", out: Path) -> list[str]:
    """Draw the plots; if matplotlib is missing, warn how to install it."""
    from stretto.base.errors import MissingExtraError
    from stretto.sim.plots.figures import check_plots
    from stretto.sim.plots.run import run_plots

    try:
        check_plots()
    except MissingExtraError:
        console.warn(NO_PLOTS)
        return []
    drawn = run_plots(report, job.timeline.samples(), job.site.plane.cluster)
    for name, content in drawn.items():
        sinks.write_whole(out / name, content)
    return list(drawn)

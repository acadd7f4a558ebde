"""``stretto convert``: writes a trace, a dump of a cluster or a scenario as a recording."""

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto.cli import options, sinks
from stretto.cli.options import CommandContext
from stretto.cli.parts.traces.options import LIFETIME, VM_GANGS
from stretto.explain.words.amounts import format_count
from stretto.explain.words.durations import short_duration

if TYPE_CHECKING:
    from stretto.inputs.conversion.convert import ConversionReport, ConvertSettings
    from stretto.inputs.conversion.timeline import OnWritten, Timeline

SHOWN_NOTES: Final = 8
"""Maximum number of notes in the summary; the JSON output contains all of them."""


@dataclass(frozen=True)
class ConvertOptions:
    """Options of ``convert``."""

    #: File or folder to read.
    source: Path
    #: The recording.
    out: Path
    #: Format; ``None`` for detection by content.
    format: str | None
    #: A node list of the same dataset.
    nodes: Path | None
    #: Nodes as ``SHAPE:N``.
    nodes_like: str | None
    #: Time window of the trace as ``START:END`` in seconds.
    window: str | None
    #: Fraction of the jobs, 0..1.
    sample: float | None
    #: Maximum number of jobs.
    jobs: int | None
    #: Value of a lifetime bin: ``min``, ``mid`` or ``max``.
    lifetime: str | None
    #: True if the VMs of a batch are a gang.
    gangs: bool
    #: The column map of a CSV file.
    columns: Path | None
    #: Size of a machine whose normalised amount is 1.0.
    unit: str | None
    #: True if an existing file is replaced.
    force: bool


@options.command(
    "convert",
    ConvertOptions,
    example="""
        stretto convert vmtable.csv.gz azure.jsonl.gz --window 0:86400 --sample 0.01 \\
            --nodes-like 64cpu-256gib:200
        kubectl get nodes,pods -A -o yaml | stretto convert - cluster.jsonl.gz
        stretto compare azure.jsonl.gz --policy packing --out plots
    """,
)
@click.argument("source", type=options.ExistingPath(exists=True, allow_dash=True, path_type=Path))
@click.argument("out", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--format", metavar="NAME", help="Format of the source [recognised].")
@click.option("--nodes", type=options.INPUT_FILE, help="The node list of the dataset.")
@options.NODES_LIKE
@click.option("--window", metavar="START:END", help="Only jobs in these seconds of the trace.")
@click.option("--sample", type=options.SHARE, help="Only this fraction of the jobs, such as 0.01.")
@click.option("--jobs", type=options.POSITIVE, metavar="N", help="Only the first N jobs.")
@LIFETIME
@VM_GANGS
@click.option("--columns", type=options.INPUT_FILE, help="csv: the column map, a YAML file.")
@click.option("--unit", metavar="SHAPE", help="google-2019: size of 1.0 [64cpu-256gib].")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def convert(common: CommandContext, opts: ConvertOptions) -> None:
    """Write SOURCE as a recording OUT, which simulate, compare and story read.

    SOURCE is a published trace (a file, or a folder with all of its files), a dump of a cluster
    (- for standard input) or a scenario. The format is recognised by the content; for an unknown
    file, the message lists the formats and the nearest one. OUT is compressed if it ends in .gz; -
    is standard output. docs/traces.md describes the steps from the download to a plot for each
    format.
    """
    import msgspec

    from stretto.inputs.conversion.convert import check_target, report_of, timeline_of

    check_target(opts.out, force=opts.force)
    sinks.check_file("OUT", str(opts.out))
    source = "standard input" if str(opts.source) == sinks.STDOUT else opts.source
    common.console.note(f"reading {source}")
    timeline = timeline_of(opts.source, _settings(opts))
    with common.console.progress("convert", max(1, timeline.counts.pods)) as bar:
        changes = _written(timeline, opts.out, bar.update)
    done = report_of(timeline, opts.source, opts.out, changes)
    common.console.json("stretto.convert/v1", msgspec.to_builtins(done))
    _show(common, done)


def _settings(opts: ConvertOptions) -> "ConvertSettings":
    from stretto.inputs.conversion.convert import ConvertSettings
    from stretto.inputs.neutral.bounds import TraceBounds, parse_window

    start, end = parse_window(opts.window or ":")
    sample = 1.0 if opts.sample is None else opts.sample
    columns = str(opts.columns) if opts.columns is not None else None
    keys = {"lifetime": opts.lifetime, "gangs": opts.gangs or None, "unit": opts.unit}
    keys["columns"] = columns
    return ConvertSettings(
        format=opts.format or ("csv" if columns else ""),
        nodes=opts.nodes,
        nodes_like=opts.nodes_like or "",
        bounds=TraceBounds(start, end, sample, opts.jobs),
        keys={name: value for name, value in keys.items() if value is not None},
    )


def _written(timeline: "Timeline", out: Path, on_written: "OnWritten") -> int:
    """Write the recording to a file or to standard output; return the number of changes."""
    from stretto.inputs.conversion.timeline import write_timeline

    if str(out) != sinks.STDOUT:
        return write_timeline(timeline, out, on_written)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "recording.jsonl"
        changes = write_timeline(timeline, target, on_written)
        with target.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    return changes


def _show(common: CommandContext, done: "ConversionReport") -> None:
    """Write the summary; to stderr if the recording is on standard output."""
    console = common.console
    say = console.note if done.out == sinks.STDOUT else console.data
    placed = f", {done.placed:,} with their node" if done.placed else ""
    gangs = f", {format_count(done.gangs, 'gang')}" if done.gangs else ""
    say(
        f"{done.out}: format {done.format}, {format_count(done.nodes, 'node')}, "
        f"{format_count(done.pods, 'pod')}{placed}{gangs}, {short_duration(done.seconds)}"
    )
    if done.origin_s:
        say(f"second 0 is second {done.origin_s:,.0f} of the trace")
    for line in done.notes[:SHOWN_NOTES]:
        console.note(line)
    if done.out == sinks.STDOUT:
        return
    if done.nodes:
        console.note(f"try: stretto simulate {done.out}")
    else:
        console.note(
            "the trace has no nodes: convert it with --nodes or --nodes-like, or use "
            f"stretto simulate {done.out} --add-nodes 64cpu-256gib:100"
        )

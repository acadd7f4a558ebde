"""``stretto simulate``: one policy over a trace in virtual time, on the production plane."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from stretto.base.errors import DoesNotFitError
from stretto.cli import options
from stretto.cli.console import cell
from stretto.cli.kernels.tier import tier_of
from stretto.cli.options import INPUT_FILE, INPUT_PATH, CommandContext
from stretto.cli.parts.traces.options import (
    LIFETIME,
    OF_FORMATS,
    VM_GANGS,
    SimulateOptions,
    checked_format,
    opened_trace,
)
from stretto.cli.parts.traces.replay import (
    VARYING,
    refuse_options,
    simulate_recording,
    what_if_options,
)
from stretto.cli.parts.traces.simulation import simulate_trace, usage_plot
from stretto.explain.words.amounts import format_count
from stretto.explain.words.durations import short_duration

if TYPE_CHECKING:
    pass

_LABELS: Final[Mapping[str, str]] = {
    "rejected_by_qos": "rejected by QoS",
    "peak_gpu_milli": "peak GPU milli",
    "gpu_milli_seconds": "GPU milli × s",
    "skipped_too_big": "skipped, too big",
    "mean_wait_s": "mean wait",
    "p95_wait_s": "p95 wait",
    "max_wait_s": "longest wait",
    "mean_jct_s": "mean completion time",
    "makespan_s": "makespan",
    "mean_bounded_slowdown": "mean bounded slowdown",
    "omitted": "omitted jobs",
    "cpu_util": "CPU utilisation (0..1)",
    "gpu_util": "GPU utilisation (0..1)",
    "mean_wait_s_by_queue": "mean wait by queue",
    "peak_cpu_pct": "peak CPU (%)",
    "peak_memory_pct": "peak memory (%)",
    "mean_cpu_pct": "mean CPU (%)",
}


@options.command(
    "simulate",
    SimulateOptions,
    example="""
        stretto simulate --format openb --nodes N.csv --pods P.csv --node-filter model=G2,gpu=8 \\
            --node-limit 3 --policy best-fit --on-unschedulable reject --json out.json
        stretto simulate --format philly --pods jobs.csv --gpus 64 --queue fifo
        stretto simulate --format azure-vm --pods vms.csv.gz --nodes-like 64cpu-256gib:200
        stretto simulate CTC-SP2-1996-3.1-cln.swf.gz --queue easy --out plots
        stretto simulate jobs.csv --columns map.yaml --nodes-like 32cpu-128gib:40
        stretto simulate monday.jsonl.gz --drain example.com/rack=r7@600 --burst web/api-0:200@900
    """,
    out=True,
)
@click.argument("recording", type=INPUT_PATH, required=False, metavar="[FILE|FOLDER]")
@options.TRACE_FORMAT
@click.option("--pods", type=INPUT_FILE, help="The list of pods, jobs or VMs.")
@click.option("--nodes", type=INPUT_FILE, help="A node list in openb format.")
@options.NODES_LIKE
@click.option(
    "--node-filter", metavar="K=V,...", help="Only nodes with these values: model=G2,gpu=8."
)
@click.option("--node-limit", type=options.POSITIVE, metavar="N", help="Only the first N nodes.")
@click.option(
    "--policy",
    metavar="NAME",
    shell_complete=options.completes("profiles"),
    help="Policy: openb [best-fit], azure-vm [packing].",
)
@click.option(
    "--on-unschedulable",
    type=click.Choice(["wait", "reject"]),
    help="Pods that do not fit wait or are rejected [wait].",
)
@click.option(
    "--gpus",
    type=options.POSITIVE,
    metavar="N",
    help="philly and batch jobs: GPUs of the pool [philly: 64].",
)
@click.option(
    "--gpus-per-node",
    type=options.POSITIVE,
    metavar="N",
    help="GPUs of each node of the pool; larger jobs are gangs of whole nodes [one node].",
)
@click.option(
    "--queue",
    metavar="ORDER",
    help="jobs: queue order: fifo, sjf, skip, easy, conservative or priority [fifo].",
)
@LIFETIME
@VM_GANGS
@click.option(
    "--queues-by",
    type=click.Choice(["none", "user", "group", "queue", "partition"]),
    help="batch jobs: field that contains the name of the Queue of a job [none].",
)
@click.option(
    "--columns", type=INPUT_FILE, metavar="MAP", help="The column map of a CSV file of your own."
)
@click.option("--only", metavar="K=V,...", help="batch jobs: by user, group, queue or partition.")
@click.option(
    "--limit", type=options.POSITIVE, metavar="N", help="batch jobs: only the first N jobs."
)
@click.option("--require-all", is_flag=True, help="Exit with 3 if something is not placed.")
@what_if_options
def simulate(common: CommandContext, opts: SimulateOptions) -> None:
    """Run one policy over a trace, or over a recording of a cluster, in virtual time.

    Pods arrive and finish at the times of the trace; the production plane schedules them.
    docs/guides/researcher/simulate.md describes the protocol and figures of each trace format,
    docs/guides/researcher/recordings.md describes recordings and the options that change them.
    """
    import msgspec

    opts = opened_trace(opts)
    if opts.recording is not None:
        _simulate_recording(common, opts)
        return
    trace = checked_format(opts)
    refuse_options(VARYING, "a recording to vary", "stretto simulate FILE")
    if common.out is not None:
        from stretto.sim.plots.figures import check_plots

        check_plots()
    tier_of("auto", common.console.note)  # starts the compiler if kernels are missing
    done = simulate_trace(common, opts, trace)
    found: dict[str, Any] = msgspec.to_builtins(done.report)
    _show(common, opts, found)
    common.result(f"stretto.simulate.{opts.format}/v1", found, [usage_plot(opts, done.lines)])
    if done.report.partial:
        raise KeyboardInterrupt
    left = found.get("rejected", 0) + found.get("skipped_too_big", 0)
    if opts.require_all and left:
        hint = "add nodes, or omit --require-all"
        raise DoesNotFitError(format_count(left, "pod"), "--require-all is given", hint)


def _simulate_recording(common: CommandContext, opts: SimulateOptions) -> None:
    """Simulate a recording, which has its own options."""
    names = ("format", "pods", *sorted(set(OF_FORMATS) - {"policy"}))
    refuse_options(names, "no such option with a recording", "it applies to traces")
    done = simulate_recording(common, opts, opts.policy or "")
    left = done.pending + done.left_waiting
    if opts.require_all and left:
        hint = "add nodes, or omit --require-all"
        raise DoesNotFitError(format_count(left, "pod"), "--require-all is given", hint)


def _show(common: CommandContext, opts: SimulateOptions, found: Mapping[str, Any]) -> None:
    """Write the report as a table."""
    rows: list[Sequence[object]] = []
    for name, value in found.items():
        if isinstance(value, dict):
            text = short_duration if name == "mean_wait_s_by_queue" else cell
            value = ", ".join(f"{key} {text(each)}" for key, each in value.items()) or "none"
        is_time = name.endswith("_s") and isinstance(value, int | float) and name in _LABELS
        shown = short_duration(value) if is_time else cell(value)
        rows.append((_LABELS.get(name, name), shown))
    common.console.table(("", opts.trace_format), rows)


command = simulate

"""``stretto compare``: policies and seeds over a trace, with the protocol of the openb study."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.kernels.tier import tier_of
from stretto.cli.options import INPUT_FILE, INPUT_PATH, CommandContext
from stretto.cli.parts.traces.comparison import compare_sides, has_times, opened, require_plots
from stretto.cli.parts.traces.replay import (
    VARYING,
    WhatIfOptions,
    compare_recording,
    refuse_options,
    what_if_options,
)

if TYPE_CHECKING:
    from stretto.sim.comparison.published import Curves
    from stretto.sim.comparison.scene import StudyRunSpec
    from stretto.sim.comparison.seeds import Comparison

FILE: Final = "file"
"""Value of --order and --arrive that keeps the order of the file."""
_OF_STUDY: Final = ("seeds", "arrive", "order", "published", "workers")
"""Options of the study, in which pods have no times."""
_OF_SIDES: Final = (
    "nodes_like",
    "gpus",
    "gpus_per_node",
    "queue",
    "queues_by",
    "columns",
    "only",
    "limit",
)
"""Options of traces with times."""
_OF_TRACES: Final = ("format", "nodes", "pods", *_OF_STUDY, *_OF_SIDES)
"""Options that do not apply to a recording."""
SHOWN_PCT: Final = 100
"""Arrival percentage shown in tables in addition to the last one."""


@dataclass(frozen=True, kw_only=True)
class CompareOptions(WhatIfOptions):
    """Options of ``compare``."""

    #: Format of the trace; ``None`` for a recording.
    format: str | None
    #: The node list.
    nodes: Path | None
    #: The pod list.
    pods: Path | None
    #: Nodes as ``SHAPE:N``.
    nodes_like: str | None
    #: GPUs of the pool.
    gpus: int | None
    #: GPUs of each node of the pool; ``None`` for a pool of one node.
    gpus_per_node: int | None
    #: The queue orders; empty for the usual ones.
    queue: tuple[str, ...]
    #: Field of a job that contains the name of its Queue.
    queues_by: str | None
    #: The column map of a CSV file.
    columns: Path | None
    #: Required values of jobs.
    only: str | None
    #: Maximum number of jobs.
    limit: int | None
    #: The policies; empty for all policies of the study.
    policy: tuple[str, ...]
    #: The seeds; ``None`` for the published ones.
    seeds: str | None
    #: Requested percent of the GPUs at which to stop, or ``file``.
    arrive: str
    #: ``shuffle`` or ``file``.
    order: str
    #: File with the published curves.
    published: Path | None
    #: Number of processes; 0 for one per core.
    workers: int


@options.command(
    "compare",
    CompareOptions,
    example="""
        stretto compare --format openb --nodes N.csv --pods P.csv --policy fgd --policy best-fit \\
            --seeds 42,43,44 --arrive 130 --json out.json
        stretto compare --format openb --nodes N.csv --pods P.csv \\
            --order file --arrive file --seeds 0
        stretto compare --format openb --nodes N.csv --pods P.csv \\
            --published published_fgd_results.csv --out plots
        stretto compare CTC-SP2-1996-3.1-cln.swf.gz --queue fifo --queue easy --out plots
        stretto compare monday.jsonl.gz --policy packing --add-nodes worker-1:20 --out plots
    """,
    out=True,
)
@click.argument("recording", type=INPUT_PATH, required=False, metavar="[FILE|FOLDER]")
@options.TRACE_FORMAT
@click.option("--nodes", type=INPUT_FILE, help="The node list.")
@click.option("--pods", type=INPUT_FILE, help="The list of pods or jobs.")
@options.NODES_LIKE
@click.option("--gpus", type=options.POSITIVE, metavar="N", help="jobs: GPUs of the pool.")
@click.option(
    "--gpus-per-node", type=options.POSITIVE, metavar="N", help="jobs: GPUs of each node."
)
@click.option("--queue", multiple=True, metavar="ORDER", help="jobs: queue order; may be repeated.")
@click.option(
    "--queues-by",
    type=click.Choice(["none", "user", "group", "queue", "partition"]),
    help="jobs: field that contains the name of the Queue of a job [none].",
)
@click.option("--columns", type=INPUT_FILE, metavar="MAP", help="The column map of a CSV file.")
@click.option(
    "--policy",
    multiple=True,
    metavar="NAME",
    shell_complete=options.completes("profiles"),
    help="Policy; may be repeated [all six of the study].",
)
@click.option(
    "--seeds", metavar="N,N-M", help="Seeds, one run per seed and policy [42-51, as published]."
)
@click.option(
    "--arrive",
    default="130",
    show_default=True,
    metavar="PCT|file",
    help="Stop when this percentage of the GPUs is requested; file uses the list unchanged.",
)
@click.option(
    "--order",
    type=click.Choice(["shuffle", FILE]),
    default="shuffle",
    show_default=True,
    help="Order of nodes and pods; file is by node name and by row.",
)
@click.option("--only", metavar="K=V,...", help="jobs: by user, group, queue or partition.")
@click.option("--limit", type=options.POSITIVE, metavar="N", help="jobs: only the first N jobs.")
@click.option("--published", type=INPUT_FILE, help="Published curves to compare with (CSV).")
@click.option(
    "--workers", type=options.COUNT, default=0, metavar="N", help="Processes [one per core]."
)
@what_if_options
def compare(common: CommandContext, opts: CompareOptions) -> None:
    """Run policies over a trace, once per seed, and compare the results.

    The protocol is that of the openb study: the seed orders the nodes and shuffles the pods, the
    production plane places the pods one by one until --arrive, and pods that do not fit are
    dropped.

    Traces with times are simulated once for each --queue and --policy.

    With a recording of a cluster (stretto record), the replay is compared with changed replays.
    """
    trace = opened(opts)
    if has_times(trace):
        refuse_options((*_OF_STUDY, *VARYING, "shards"), "no such option here", "leave it out")
        tier_of("auto", common.console.note)  # starts the compiler if kernels are missing
        compare_sides(common, trace, opts.queue, opts.policy)
        return
    if trace.recording is not None:
        refuse_options(_OF_TRACES, "no such option with a recording", "it applies to traces")
        compare_recording(common, opts, opts.policy)
        return
    refuse_options(_OF_SIDES, "no such option with openb", "it applies to traces with times")
    _study(common, replace(opts, format=trace.format, pods=trace.pods))


def _study(common: CommandContext, opts: CompareOptions) -> None:
    """Run the openb study."""
    import msgspec

    from stretto.inputs.traces.formats import load_trace
    from stretto.sim.comparison.seeds import compare as run_all

    if opts.format is None or opts.nodes is None or opts.pods is None:
        hint = "or name a recording: stretto compare FILE"
        raise InputError("--format, --nodes, --pods", None, "all three for a trace", hint)
    refuse_options((*VARYING, "shards"), "a recording to vary", "stretto compare FILE")
    require_plots(common)
    runs = _runs(common, opts)
    curves = _curves(opts)
    fleet = load_trace(opts.format, opts.pods, opts.nodes)
    tier_of("auto", common.console.note)  # starts the compiler if kernels are missing
    with common.console.progress("compare", len(runs)) as bar:
        done = 0

        def on_done(run: Any) -> None:
            nonlocal done
            done += 1
            bar.update(done, f"{run.policy}, seed {run.seed}")

        found = run_all(fleet, runs, opts.workers, on_done)
    _show(common, found, curves)
    from stretto.sim.comparison.plots import study_plots

    plots = study_plots(found.summary, curves)
    common.result("stretto.compare/v1", msgspec.to_builtins(found), plots)
    if found.partial:
        raise KeyboardInterrupt


def _runs(common: CommandContext, opts: CompareOptions) -> "list[StudyRunSpec]":
    """Return all runs, ordered by policy."""
    from stretto.inputs.traces.openb.protocol import PUBLISHED_SEEDS, ArrivalOrder
    from stretto.sim.comparison.scene import StudyRunSpec
    from stretto.sim.comparison.seeds import read_seeds
    from stretto.sim.policies import STUDY, check_policies

    policies = check_policies(opts.policy or STUDY)
    if opts.seeds is not None:
        seeds = read_seeds(opts.seeds, "--seeds")
    else:
        seeds = (common.seed,) if common.seed_given else PUBLISHED_SEEDS
    arrive, order = _percent(opts.arrive), ArrivalOrder(opts.order)
    return [StudyRunSpec(policy, seed, arrive, order) for policy in policies for seed in seeds]


def _percent(text: str) -> float | None:
    """Return the arrival percentage; ``None`` keeps the list unchanged."""
    from stretto.inputs.traces.openb.protocol import MAX_ARRIVE_PCT

    if text == FILE:
        return None
    try:
        percent = float(text)
    except ValueError:
        percent = -1.0
    if not 0 < percent <= MAX_ARRIVE_PCT:
        expected = f"a percentage above 0, at most {MAX_ARRIVE_PCT:g}, or the word {FILE}"
        raise InputError("--arrive", text, expected)
    return percent


def _curves(opts: CompareOptions) -> "Curves | None":
    """Return the published curves of this pod list."""
    from stretto.sim.comparison.published import read_published, workload_of

    if opts.published is None or opts.pods is None:
        return None
    return read_published(opts.published, workload_of(opts.pods))


def _show(common: CommandContext, found: "Comparison", curves: "Curves | None") -> None:
    """Write policies × arrival percentage as a table, with the published figures."""
    from stretto.sim.comparison.published import METRICS

    columns = ["policy", "seeds", "arrived %", "GPU allocated %", "sd", "fragmented %"]
    if curves:
        columns += ["published %", "difference"]
    last = max((each.arrive_pct for each in found.summary), default=0)
    rows: list[Sequence[object]] = []
    for each in found.summary:
        if each.arrive_pct not in {min(SHOWN_PCT, last), last}:
            continue
        seeds = sum(run.policy == each.policy for run in found.runs)
        mean, spread = each.gpu_alloc_pct_mean, each.gpu_alloc_pct_sd
        row = [each.policy, seeds, each.arrive_pct, mean, spread, each.frag_pct_of_cluster_mean]
        if curves:
            reference = curves.get(each.policy, {}).get(METRICS[0], {}).get(each.arrive_pct)
            row += [reference, None if reference is None else mean - reference]
        rows.append(row)
    common.console.table(columns, rows)


command = compare

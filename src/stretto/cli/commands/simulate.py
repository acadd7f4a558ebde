"""``stretto simulate``: one policy over a trace in virtual time, on the real plane."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from stretto.base.errors import DoesNotFitError, InputError
from stretto.cli import options, sinks
from stretto.cli.commands.replaying import (
    VARYING,
    WhatIfOptions,
    refuse_options,
    simulate_recording,
    what_if_options,
)
from stretto.cli.console import cell
from stretto.cli.options import INPUT_FILE, CommandContext

if TYPE_CHECKING:
    from stretto.inputs.neutral.fleet import FleetNode
    from stretto.inputs.traces.formats import TraceFormat
    from stretto.sim.result import SimulationResult

_OF_FORMATS: Final = (
    "nodes", "nodes_like", "node_filter", "node_limit",
    "policy", "on_unschedulable", "gpus", "queue", "lifetime", "gangs",
)  # fmt: skip
"""Options that apply to some formats only (``TraceFormat.options``)."""
_LABELS: Final[Mapping[str, str]] = {
    "rejected_by_qos": "rejected by QoS",
    "peak_gpu_milli": "peak GPU milli",
    "gpu_milli_seconds": "GPU milli × s",
    "skipped_too_big": "skipped, too big",
    "mean_wait_s": "mean wait (s)",
    "p95_wait_s": "p95 wait (s)",
    "max_wait_s": "longest wait (s)",
    "mean_jct_s": "mean completion time (s)",
    "makespan_s": "makespan (s)",
    "gpu_util": "GPU utilisation (0..1)",
    "peak_cpu_pct": "peak CPU (%)",
    "peak_memory_pct": "peak memory (%)",
    "mean_cpu_pct": "mean CPU (%)",
}


@dataclass(frozen=True)
class SimulateOptions:
    """Options of ``simulate``; ``None`` where one was not given."""

    #: A recording; ``None`` where a trace is meant.
    recording: Path | None
    #: Format of the trace; ``None`` where a recording is meant.
    format: str | None
    #: The list of work.
    pods: Path | None
    #: A node list in openb format.
    nodes: Path | None
    #: Nodes described in a word.
    nodes_like: str | None
    #: Values that nodes must have.
    node_filter: str | None
    #: At most so many nodes.
    node_limit: int | None
    #: The policy.
    policy: str | None
    #: What happens to what does not fit.
    on_unschedulable: str | None
    #: GPUs of the pool.
    gpus: int | None
    #: Order of the queue.
    queue: str | None
    #: Which end of a lifetime bin is meant.
    lifetime: str | None
    #: Whether a batch starts as one.
    gangs: bool
    #: Whether it is an error when something gets no place.
    require_all: bool
    #: Profile; empty for the default one.
    profile: str
    #: Scheduler shards.
    shards: int
    #: More nodes.
    add_nodes: tuple[str, ...]
    #: Nodes that are emptied.
    drain: tuple[str, ...]
    #: More pods.
    burst: tuple[str, ...]
    #: Other queues.
    queue_share: tuple[str, ...]
    #: Files with rules that the profile may name.
    plugin: tuple[Path, ...]

    @property
    def trace(self) -> Path:
        """The list of work, once ``_check`` has seen that there is one."""
        assert self.pods is not None
        return self.pods

    @property
    def trace_format(self) -> str:
        """Its format."""
        assert self.format is not None
        return self.format


@options.command(
    "simulate",
    SimulateOptions,
    example="""
        stretto simulate --format openb --nodes N.csv --pods P.csv --node-filter model=G2,gpu=8 \\
            --node-limit 3 --policy best-fit --on-unschedulable reject --json out.json
        stretto simulate --format philly --pods jobs.csv --gpus 64 --queue fifo
        stretto simulate --format azure-vm --pods vms.csv.gz --nodes-like 64cpu-256gib:200
        stretto simulate monday.jsonl.gz --drain example.com/rack=r7@600 --burst web/api-0:200@900
    """,
    out=True,
)
@click.argument("recording", type=INPUT_FILE, required=False)
@click.option("--format", metavar="NAME", help="Format: openb, philly, azure-vm or a package's.")
@click.option("--pods", type=INPUT_FILE, help="The list of pods, jobs or VMs.")
@click.option("--nodes", type=INPUT_FILE, help="A node list in openb format.")
@click.option("--nodes-like", metavar="SHAPE:N", help="Nodes in a word: 64cpu-256gib:200.")
@click.option("--node-filter", metavar="K=V,...", help="Keep nodes with these: model=G2,gpu=8.")
@click.option("--node-limit", type=options.POSITIVE, metavar="N", help="Keep the first N.")
@click.option("--policy", metavar="NAME", help="openb [best-fit], azure-vm [packing].")
@click.option(
    "--on-unschedulable",
    type=click.Choice(["wait", "reject"]),
    help="What happens to what does not fit [wait].",
)
@click.option(
    "--gpus",
    type=options.POSITIVE,
    metavar="N",
    help="philly: size of the pool [64].",
)
@click.option("--queue", metavar="ORDER", help="philly: fifo, sjf, skip, easy or priority [fifo].")
@click.option(
    "--lifetime",
    type=click.Choice(["min", "mid", "max"]),
    help="azure-vm: which end of a lifetime bin is meant [min].",
)
@click.option("--gangs", is_flag=True, help="azure-vm: the VMs of a batch start as one.")
@click.option("--require-all", is_flag=True, help="Exit 3 when something gets no place.")
@what_if_options
def simulate(common: CommandContext, asked: SimulateOptions) -> None:
    """Run one policy over a trace, or a recording of a cluster, in virtual time, and report.

    Pods come and go at the times of the trace; the plane that decides is the one of production.
    Each format's protocol, and what its figures mean, is in docs/guides/researcher/simulate.md;
    recordings, and the options that vary them, are in docs/guides/researcher/recordings.md.
    """
    import msgspec

    if asked.recording is not None:
        _simulate_recording(common, asked)
        return
    found = _check(asked)
    if common.out is not None:
        from stretto.sim.plots import check_plots

        check_plots()
    done = _simulate(common, asked, found)
    report: dict[str, Any] = msgspec.to_builtins(done.report)
    _show(common, asked, report)
    common.console.json(f"stretto.simulate.{asked.format}/v1", report)
    if common.out is not None:
        _plot(common, asked, done)
    if done.report.partial:
        raise KeyboardInterrupt
    left = report.get("rejected", 0) + report.get("skipped_too_big", 0)
    if asked.require_all and left:
        hint = "add nodes, or leave out --require-all"
        raise DoesNotFitError(f"{left:,} of them", "--require-all was asked for", hint)


def _simulate_recording(common: CommandContext, asked: SimulateOptions) -> None:
    """A recording: another kind of input, with options of its own."""
    names = ("format", "pods", *sorted(set(_OF_FORMATS) - {"policy"}))
    refuse_options(names, "no such option with a recording", "it is for traces")
    done = simulate_recording(common, _what_if(asked))
    left = done.pending + done.left_waiting
    if asked.require_all and left:
        hint = "add nodes, or leave out --require-all"
        raise DoesNotFitError(f"{left:,} of them", "--require-all was asked for", hint)


def _what_if(asked: SimulateOptions) -> WhatIfOptions:
    assert asked.recording is not None
    return WhatIfOptions(
        asked.recording,
        (asked.policy,) if asked.policy else (),
        asked.profile,
        asked.shards,
        asked.add_nodes,
        asked.drain,
        asked.burst,
        asked.queue_share,
        asked.plugin,
    )


def _check(asked: SimulateOptions) -> "TraceFormat":
    """The format; refuses options that it does not use, and demands those of every trace."""
    from stretto.inputs.traces.formats import TRACES

    for name, value in (("--format", asked.format), ("--pods", asked.pods)):
        if value is None:
            hint = "or name a recording: stretto simulate FILE"
            expected = f"one of {', '.join(TRACES.names())}" if name == "--format" else "a file"
            raise InputError(name, None, expected, hint)
    refuse_options(VARYING, "a recording to vary", "stretto simulate FILE")
    found = TRACES.get(asked.trace_format)
    for name in sorted(set(_OF_FORMATS) - found.options):
        if getattr(asked, name) not in (None, False):
            formats = ", ".join(n for n in TRACES.names() if name in TRACES.get(n).options)
            option = f"--{name.replace('_', '-')}"
            expected = f"no such option with --format {asked.format}"
            raise InputError(option, getattr(asked, name), expected, f"it is for {formats}")
    return found


def _machines(
    asked: SimulateOptions, trace: "TraceFormat"
) -> "tuple[tuple[FleetNode, ...], set[str]]":
    """The nodes that are left after filter and limit, and the GPU models of all of them."""
    from stretto.inputs.neutral.shapes import matching_nodes, nodes_like
    from stretto.inputs.traces.openb.reader import load_nodes

    if asked.nodes is not None and asked.nodes_like is not None:
        raise InputError("--nodes-like", asked.nodes_like, "--nodes or --nodes-like, not both")
    if asked.nodes is not None:
        found = (trace.nodes or load_nodes)(asked.nodes)
    elif asked.nodes_like is not None:
        found = nodes_like(asked.nodes_like, where="--nodes-like")
    else:
        hint = "give --nodes FILE, or --nodes-like 64cpu-256gib:200"
        raise InputError("--nodes", None, "the machines", hint)
    models = {node.gpu_model for node in found if node.gpus}
    if asked.node_filter or asked.node_limit:
        found = matching_nodes(found, asked.node_filter or "", asked.node_limit, "--node-")
    return found, models


def _simulate(
    common: CommandContext, asked: SimulateOptions, found: "TraceFormat"
) -> "SimulationResult[Any]":
    """Run the driver of a format under a progress bar."""
    from stretto.sim.traces.drivers import TraceRun, driver_of

    hosts, models = _machines(asked, found) if "nodes" in found.options else ((), set())
    given = {name: getattr(asked, name) for name in _OF_FORMATS}
    options = {name: value for name, value in given.items() if value not in (None, False)}
    run = TraceRun(found, asked.trace, hosts, models, options, common.seed)
    ready = driver_of(found)(run)
    with common.console.progress("simulate", ready.total) as bar:
        return ready.start(bar.update)


def _show(common: CommandContext, asked: SimulateOptions, found: Mapping[str, Any]) -> None:
    """The report as a table."""
    rows: list[Sequence[object]] = []
    for name, value in found.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {count:,}" for key, count in value.items()) or "none"
        rows.append((_LABELS.get(name, name), cell(value)))
    common.console.table(("", asked.trace_format), rows)


def _plot(common: CommandContext, asked: SimulateOptions, done: "SimulationResult[Any]") -> None:
    """Use over time, as a picture in the output folder."""
    from stretto.sim.plots import PlotTexts, curves_png

    assert common.out is not None
    words = PlotTexts(f"{asked.trace.name}: use over time", "hours", "in use, % of all")
    target = common.out / "usage.png"
    sinks.write_whole(target, curves_png(done.lines, words))
    common.console.note(f"plot: {target}")


command = simulate

"""``stretto simulate``: one policy over a trace in virtual time, on the real plane."""

from collections.abc import Callable, Mapping, Sequence
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
from stretto.cli.kernels.tier import tier_of
from stretto.cli.options import INPUT_FILE, CommandContext

if TYPE_CHECKING:
    from stretto.inputs.neutral.fleet import FleetNode
    from stretto.sim.engine import Arrivals, UnfitPolicy
    from stretto.sim.result import SimulationResult

FORMATS: Final = ("openb", "philly", "azure-vm")
"""Traces that have times."""
DEFAULT_GPUS: Final = 64
"""GPUs of the pool where none are named."""

_NODES: Final = frozenset({"nodes", "nodes_like", "node_filter", "node_limit"})
_ONLY: Final[Mapping[str, frozenset[str]]] = {
    "openb": _NODES | {"policy", "on_unschedulable"},
    "philly": frozenset({"gpus", "queue"}),
    "azure-vm": _NODES | {"policy", "on_unschedulable", "lifetime", "gangs"},
}
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
@click.option("--format", type=click.Choice(FORMATS), help="Format of the trace.")
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
    help=f"philly: size of the pool [{DEFAULT_GPUS}].",
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

    tier_of("auto", common.console.note)  # starts the compiler where kernels are missing
    if asked.recording is not None:
        _simulate_recording(common, asked)
        return
    _check(asked)
    if common.out is not None:
        from stretto.sim.plots import check_plots

        check_plots()
    done = _RUNS[asked.trace_format](common, asked)
    found: dict[str, Any] = msgspec.to_builtins(done.report)
    _show(common, asked, found)
    common.console.json(f"stretto.simulate.{asked.format}/v1", found)
    if common.out is not None:
        _plot(common, asked, done)
    if done.report.partial:
        raise KeyboardInterrupt
    left = found.get("rejected", 0) + found.get("skipped_too_big", 0)
    if asked.require_all and left:
        hint = "add nodes, or leave out --require-all"
        raise DoesNotFitError(f"{left:,} of them", "--require-all was asked for", hint)


def _simulate_recording(common: CommandContext, asked: SimulateOptions) -> None:
    """A recording: another kind of input, with options of its own."""
    names = ("format", "pods", *sorted(frozenset().union(*_ONLY.values()) - {"policy"}))
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


def _check(asked: SimulateOptions) -> None:
    """Refuse options that the format has no use for, and demand those that every trace needs."""
    for name, value in (("--format", asked.format), ("--pods", asked.pods)):
        if value is None:
            hint = "or name a recording: stretto simulate FILE"
            raise InputError(
                name, None, f"one of {', '.join(FORMATS)}" if name == "--format" else "a file", hint
            )
    refuse_options(VARYING, "a recording to vary", "stretto simulate FILE")
    for name in sorted(frozenset().union(*_ONLY.values()) - _ONLY[asked.trace_format]):
        if getattr(asked, name) not in (None, False):
            formats = ", ".join(each for each in FORMATS if name in _ONLY[each])
            option = f"--{name.replace('_', '-')}"
            expected = f"no such option with --format {asked.format}"
            raise InputError(option, getattr(asked, name), expected, f"it is for {formats}")


def _machines(asked: SimulateOptions) -> "tuple[tuple[FleetNode, ...], set[str]]":
    """The nodes that are left after filter and limit, and the GPU models of all of them."""
    from stretto.inputs.neutral.shapes import matching_nodes, nodes_like
    from stretto.inputs.traces.openb.reader import load_nodes

    if asked.nodes is not None and asked.nodes_like is not None:
        raise InputError("--nodes-like", asked.nodes_like, "--nodes or --nodes-like, not both")
    if asked.nodes is not None:
        found = load_nodes(asked.nodes)
    elif asked.nodes_like is not None:
        found = nodes_like(asked.nodes_like, where="--nodes-like")
    else:
        hint = "give --nodes FILE, or --nodes-like 64cpu-256gib:200"
        raise InputError("--nodes", None, "the machines", hint)
    models = {node.gpu_model for node in found if node.gpus}
    if asked.node_filter or asked.node_limit:
        found = matching_nodes(found, asked.node_filter or "", asked.node_limit, "--node-")
    return found, models


def _openb(common: CommandContext, asked: SimulateOptions) -> "SimulationResult[Any]":
    """Pods in their own time."""
    from stretto.inputs.neutral.fleet import Fleet
    from stretto.inputs.traces.openb.reader import load_pods
    from stretto.sim.traces.openb import DEFAULT_POLICY, ReplayStudy, replay_openb

    nodes, models = _machines(asked)
    fleet = Fleet(nodes, load_pods(asked.trace, models), asked.trace.name)
    study = ReplayStudy(asked.policy or DEFAULT_POLICY, _unfit(asked), common.seed)
    return _run(common, len(fleet.pods), lambda told: replay_openb(fleet, study, told))


def _philly(common: CommandContext, asked: SimulateOptions) -> "SimulationResult[Any]":
    """Jobs on one pool of GPUs."""
    from stretto.inputs.traces.philly import load_jobs
    from stretto.sim.traces.philly import simulate_philly

    jobs = load_jobs(asked.trace)
    gpus = DEFAULT_GPUS if asked.gpus is None else asked.gpus
    total = sum(job.gpus for job in jobs if job.gpus <= gpus)
    queue = asked.queue or "fifo"
    return _run(common, total, lambda told: simulate_philly(jobs, gpus, queue, told))


def _azure(common: CommandContext, asked: SimulateOptions) -> "SimulationResult[Any]":
    """Virtual machines on hosts."""
    from stretto.inputs.traces.azure_vm import Lifetime, load_vms
    from stretto.sim.traces.azure import DEFAULT_POLICY, AzureStudy, simulate_azure

    hosts, _ = _machines(asked)
    vms = load_vms(asked.trace)
    study = AzureStudy(
        lifetime=Lifetime(asked.lifetime or "min"),
        gangs=asked.gangs,
        policy=asked.policy or DEFAULT_POLICY,
        unfit=_unfit(asked),
        seed=common.seed,
    )
    return _run(common, len(vms), lambda told: simulate_azure(vms, hosts, study, told))


_RUNS: Final[Mapping[str, Callable[[CommandContext, SimulateOptions], "SimulationResult[Any]"]]] = {
    "openb": _openb,
    "philly": _philly,
    "azure-vm": _azure,
}


def _unfit(asked: SimulateOptions) -> "UnfitPolicy":
    from stretto.sim.engine import UnfitPolicy

    return UnfitPolicy(asked.on_unschedulable or "wait")


def _run(
    common: CommandContext, total: int, start: "Callable[[Arrivals], SimulationResult[Any]]"
) -> "SimulationResult[Any]":
    """Run under a progress bar."""
    with common.console.progress("simulate", total) as bar:
        return start(bar.update)


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

"""Simulation of a trace with the driver of its format, for ``simulate`` and ``compare``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stretto.base.errors import InputError
from stretto.cli.options import CommandContext
from stretto.cli.parts.traces.options import OF_FORMATS, SimulateOptions
from stretto.explain.records.curves import CurvePlot, PlotLine, PlotTexts

if TYPE_CHECKING:
    from stretto.inputs.neutral.fleet import FleetNode
    from stretto.inputs.traces.formats import TraceFormat
    from stretto.sim.usage import SimulationResult


def simulate_trace(
    common: CommandContext, opts: SimulateOptions, trace: "TraceFormat"
) -> "SimulationResult[Any]":
    """Simulate the trace of the options with the driver of its format."""
    from stretto.sim.traces.drivers import TraceRun, driver_of

    hosts, models = trace_nodes(opts, trace) if "nodes" in trace.options else ((), set())
    given = {name: getattr(opts, name) for name in OF_FORMATS}
    options = {name: value for name, value in given.items() if value not in (None, False)}
    run = TraceRun(trace, opts.trace, hosts, models, options, common.seed)
    ready = driver_of(trace)(run)
    with common.console.progress("simulate", ready.total) as bar:
        return ready.start(bar.update)


def trace_nodes(
    opts: SimulateOptions, trace: "TraceFormat"
) -> "tuple[tuple[FleetNode, ...], set[str]]":
    """Return the nodes after filter and limit, and the GPU models of all nodes."""
    from stretto.inputs.neutral.shapes import matching_nodes

    found = _all_nodes(opts, trace)
    models = {node.gpu_model for node in found if node.gpus}
    if opts.node_filter or opts.node_limit:
        found = matching_nodes(found, opts.node_filter or "", opts.node_limit, "--node-")
    return found, models


def _all_nodes(opts: SimulateOptions, trace: "TraceFormat") -> "tuple[FleetNode, ...]":
    """Return the nodes of the one option that describes them, else those of the trace."""
    from stretto.inputs.neutral.shapes import nodes_like
    from stretto.inputs.traces.batch.jobs import pool_nodes
    from stretto.inputs.traces.openb.reader import load_nodes

    given = {"--nodes": opts.nodes, "--nodes-like": opts.nodes_like, "--gpus": opts.gpus}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise InputError(names[1], given[names[1]], f"{names[0]} or {names[1]}, not both")
    if opts.nodes is not None:
        return (trace.nodes or load_nodes)(opts.nodes)
    if opts.nodes_like is not None:
        return nodes_like(opts.nodes_like, where="--nodes-like")
    if opts.gpus is not None:
        return pool_nodes(opts.gpus, opts.gpus_per_node or 0)
    if trace.own_nodes is not None:
        return trace.own_nodes(opts.trace)
    hint = "add --nodes FILE, or --nodes-like 64cpu-256gib:200"
    hint += ", or --gpus 64 --gpus-per-node 8" if "gpus" in trace.options else ""
    raise InputError("--nodes", None, "the nodes", hint)


def usage_plot(opts: SimulateOptions, lines: Sequence[PlotLine]) -> CurvePlot:
    """Return the usage over time as a plot; its title has the peaks."""
    peaks = [f"{line.label} {max(line.y, default=0.0):.0f} %" for line in lines]
    title = f"{opts.trace.name}: peak use of {', '.join(peaks)}"
    return CurvePlot("usage", lines, PlotTexts(title, "hours", "in use, % of all", from_0=True))

"""``stretto compare`` for traces with times: one simulation for each queue order and policy."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from stretto.cli.options import CommandContext
from stretto.cli.parts.traces.options import SimulateOptions, checked_format, opened_trace
from stretto.cli.parts.traces.simulation import simulate_trace, usage_plot
from stretto.cli.views.replays import shown

if TYPE_CHECKING:
    from stretto.explain.records.curves import PlotLine

ORDERS: Final = ("fifo", "skip", "sjf", "easy")
"""Default queue orders of a comparison."""
SHARED: Final = (
    "recording", "format", "pods", "nodes", "nodes_like", "gpus", "gpus_per_node", "queues_by",
    "columns", "only", "limit",
)  # fmt: skip
"""Options that ``compare`` and ``simulate`` share."""
SHOWN: Final[Mapping[str, str]] = {
    "started": "started",
    "placed": "placed",
    "rejected": "rejected",
    "mean_wait_s": "mean wait",
    "p95_wait_s": "p95 wait",
    "max_wait_s": "longest wait",
    "mean_bounded_slowdown": "slowdown",
    "makespan_s": "makespan",
    "cpu_util": "CPU",
    "gpu_util": "GPU",
    "mean_cpu_pct": "CPU %",
    "gpu_milli_seconds": "GPU milli × s",
}
"""Figures of a report that the table shows, with their headings."""


class TraceSide(NamedTuple):
    """One simulation of a comparison."""

    #: Name of the simulation, such as ``easy``.
    name: str
    #: Report as built-in values.
    report: dict[str, Any]
    #: Usage over time.
    lines: "tuple[PlotLine, ...]"


def opened(opts: object) -> SimulateOptions:
    """Return FILE and the options that ``compare`` shares with ``simulate``.

    Raises:
        InputError: the file cannot be read, or its content has no known format.
    """
    return opened_trace(SimulateOptions(**{name: getattr(opts, name) for name in SHARED}))


def has_times(opts: SimulateOptions) -> bool:
    """Return whether a trace is simulated with its times; the pods of the study have no times."""
    from stretto.inputs.traces.formats import TRACES

    if opts.recording is not None or opts.format is None:
        return False
    found = TRACES.get(opts.format)
    return not found.fills and (found.nodes is None or "queue" in found.options)


def require_plots(common: CommandContext) -> None:
    """Check that plots can be drawn if there is a folder for them.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    if common.out is not None:
        from stretto.sim.plots.figures import check_plots

        check_plots()


def compare_sides(
    common: CommandContext, opts: SimulateOptions, queues: Sequence[str], policies: Sequence[str]
) -> None:
    """Simulate a trace once for each queue order and policy, and compare the reports.

    Raises:
        InputError: an option does not apply to the format.
    """
    trace = checked_format(opts)
    orders = queues or (ORDERS if "queue" in trace.options else ())
    require_plots(common)
    sides: list[TraceSide] = []
    for queue, policy in product(orders or (None,), policies or (None,)):
        varied = replace(opts, queue=queue, policy=policy)
        done = simulate_trace(common, varied, checked_format(varied))
        name = " ".join(each for each in (queue, policy) if each) or "default"
        sides.append(TraceSide(name, msgspec.to_builtins(done.report), done.lines))
        if done.report.partial:
            break
    _show(common, sides)
    fields = [{"side": side.name, **side.report} for side in sides]
    plots = [usage_plot(opts, _side_lines(sides))]
    common.result("stretto.compare.trace/v1", {"format": opts.format, "sides": fields}, plots)
    if any(side.report.get("partial") for side in sides):
        raise KeyboardInterrupt


def _show(common: CommandContext, sides: Sequence[TraceSide]) -> None:
    """Write sides × figures as a table."""
    given = {name for side in sides for name, value in side.report.items() if value is not None}
    names = [name for name in SHOWN if name in given]
    rows = [[side.name, *(shown(name, side.report.get(name)) for name in names)] for side in sides]
    common.console.table(["order", *(SHOWN[name] for name in names)], rows)


def _side_lines(sides: Sequence[TraceSide]) -> "list[PlotLine]":
    """Return the last curve of each side, with the name of the side."""
    return [
        msgspec.structs.replace(line, label=f"{side.name}: {line.label}", colour=number)
        for number, side in enumerate(sides)
        for line in side.lines[-1:]
    ]

"""``stretto top``: measured use of nodes, pods and best-effort pools."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from stretto.cli import options
from stretto.cli.options import CommandContext
from stretto.cli.output.formats import ListColumn, write_columns
from stretto.cli.sources.states import StateOptions, read_state, state_options

if TYPE_CHECKING:
    from stretto.explain.inventory.use import NodeUseRow, PodUseRow, PoolUseRow

MIB: Final = 1 << 20
"""Bytes of a MiB."""
HINT: Final = "-v shows all columns"


@dataclass(frozen=True, kw_only=True)
class TopOptions(StateOptions):
    """Options of ``top``."""

    #: The listed objects: nodes, pods or pools.
    subject: str
    #: Seconds between two outputs; ``None`` for one output.
    every: float | None


@options.command(
    "top",
    TopOptions,
    example="""
        stretto top nodes --on cluster
        stretto top pools --on cluster --every 5
    """,
    result=False,
)
@click.argument("subject", type=click.Choice(["nodes", "pods", "pools"]))
@click.option(
    "--every",
    type=options.FiniteRange(min=0.5),
    default=None,
    metavar="SECONDS",
    help="Show the state repeatedly, until Ctrl-C [once].",
)
@state_options
def top(common: CommandContext, opts: TopOptions) -> None:
    """Show the use that node agents report: of nodes, pods, or pools by QoS level.

    The busiest nodes come first. A node without a report has no use; `measured` is the time of the
    last report. Pods have their requests and the level in which they are measured; use is reported
    by level.
    """
    from stretto.base.clock import WallClock

    clock = WallClock()
    while True:
        _show(common, opts)
        if opts.every is None:
            return
        clock.sleep(opts.every)


def _show(common: CommandContext, opts: TopOptions) -> None:
    """Write the table once."""
    from stretto.explain.inventory import use

    records = read_state(common, opts).state.records
    if opts.subject == "nodes":
        columns = _nodes(use.node_use(records))
    elif opts.subject == "pods":
        columns = _pods(use.pod_use(records))
    else:
        columns = _pools(use.pool_use(records))
    write_columns(common.console, columns, HINT)
    if not columns[0].cells:
        common.console.note(f"there are no {opts.subject}; is the node agent running?")


def _nodes(rows: "Sequence[NodeUseRow]") -> list[ListColumn]:
    return [
        ListColumn("node", [row.name for row in rows]),
        ListColumn("cpu", [_milli(row.cpu) for row in rows]),
        ListColumn("cpu %", [_percent(row.cpu, row.cpu_allocatable) for row in rows]),
        ListColumn("memory", [_mib(row.memory) for row in rows]),
        ListColumn("memory %", [_percent(row.memory, row.memory_allocatable) for row in rows]),
        ListColumn("measured", [row.measured or "-" for row in rows], 1),
    ]


def _pods(rows: "Sequence[PodUseRow]") -> list[ListColumn]:
    return [
        ListColumn("pod", [row.name for row in rows]),
        ListColumn("node", [row.node for row in rows]),
        ListColumn("cpu request", [_milli(row.cpu) for row in rows]),
        ListColumn("memory request", [_mib(row.memory) for row in rows]),
        ListColumn("measured as", [row.level or "-" for row in rows], 1),
    ]


def _pools(rows: "Sequence[PoolUseRow]") -> list[ListColumn]:
    return [
        ListColumn("node", [row.node for row in rows]),
        ListColumn("level", [row.level for row in rows]),
        ListColumn("pods", [row.pods for row in rows]),
        ListColumn("cpu", [_milli(row.cpu) for row in rows]),
        ListColumn("memory", [_mib(row.memory) for row in rows]),
        ListColumn("cpu offered", [_milli(row.cpu_pool) for row in rows]),
    ]


def _milli(amount: int | None) -> str:
    return "-" if amount is None else f"{amount:,}m"


def _mib(amount: int | None) -> str:
    return "-" if amount is None else f"{amount // MIB:,} MiB"


def _percent(amount: int | None, whole: int) -> str:
    return "-" if amount is None or not whole else f"{100 * amount / whole:.0f} %"

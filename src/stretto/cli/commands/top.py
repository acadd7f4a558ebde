"""``stretto top``: measured use of nodes, pods and best-effort pools."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto.cli import options
from stretto.cli.options import CommandContext
from stretto.cli.output import formats
from stretto.cli.output.formats import ListColumn, ListedRows
from stretto.cli.sources.states import StateOptions, read_state, state_options
from stretto.explain.words.durations import short_duration

if TYPE_CHECKING:
    from stretto.explain.inventory.use.reports import ReportExpiry, ReportFacts
    from stretto.explain.inventory.use.rows import NodeUseRow, PodUseRow, PoolUseRow
    from stretto.stores.store import Record

MIB: Final = 1 << 20
"""Bytes of a MiB."""
PROBLEMS: Final = 5
"""Maximum number of invalid reports that notes describe; the JSON form contains all."""


@dataclass(frozen=True, kw_only=True)
class TopOptions(StateOptions):
    """Options of ``top``."""

    #: The listed objects: nodes, pods or pools.
    subject: str
    #: Seconds between two outputs; ``None`` for one output.
    every: float | None
    #: Output format.
    output: str
    #: Files with rules that the profile may name.
    plugin: tuple[Path, ...]


@options.command(
    "top",
    TopOptions,
    example="""
        stretto top nodes --on cluster
        stretto top pools --on cluster --every 5
        stretto top nodes --on cluster -o json
    """,
)
@click.argument("subject", type=click.Choice(["nodes", "pods", "pools"]))
@click.option(
    "--every",
    type=options.FiniteRange(min=0.5),
    default=None,
    metavar="SECONDS",
    help="Show the state repeatedly, until Ctrl-C [once].",
)
@formats.OUTPUT
@options.PLUGIN
@state_options
def top(common: CommandContext, opts: TopOptions) -> None:
    """Show the use that node agents report: of nodes, pods, or pools by QoS level.

    The busiest nodes come first, and nodes with an old report last. `age` is the time since the
    measurement. A report is `stale` if it is older than the profile allows, and `ahead` if its time
    is in the future. A node without a report has no use. Pods have their requests and the level in
    which they are measured; use is reported by level.
    """
    from stretto.base.clock import WallClock

    formats.check_format(opts.output)
    clock = WallClock()
    while True:
        _show(common, opts)
        if opts.every is None:
            return
        clock.sleep(opts.every)


def _show(common: CommandContext, opts: TopOptions) -> None:
    """Write the list once."""
    from stretto.explain.inventory.use.reports import expiry_of
    from stretto.framework.profile.load import known_rules
    from stretto.framework.profile.profile import load_profile
    from stretto.plane.copy import SchedulingRules

    state = read_state(common, opts, SchedulingRules("", plugins=opts.plugin)).state
    expiry = expiry_of(load_profile(state.profile, known_rules(opts.plugin)), state.at)
    listed, reports = _SUBJECTS[opts.subject](state.title, state.records, expiry)
    formats.write_list(common.console, opts.output, listed)
    if not listed.names:
        common.console.note(f"there are no {opts.subject}; is the node agent running?")
    for note in _notes(reports, listed.fields["expires_s"]):
        common.console.note(note)


def _notes(reports: "dict[str, ReportFacts]", expires_s: float) -> list[str]:
    """Return the number of old reports, and the problems of some reports."""
    old = sum(each.is_old for each in reports.values())
    notes = [f"{name}: {each.problem}" for name, each in reports.items() if each.problem]
    more = len(notes) - PROBLEMS
    notes = notes[:PROBLEMS] + ([f"and {more} more nodes: -o json shows all"] if more > 0 else [])
    if old:
        one, valid = old == 1, short_duration(expires_s)
        notes.append(
            f"{old} report{'' if one else 's'} {'is' if one else 'are'} not current (valid for "
            f"{valid} by the profile): is the agent running, and is its clock right?"
        )
    return notes


Listed = tuple[ListedRows, "dict[str, ReportFacts]"]
"""A list, and the report of each of its nodes."""


def _nodes(title: str, records: "Sequence[Record]", expiry: "ReportExpiry") -> Listed:
    import msgspec

    from stretto.explain.inventory.lists import NodeUseList
    from stretto.explain.inventory.use.rows import node_use

    rows = node_use(records, expiry)
    columns = [
        ListColumn("node", [row.name for row in rows]),
        ListColumn("cpu", [_milli(row.cpu) for row in rows]),
        ListColumn("cpu %", [_percent(row.cpu, row.cpu_allocatable) for row in rows]),
        ListColumn("memory", [_mib(row.memory) for row in rows]),
        ListColumn("memory %", [_percent(row.memory, row.memory_allocatable) for row in rows]),
        *_report_columns(rows),
    ]
    fields = msgspec.to_builtins(NodeUseList(title, expiry.use_s, tuple(rows)))
    names = [f"node/{row.name}" for row in rows]
    reports = {row.name: row.report for row in rows}
    return ListedRows(columns, names, "stretto.top.nodes/v1", fields), reports


def _pods(title: str, records: "Sequence[Record]", expiry: "ReportExpiry") -> Listed:
    import msgspec

    from stretto.explain.inventory.lists import PodUseList
    from stretto.explain.inventory.use.rows import pod_use

    rows = pod_use(records, expiry)
    columns = [
        ListColumn("pod", [row.name for row in rows]),
        ListColumn("node", [row.node for row in rows]),
        ListColumn("cpu request", [_milli(row.cpu) for row in rows]),
        ListColumn("memory request", [_mib(row.memory) for row in rows]),
        ListColumn("measured as", [row.level or "-" for row in rows], 1),
        *_report_columns(rows),
    ]
    fields = msgspec.to_builtins(PodUseList(title, expiry.use_s, tuple(rows)))
    names = [f"pod/{row.name}" for row in rows]
    reports = {row.node: row.report for row in rows}
    return ListedRows(columns, names, "stretto.top.pods/v1", fields), reports


def _pools(title: str, records: "Sequence[Record]", expiry: "ReportExpiry") -> Listed:
    import msgspec

    from stretto.explain.inventory.lists import PoolUseList
    from stretto.explain.inventory.use.rows import pool_use

    rows = pool_use(records, expiry)
    columns = [
        ListColumn("node", [row.node for row in rows]),
        ListColumn("level", [row.level for row in rows]),
        ListColumn("pods", [row.pods for row in rows]),
        ListColumn("cpu", [_milli(row.cpu) for row in rows]),
        ListColumn("memory", [_mib(row.memory) for row in rows]),
        ListColumn("cpu offered", [_milli(row.cpu_pool) for row in rows]),
        *_report_columns(rows),
    ]
    fields = msgspec.to_builtins(PoolUseList(title, expiry.pool_s, tuple(rows)))
    names = [f"node/{row.node}/{row.level}" for row in rows]
    reports = {row.node: row.report for row in rows}
    return ListedRows(columns, names, "stretto.top.pools/v1", fields), reports


_SUBJECTS: Final[dict[str, Callable[..., Listed]]] = {
    "nodes": _nodes,
    "pods": _pods,
    "pools": _pools,
}


def _report_columns(rows: "Sequence[NodeUseRow | PodUseRow | PoolUseRow]") -> list[ListColumn]:
    """Return the columns that show how old the values of a row are."""
    found = [row.report for row in rows]
    return [
        ListColumn("age", [_age(each.age_s) for each in found]),
        ListColumn("report", [each.state.value for each in found]),
        ListColumn("measured", [each.measured or "-" for each in found], 1, wide=True),
    ]


def _age(seconds: float | None) -> str:
    """Return an age as text; a time in the future has a minus sign."""
    if seconds is None or seconds > -1:
        return short_duration(None if seconds is None else max(seconds, 0.0))
    return f"-{short_duration(-seconds)}"


def _milli(amount: int | None) -> str:
    return "-" if amount is None else f"{amount:,}m"


def _mib(amount: int | None) -> str:
    return "-" if amount is None else f"{amount // MIB:,} MiB"


def _percent(amount: int | None, whole: int) -> str:
    return "-" if amount is None or not whole else f"{100 * amount / whole:.0f} %"

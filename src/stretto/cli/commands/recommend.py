"""``stretto recommend``: recommended requests of containers, beside their requests now."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.options import CommandContext
from stretto.cli.output import formats
from stretto.cli.output.formats import ListColumn, ListedRows
from stretto.cli.sources.states import StateOptions, read_state, state_options

if TYPE_CHECKING:
    from stretto.explain.inventory.lists import RecommendedList
    from stretto.explain.inventory.use.advice import RecommendedRow

SCHEMA: Final = "stretto.recommend/v1"
"""Schema of the JSON form."""
MIB: Final = 1 << 20
"""Bytes of a MiB."""
UNBOUNDED: Final = 10**14
"""Amount from which an upper bound stands for none."""
PROBLEMS: Final = 5
"""Maximum number of problems that notes describe; the JSON form contains all."""


@dataclass(frozen=True, kw_only=True)
class RecommendOptions(StateOptions):
    """Options of ``recommend``."""

    #: File of measurements; ``None`` for the autoscalers of a state.
    usage: Path | None
    #: Output format.
    output: str


@options.command(
    "recommend",
    RecommendOptions,
    example="""
        stretto recommend --on cluster -n shop
        stretto recommend --usage examples/vertical/use.csv
        stretto recommend --on cluster -o json
    """,
)
@click.option(
    "--usage",
    type=options.INPUT_FILE,
    metavar="FILE.csv",
    help="Recommend from measurements in a file instead of from a state.",
)
@formats.OUTPUT
@click.option("-n", "--namespace", default="", metavar="NAME", help="Only this namespace [all].")
@state_options
def recommend(common: CommandContext, opts: RecommendOptions) -> None:
    """Show the recommended requests of containers, beside their requests now.

    The recommendations of a state are those in the status of its VerticalPodAutoscalers, which
    `stretto scaler`, `stretto up` or the recommender of Kubernetes writes. With --usage, they are
    computed from a CSV file with the columns second, workload, pod, container, cpu and memory.
    `raise` means that the request is below the lower bound, `lower` that it is above the upper
    bound, `set` that there is none. Nothing is written.
    """
    formats.check_format(opts.output)
    found = _of_state(common, opts) if opts.usage is None else _of_file(opts, opts.usage)
    formats.write_list(common.console, opts.output, _listed(found))


def _of_state(common: CommandContext, opts: RecommendOptions) -> "RecommendedList":
    from stretto.explain.inventory.lists import RecommendedList
    from stretto.explain.inventory.use.recommended import published

    state = read_state(common, opts).state
    records = state.records
    if opts.namespace:
        records = [each for each in records if each.namespace == opts.namespace]
    found = published(records)
    notes = [f"{name}: {text}" for name, text in found.problems.items()]
    more = len(notes) - PROBLEMS
    notes = notes[:PROBLEMS] + ([f"and {more} more: -o json shows all"] if more > 0 else [])
    if not found.autoscalers:
        where = f" in namespace {opts.namespace}" if opts.namespace else ""
        notes.append(f"there are no VerticalPodAutoscalers{where}; --usage reads measurements")
    for each in notes:
        common.console.note(each)
    return RecommendedList(state.title, tuple(found.rows), found.problems)


def _of_file(opts: RecommendOptions, usage: Path) -> "RecommendedList":
    from stretto.explain.inventory.lists import RecommendedList
    from stretto.explain.inventory.use.replayed import ReplayedUse
    from stretto.inputs.traces.container_use import read_container_use

    if opts.named or opts.reads_cluster or opts.namespace or opts.profile:
        expected = "no state, namespace or profile next to a file of measurements"
        raise InputError("--usage", str(usage), expected, "remove one of the options")
    rows = ReplayedUse(read_container_use(usage)).rows()
    return RecommendedList(f"measurements in {usage}", tuple(rows), {})


def _listed(found: "RecommendedList") -> ListedRows:
    import msgspec

    from stretto.explain.words.durations import short_duration

    rows = found.items
    columns = [
        ListColumn("workload", [row.workload for row in rows]),
        ListColumn("container", [row.container for row in rows]),
        ListColumn("resource", [row.resource for row in rows]),
        ListColumn("request", [_amount(row, row.request) for row in rows]),
        ListColumn("target", [_amount(row, row.target) for row in rows]),
        ListColumn("lower", [_amount(row, row.lower_bound) for row in rows], 2),
        ListColumn("upper", [_amount(row, row.upper_bound) for row in rows], 2),
        ListColumn("advice", [row.advice.value for row in rows]),
        ListColumn("history", [short_duration(row.history_s) for row in rows], 1),
        ListColumn("confidence", [_confidence(row.confidence) for row in rows], 1, wide=True),
    ]
    names = [f"{row.workload.replace(' ', '/')}/{row.container}/{row.resource}" for row in rows]
    return ListedRows(columns, names, SCHEMA, msgspec.to_builtins(found))


def _amount(row: "RecommendedRow", amount: int | None) -> str:
    """Return an amount as text: milli-CPU or MiB."""
    if amount is None:
        return "-"
    if amount >= UNBOUNDED:
        return "none"
    return f"{amount:,}m" if row.resource == "cpu" else f"{-(-amount // MIB):,} MiB"


def _confidence(confidence: float | None) -> str:
    return "-" if confidence is None else f"{confidence:.0%}"

"""Comparison of run records and results: the figures of their reports, and their curves."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import chain
from typing import Any, Final, NamedTuple

import msgspec

from stretto.base.errors import InputError
from stretto.explain.inventory.runs import RunRow, run_rows
from stretto.explain.records.curves import CurvePlot, PlotLine, PlotTexts, joined_plots
from stretto.explain.records.record_file import RecordFile
from stretto.explain.records.records import RunRecords

MOST_RUNS: Final = 8
"""Maximum number of columns of one comparison: more do not fit on a page."""

_PLACED: Final = PlotTexts("Pods placed over time", "seconds", "pods placed", from_0=True)

Summary = Mapping[str, Any]


class RunFigure(msgspec.Struct, frozen=True):
    """One figure of several runs."""

    #: Name, such as ``pods placed``.
    name: str
    #: Value in each run; ``None`` if the report of a run does not contain it.
    values: tuple[float | None, ...]
    #: Difference between each value and that of the first run; ``None`` if either is missing.
    differences: tuple[float | None, ...]


class RunComparison(msgspec.Struct, frozen=True):
    """Several runs."""

    #: The runs; the first one is the reference.
    runs: tuple[RunRow, ...]
    #: Figures that at least one report has.
    figures: tuple[RunFigure, ...]
    #: Curves, such as the pods placed over time.
    plots: tuple[CurvePlot, ...]


class ComparedRun(NamedTuple):
    """One run of a comparison."""

    #: Row of the run in the list of runs.
    row: RunRow
    #: Figures of the run.
    figures: Sequence[tuple[str, float]]


class ComparedRecord(NamedTuple):
    """One record of a comparison."""

    #: Its runs: one, or one for each policy that a result compares.
    runs: Sequence[ComparedRun]
    #: Its curves.
    plots: Sequence[CurvePlot] = ()


def recorded_run(records: RunRecords, name: str) -> ComparedRecord:
    """Read a run record.

    Raises:
        InputError: the record is unreadable.
        NotFoundError: no record has that name.
    """
    (row,) = run_rows(records, (name,))
    with closing(RecordFile(records.find(name))) as file:
        summary: Summary = file.facts().summary
    plots = []
    if summary.get("after_s"):
        line = PlotLine(row.name, summary["after_s"], summary["placed_after"], steps=True)
        plots.append(CurvePlot("placed", [line], _PLACED))
    return ComparedRecord([ComparedRun(row, _values(summary))], plots)


def compare_runs(names: Sequence[str], read: Callable[[str], ComparedRecord]) -> RunComparison:
    """Compare runs; the first one is the reference.

    Args:
        names: names of the records.
        read: reads a record.

    Raises:
        InputError: no record is named, or their runs are more than ``MOST_RUNS``.
    """
    if not 1 <= len(names) <= MOST_RUNS:
        raise InputError("runs", f"{len(names)} records", f"1 to {MOST_RUNS} records")
    records = [(name, read(name)) for name in names]
    runs = [run for _, record in records for run in record.runs]
    if len(runs) > MOST_RUNS:
        expected = f"records with at most {MOST_RUNS} runs or policies together"
        raise InputError("runs", f"{len(runs)} of them", expected)
    plots = joined_plots([(name, record.plots) for name, record in records])
    figures = tuple(_figures([each.figures for each in runs]))
    return RunComparison(tuple(each.row for each in runs), figures, plots)


def _figures(runs: Sequence[Sequence[tuple[str, float]]]) -> list[RunFigure]:
    columns = [dict(each) for each in runs]
    names = dict.fromkeys(chain.from_iterable(columns))
    return [_figure(name, [column.get(name) for column in columns]) for name in names]


def _figure(name: str, values: Sequence[float | None]) -> RunFigure:
    first = values[0]
    differences = (
        None if first is None or value is None else round(value - first, 6) for value in values
    )
    return RunFigure(name, tuple(values), tuple(differences))


def _values(summary: Summary) -> list[tuple[str, float]]:
    """Figures of one report, in the order of the page."""
    found = [(name, read(summary)) for name, read in _PLAIN]
    found += [
        (f"{each['resource']} in use (%)", each["used_pct"]) for each in _list(summary, "resources")
    ]
    for each in _list(summary, "models"):
        found.append((f"{each['model']} allocated (%)", each["allocated_pct"]))
        found.append((f"{each['model']} fragmented (%)", each["fragmented_pct"]))
    return [(name, float(value)) for name, value in found if value is not None]


def _list(summary: Summary, field: str) -> Sequence[Summary]:
    return summary.get(field) or ()


def _latency(field: str) -> Callable[[Summary], Any]:
    return lambda summary: (summary.get("latency") or {}).get(field)


def _field(field: str) -> Callable[[Summary], Any]:
    return lambda summary: summary.get(field)


def _evicted(summary: Summary) -> int | None:
    causes = summary.get("evicted")
    return None if causes is None else sum(causes.values())


_PLAIN: Final[tuple[tuple[str, Callable[[Summary], Any]], ...]] = (
    ("seconds", _field("seconds")),
    ("nodes", _field("nodes")),
    ("pods", _field("pods")),
    ("pods placed", _field("placed")),
    ("pods pending", _field("pending")),
    ("pods placed per second", _field("pods_per_s")),
    ("time to bind, median (ms)", _latency("p50_ms")),
    ("time to bind, 99th percentile (ms)", _latency("p99_ms")),
    ("refused claims (%)", _field("conflict_pct")),
    ("pods evicted", _evicted),
)
"""Figures that every report contains."""

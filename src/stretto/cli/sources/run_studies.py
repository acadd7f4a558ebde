"""The user's run records and kept results for the dashboard."""

from collections.abc import Sequence

import msgspec

from stretto.base.errors import InputError
from stretto.explain.inventory.result_figures import figures_of, sides_of
from stretto.explain.inventory.run_comparison import (
    MOST_RUNS,
    ComparedRun,
    RunComparison,
    compare_runs,
    recorded_run,
)
from stretto.explain.inventory.runs import RunRow, run_rows
from stretto.explain.records.records import RunRecords
from stretto.explain.records.results import KeptResult, ResultRecords


class RunStudies:
    """Lists, compares and draws run records and results."""

    def __init__(self, records: RunRecords, results: ResultRecords) -> None:
        """Use the run records and the results of two folders."""
        self._records = records
        self._results = results

    def rows(self) -> Sequence[RunRow]:
        """Return all records and results, the latest first."""
        rows = run_rows(self._records) + [self._row(name) for name in self._results.names()]
        return sorted(rows, key=lambda each: each.started, reverse=True)

    def compare(self, names: Sequence[str]) -> RunComparison:
        """Compare records; the first one is the reference.

        Raises:
            InputError: no record is named, too many are, or one of them is unreadable.
            NotFoundError: no record has one of the names.
        """
        return compare_runs(names, self._compared)

    def picture(self, comparison: RunComparison) -> bytes:
        """Return the number of placed pods over time as PNG; empty if no report has it.

        Raises:
            MissingExtraError: Matplotlib is not installed.
        """
        from stretto.sim.plots.figures import PlotLine, PlotTexts, check_plots, draw_curves

        if not comparison.curves:
            return b""
        check_plots()
        lines = [
            PlotLine(curve.run, curve.seconds, curve.placed, number, steps=True)
            for number, curve in enumerate(comparison.curves)
        ]
        texts = PlotTexts("Pods placed over time", "seconds", "pods placed", from_0=True)
        return draw_curves("runs", lines, texts)["runs.png"]

    def _row(self, name: str) -> RunRow:
        try:
            return _row_of(name, self._results.read(name))
        except InputError:
            return RunRow(name, "unreadable")

    def _compared(self, name: str) -> Sequence[ComparedRun]:
        """Return a run, or what a result compares: one column for each policy."""
        if name not in self._results.names():
            return [recorded_run(self._records, name)]
        found = self._results.read(name)
        row, sides = _row_of(name, found), sides_of(found.result, MOST_RUNS)
        if not sides:
            return [ComparedRun(row, figures_of(found.result))]
        return [
            ComparedRun(msgspec.structs.replace(row, name=f"{name}: {label}"), figures_of(side))
            for label, side in sides.items()
        ]


def _row_of(name: str, found: KeptResult) -> RunRow:
    """Return a result as a row of the list."""
    seconds = found.result.get("seconds", 0.0)
    took = float(seconds) if isinstance(seconds, int | float) else 0.0
    return RunRow(name, "done", found.command, found.ended, took)


def kept_studies() -> RunStudies:
    """Return the run records and results of this user."""
    return RunStudies(RunRecords(), ResultRecords())

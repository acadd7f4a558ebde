"""The user's run records and kept results for the dashboard."""

from collections.abc import Sequence

import msgspec

from stretto.base.errors import InputError
from stretto.explain.inventory.result_figures import figures_of, sides_of
from stretto.explain.inventory.run_comparison import (
    MOST_RUNS,
    ComparedRecord,
    ComparedRun,
    RunComparison,
    compare_runs,
    recorded_run,
)
from stretto.explain.inventory.runs import RunRow, run_rows
from stretto.explain.records.curves import CurvePlot
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

    def picture(self, plot: CurvePlot) -> bytes:
        """Return a plot as PNG.

        Raises:
            MissingExtraError: Matplotlib is not installed.
        """
        from stretto.sim.plots.figures import check_plots, draw_plots

        check_plots()
        return draw_plots([plot])[f"{plot.name}.png"]

    def _row(self, name: str) -> RunRow:
        try:
            return _row_of(name, self._results.read(name))
        except InputError:
            return RunRow(name, "unreadable")

    def _compared(self, name: str) -> ComparedRecord:
        """Return a run, or what a result compares: one column for each policy."""
        if name not in self._results.names():
            return recorded_run(self._records, name)
        found = self._results.read(name)
        row, sides = _row_of(name, found), sides_of(found.result, MOST_RUNS)
        if not sides:
            return ComparedRecord([ComparedRun(row, figures_of(found.result))], found.plots)
        runs = [
            ComparedRun(msgspec.structs.replace(row, name=f"{name}: {label}"), figures_of(side))
            for label, side in sides.items()
        ]
        return ComparedRecord(runs, found.plots)


def _row_of(name: str, found: KeptResult) -> RunRow:
    """Return a result as a row of the list."""
    seconds = found.result.get("seconds", 0.0)
    took = float(seconds) if isinstance(seconds, int | float) else 0.0
    return RunRow(name, "done", found.command, found.ended, took)


def kept_studies() -> RunStudies:
    """Return the run records and results of this user."""
    return RunStudies(RunRecords(), ResultRecords())

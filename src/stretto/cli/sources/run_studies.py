"""The user's run records as the dashboard shows them."""

from collections.abc import Sequence

from stretto.explain.inventory.run_comparison import RunComparison, compare_runs
from stretto.explain.inventory.runs import RunRow, run_rows
from stretto.explain.records.records import RunRecords


class RunStudies:
    """Lists, compares and draws run records."""

    def __init__(self, records: RunRecords) -> None:
        """Use the records of a folder."""
        self._records = records

    def rows(self) -> Sequence[RunRow]:
        """All records, the latest first."""
        return run_rows(self._records)

    def compare(self, names: Sequence[str]) -> RunComparison:
        """Compare records; the first one is the reference.

        Raises:
            InputError: no record is named, too many are, or one of them is unreadable.
            NotFoundError: no record has one of the names.
        """
        return compare_runs(self._records, names)

    def picture(self, comparison: RunComparison) -> bytes:
        """The pods placed over time as PNG; empty if no report has them.

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


def kept_studies() -> RunStudies:
    """The run records of this user."""
    return RunStudies(RunRecords())

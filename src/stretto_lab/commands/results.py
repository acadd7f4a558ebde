"""Results of the laboratory commands: plots in the output folder, durations, partial results."""

from collections.abc import Iterable
from typing import Final, TypeVar

from stretto.cli import sinks
from stretto.cli.options import CommandContext
from stretto.cli.progress import Progress

T = TypeVar("T")
_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


def write_plots(common: CommandContext, plots: dict[str, bytes]) -> None:
    """Write plots to the output folder and list them."""
    assert common.out is not None
    for name, plot in plots.items():
        sinks.write_whole(common.out / name, plot)
    common.console.note(f"written: {', '.join(str(common.out / name) for name in plots)}")


def human_duration(seconds: float) -> str:
    """A duration in a table cell, in seconds, minutes or hours.

    >>> human_duration(12.34), human_duration(-90), human_duration(99_301.59)
    ('12.3 s', '-1.5 min', '27.6 h')
    """
    size = abs(seconds)
    if size >= _HOUR:
        return f"{seconds / _HOUR:,.1f} h"
    return f"{seconds / _MINUTE:.1f} min" if size >= _MINUTE else f"{seconds:.1f} s"


def duration_cells(fields: dict[str, object]) -> tuple[list[str], list[object]]:
    """Column names and cells of a record; fields with the suffix ``_s`` are durations."""
    names = [name.removesuffix("_s").replace("_", " ") for name in fields]
    cells = [
        human_duration(value) if name.endswith("_s") and isinstance(value, float) else value
        for name, value in fields.items()
    ]
    return names, cells


def show_records(
    common: CommandContext, records: list[dict[str, object]], title: str | None = None
) -> None:
    """Show records as a table with readable durations."""
    rows = [duration_cells(each) for each in records]
    common.console.table(rows[0][0], [cells for _, cells in rows], *([title] if title else []))


def collect(results: Iterable[T], progress: Progress) -> tuple[list[T], bool]:
    """Collect results until the end or Ctrl-C; the flag is true if Ctrl-C ended the loop.

    Raises:
        KeyboardInterrupt: Ctrl-C before the first result.
    """
    found: list[T] = []
    try:
        for result in results:
            found.append(result)
            progress.update(len(found))
    except KeyboardInterrupt:
        if not found:
            raise
        return found, True
    return found, False

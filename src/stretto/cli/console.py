"""Output of a command: data on stdout, everything else on stderr.

rich renders the tables and is imported with the first table. With ``--json -`` the JSON goes to
stdout and the tables to stderr, so that a pipe receives data only.
"""

import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Final

import click

from stretto.base.clock import Clock, WallClock, timestamp
from stretto.cli import sinks
from stretto.cli.output.terminals import on_terminal
from stretto.cli.progress import BarProgress, LineProgress, Progress, SilentProgress

if TYPE_CHECKING:
    from stretto.explain.records.curves import CurvePlot

_STUDIES: Final = ("stretto.simulate.", "stretto.compare", "stretto.study.")
"""Prefixes of the schemas whose results are kept."""


class Console:
    """The output streams of one command."""

    def __init__(
        self,
        *,
        quiet: bool = False,
        verbose: bool = False,
        json: str = "",
        holds: bool = False,
        clock: Clock | None = None,
    ) -> None:
        #: True if only data and errors are written.
        self.quiet = quiet
        #: True if details are written.
        self.verbose = verbose
        #: Target of the JSON output: a path, ``-`` for stdout, empty for none.
        self.json_target = json
        #: Results that wait until the output files are written; ``None`` if results are not held.
        self._held: list[tuple[str, IO[str]]] | None = [] if holds else None
        #: Clock of the progress display.
        self.clock: Clock = clock or WallClock()

    @property
    def writes_json(self) -> bool:
        """True if JSON output is requested."""
        return bool(self.json_target)

    @property
    def data_on_stdout(self) -> bool:
        """True if text goes to stdout, which is the case unless JSON goes there."""
        return self.json_target != sinks.STDOUT

    @property
    def width(self) -> int:
        """Number of columns of the terminal that shows the tables.

        0 for a file or a pipe.
        """
        stream = sys.stdout if self.data_on_stdout else sys.stderr
        return shutil.get_terminal_size().columns if on_terminal(stream) else 0

    def data(self, text: str = "") -> None:
        """Write a result for people."""
        if self.data_on_stdout:
            self._write(text, sys.stdout)
        else:
            self.note(text)

    def _write(self, text: str, stream: IO[str]) -> None:
        """Write a line of a result, or hold it until ``release``."""
        if self._held is not None:
            self._held.append((text, stream))
        else:
            click.echo(text, file=stream)

    def release(self) -> None:
        """Write the results that were held, after the output files are complete.

        The files are complete even if a reader closes the pipe early.
        """
        held, self._held = self._held, None
        for text, stream in held or ():
            click.echo(text, file=stream)

    def note(self, text: str) -> None:
        """Write a note, unless ``-q`` is given."""
        if not self.quiet:
            click.echo(text, err=True)

    def detail(self, text: str) -> None:
        """Write a detail, if ``-v`` is given."""
        if self.verbose:
            click.echo(text, err=True)

    def warn(self, text: str) -> None:
        """Write a warning, even with ``-q``."""
        click.echo(f"stretto: warning: {text}", err=True)

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = ""
    ) -> None:
        """Write a table; columns of figures are right-aligned, and None is shown as ``-``."""
        if not self.data_on_stdout and self.quiet:
            return
        from stretto.cli.output.tables import drawn, holds_figures

        stream = sys.stdout if self.data_on_stdout else sys.stderr
        self.data()
        cells = [[cell(value) for value in row] for row in rows]
        figures = [holds_figures([row[place] for row in cells]) for place in range(len(columns))]
        for line in drawn(columns, cells, figures, title, stream):
            self._write(line, stream)

    def json_so_far(self, schema: str, payload: Mapping[str, Any]) -> None:
        """Write partial JSON to a file target; the next write replaces it."""
        if self.json_target != sinks.STDOUT:
            self._write_json(schema, payload)

    def json(
        self, schema: str, payload: Mapping[str, Any], plots: "Sequence[CurvePlot]" = ()
    ) -> None:
        """Write the JSON output if requested; ``schema`` is like ``stretto.run/v1``.

        Times (``seconds`` and fields that end in ``_s`` or ``_ms``) are rounded to microseconds.
        Results of simulations and studies are also kept for the dashboard, with their plots.
        """
        self._write_json(schema, payload)
        if schema.startswith(_STUDIES):
            self._keep(schema, payload, plots)

    def _keep(self, schema: str, payload: Mapping[str, Any], plots: "Sequence[CurvePlot]") -> None:
        """Keep a result; a failure is written as a detail."""
        from stretto.explain.records.results import KeptResult, ResultRecords

        result = {"schema": schema, **with_rounded_times(payload)}
        ended = timestamp(self.clock.now())
        found = KeptResult(shlex.join(sys.argv[1:]), ended, result, tuple(plots))
        try:
            name = ResultRecords().keep(found)
        except OSError as error:
            self.detail(f"the result is not kept: {error}")
            return
        self.detail(f"kept as {name}" if name else "the result is too large to be kept")

    def _write_json(self, schema: str, payload: Mapping[str, Any]) -> None:
        if self.writes_json:
            sinks.write_json(self.json_target, {"schema": schema, **with_rounded_times(payload)})

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Progress]:
        """Show progress on stderr: a bar on a terminal, lines otherwise, nothing with ``-q``."""
        progress: Progress
        if self.quiet:
            progress = SilentProgress()
        elif on_terminal(sys.stderr):
            progress = BarProgress(label, total)
        else:
            progress = LineProgress(
                label, total, self.clock, lambda text: click.echo(text, err=True)
            )
        with progress:
            yield progress


def cell(value: object) -> str:
    """Format a value for a table cell.

    >>> cell(1234567), cell(0.98765), cell(None), cell("a")
    ('1,234,567', '0.99', '-', 'a')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return str(value)


def with_rounded_times(value: Any, digits: int | None = None) -> Any:
    """Return plain data with its times rounded to microseconds.

    Args:
        value: the data.
        digits: decimal places of the floats in ``value``; ``None`` for all.

    >>> with_rounded_times({"time_s": [0.7940061799999967], "p50_ms": 1.23456, "score": 0.1234567})
    {'time_s': [0.794006], 'p50_ms': 1.235, 'score': 0.1234567}
    """
    if isinstance(value, Mapping):
        return {key: with_rounded_times(each, _digits(str(key))) for key, each in value.items()}
    if isinstance(value, list):
        return [with_rounded_times(each, digits) for each in value]
    return round(value, digits) if isinstance(value, float) and digits is not None else value


def _digits(key: str) -> int | None:
    """Return the decimal places of a microsecond in the unit of a key.

    ``None`` if it is not a time.
    """
    if key.endswith("_ms"):
        return 3
    return 6 if key == "seconds" or key.endswith("_s") else None

"""What a command says: data on stdout, everything else on stderr.

Tables are drawn by rich, which is imported when the first one is drawn. With ``--json -`` the
JSON takes stdout and the tables move to stderr, so that a pipe sees data only.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any, Final

import click

from stretto.base.clock import Clock, WallClock
from stretto.cli import sinks
from stretto.cli.progress import BarProgress, LineProgress, Progress, SilentProgress

#: Width of a table that goes to a file: nothing is cut.
FILE_WIDTH: Final = 400


class Console:
    """The two streams of one command."""

    def __init__(
        self, *, quiet: bool = False, verbose: int = 0, json: str = "", clock: Clock | None = None
    ) -> None:
        #: Whether only data and errors are wanted.
        self.quiet = quiet
        #: How often ``-v`` was given.
        self.verbose = verbose
        #: Where the JSON twin goes: a path, ``-`` for stdout, empty for nowhere.
        self.json_target = json
        #: Time of the progress display.
        self.clock: Clock = clock or WallClock()

    @property
    def writes_json(self) -> bool:
        """Whether there is a JSON twin to write."""
        return bool(self.json_target)

    @property
    def data_on_stdout(self) -> bool:
        """Whether text may use stdout: not where JSON has it."""
        return self.json_target != sinks.STDOUT

    def data(self, text: str = "") -> None:
        """A result that people read."""
        if self.data_on_stdout:
            click.echo(text)
        else:
            self.note(text)

    def note(self, text: str) -> None:
        """What is going on; ``-q`` drops it."""
        if not self.quiet:
            click.echo(text, err=True)

    def detail(self, text: str) -> None:
        """What only ``-v`` asks for."""
        if self.verbose:
            click.echo(text, err=True)

    def warn(self, text: str) -> None:
        """Something is odd, and the command goes on; said even with ``-q``."""
        click.echo(f"stretto: warning: {text}", err=True)

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = ""
    ) -> None:
        """Draw a table; columns of numbers are set to the right. None shows as ``-``."""
        if not self.data_on_stdout and self.quiet:
            return
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(
            title=title or None, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False
        )
        for place, name in enumerate(columns):
            numbers = all(isinstance(row[place], int | float | None) for row in rows)
            table.add_column(Text(name), justify="right" if numbers and rows else "left")
        self.data()
        for row in rows:
            table.add_row(*(Text(cell(value)) for value in row))
        self._draw(table)

    def _draw(self, table: object) -> None:
        from rich.console import Console as RichConsole

        stream = sys.stdout if self.data_on_stdout else sys.stderr
        width = None if on_terminal(stream) else FILE_WIDTH
        RichConsole(file=stream, width=width, highlight=False, markup=False).print(table)

    def json_so_far(self, schema: str, payload: Mapping[str, Any]) -> None:
        """As ``json``, where a file takes it: the next writing replaces this one."""
        if self.json_target != sinks.STDOUT:
            self.json(schema, payload)

    def json(self, schema: str, payload: Mapping[str, Any]) -> None:
        """Write the JSON twin where one was asked for; ``schema`` is like ``stretto.run/v1``."""
        if self.writes_json:
            sinks.write_json(self.json_target, {"schema": schema, **payload})

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Progress]:
        """A bar on a terminal, else a line now and then, nothing with ``-q``; all on stderr."""
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
    """A value as a table shows it.

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


def on_terminal(stream: IO[str]) -> bool:
    """Whether a stream ends on a screen that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")

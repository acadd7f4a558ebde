"""Layout of tables; a name is never truncated, at any width of the terminal.

A table that is wider than the terminal wraps its sentences. If the names alone are too wide, each
row becomes a block of lines: the first cell, then one line per column. A file or pipe has no width.
"""

import re
from collections.abc import Iterator, Sequence
from io import StringIO
from textwrap import wrap
from typing import IO, Final

from stretto.cli.output.terminals import on_terminal

FILE_WIDTH: Final = 400
"""Minimum width of a table in a file or pipe."""
PADDING: Final = 3
"""Characters between two columns."""
SENTENCE: Final = 24
"""Minimum width of a column with sentences of that length."""
_FIGURE: Final = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?(?: ?%|[dhms](?:\d+[hms])?| s)?")
"""A number, a percentage or a duration."""
_NO_FIGURE: Final = ("", "-", "=")
"""Cells without a figure in a column of figures: unknown, or unchanged."""
_STYLE: Final = "\x1b["
_RESET: Final = "\x1b[0m"
_BLANKS: Final = re.compile(r"(?: |\x1b\[[0-9;]*m)+$")


def holds_figures(cells: Sequence[str]) -> bool:
    """True if a column contains only figures, which are right-aligned.

    >>> holds_figures(["1,204", "-", "+3"]), holds_figures(["1m15s", "0.4s"])
    (True, True)
    >>> holds_figures(["node-1", "3"]), holds_figures(["-"])
    (False, False)
    """
    shown = [each for each in cells if each not in _NO_FIGURE]
    return bool(shown) and all(_FIGURE.fullmatch(each) for each in shown)


def drawn(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    figures: Sequence[bool],
    title: str,
    stream: IO[str],
) -> list[str]:
    """Return the lines of a table for a stream, without trailing blanks.

    Args:
        columns: the heads.
        rows: the cells of each row.
        figures: bool by column: true for right-aligned.
        title: a line above the table; empty for none.
        stream: target of the lines.
    """
    from rich.console import Console

    if not on_terminal(stream):
        least = sum(_natural(columns, rows)) + PADDING * len(columns)
        console = Console(file=StringIO(), width=max(FILE_WIDTH, least), highlight=False)
        return _lines(console, _table(columns, rows, figures, title))
    console = Console(file=stream, highlight=False, markup=False)
    if sum(least_widths(columns, rows)) + PADDING * len(columns) > console.width:
        return [*([title] if title else []), *_blocks(columns, rows, console.width)]
    return _lines(console, _table(columns, rows, figures, title))


def _natural(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column without wrapping."""
    return [max(len(name), *(len(row[n]) for row in rows), 0) for n, name in enumerate(columns)]


def _is_sentence(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Return whether a column may wrap: one of its cells has several words."""
    return any(len(row[place].split()) > 3 for row in rows)


def least_widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the minimum width of each column: whole names, and the longest word of sentences."""
    found = []
    for place, width in enumerate(_natural(columns, rows)):
        if _is_sentence(rows, place):
            words = (word for row in rows for word in row[place].split())
            width = max(len(columns[place]), min(width, SENTENCE), *map(len, words))
        found.append(width)
    return found


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], figures: Sequence[bool], title: str
) -> object:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False)
    least = least_widths(columns, rows)
    for place, name in enumerate(columns):
        wraps = _is_sentence(rows, place)
        table.add_column(
            Text(name),
            justify="right" if figures[place] else "left",
            no_wrap=not wraps,
            min_width=least[place],
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _lines(console: object, table: object) -> list[str]:
    """Return the lines of a table as rich draws it for a console, with colours."""
    from rich.console import Console

    assert isinstance(console, Console)
    with console.capture() as captured:
        console.print(table)
    stripped = [_BLANKS.sub("", line) for line in captured.get().splitlines()]
    return [line + _RESET if _STYLE in line else line for line in stripped]


def _blocks(columns: Sequence[str], rows: Sequence[Sequence[str]], limit: int) -> Iterator[str]:
    """Yield one block of lines per row; empty cells are omitted, and sentences wrap."""
    width = max((len(name) for name in columns[1:]), default=0)
    for number, row in enumerate(rows):
        if number:
            yield ""
        yield f"{columns[0]}: {row[0]}" if columns[0] else row[0]
        for name, text in zip(columns[1:], row[1:], strict=True):
            if text and text != "-":
                head = f"  {name.ljust(width)}  "
                yield from wrap(
                    text,
                    max(limit, len(head) + SENTENCE),
                    initial_indent=head,
                    subsequent_indent=" " * len(head),
                    break_long_words=False,
                    break_on_hyphens=False,
                )

"""Output formats of lists, as in ``kubectl get -o``."""

import csv
from collections.abc import Mapping, Sequence
from enum import Enum
from io import StringIO
from typing import Any, Final, NamedTuple

import click

from stretto.base.errors import InputError, UnknownNameError
from stretto.cli.console import Console, cell
from stretto.cli.sinks import plain

JSONPATH: Final = "jsonpath="


class ListFormat(Enum):
    """Output format of a list."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    CSV = "csv"


METAVAR: Final = "|".join([*(each.value for each in ListFormat), "jsonpath=..."])


OUTPUT: Final = click.option(
    "-o", "--output", default="table", metavar=METAVAR, help="Output format [table]."
)
"""The option of commands that list objects."""


class ListColumn(NamedTuple):
    """One column of a list."""

    #: Heading of the column.
    name: str
    #: Function that returns the cell of a row.
    cells: Sequence[object]
    #: Order in which narrow terminals drop columns, the highest first; 0 for never.
    optional: int = 0
    #: True if the column is only in the wide form.
    wide: bool = False


class ListedRows(NamedTuple):
    """A list that is ready to be written."""

    #: Columns of the list.
    columns: Sequence[ListColumn]
    #: The name of each row, as ``-o name`` writes it.
    names: Sequence[str]
    #: Schema version of the JSON form.
    schema: str
    #: JSON form of the list.
    fields: Mapping[str, Any]


def check_format(spelled: str) -> None:
    """Refuse an unknown format and a malformed template before anything is read.

    Raises:
        UnknownNameError: no format has the name.
        InputError: a JSONPath template is missing or malformed.
    """
    if spelled.startswith("jsonpath"):
        from stretto.cli.output.jsonpath.syntax import parsed

        if not spelled.removeprefix(JSONPATH).strip() or not spelled.startswith(JSONPATH):
            raise InputError("-o", spelled, "jsonpath=TEMPLATE", "jsonpath='{.items[*].name}'")
        parsed(spelled.removeprefix(JSONPATH))
    elif spelled not in (known := [each.value for each in ListFormat]):
        raise UnknownNameError("output format", spelled, [*known, "jsonpath=TEMPLATE"])


def write_list(console: Console, spelled: str, rows: ListedRows) -> None:
    """Write a list in a format; ``--json`` writes its JSON form in addition.

    Raises:
        InputError: a JSONPath template does not fit the list.
    """
    import msgspec

    console.json(rows.schema, rows.fields)
    document = msgspec.json.decode(
        msgspec.json.encode({"schema": rows.schema, **rows.fields}, enc_hook=plain)
    )
    if spelled.startswith(JSONPATH):
        from stretto.cli.output.jsonpath.rendering import rendered

        text = rendered(spelled.removeprefix(JSONPATH), document)
        console.data(text.removesuffix("\n"))
        return
    chosen = ListFormat(spelled)
    if chosen is ListFormat.JSON:
        raw = msgspec.json.format(msgspec.json.encode(document), indent=2)
        console.data(raw.decode())
    elif chosen is ListFormat.YAML:
        import yaml

        text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
        console.data(text.rstrip("\n"))
    elif chosen is ListFormat.NAME:
        for name in rows.names:
            console.data(name)
    elif chosen is ListFormat.CSV:
        console.data(_csv(rows.columns).rstrip("\n"))
    else:
        write_columns(
            console, rows.columns, "-o wide shows all columns", wide=chosen is ListFormat.WIDE
        )


def _csv(columns: Sequence[ListColumn]) -> str:
    """Return the rows with all columns as CSV; numbers are plain."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([each.name for each in columns])
    writer.writerows(
        ["" if value is None else value for value in row]
        for row in zip(*(each.cells for each in columns), strict=True)
    )
    return text.getvalue()


def write_columns(
    console: Console, columns: Sequence[ListColumn], hint: str, *, wide: bool = False
) -> None:
    """Write a table of the columns with content; on a narrow terminal, only those that fit.

    Args:
        console: the output.
        columns: all columns.
        hint: option that shows the columns that do not fit.
        wide: true to write all columns.
    """
    wide = wide or console.verbose
    chosen = [each for each in columns if wide or not (each.wide or _is_empty(each))]
    width, dropped = console.width, []
    while not wide and width and _width(chosen) > width:
        last = max(chosen, key=lambda each: each.optional)
        if not last.optional:
            break
        chosen.remove(last)
        dropped.append(last.name)
    console.table(
        [each.name for each in chosen], list(zip(*(each.cells for each in chosen), strict=True))
    )
    if dropped:
        console.note(f"{', '.join(reversed(dropped))}: not shown; {hint}")


def _is_empty(column: ListColumn) -> bool:
    """Return whether an optional column is empty."""
    return bool(column.optional) and all(each in (None, "", "-", 0) for each in column.cells)


def _width(columns: Sequence[ListColumn]) -> int:
    """Return the minimum width of a table of these columns."""
    from stretto.cli.output.tables import PADDING, least_widths

    heads = [each.name for each in columns]
    rows = [[cell(v) for v in row] for row in zip(*(c.cells for c in columns), strict=True)]
    return sum(least_widths(heads, rows)) + PADDING * len(columns)

"""Columns of the kinds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from stretto.base.clock import parse_timestamp
from stretto.base.errors import InputError
from stretto.web.api.resources import ServedResource

Json = dict[str, Any]

Cells = Callable[[Json, float], list[Any]]
"""The cells of an object at a time."""


@dataclass(frozen=True)
class TableColumn:
    """One column."""

    #: Heading.
    name: str
    #: OpenAPI type.
    type: str = "string"
    #: OpenAPI format; ``name`` marks the name of the object.
    format: str = ""
    #: 0 for the normal view; greater values appear in the wide view only.
    priority: int = 0
    #: What it means.
    description: str = ""

    def definition(self) -> Json:
        """The column as in a table."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


@dataclass(frozen=True)
class TableFormat:
    """How objects of a kind are printed."""

    #: The columns.
    columns: tuple[TableColumn, ...]
    #: The cells of an object.
    cells: Cells


NAME: Final = TableColumn("Name", "string", "name", 0, "Name of the object within its namespace.")
CREATED: Final = TableColumn(
    "Created At", "date", "", 0, "Time at which the server created the object."
)


def columns_of(_resource: ServedResource) -> TableFormat:
    """How objects of a resource are printed."""
    return _PLAIN


def _plain(item: Json, _now: float) -> list[Any]:
    metadata = item["metadata"]
    return [metadata.get("name", ""), metadata.get("creationTimestamp", "<unknown>")]


_PLAIN: Final = TableFormat((NAME, CREATED), _plain)


def age(time: str | None, now: float) -> str:
    """The time since a timestamp, as kubectl prints it."""
    if not time:
        return "<unknown>"
    try:
        return duration(now - parse_timestamp(time))
    except InputError:
        return "<unknown>"


def duration(seconds: float) -> str:
    """A duration in one or two units: ``45s``, ``5m30s``, ``3h5m``, ``2d4h``, ``9y``."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(0, whole)
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 120:
        return f"{whole}s"
    if minutes < 10:
        return f"{minutes}m{whole % 60}s" if whole % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if days < 730:
        return f"{days}d"
    years = days // 365
    if years < 8:
        return f"{years}y{days % 365}d" if days % 365 else f"{years}y"
    return f"{years}y"

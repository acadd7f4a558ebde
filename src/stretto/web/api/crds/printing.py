"""Printer columns of definitions."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from stretto.api.checks.custom.formats import FORMATS
from stretto.api.wire.selectors import integer
from stretto.web.api.tables.columns import NAME, TableColumn, TableFormat
from stretto.web.api.tables.values import since

Json = dict[str, Any]

_UNDESCRIBED: Final = "Custom resource definition column (in JSONPath format)"
"""Start of the description of a column that has none."""
_ALL: Final = ".."
"""Step to a value and everything below it."""
_AGE: Final = TableColumn("Age", "date", "", 0, "Time since the object was created.")


def table_format(columns: Iterable[Json]) -> TableFormat:
    """Return the table format of the objects of a version."""
    declared = tuple(columns)
    if not declared:
        return TableFormat(
            (NAME, _AGE),
            lambda item, now: [
                item["metadata"].get("name", ""),
                since(item["metadata"].get("creationTimestamp"), now),
            ],
        )
    shown = tuple(
        TableColumn(
            each.get("name", ""),
            each.get("type", "string"),
            each.get("format", ""),
            each.get("priority", 0),
            each.get("description") or f"{_UNDESCRIBED}: {each.get('jsonPath', '')}",
        )
        for each in declared
    )

    read = [(str(each.get("jsonPath", "")), each.get("type")) for each in declared]

    def cells(item: Json, now: float) -> list[Any]:
        found = [_cell(values_at(item, path), kind, now) for path, kind in read]
        return [item["metadata"].get("name", ""), *found]

    return TableFormat((NAME, *shown), cells)


def _age(text: str, now: float) -> str:
    return since(text, now) if not text or FORMATS["date-time"](text) else "<invalid>"


def _cell(values: Sequence[Any], kind: str | None, now: float) -> Any:
    if not values:
        return None
    value = values[0]
    if kind == "date":
        return _age(value, now) if isinstance(value, str) else None
    if kind == "string":
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, dict | list):
            return json.dumps(value, separators=(",", ":"))
        return str(value)
    if kind == "integer" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return value if kind == "boolean" and isinstance(value, bool) else None


def values_at(item: Any, path: str) -> list[Any]:
    """Return the values at a simple JSONPath: members, indices, filters by equality, ``..``."""
    names, steps = _parted(path)
    for name in names:
        item = item.get(name) if isinstance(item, dict) else None
        if item is None:
            return []
    found = [item]
    for step in steps:
        found = [inner for each in found for inner in _below(each, step)]
    return [each for each in found if each is not None]


@lru_cache(maxsize=4096)
def _parted(path: str) -> tuple[list[str], list[str]]:
    """Split a path into its leading names and the other steps."""
    steps = _steps(path)
    count = next((at for at, each in enumerate(steps) if _is_special(each)), len(steps))
    return steps[:count], steps[count:]


def _is_special(step: str) -> bool:
    return step == _ALL or step.startswith("[")


def _steps(path: str) -> list[str]:
    """Split a path into steps: names, and the contents of brackets."""
    steps: list[str] = []
    current, depth, quote, is_escaped = "", 0, "", False
    for before, each in zip(f" {path}", path, strict=False):
        if is_escaped or each == "\\":
            is_escaped = not is_escaped
            current += each
        elif quote:
            quote = "" if each == quote else quote
            current += each
        elif depth and each in "'\"":
            quote = each
            current += each
        elif each == "[":
            if depth == 0:
                steps.append(current)
                current = ""
            depth += 1
            current += each
        elif each == "]":
            depth -= 1
            current += each
            if depth == 0:
                steps.append(current)
                current = ""
        elif each == "." and depth == 0:
            steps.append(_ALL if before == "." else current)
            current = ""
        else:
            current += each
    return [each.replace("\\", "") for each in [*steps, current] if each]


def _containers(value: Any) -> Iterator[Any]:
    """Yield a value and all values below it that have parts."""
    parts = value.values() if isinstance(value, dict) else value
    if parts and isinstance(value, dict | list):
        yield value
        for each in parts:
            yield from _containers(each)


def _below(value: Any, step: str) -> list[Any]:
    if step == _ALL:
        return list(_containers(value))
    if not step.startswith("["):
        return [value[step]] if isinstance(value, dict) and step in value else []
    inner = step[1:-1].strip()
    if inner.startswith("?(@.") and "==" in inner:
        name, _, wanted = inner[4:-1].partition("==")
        text = wanted.strip().strip("'\"")
        items = value if isinstance(value, list) else []
        return [
            each for each in items if isinstance(each, dict) and str(each.get(name.strip())) == text
        ]
    if inner == "*":
        return list(value.values() if isinstance(value, dict) else value or [])
    index = integer(inner)
    if index is not None and isinstance(value, list):
        return [value[index]] if -len(value) <= index < len(value) else []
    name = inner.strip("'\"")
    return [value[name]] if isinstance(value, dict) and name in value else []

"""Printer columns of definitions."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from stretto.api.checks.custom.formats import FORMATS
from stretto.api.schema.golang import go_value, html_escaped
from stretto.web.api.tables.columns import NAME, TableColumn, TableFormat
from stretto.web.api.tables.values import since

Json = dict[str, Any]

_UNDESCRIBED: Final = "Custom resource definition column (in JSONPath format)"
"""Start of the description of a column that has none."""
_ALL: Final = ".."
"""Step to a value and everything below it."""
_QUOTED: Final = re.compile(r"\['([^']*)'\]")
"""Pattern of a step to members, whose names are separated by dots."""
_SLICE: Final = re.compile(r"(-?\d+)?(:(?:-?\d+)?)?(:(?:-?\d+)?)?")
"""Pattern of an index, or of two indices and a step."""
_FILTER: Final = re.compile(r"\((?P<left>[^=!<>]+)((?P<operator>[=!<>]=|[<>])(?P<right>.+))?\)")
"""Pattern of a filter: the existence of a path, or a comparison."""
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LITERALS: Final[Mapping[str, bool]] = {"true": True, "false": False}
_COMPARED: Final = (bool, int, float, str)
"""Types whose values a filter compares."""
_BEYOND: Final = 2**63
"""The first number beyond 64 bits; in Go, the whole part of a larger one is the smallest number."""
_AGE: Final = TableColumn("Age", "date", "", 0, "Time since the object was created.")


class _PathError(Exception):
    """A path does not fit a value."""


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
        if isinstance(value, dict | list):
            return html_escaped(msgspec.json.encode(value, order="sorted")).decode()
        return "<no value>" if value is None else go_value(value)
    if kind == "integer" and type(value) in (int, float):
        return int(value) if -_BEYOND <= value < _BEYOND else -_BEYOND
    if kind == "number" and type(value) in (int, float):
        return value
    return value if kind == "boolean" and isinstance(value, bool) else None


def values_at(item: Any, path: str) -> list[Any]:
    """Return the values at a JSONPath: members, slices, unions, filters, ``..``.

    Without values at the path, or if it does not fit a value, there are none.
    """
    names, steps = _parted(path)
    for name in names:
        if not isinstance(item, dict) or name not in item:
            return []
        item = item[name]
    try:
        return _reached([item], steps)
    except _PathError:
        return []


@lru_cache(maxsize=4096)
def _parted(path: str) -> tuple[list[str], list[str]]:
    """Split a path into its leading names and the other steps."""
    steps = _steps(path)
    count = next((at for at, each in enumerate(steps) if _is_special(each)), len(steps))
    return steps[:count], steps[count:]


def _is_special(step: str) -> bool:
    return step in (_ALL, "*") or step.startswith("[")


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
                name = _QUOTED.fullmatch(current)
                steps += [current] if name is None else _steps(name[1])
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


def _reached(values: list[Any], steps: Iterable[str]) -> list[Any]:
    """Return the values after some steps from each of other values.

    Raises:
        _PathError: a step does not fit a value.
    """
    for step in steps:
        values = [inner for each in values for inner in _below(each, step)]
    return values


def _below(value: Any, step: str) -> list[Any]:
    if step == _ALL:
        return list(_containers(value))
    if step == "*":
        members = value.values() if isinstance(value, dict) else value
        return list(members) if isinstance(value, dict | list) else []
    if not step.startswith("["):
        return [value[step]] if isinstance(value, dict) and step in value else []
    inner = step[1:-1].strip()
    if "," in inner and not inner.startswith("?"):
        parts = (_steps(f"[{part.strip()}]") for part in inner.split(","))
        return [each for steps in parts for each in _reached([value], steps)]
    if value is None:
        return []
    if not isinstance(value, list):
        raise _PathError
    if inner.startswith("?"):
        return _filtered(value, inner[1:].strip())
    return value if inner == "*" else _slice(value, inner)


def _filtered(items: list[Any], test: str) -> list[Any]:
    """Return the items for which a test such as ``(@.a==1)`` holds.

    Raises:
        _PathError: the test is malformed, or compares values of different types.
    """
    found = _FILTER.fullmatch(test)
    if found is None:
        raise _PathError
    left, right = found["left"].strip(), (found["right"] or "").strip()
    if not right:
        return [each for each in items if _operand(each, left)]
    compare = _OPERATORS[found["operator"]]
    return [each for each in items if _holds(compare, _operand(each, left), _operand(each, right))]


def _operand(item: Any, text: str) -> list[Any]:
    """Return the values of one side of a comparison: those at a path, or that of a literal."""
    if text.startswith("@"):
        return values_at(item, text[1:])
    if text[:1] in ("'", '"'):
        return [text[1:-1]]
    if text in _LITERALS:
        return [_LITERALS[text]]
    try:
        return [float(text) if "." in text else int(text)]
    except ValueError as error:
        raise _PathError from error


def _holds(compare: Callable[[Any, Any], bool], left: list[Any], right: list[Any]) -> bool:
    if not left or not right:
        return False
    kinds = {type(left[0]), type(right[0])}
    if len(kinds) > 1 or kinds.isdisjoint(_COMPARED):
        raise _PathError
    return compare(left[0], right[0])


def _slice(items: list[Any], text: str) -> list[Any]:
    """Return the items at an index, or from the first index to before the second one.

    Raises:
        _PathError: an index is out of range.
    """
    found = _SLICE.fullmatch(text)
    if found is None:
        raise _PathError
    size = len(items)
    first, step = int(found[1] or 0), int((found[3] or "")[1:] or 1)
    last = first + 1 or size if found[2] is None else int(found[2][1:] or size)
    first, last = (each + size if each < 0 else each for each in (first, last))
    if first == last:
        return []
    if not 0 <= first < last <= size or step <= 0:
        raise _PathError
    return items[first:last:step]

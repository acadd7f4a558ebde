"""Renders JSONPath templates for a document, with the results of kubectl 1.36.

Differences to kubectl: whole and fractional numbers compare with each other, a null in a comparison
is like a missing key, and the characters of a string are not values.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

from stretto.cli.output.jsonpath.steps import (
    COMPARISONS,
    PathFilter,
    PathKey,
    PathLiteral,
    PathSlice,
    PathStep,
    PathUnion,
    PathWord,
    TemplateError,
    TemplatePart,
    TemplatePath,
    TemplateRange,
)
from stretto.cli.output.jsonpath.syntax import parsed

_ESCAPED: Final = {each: f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
"""Characters that Go escapes in JSON."""
_EXPONENT: Final = 21
"""Smallest power of ten that Go writes with an exponent."""
_TEXT, _JSON = -4, -6
"""Smallest powers of ten that Go writes without an exponent, as text and in JSON."""


def rendered(template: str, value: Any) -> str:
    """Return the text of a template for a document.

    Args:
        template: text with expressions in braces; without braces, one expression.
        value: the document as plain data.

    Raises:
        TemplateError: the template is malformed or does not fit the document.
    """
    return _Rendering(template).text(parsed(template), value)


class _Rendering:
    """The rendering of one template; errors contain the template."""

    def __init__(self, template: str) -> None:
        self._template = template

    def text(self, parts: Iterable[TemplatePart], value: Any) -> str:
        """Return the text of template parts for the current value."""
        written = []
        for part in parts:
            if isinstance(part, str):
                written.append(part)
            elif isinstance(part, TemplateRange):
                found = self._values(part.path, [value])
                written += [self.text(part.parts, each) for each in found]
            else:
                written.append(" ".join(map(_shown, self._values(part, [value]))))
        return "".join(written)

    def _values(self, path: TemplatePath, values: Sequence[Any]) -> Sequence[Any]:
        """Return the values at a path from some values."""
        for step in path:
            if isinstance(step, PathUnion):
                values = [each for part in step.parts for each in self._values(part, values)]
            else:
                values = [each for value in values for each in self._step(step, value)]
        return values

    def _step(self, step: PathStep, value: Any) -> Iterable[Any]:
        """Return the values of a step, except a union, from one value."""
        if isinstance(step, PathLiteral):
            return (step.value,)
        if isinstance(step, PathKey):
            return _at_key(step, value)
        if isinstance(step, PathSlice):
            return () if value is None else self._sliced(step, self._listed(value))
        if isinstance(step, PathFilter):
            return self._filtered(step, self._listed(value))
        return _children(value) if step is PathWord.CHILDREN else _below(value)

    def _listed(self, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise self._error(f"{_kind(value)} is not array or slice")
        return value

    def _error(self, problem: str) -> TemplateError:
        return TemplateError(self._template, problem, "-o json shows the document")

    def _sliced(self, step: PathSlice, value: list[Any]) -> list[Any]:
        """Return elements of a list; refuse indices outside the list."""
        length = len(value)
        first = step.first + length if step.first < 0 else step.first
        behind = first + 1 if step.single else length if step.behind is None else step.behind
        behind += length if behind < 0 else 0
        if first == behind:
            return []
        for index, inside in ((first, 0 <= first < length), (behind - 1, 0 <= behind <= length)):
            if not inside:
                raise self._error(f"array index out of bounds: index {index}, length {length}")
        if first > behind:
            raise self._error(f"starting index {first} is greater than ending index {behind}")
        if step.step <= 0:
            raise self._error("step must be > 0")
        return value[first : behind : step.step]

    def _filtered(self, step: PathFilter, value: list[Any]) -> Iterator[Any]:
        for each in value:
            left = self._values(step.left, [each])
            if step.sign:
                right = self._values(step.right, [each])
                if self._compared(step.sign, left, right):
                    yield each
            elif left:
                yield each

    def _compared(self, sign: str, left: Sequence[Any], right: Sequence[Any]) -> bool:
        """Return the result of a comparison; false if a side has no value."""
        if len(left) > 1 or len(right) > 1:
            raise self._error("can only compare one element at a time")
        if not left or not right or left[0] is None or right[0] is None:
            return False
        kinds = {_kind(left[0]), _kind(right[0])}
        if len(kinds) > 1:
            raise self._error(f"incompatible types for comparison: {' and '.join(sorted(kinds))}")
        if kinds & {"map", "list"} or (kinds == {"boolean"} and sign not in ("==", "!=")):
            raise self._error(f"invalid type for comparison: {kinds.pop()}")
        return COMPARISONS[sign](left[0], right[0])


def _kind(value: Any) -> str:
    """Return the type of a value for messages; whole and fractional numbers are one type."""
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", dict: "map"}
    return kinds.get(type(value), "list" if isinstance(value, list) else "null")


def _at_key(step: PathKey, value: Any) -> Iterator[Any]:
    """Yield the value of a key; a quoted name with dots is first a key, then a path."""
    if isinstance(value, dict) and step.name in value:
        yield value[step.name]
    elif step.apart:
        for name in step.apart:
            if not (isinstance(value, dict) and name in value):
                return
            value = value[name]
        yield value


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _below(value: Any) -> Iterator[Any]:
    """Yield a value and all values below it that have content, the outermost first."""
    if isinstance(value, str | dict | list) and value:
        yield value
    for each in _children(value):
        yield from _below(each)


# ---------------------------------------------------------------- text


def _shown(value: Any) -> str:
    """Return a value as text: strings unchanged, maps and lists as JSON with sorted keys."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        text = msgspec.json.encode(_plain(value), order="deterministic").decode()
        return re.sub("[<>&\u2028\u2029]", lambda found: _ESCAPED[found[0]], text)
    return (
        _number(value, _TEXT) if isinstance(value, float) else msgspec.json.encode(value).decode()
    )


def _plain(value: Any) -> Any:
    """Return a value whose numbers JSON encodes as Go does."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return msgspec.Raw(_number(value, _JSON).encode()) if isinstance(value, float) else value


def _number(value: float, least: int) -> str:
    """Return a fractional number as Go does: an exponent below 10**least and from 10**21 up."""
    exact = Decimal(repr(value))
    power = exact.adjusted()
    if not value or least <= power < _EXPONENT:
        text = format(exact, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    digits = exact.as_tuple().digits
    shown = "".join(map(str, digits)).rstrip("0")
    sign = "-" if value < 0 else ""
    point = "." if len(shown) > 1 else ""
    return f"{sign}{shown[0]}{point}{shown[1:]}e{power:+03d}"

"""Label selectors as parsed by kube-apiserver, with its messages."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from stretto.api.checks.fields.errors import quoted
from stretto.api.checks.fields.texts import label_key, label_value
from stretto.api.wire.selectors import integer
from stretto.web.api.failures import ApiError, bad_request

_TOKEN: Final = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)")
_SPECIAL: Final = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})
_OPERATORS: Final = {
    "=": "=", "==": "==", "!=": "!=", "in": "in", "notin": "notin", "<": "lt", ">": "gt",
    "gt": "gt", "lt": "lt",
}  # fmt: skip
_NEGATIVE: Final = frozenset({"!", "notin"})
"""Operators that labels without the key meet."""
_MAX_TERMS: Final = 1000


@dataclass(frozen=True)
class LabelTerm:
    """One requirement."""

    #: Label key.
    key: str
    #: ``in``, ``notin``, ``exists``, ``!``, ``gt`` or ``lt``.
    operator: str
    #: Values.
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet the requirement."""
        value = labels.get(self.key)
        if self.operator == "exists":
            return value is not None
        if self.operator == "!":
            return value is None
        if self.operator == "in":
            return value in self.values if value is not None else False
        if self.operator == "notin":
            return value is None or value not in self.values
        return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        limit, number = integer(next(iter(self.values))), integer(value)
        if limit is None or number is None:
            return False
        return number > limit if self.operator == "gt" else number < limit


class _Parser:
    """Parser of one text."""

    def __init__(self, text: str) -> None:
        self._tokens = [match[1] for match in _TOKEN.finditer(text)]
        self._next = 0

    def terms(self) -> tuple[LabelTerm, ...]:
        found: list[LabelTerm] = []
        while True:
            token = self._peek()
            if token == "" and not found:
                return ()
            if token == "" or (token in _SPECIAL and token != "!"):
                shown = token
                raise _refused(f"found '{shown}', expected: !, identifier, or 'end of string'")
            found.append(self._requirement())
            if len(found) > _MAX_TERMS:
                raise _refused(f"more than {_MAX_TERMS} requirements")
            token = self._take()
            if token == "":
                return tuple(found)
            if token != ",":
                raise _refused(f"found '{token}', expected: ',' or 'end of string'")
            following = self._peek()
            if (following in _SPECIAL and following != "!") or following == "":
                raise _refused(f"found '{following}', expected: identifier after ','")

    def _requirement(self) -> LabelTerm:
        negated = self._peek() == "!"
        if negated:
            self._take()
        key = self._take()
        if key in _SPECIAL or not key:
            raise _unparsed(f"found '{key}', expected: identifier")
        _check_key(key)
        if negated:
            return LabelTerm(key, "!")
        following = self._peek()
        if following in ("", ","):
            return LabelTerm(key, "exists")
        self._take()
        operator = _OPERATORS.get(following)
        if operator is None:
            raise _unparsed(f"found '{following}', expected: in, notin, =, ==, !=, gt, lt")
        if operator in ("in", "notin"):
            return LabelTerm(key, operator, _checked(key, self._values()))
        value = self._exact()
        if operator in ("gt", "lt"):
            return LabelTerm(key, operator, _checked(key, [value], compared=True))
        return LabelTerm(key, "notin" if operator == "!=" else "in", _checked(key, [value]))

    def _values(self) -> list[str]:
        opening = self._take()
        if opening != "(":
            raise _unparsed(f"found '{opening}' expected: '('")
        values: list[str] = []
        first = self._peek()
        if first == ")":
            self._take()
            return [""]
        if first == "" or (first in _SPECIAL and first != ","):
            raise _unparsed(f"found '{first}', expected: ',', ')' or identifier")
        while True:
            token = self._take()
            if token == ",":
                values.append("")
                continue
            if token == ")":
                return [*values, ""]
            if token == "" or token in _SPECIAL:
                raise _unparsed(f"found '{token}', expected: ',', or identifier")
            values.append(token)
            token = self._take()
            if token == ")":
                return values
            if token != ",":
                raise _unparsed(f"found '{token}', expected: ',' or ')'")

    def _exact(self) -> str:
        token = self._peek()
        if token in ("", ","):
            return ""
        self._take()
        if token in _SPECIAL:
            raise _unparsed(f"found '{token}', expected: identifier")
        return token

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token


def parse_labels(text: str) -> tuple[LabelTerm, ...]:
    """Parse the requirements of a label selector; empty for an empty text.

    Raises:
        ApiError: the selector is malformed.
    """
    return _Parser(text).terms()


class LabelFilter:
    """Requirements combined by key, so that the time for an object depends on its labels."""

    def __init__(self, terms: Iterable[LabelTerm]) -> None:
        """Combine the requirements of a selector."""
        by_key: dict[str, list[LabelTerm]] = {}
        for each in terms:
            by_key.setdefault(each.key, []).append(each)
        reduced = [each for found in by_key.values() for each in _reduced(found)]
        self._required = [each for each in reduced if each.operator not in _NEGATIVE]
        self._excluded: dict[str, list[LabelTerm]] = {}
        for each in reduced:
            if each.operator in _NEGATIVE:
                self._excluded.setdefault(each.key, []).append(each)

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Return whether labels meet all requirements."""
        found = labels or {}
        return all(each.holds(found) for each in self._required) and all(
            each.holds(found)
            for key in found.keys() & self._excluded.keys()
            for each in self._excluded[key]
        )


def _reduced(terms: list[LabelTerm]) -> list[LabelTerm]:
    """Return at most one requirement of each operator for the requirements of one key."""
    found: dict[str, LabelTerm] = {}
    for each in terms:
        known = found.get(each.operator)
        found[each.operator] = each if known is None else _both(known, each)
    return list(found.values())


def _both(one: LabelTerm, two: LabelTerm) -> LabelTerm:
    """Return a requirement that holds if two of the same key and operator hold."""
    if one.operator == "in":
        return replace(one, values=one.values & two.values)
    if one.operator == "notin":
        return replace(one, values=one.values | two.values)
    if one.operator in ("gt", "lt"):
        choose = max if one.operator == "gt" else min
        return choose(one, two, key=lambda each: integer(next(iter(each.values))) or 0)
    return one


def _check_key(key: str) -> None:
    problems = label_key(key)
    if problems:
        raise _unparsed(f"<nil>: Invalid value: {quoted(key)}: {'; '.join(problems)}")


def _checked(key: str, values: list[str], *, compared: bool = False) -> frozenset[str]:
    """Return the values of a requirement.

    Args:
        key: key of the labels.
        values: the values.
        compared: whether numbers are compared with the value.

    Raises:
        ApiError: values are not valid.
    """
    found: dict[str, list[str]] = {}
    distinct = sorted(set(values))
    for index, value in enumerate(distinct if compared else ()):
        if integer(value) is None:
            found[f"values[{index}]: Invalid value: {quoted(value)}"] = [_NO_INTEGER]
    for index, value in enumerate(distinct):
        problems = label_value(value)
        if problems:
            found[f"values[{index}][{key}]: Invalid value: {quoted(value)}"] = problems
    if found:
        texts = [f"{where}: {'; '.join(problems)}" for where, problems in found.items()]
        raise _unparsed(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    return frozenset(distinct)


_NO_INTEGER: Final = "for 'Gt', 'Lt' operators, the value must be an integer"


def _unparsed(text: str) -> ApiError:
    return bad_request(f"unable to parse requirement: {text}")


def _refused(text: str) -> ApiError:
    return bad_request(text)

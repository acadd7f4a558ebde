"""Rules as values: a rule maps a value and its path to the refused fields.

    SPEC = members({"replicas": not_negative, "mode": choice("A", "B"), "parts": each(PART)})
    errors = SPEC(item.get("spec"), "spec")

An absent value is ``None``. Go represents it as the zero of its type, so a rule without
``optional`` treats it as empty. Errors have the order of the table, which is that of
kube-apiserver.
"""

from collections.abc import Callable, Mapping
from typing import Any

from stretto.api.checks.fields.errors import (
    Errors,
    FieldError,
    invalid,
    required,
    unsupported,
)

Rule = Callable[[Any, str], Errors]
"""Returns the refused fields of a value at a path."""
KindRule = Callable[[dict[str, Any], dict[str, Any] | None], Errors]
"""Returns the refused fields of a new or changed object, given the old one."""
PartRule = Callable[[dict[str, Any], dict[str, Any]], Errors]
"""Returns the refused fields of an object after a write of a subresource, given the old one."""


def members(table: Mapping[str, Rule]) -> Rule:
    """A rule for an object with a rule per member; an absent object has absent members."""
    pairs = tuple(table.items())

    def check(value: Any, path: str) -> Errors:
        value, prefix = value or {}, f"{path}." if path else ""
        found: Errors = []
        for name, rule in pairs:
            errors = rule(value.get(name), prefix + name)
            if errors:
                found += errors
        return found

    return check


def every(*rules: Rule) -> Rule:
    """A rule that applies several rules in order."""

    def check(value: Any, path: str) -> Errors:
        return [error for rule in rules for error in rule(value, path)]

    return check


def optional(rule: Rule) -> Rule:
    """A rule for a value that may be absent."""
    return lambda value, path: [] if value is None else rule(value, path)


def each(rule: Rule) -> Rule:
    """A rule for the items of a list."""

    def check(value: Any, path: str) -> Errors:
        return [
            error
            for index, item in enumerate(value or ())
            for error in rule(item, f"{path}[{index}]")
        ]

    return check


def needed(detail: str = "") -> Rule:
    """A rule that a value is not empty."""
    return lambda value, path: [] if value else [required(path, detail)]


def choice(*allowed: str) -> Rule:
    """A rule that a value is in an enumeration; messages list the values in this order."""
    known = frozenset(allowed)
    return lambda value, path: (
        [] if (value or "") in known else [unsupported(path, value or "", allowed)]
    )


def text(problems: Callable[[str], list[str]]) -> Rule:
    """A rule for a text, from a function that returns its problems."""
    return lambda value, path: [invalid(path, value or "", each) for each in problems(value or "")]


def between(least: int, most: int) -> Rule:
    """A rule that a number is within inclusive bounds; an absent number counts as 0."""
    allowed = range(least, most + 1)
    return lambda value, path: (
        []
        if (value or 0) in allowed
        else [invalid(path, value or 0, f"must be between {least} and {most}, inclusive")]
    )


def moved(error: FieldError, prefix: str) -> FieldError:
    """Return an error of an inner object with the path of the outer one."""
    return FieldError(error.reason, error.message, f"{prefix}{error.field}")

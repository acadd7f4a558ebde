"""Field selectors of list and watch: ``spec.nodeName=,status.phase!=Running``."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.base.errors import InputError

_TERM: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9_.\-/]*?)\s*(!=|==|=)((?:[^\\,=]|\\[\\,=])*)")
_ESCAPED: Final = re.compile(r"\\([\\,=])")
_SPECIAL: Final = re.compile(r"([\\,=])")
_EXPECTED: Final = "a field selector such as spec.nodeName=,status.phase!=Running"

_ABSENT: Final[dict[str, str]] = {"spec.unschedulable": "false", "spec.hostNetwork": "false"}
"""Values of absent fields that are not the empty string: Go omits false."""


class FieldRule(msgspec.Struct, frozen=True, gc=False):
    """One comparison of one field."""

    #: Path of the field, with dots.
    path: str
    #: The value, as text.
    value: str
    #: True if the field must be equal to the value, False if it must differ.
    equal: bool = True

    def __str__(self) -> str:
        value = _SPECIAL.sub(r"\\\1", self.value)
        return f"{self.path}{'=' if self.equal else '!='}{value}"


class FieldSelector(msgspec.Struct, frozen=True, gc=False):
    """A conjunction of comparisons."""

    #: The comparisons, in the order given.
    rules: tuple[FieldRule, ...] = ()

    def matches(self, item: Mapping[str, object]) -> bool:
        """Return whether an object, as parsed JSON, matches all comparisons."""
        return all((field_text(item, rule.path) == rule.value) is rule.equal for rule in self.rules)

    def required(self, path: str) -> str | None:
        """The required value of a field, for indexed stores; None if the selector requires none."""
        return next((rule.value for rule in self.rules if rule.equal and rule.path == path), None)

    def __str__(self) -> str:
        return ",".join(map(str, self.rules))


def parse_fields(text: str, where: str = "field selector") -> FieldSelector:
    r"""Parse a field selector; ``\`` escapes a comma, an equals sign or itself.

    Raises:
        InputError: the text is malformed.
    """
    rules = []
    position = 0
    while position < len(text):
        found = _TERM.match(text, position)
        if found is None or text[found.end() : found.end() + 1] not in ("", ","):
            raise InputError(where, text, _EXPECTED)
        value = _ESCAPED.sub(r"\1", found[3])
        rules.append(FieldRule(found[1], value, equal=found[2] != "!="))
        position = found.end() + 1
    return FieldSelector(tuple(rules))


def field_text(item: Mapping[str, object], path: str) -> str:
    """Return a field of an object as text: absent is empty, booleans are ``true`` and ``false``."""
    value: object = item
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    if value is None or isinstance(value, Mapping | list):
        return _ABSENT.get(path, "")
    return str(value).lower() if isinstance(value, bool) else str(value)

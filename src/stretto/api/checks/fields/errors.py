"""Field errors: a reason, a path and a text, worded as by kube-apiserver."""

import re
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Final

import msgspec

from stretto.api.schema.golang import go_value


class FieldError(msgspec.Struct, frozen=True, gc=False):
    """One refused field."""

    #: Reason of the cause: ``FieldValueInvalid`` and the like.
    reason: str
    #: Text without the path.
    message: str
    #: Path of the field.
    field: str


Errors = list[FieldError]
"""The refused fields of an object."""
MOST_ERRORS: Final = 2_000
"""Maximum errors that an answer contains: one of 76,000 would have 37 MB."""


def first_errors(found: Iterable[FieldError]) -> Errors:
    """Return the errors of a check, which ends when an answer cannot contain further ones."""
    return list(islice(found, MOST_ERRORS + 1))


def stated_errors(found: Errors) -> Errors:
    """Return the errors that an answer contains; the last one states that others are not shown."""
    if len(found) <= MOST_ERRORS:
        return found
    rest = f"Too many: more than {MOST_ERRORS} errors; the others are not shown"
    return [*found[:MOST_ERRORS], FieldError("FieldValueTooMany", rest, "<nil>")]


def shown(value: Any) -> str:
    """Format a value as in messages: quoted strings, plain numbers, JSON for the rest."""
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "null"
    if isinstance(value, float) or (type(value) is int and value not in _INT64):
        return go_value(float(value))
    text = msgspec.json.encode(value).decode()
    return _MARKUP.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_INT64: Final = range(-(2**63), 2**63)
"""Numbers that Go reads as integers."""
_MARKUP: Final = re.compile("[<>&\u2028\u2029]")
"""Characters that Go escapes in JSON."""
_SHORT: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
"""Characters with their own escape sequence in Go."""


def _escaped(code: int) -> str:
    """Escape a character that is not printable, as Go does."""
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quoted(text: str) -> str:
    """Quote a text with double quotes and the escapes of Go."""
    if text.isprintable():
        if '"' in text or "\\" in text:
            text = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{text}"'
    others = {each for each in set(text) if each in _SHORT or not each.isprintable()}
    escapes = {ord(each): _SHORT.get(each) or _escaped(ord(each)) for each in others}
    return f'"{text.translate(escapes)}"'


def required(field: str, detail: str = "") -> FieldError:
    """A missing value."""
    return FieldError("FieldValueRequired", f"Required value{_after(detail)}", field)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """A value that is not allowed."""
    text = quoted(value) if type(value) is str else shown(value)
    end = f": {detail}" if detail else ""
    return FieldError("FieldValueInvalid", f"Invalid value: {text}{end}", field)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """A value of the wrong type."""
    text = f"Invalid value: {shown(value)}{_after(detail)}"
    return FieldError("FieldValueTypeInvalid", text, field)


def unsupported(field: str, value: Any, allowed: Sequence[str]) -> FieldError:
    """A value outside an enumeration."""
    text = f"Unsupported value: {shown(value)}"
    if allowed:
        text += f": supported values: {_listed(tuple(allowed))}"
    return FieldError("FieldValueNotSupported", text, field)


@lru_cache(maxsize=64)
def _listed(allowed: tuple[str, ...]) -> str:
    return ", ".join(map(quoted, allowed))


def duplicate(field: str, value: Any, detail: str = "") -> FieldError:
    """A value that occurs twice."""
    text = f"Duplicate value: {shown(value)}{_after(detail)}"
    return FieldError("FieldValueDuplicate", text, field)


def repeated(items: Iterable[Hashable]) -> frozenset[int]:
    """Indices of the items that are equal to an earlier one."""
    first: dict[Hashable, int] = {}
    return frozenset(
        index for index, item in enumerate(items) if first.setdefault(item, index) != index
    )


def forbidden(field: str, detail: str) -> FieldError:
    """A field that must not be set or changed."""
    return FieldError("FieldValueForbidden", f"Forbidden{_after(detail)}", field)


def missing(field: str, value: Any, detail: str = "") -> FieldError:
    """A reference to something that does not exist."""
    text = f"Not found: {shown(value)}{_after(detail)}"
    return FieldError("FieldValueNotFound", text, field)


def too_long(field: str, limit: int) -> FieldError:
    """A text of too many bytes."""
    return FieldError("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", field)


def too_many(field: str, count: int, limit: int) -> FieldError:
    """A list of too many items."""
    noun = "item" if limit == 1 else "items"
    text = f"Too many: {count}: must have at most {limit} {noun}"
    return FieldError("FieldValueTooMany", text, field)


def immutable(field: str, value: Any) -> FieldError:
    """A field that must not differ from its stored value."""
    return invalid(field, value, "field is immutable")


def _after(detail: str) -> str:
    return f": {detail}" if detail else ""


_NULL: Final = "null"
_ABSENT: Final = re.compile(r"(Invalid|Unsupported) value: null(?=:|$)")
_ADDED: Final = re.compile(r'^\+ "(\w+)": null', re.MULTILINE)
"""A member of an internal struct that a difference adds."""
_STEP: Final = re.compile(r"[^.\[\]]+")

_QUOTED: Final = {"spec": "spec.rules"}
"""Quoted fields that differ from the refused one: an Ingress without rules quotes its rules."""


def shown_empty(sent: Any, errors: Iterable[FieldError]) -> Errors:
    """Return errors that quote empty lists and maps as they are in the object that was sent.

    A decoded object does not contain most of them, so the rules quote ``null``, as Go quotes absent
    ones.
    """
    return [_shown_empty(sent, each) if _NULL in each.message else each for each in errors]


def _shown_empty(sent: Any, error: FieldError) -> FieldError:
    if "\n@@" in error.message:
        message = _ADDED.sub(partial(_added_empty, sent, error.field), error.message)
        return FieldError(error.reason, message, error.field)
    if not _ABSENT.match(error.message):
        return error
    value = _member(sent, _QUOTED.get(error.field, error.field))
    if value not in ([], {}):
        return error
    message = _ABSENT.sub(rf"\1 value: {shown(value)}", error.message)
    return FieldError(error.reason, message, error.field)


def _added_empty(sent: Any, path: str, line: re.Match[str]) -> str:
    """Return an added line of a difference with an empty list in the place of null."""
    name = line[1]
    value = _member(sent, f"{path}.{name[0].lower()}{name[1:]}")
    return line[0].replace("null", shown(value)) if value in ([], {}) else line[0]


def _member(value: Any, path: str) -> Any:
    """Return the value at a path such as ``spec.rules[0].labels``; ``None`` without one."""
    for step in _STEP.findall(path):
        if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value

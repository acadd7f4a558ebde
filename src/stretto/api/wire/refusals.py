"""Conversion of JSON decoder errors to messages: object, path, value and expectation."""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, Final, get_args

import msgspec

from stretto.api.wire.quantity import EXPECTED as A_QUANTITY
from stretto.api.wire.quantity import MalformedFieldError
from stretto.base.errors import InputError

_AT: Final = re.compile(r"(?s)(.*?)(?: - at `\$(.*)`)?")
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\[(\.\.\.)\]")
_MISSING: Final = re.compile(r"Object missing required field `(.+)`")
_WRONG: Final = re.compile(r"Expected `(.+?)`, got `(.+?)`")
_LENGTH: Final = re.compile(r"Expected `array` of (?:at least )?length (.+), got \d+")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.+)`")
_BAD_CHOICE: Final = "Invalid enum value"

_WORDS: Final[dict[str, str]] = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "nothing",
    "int | str": "a whole number or a text",
    "float | int": "a number",
    "float | int | str": A_QUANTITY,
}
"""Descriptions of the types in msgspec's messages.

``null`` is removed from optional types first.
"""

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}

_LARGEST: Final = 2**53
"""Largest exact whole number of a YAML or JSON file; larger numbers are read inexactly."""
QUOTE: Final = "quote it: YAML reads y, n, yes, no, on and off as true and false"
"""Advice for a boolean instead of a text."""
_MALFORMED_HINT: Final = "check the commas, quotes and brackets near there"


def refusal(
    error: Exception, body: bytes, what: str, struct: type[Any] | None = None
) -> InputError:
    """Convert the error of a decoder of ``struct`` to an InputError.

    ``what`` describes an object that has no name.
    """
    if isinstance(error, RecursionError):
        return InputError(what, "a deeper object", "less nesting")
    if not isinstance(error, msgspec.ValidationError):
        return InputError(what, _beginning(body), f"JSON: {error}", _MALFORMED_HINT)
    document = _document(body)
    name = _named(document, what)
    complaint, at = _split(str(error))
    inner = error.__cause__
    if isinstance(inner, MalformedFieldError):
        return InputError(_joined(name, f"{at}.{inner.where}"), inner.value, inner.expected)
    missing = _MISSING.fullmatch(complaint)
    if missing:
        return InputError(_joined(name, f"{at}.{missing[1]}"), None, "a value, it is required")
    steps, value, expected = _found(document, at, complaint)
    unknown = _UNKNOWN.fullmatch(complaint)
    if unknown:
        known = ", ".join(getattr(_type_at(struct, at), "__struct_encode_fields__", ()))
        hint = "remove the unknown field, or correct its name"
        return InputError(_joined(name, steps), unknown[1], f"one of {known or 'its fields'}", hint)
    if complaint.startswith(_BAD_CHOICE):
        expected = _choices(struct, at)
    if isinstance(value, float) and abs(value) > _LARGEST and expected == _WORDS["int"]:
        # the digits of the file are lost: 99999999999999999999 is read as the float 1e20
        return InputError(_joined(name, steps), f"about {value:.3g}", f"at most {_LARGEST:,}")
    hint = QUOTE if isinstance(value, bool) and _WORDS["str"] in expected else ""
    return InputError(_joined(name, steps), value, expected, hint)


def _split(message: str) -> tuple[str, str]:
    """Split a message of msgspec into the text and its path."""
    parts = _AT.fullmatch(message)
    return (parts[1], parts[2] or "") if parts else (message, "")


def _found(document: Any, at: str, complaint: str) -> tuple[str, Any, str]:
    """Return the path with member names filled in, the value there, and what is expected."""
    wrong = _WRONG.fullmatch(complaint)
    wanted = _alternatives(wrong[1]) if wrong else ()
    value, path = document, ""
    for member, index, any_member in _STEP.findall(at):
        if any_member:
            member = _culprit(value, wanted)
        value = _inside(value, member or int(index or 0))
        path += f".{member}" if member else f"[{index}]"
    if wrong:
        return path, value, _WORDS.get(" | ".join(wanted), " or ".join(wanted))
    length = _LENGTH.fullmatch(complaint)
    return path, value, f"a list of {length[1]} items" if length else complaint


def _type_at(struct: Any, at: str) -> Any:
    """The struct or enum at a path in a struct."""
    for member, _, _ in _STEP.findall(at):
        fields = msgspec.structs.fields(struct) if hasattr(struct, "__struct_fields__") else ()
        struct = next((each.type for each in fields if each.encode_name == member), struct)
        struct = next(iter(_inner_types(struct)), struct)
    return struct


def _choices(struct: Any, at: str) -> str:
    """The valid values of the enum at a path."""
    kind = _type_at(struct, at)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"one of {', '.join(str(choice.value) for choice in kind)}"
    return "a known name"


def _inner_types(kind: Any) -> Iterator[Any]:
    """Yield the structs and enums in an optional type or in the items of a list."""
    for each in get_args(kind):
        if isinstance(each, type) and issubclass(each, msgspec.Struct | Enum):
            yield each
        else:
            yield from _inner_types(each)


def _alternatives(types: str) -> Sequence[str]:
    """Return ``str | null`` as a sorted list, without the null of optional fields."""
    return sorted(set(types.split(" | ")) - {"null"}) or ["null"]


def _culprit(members: Any, wanted: Sequence[str]) -> str:
    """Return the member whose value has the wrong type, because msgspec's message lacks it."""
    allowed = tuple(each for name in wanted for each in _TYPES.get(name, ()))
    if isinstance(members, dict):
        for name, value in members.items():
            if not isinstance(value, allowed) or (value is True or value is False):
                return str(name)
    return "*"


def _inside(value: Any, step: str | int) -> Any:
    """Take one step into a document; None if the member does not exist."""
    try:
        return value[step]
    except (KeyError, IndexError, TypeError):
        return None


def _joined(name: str, path: str) -> str:
    """Join name and path: ``pod default/web: spec.nodeName``."""
    return f"{name}: {path.lstrip('.')}" if path else name


def _document(body: bytes) -> Any:
    """Parse the whole document untyped, for name and value; safe because its size is checked."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _named(document: Any, what: str) -> str:
    """Return ``pod default/web`` if the document has these names, otherwise ``what``."""
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if not isinstance(metadata, dict):
        return what
    parts = [metadata.get("namespace"), metadata.get("name") or metadata.get("generateName")]
    path = "/".join(part for part in parts if isinstance(part, str) and part)
    return f"{what} {path}" if path else what


def _beginning(body: bytes) -> str:
    """Return the first characters, to identify the input."""
    return body[:60].decode("utf-8", "replace")

"""Strict mappings: known keys, known choices and values of the right type.

An ignored misspelled key is hard to find. Therefore every key of a mapping is looked up in the
fields of its struct, and an unknown key is refused; the error contains its path and the nearest
known key.
"""

import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from stretto.api.wire.refusals import refusal
from stretto.base.errors import InputError, did_you_mean, quoted

T = TypeVar("T", bound=msgspec.Struct)


class UnknownKeyError(InputError):
    """A key that is not in the schema; the message suggests the nearest key."""

    def __init__(self, where: str, key: str, known: tuple[str, ...]) -> None:
        super().__init__(where, key, "a known key")
        self.args = (where, key, known)
        #: The known keys at this path.
        self.known = known

    def __str__(self) -> str:
        hint = did_you_mean(self.value, self.known, f"known: {', '.join(self.known)}")
        return f"{self.where}: unknown key; {hint}"


def strict(kind: type[T], data: Any, where: str) -> T:
    """A parsed mapping as a struct.

    Raises:
        InputError: a key, a choice or a value does not match the struct; the message contains its
            path.
    """
    if not isinstance(data, dict):
        raise InputError(where, data, "a mapping of keys to values", "see the documented schema")
    _check(kind, data, where, "")
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise refusal(error, msgspec.json.encode(data), where) from error


@contextmanager
def inside(where: str) -> Iterator[None]:
    """Prefix the location of input errors that are raised inside."""
    try:
        yield
    except InputError as error:
        raise error.inside(where) from error


def keys_of(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The keys of a struct in their external spelling."""
    return kind.__struct_encode_fields__


def one_of(item: msgspec.Struct, names: tuple[str, ...], where: str) -> str:
    """The key that is set among several optional keys; none or two are refused."""
    written = dict(zip(item.__struct_encode_fields__, item.__struct_fields__, strict=True))
    given = [name for name in names if getattr(item, written[name]) is not None]
    if len(given) != 1:
        got = " and ".join(given) or None
        raise InputError(where, got, f"exactly one of {', '.join(names)}", "keep one of them")
    return given[0]


def _check(annotation: Any, value: Any, where: str, path: str) -> None:
    """Refuse unknown keys and choices at any depth of a value."""
    for option in _options(annotation):
        if get_origin(option) is Literal and isinstance(value, str):
            if _allows_free_text(annotation):
                return
            _check_choice(value, get_args(option), f"{where}: {path}")
        elif isinstance(option, type) and issubclass(option, Enum) and isinstance(value, str):
            _check_choice(value, [each.value for each in option], f"{where}: {path}")
        elif isinstance(option, type) and issubclass(option, msgspec.Struct):
            if isinstance(value, Mapping):
                _check_struct(option, value, where, path)
        elif get_origin(option) in (tuple, list) and isinstance(value, list):
            for index, item in enumerate(value):
                _check(get_args(option)[0], item, where, f"{path}[{index}]")


def _check_struct(
    kind: type[msgspec.Struct], value: Mapping[Any, Any], where: str, path: str
) -> None:
    """Refuse unknown keys in a mapping, at any depth."""
    known = keys_of(kind)
    hints = get_type_hints(kind)
    inner = dict(zip(known, kind.__struct_fields__, strict=True))
    for key, item in value.items():
        below = f"{path}.{key}" if path else str(key)
        if key not in inner:
            raise UnknownKeyError(f"{where}: {below}", str(key), known)
        _check(hints[inner[key]], item, where, below)


def _check_choice(value: str, choices: Any, where: str) -> None:
    """Refuse an unknown choice and suggest the nearest one."""
    if value not in choices:
        only = quoted(choices[0]) if len(choices) == 1 else f"one of {', '.join(choices)}"
        raise InputError(
            where, value, only, did_you_mean(value, choices) if len(choices) > 1 else ""
        )


def _options(annotation: Any) -> Iterator[Any]:
    """The alternatives of a union, or the annotation itself."""
    if get_origin(annotation) in (Union, types.UnionType):
        for option in get_args(annotation):
            yield from _options(option)
    else:
        yield annotation


def _allows_free_text(annotation: Any) -> bool:
    """True if free text is allowed in addition to the choices."""
    return any(option is str for option in _options(annotation))

"""Values of object literals in CEL: the applied configurations and operations of mutations."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.cel.running.values import TYPE_MEMBER

Json = dict[str, Any]

_OBJECT: Final = "Object"
"""Type of an applied configuration."""


class LiteralError(Exception):
    """The type of a literal does not match its field."""


def configuration_of(value: Any) -> Json:
    """Return the applied configuration in the value of an expression.

    Raises:
        LiteralError: a literal has the type of another field.
    """
    _check(value, _OBJECT)
    found: Json = _plain(value)
    return found


def operations_of(value: Any) -> list[Json]:
    """Return the operations of the JSON patch in the value of an expression."""
    return [_plain(each) for each in value]


def _check(value: Any, path: str) -> None:
    """Refuse literals whose type does not match the path of their field."""
    if isinstance(value, dict):
        stated = value.get(TYPE_MEMBER, path)
        if stated != path:
            raise LiteralError(
                f'type mismatch: unexpected type name "{stated}", expected "{path}", which matches '
                "field name path from root Object type"
            )
    for name, each in _members(value, path):
        _check(each, name)


def _members(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the members of a value, with the type required of a literal there."""
    if isinstance(value, dict) and TYPE_MEMBER in value:
        yield from ((f"{path}.{key}", each) for key, each in value.items() if key != TYPE_MEMBER)
    elif isinstance(value, dict):
        yield from ((path, each) for each in value.values())
    elif isinstance(value, list):
        yield from ((path, each) for each in value)


def _plain(value: Any) -> Any:
    """Return a value without the types of its literals."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key != TYPE_MEMBER}
    return [_plain(each) for each in value] if isinstance(value, list) else value

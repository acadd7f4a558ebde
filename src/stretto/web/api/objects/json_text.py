"""JSON texts with what Go's decoder reports: size, repeated members and the first bad character."""

import json
import re
from typing import Any, Final

import msgspec

from stretto.api.wire.limits import MAX_BYTES, measured
from stretto.api.wire.syntax import json_fault
from stretto.base.errors import InputError
from stretto.web.api.failures import ApiError

_KEY: Final = re.compile(rb'"\s*:')
"""What follows the name of a member; a text may contain it too."""


def check_size(body: bytes) -> None:
    """Refuse a body of more than 3 MiB."""
    if len(body) > MAX_BYTES:
        text = f"Request entity too large: limit is {MAX_BYTES}"
        raise ApiError(413, "RequestEntityTooLarge", text)


class JsonTextError(Exception):
    """A text that is no JSON; worded as by Go's decoder."""


class _Pairs(dict[str, Any]):
    """An object that remembers which members were repeated."""

    repeated: tuple[str, ...] = ()


def parse(body: bytes) -> tuple[Any, list[str]]:
    """The value of a text and the paths of repeated members.

    Raises:
        JsonTextError: the text is malformed or nested too deeply.
    """
    try:
        value = msgspec.json.decode(measured(body, "body"))
    except (msgspec.DecodeError, InputError, RecursionError, UnicodeDecodeError) as error:
        raise JsonTextError(json_fault(body) or str(error)) from error
    if len(_KEY.findall(body)) == _members(value):
        return value, []
    found: list[str] = []
    _collect(json.loads(body, object_pairs_hook=_pairs), "", found)
    return value, found


def _members(value: Any) -> int:
    """How many members all objects of a value have: fewer than the text if one is repeated."""
    if isinstance(value, dict):
        return len(value) + sum(map(_members, value.values()))
    return sum(map(_members, value)) if isinstance(value, list) else 0


def _pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = _Pairs(members)
    if len(found) < len(members):
        seen: set[str] = set()
        twice = [name for name, _ in members if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
        found.repeated = tuple(dict.fromkeys(twice))
    return found


def _collect(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, _Pairs):
        found += [f"{path}{name}" for name in value.repeated]
    if isinstance(value, dict):
        for name, each in value.items():
            _collect(each, f"{path}{name}.", found)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _collect(each, f"{path.removesuffix('.')}[{index}].", found)

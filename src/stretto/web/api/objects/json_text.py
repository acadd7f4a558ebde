"""JSON texts with the reports of Go's decoder: size, duplicate members, first invalid character."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION
from stretto.api.wire.limits import MAX_BYTES, MAX_VALUES, MORE_VALUES, measured, value_count
from stretto.api.wire.syntax import json_fault
from stretto.base.errors import InputError
from stretto.web.api.failures import ApiError

_SPACED: Final = re.compile(rb'"\s+:')
"""End of a member's name with white space before the colon, which few clients write."""


def check_size(body: bytes) -> None:
    """Refuse a body of more than 3 MiB."""
    if len(body) > MAX_BYTES:
        text = f"Request entity too large: limit is {MAX_BYTES}"
        raise ApiError(413, "RequestEntityTooLarge", text)


def most_values(kind: str) -> int:
    """Maximum values of a body with an object of a kind: administrators alone write definitions."""
    return MORE_VALUES if kind == CUSTOM_RESOURCE_DEFINITION.kind else MAX_VALUES


def check_count(values: int, most: int) -> None:
    """Refuse a body with too many values before they are built."""
    if values > most:
        text = f"Request entity too large: {values} values, limit is {most}"
        raise ApiError(413, "RequestEntityTooLarge", text)


class JsonTextError(Exception):
    """A text is not JSON; the message is that of Go's decoder."""


class _Ordered(list[tuple[str, Any]]):
    """The members of an object, including duplicates."""


def parse(body: bytes, most: int = MAX_VALUES) -> tuple[Any, list[str]]:
    """Parse a text of a number of values; return its value and the paths of duplicate members.

    Raises:
        JsonTextError: the text is malformed or nested too deeply.
        ApiError: it has too many values.
    """
    check_count(value_count(body), most)
    try:
        value = msgspec.json.decode(measured(body, "body"))
    except (msgspec.DecodeError, InputError, RecursionError, UnicodeDecodeError) as error:
        raise JsonTextError(json_fault(body) or str(error)) from error
    if _name_ends(body) == _members_of_text(body, value):
        return value, []
    found: dict[str, None] = {}
    _collect(json.loads(body, object_pairs_hook=_Ordered), "", found)
    return value, list(found)


def _name_ends(text: bytes) -> int:
    """Return how many names of members end in a text; a string may contain such an end too."""
    return text.count(b'":') + len(_SPACED.findall(text))


def _members_of_text(body: bytes, value: Any) -> int:
    """Return how many names of members would end in a text without its duplicate members.

    Without numbers of characters, the strings of a text have one form, so that the ends inside of
    strings are equal too.
    """
    return _members(value) if b"\\u" in body else _name_ends(msgspec.json.encode(value))


def _members(value: Any) -> int:
    """Number of members of all objects in a value; fewer than in the text if one is a duplicate."""
    found, inner = 0, value
    if type(value) is dict:
        found, inner = len(value), value.values()
    elif type(value) is not list:
        return 0
    for each in inner:
        if type(each) is dict or type(each) is list:
            found += _members(each)
    return found


def _collect(value: Any, path: str, found: dict[str, None]) -> None:
    """Add the paths of duplicate members, in the order of the text."""
    if isinstance(value, _Ordered):
        seen: set[str] = set()
        for name, each in value:
            if name in seen:
                found.setdefault(f"{path}{name}")
            seen.add(name)
            _collect(each, f"{path}{name}.", found)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _collect(each, f"{path.removesuffix('.')}[{index}].", found)


def _united(value: Any) -> Any:
    """Return a value whose duplicate objects are one, as in structs and maps of Go."""
    if isinstance(value, _Ordered):
        found: dict[str, Any] = {}
        for name, each in value:
            found[name] = _both(found.get(name), _united(each))
        return found
    return [_united(each) for each in value] if isinstance(value, list) else value


def _both(one: Any, two: Any) -> Any:
    """Return the members of two objects; of other values the second."""
    if not isinstance(one, dict) or not isinstance(two, dict):
        return two
    return one | {name: _both(one.get(name), each) for name, each in two.items()}


class TextProblems(list[str]):
    """Messages of strict decoding about duplicate members, with the order of all members."""

    def __init__(self, body: bytes, repeated: Iterable[str]) -> None:
        """Create the messages about a text that is valid JSON."""
        super().__init__(f'duplicate field "{path}"' for path in repeated)
        self._places: dict[str, int] = {}
        ordered = json.loads(body, object_pairs_hook=_Ordered)
        #: The value as Go decodes it: members of duplicate objects belong to one object.
        self.united: Any = _united(ordered)
        _place(ordered, "", self._places)

    def joined(self, unknown: Sequence[str]) -> list[str]:
        """Return these messages and those about unknown members, in the order of the text."""
        last = len(self._places)
        return sorted((*self, *unknown), key=lambda each: self._places.get(each, last))


def _place(value: Any, path: str, found: dict[str, int]) -> None:
    """Number possible messages about members, in the order of Go's decoder."""
    if isinstance(value, _Ordered):
        seen: set[str] = set()
        for name, each in value:
            word = "duplicate" if name in seen else "unknown"
            found.setdefault(f'{word} field "{path}{name}"', len(found))
            seen.add(name)
            _place(each, f"{path}{name}.", found)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _place(each, f"{path.removesuffix('.')}[{index}].", found)

"""Resources and attributes in the syntax of Mesos' options: ``cpus:4;ports:[31000-32000]``."""

import re
from collections.abc import Iterator

from stretto.base.errors import InputError
from stretto.offers.messages.schema import Message

_RANGE = re.compile(r"\s*(\d+)\s*-\s*(\d+)\s*")
_NUMBER = re.compile(r"\d+(\.\d+)?")


def scalar(name: str, value: float) -> Message:
    """A scalar resource message."""
    return {"name": name, "type": "SCALAR", "scalar": {"value": value}}


def resources(text: str) -> list[Message]:
    """Parse a list of resources into resource messages.

    Raises:
        InputError: an entry has no name, or is neither a number nor ranges.
    """
    return [_resource(name, value) for name, value in _entries("--resources", text)]


def attributes(text: str) -> list[Message]:
    """Parse a list of attributes into attribute messages: numbers, ranges or texts.

    Raises:
        InputError: an entry has no name.
    """
    found = []
    for name, value in _entries("--attributes", text):
        if _NUMBER.fullmatch(value):
            found.append(scalar(name, float(value)))
        elif value.startswith("["):
            found.append(_resource(name, value))
        else:
            found.append({"name": name, "type": "TEXT", "text": {"value": value}})
    return found


def _resource(name: str, value: str) -> Message:
    if _NUMBER.fullmatch(value):
        return scalar(name, float(value))
    pairs = [_RANGE.fullmatch(each) for each in value.strip("[]").split(",")]
    if not value.startswith("[") or None in pairs:
        expected = "a number, or ranges such as [31000-32000]"
        raise InputError(f"--resources {name}", value, expected)
    ranges = [{"begin": int(each.group(1)), "end": int(each.group(2))} for each in pairs if each]
    return {"name": name, "type": "RANGES", "ranges": {"range": ranges}}


def _entries(option: str, text: str) -> Iterator[tuple[str, str]]:
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, value = entry.partition(":")
        if not name or not colon or not value.strip():
            raise InputError(option, entry, "NAME:VALUE, separated by semicolons")
        yield name.strip(), value.strip()

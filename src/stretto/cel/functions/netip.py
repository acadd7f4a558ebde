"""Why a text is no IP address: the texts of errors of ``net/netip`` in Go."""

import re
from typing import Final

from stretto.api.checks.fields.errors import quoted

_BYTE: Final = 255
_FIELDS: Final = 4
"""Fields of an IPv4 address."""
_SIZE: Final = 16
"""Bytes of an IPv6 address."""
_HEX: Final = re.compile(r"[0-9a-fA-F]*")
_MOST_DIGITS: Final = 4


class _ProblemError(Exception):
    """The text is no address; the arguments are the problem and the rest of the text there."""


def address_problem(text: str) -> str:
    """Return why a text that is no address is none."""
    first = next((each for each in text if each in ".:%"), "")
    try:
        if first == ".":
            _check_v4(text)
        elif first == ":":
            _check_v6(text)
        else:
            raise _ProblemError("missing IPv6 address" if first else "unable to parse IP", "")
    except _ProblemError as error:
        problem, rest = error.args
        place = f" (at {quoted(rest)})" if rest else ""
        return f"ParseAddr({quoted(text)}): {problem}{place}"
    return f"ParseAddr({quoted(text)}): unable to parse IP"


def _check_v4(text: str) -> None:
    """Refuse a text that is no IPv4 address."""
    digits, fields = "", 0
    for index, each in enumerate(text):
        if each in "0123456789":
            if digits == "0":
                raise _ProblemError("IPv4 field has octet with leading zero", "")
            digits += each
            if int(digits) > _BYTE:
                raise _ProblemError("IPv4 field has value >255", "")
        elif each == ".":
            if not digits or index == len(text) - 1:
                raise _ProblemError("IPv4 field must have at least one digit", text[index:])
            fields += 1
            if fields == _FIELDS:
                raise _ProblemError("IPv4 address too long", "")
            digits = ""
        else:
            raise _ProblemError("unexpected character", text[index:])
    if fields < _FIELDS - 1:
        raise _ProblemError("IPv4 address too short", "")


def _check_v6(text: str) -> None:
    """Refuse a text that is no IPv6 address."""
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _ProblemError("zone must be a non-empty string", "")
    gap, size = -1, 0
    if rest.startswith("::"):
        gap, rest = 0, rest[2:]
    while rest and size < _SIZE:
        digits = _group(rest)
        if rest[len(digits) :].startswith("."):
            _check_end(rest, has_gap=gap >= 0, size=size)
            size, rest = size + _FIELDS, ""
            break
        size, rest = size + 2, _after_group(rest, len(digits))
        if rest.startswith(":"):
            if gap >= 0:
                raise _ProblemError("multiple :: in address", rest)
            gap, rest = size, rest[1:]
    if rest:
        raise _ProblemError("trailing garbage after address", rest)
    if size < _SIZE and gap < 0:
        raise _ProblemError("address string too short", "")
    if size >= _SIZE and gap >= 0:
        raise _ProblemError("the :: must expand to at least one field of zeros", "")


def _group(rest: str) -> str:
    """Return the digits of the next field of an IPv6 address."""
    match = _HEX.match(rest)
    digits = match[0] if match is not None else ""
    if len(digits) > _MOST_DIGITS:
        raise _ProblemError("each group must have 4 or less digits", rest)
    if not digits:
        text = "each colon-separated field must have at least one digit"
        raise _ProblemError(text, rest)
    return digits


def _check_end(rest: str, *, has_gap: bool, size: int) -> None:
    """Refuse an IPv4 address that does not end an IPv6 address."""
    if not has_gap and size != _SIZE - _FIELDS:
        text = "embedded IPv4 address must replace the final 2 fields of the address"
        raise _ProblemError(text, rest)
    if size + _FIELDS > _SIZE:
        text = "too many hex fields to fit an embedded IPv4 at the end of the address"
        raise _ProblemError(text, rest)
    _check_v4(rest)


def _after_group(rest: str, digits: int) -> str:
    """Return the text after a field and its colon."""
    after = rest[digits:]
    if after and not after.startswith(":"):
        raise _ProblemError("unexpected character, want colon", after)
    if after == ":":
        raise _ProblemError("colon must be followed by more characters", after)
    return after[1:]

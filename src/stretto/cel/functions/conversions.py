"""Conversions between types, with the texts of errors of cel-go."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import isnan
from typing import Any, Final

from stretto.cel.functions.operators import ZERO_TIME, time_of
from stretto.cel.language.types import CelType
from stretto.cel.running.values import (
    CelDuration,
    CelOpaque,
    CelOptional,
    CelTime,
    CelUint,
    EvaluationError,
    bounded,
    kind_of,
    type_name,
)

_NANOS: Final = 10**9
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_FLOAT: Final = re.compile(
    r"[+-]?(?:(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.IGNORECASE,
)
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": _NANOS,
    "m": 60 * _NANOS,
    "h": 3600 * _NANOS,
}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_TIME: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_DIGITS: Final = 20
"""Maximum digits of a whole number of 64 bits."""
_TRUE: Final = ("true", "True", "TRUE", "t", "1")
_FALSE: Final = ("false", "False", "FALSE", "f", "0")


def _refuse(value: Any, wanted: str) -> EvaluationError:
    name = type_name(kind_of(value))
    return EvaluationError(f"type conversion error from '{name}' to '{wanted}'")


def small_number(digits: str) -> int | None:
    """Return the whole number of a sign and digits; ``None`` if 64 bits do not suffice."""
    amount = digits.lstrip("+-").lstrip("0") or "0"
    if len(amount) > _MOST_DIGITS:
        return None
    return -int(amount) if digits.startswith("-") else int(amount)


def to_bool(value: Any) -> bool:
    """A boolean from a boolean or a text."""
    if isinstance(value, bool):
        return value
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise _refuse(value, "bool")


def to_int(value: Any) -> int:
    """A whole number from a number, a text, a time or a duration."""
    if isinstance(value, float):
        if not -(2.0**63) < value < 2.0**63:
            raise EvaluationError("integer overflow")
        return int(value)
    if isinstance(value, CelTime):
        return value.nanos // _NANOS
    if isinstance(value, CelDuration):
        return value.nanos
    if isinstance(value, str):
        found = small_number(value) if _WHOLE.fullmatch(value) else None
        if found is None or not -(1 << 63) <= found < 1 << 63:
            raise _refuse(value, "int")
        return found
    return bounded(int(value))


def to_uint(value: Any) -> CelUint:
    """An unsigned whole number from a number or a text."""
    if isinstance(value, str):
        found = small_number(value) if re.fullmatch(r"[0-9]+", value) else None
        if found is None or found >= 1 << 64:
            raise _refuse(value, "uint")
        return CelUint(found)
    if isinstance(value, float) and not 0 <= value < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return CelUint(bounded(int(value), "unsigned integer"))


def to_double(value: Any) -> float:
    """A float from a number or a text."""
    if isinstance(value, str) and not _FLOAT.fullmatch(value):
        raise _refuse(value, "double")
    return float(value)


def to_bytes(value: Any) -> bytes:
    """Bytes from bytes or a text."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)


def to_string(value: Any) -> str:
    """The text of a scalar value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, bytes):
        return _decoded(value)
    if isinstance(value, CelTime):
        return time_text(value)
    if isinstance(value, CelDuration):
        return f"{_plain(value.nanos / _NANOS)}s"
    if isinstance(value, int | str | CelOpaque):
        return str(value)
    name = type_name(kind_of(value))
    raise EvaluationError(f"no such overload: string({name})")


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from error


def float_text(value: float) -> str:
    """A float as Go's verb ``%g`` formats it."""
    if isnan(value):
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    mantissa, _, exponent = f"{value:e}".partition("e")
    if value != 0 and not -4 <= int(exponent) < 6:
        digits, _, power = repr(value).partition("e")
        if power:
            return f"{digits.removesuffix('.0')}e{power}"
        digits = repr(abs(value)).removesuffix(".0").replace(".", "").strip("0")
        sign = "-" if mantissa.startswith("-") else ""
        rest = f".{digits[1:]}" if digits[1:] else ""
        return f"{sign}{digits[0]}{rest}e{int(exponent):+03d}"
    return _plain(value)


def _plain(value: float) -> str:
    """A float without an exponent, with as few digits as necessary."""
    text = repr(value)
    if "e" in text:
        from decimal import Decimal

        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def time_text(value: CelTime) -> str:
    """A point in time in the format of RFC 3339, UTC."""
    seconds, nanos = divmod(value.nanos, _NANOS)
    moment = _EPOCH + timedelta(seconds=seconds)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{moment.strftime('%Y').zfill(4)}{moment.strftime('-%m-%dT%H:%M:%S')}{fraction}Z"


def to_time(value: Any) -> CelTime:
    """A point in time from a text or from seconds since 1970."""
    if isinstance(value, CelTime):
        return value
    if isinstance(value, str):
        return parsed_time(value)
    return time_of(int(value) * _NANOS)


def parsed_time(text: str) -> CelTime:
    """The point in time that a text in the format of RFC 3339 names."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise _refuse(text, "google.protobuf.Timestamp")
    try:
        moment = datetime(*map(int, match.groups()[:6]), tzinfo=UTC)  # type: ignore[misc,arg-type]  # six numbers
    except ValueError as error:
        raise _refuse(text, "google.protobuf.Timestamp") from error
    nanos = int(f"{match[7] or ''}000000000"[:9])
    offset = 0
    if match[8] != "Z":
        offset = (int(match[8][1:3]) * 60 + int(match[8][4:])) * 60
        offset = -offset if match[8].startswith("-") else offset
    seconds = (moment - _EPOCH) // timedelta(seconds=1) - offset
    return time_of(seconds * _NANOS + nanos)


def to_duration(value: Any) -> CelDuration:
    """A duration from a text.

    Raises:
        EvaluationError: the value is no text of a duration; cel-go converts no number, although
            it declares this form.
    """
    if isinstance(value, CelDuration):
        return value
    if not isinstance(value, str):
        raise _refuse(value, "google.protobuf.Duration")
    return parsed_duration(value)


def parsed_duration(text: str) -> CelDuration:
    """The duration that a text in Go's notation names."""
    rest = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    if rest == "0":
        return CelDuration(0)
    nanos, at = 0, 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None or not (part[1] or part[2]):
            raise _refuse(text, "google.protobuf.Duration")
        unit, fraction = _UNITS[part[3]], (part[2] or "")[:_MOST_DIGITS]
        whole = small_number(part[1] or "0")
        if whole is None:
            raise _refuse(text, "google.protobuf.Duration")
        nanos += whole * unit + int(fraction or 0) * unit // 10 ** len(fraction)
        at = part.end()
    if not rest or nanos >= 1 << 63:
        raise _refuse(text, "google.protobuf.Duration")
    return CelDuration(-nanos if text.startswith("-") else nanos)


def to_dyn(value: Any) -> Any:
    """The value itself."""
    return value


def to_type(value: Any) -> CelType:
    """The type of a value."""
    return kind_of(value)


def is_zero(value: Any) -> bool:
    """True for values without content: zero, false, empty, null, the zero time of Go."""
    if isinstance(value, CelDuration):
        return value.nanos == 0
    if isinstance(value, CelTime):
        return value.nanos == ZERO_TIME
    if isinstance(value, CelOptional):
        return not value.content
    return not isinstance(value, CelOpaque | CelType) and not value


CONVERSIONS: Final[Mapping[str, Any]] = {
    "bool": to_bool,
    "int": to_int,
    "uint": to_uint,
    "double": to_double,
    "bytes": to_bytes,
    "string": to_string,
    "timestamp": to_time,
    "duration": to_duration,
    "dyn": to_dyn,
    "type": to_type,
}
"""Conversions by name."""

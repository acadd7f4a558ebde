"""Arithmetic, comparisons and membership."""

from collections.abc import Callable
from math import copysign, isnan
from typing import Any, Final

from stretto.cel.running.values import (
    CelDuration,
    CelTime,
    CelUint,
    EvaluationError,
    GrowingList,
    GrowingMap,
    KeyedList,
    bounded,
    contains,
    has_key,
    order,
)


def add(one: Any, two: Any) -> Any:
    """The sum of numbers or durations, or the concatenation of texts, bytes or lists."""
    if isinstance(one, GrowingList):
        one.extend(two)
        return one
    if isinstance(one, CelTime | CelDuration):
        is_time = isinstance(one, CelTime) or isinstance(two, CelTime)
        return time_of(one.nanos + two.nanos) if is_time else span_of(one.nanos + two.nanos)
    if isinstance(one, KeyedList):
        return one.joined(two)
    if isinstance(one, list):
        return [*one, *two]
    return _whole(one, one + two)


def subtract(one: Any, two: Any) -> Any:
    """The difference of numbers, durations or times."""
    if isinstance(one, CelTime | CelDuration):
        nanos = one.nanos - two.nanos
        is_time = isinstance(one, CelTime) and isinstance(two, CelDuration)
        return time_of(nanos) if is_time else span_of(nanos)
    return _whole(one, one - two)


def multiply(one: Any, two: Any) -> Any:
    """The product of numbers."""
    return _whole(one, one * two)


def divide(one: Any, two: Any) -> Any:
    """The quotient of numbers; that of whole numbers is rounded to zero."""
    if isinstance(one, float):
        if two == 0:
            return float("nan") if one == 0 or isnan(one) else one * copysign(float("inf"), two)
        return one / two
    if two == 0:
        raise EvaluationError("division by zero")
    quotient = abs(one) // abs(two)
    return _whole(one, quotient if (one < 0) == (two < 0) else -quotient)


def remainder(one: Any, two: Any) -> Any:
    """The remainder of whole numbers, with the sign of the first one."""
    if two == 0:
        raise EvaluationError("modulus by zero")
    rest = abs(one) % abs(two)
    return _whole(one, -rest if one < 0 else rest)


def negate(value: Any) -> Any:
    """The negative number."""
    return -value if isinstance(value, float) else bounded(-value)


def _whole(model: Any, value: Any) -> Any:
    """Return a number of the same type as another, which must not overflow."""
    if type(model) is int:
        return bounded(value)
    return bounded(value, "unsigned integer") if isinstance(model, CelUint) else value


_MOST_SECONDS: Final = 253_402_300_799
_LEAST_SECONDS: Final = -62_135_596_800
ZERO_TIME: Final = _LEAST_SECONDS * 10**9
"""Nanoseconds of the start of year 1, the zero time of Go."""


def time_of(nanos: int) -> CelTime:
    """A point in time between the years 1 and 9999."""
    if not _LEAST_SECONDS <= nanos // 10**9 <= _MOST_SECONDS:
        raise EvaluationError("timestamp overflow")
    return CelTime(nanos)


def span_of(nanos: int) -> CelDuration:
    """A duration whose nanoseconds need at most 64 bits."""
    if not -(1 << 63) <= nanos < 1 << 63:
        raise EvaluationError("integer overflow")
    return CelDuration(nanos)


def comparison(accepts: Callable[[int], bool]) -> Callable[[Any, Any], bool]:
    """Return the function that compares two values.

    Args:
        accepts: whether an order of the values, -1, 0 or 1, makes the comparison true.
    """

    def compare(one: Any, two: Any) -> bool:
        return accepts(order(one, two))

    return compare


def is_in(value: Any, items: Any) -> bool:
    """True if a list has an item, or a map a key."""
    return contains(items, value)


def inverted(value: Any) -> bool:
    """The opposite of a boolean."""
    return not value


def inserted(items: Any, *entry: Any) -> Any:
    """A map with a further entry, or with all entries of another map."""
    found = items if isinstance(items, GrowingMap) else dict(items)
    for key, value in [entry] if len(entry) == 2 else entry[0].items():
        if has_key(found, key):
            raise EvaluationError(f"insert failed: key {key} already exists")
        found[key] = value
    return found

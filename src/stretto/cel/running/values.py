"""Values of expressions that are no values of JSON, and the comparison of all values.

Booleans, whole numbers, floats, texts, bytes, ``None``, lists and maps are those of Python.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import isnan
from typing import Any, Final

from stretto.cel.language.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    CelType,
    list_of,
    map_of,
    optional_of,
    struct,
    type_of_type,
)

TYPE_MEMBER: Final = "\x01type"
"""Member of an object that contains the name of its type; no field has this name."""


class EvaluationError(Exception):
    """The evaluation of an expression fails; the text is that of cel-go."""


LIMIT_EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"
"""Text of an evaluation that exceeds one of its limits, as in cel-go."""


class OverBudgetError(Exception):
    """An evaluation exceeds one of its limits; no operator handles this error."""

    def __init__(self) -> None:
        """State the error as cel-go does."""
        super().__init__(LIMIT_EXCEEDED)


class CelUint(int):
    """A value of the type ``uint``."""


@dataclass(frozen=True, order=True)
class CelDuration:
    """A duration."""

    #: Nanoseconds.
    nanos: int


@dataclass(frozen=True, order=True)
class CelTime:
    """A point in time."""

    #: Nanoseconds since 1970, UTC.
    nanos: int


@dataclass(frozen=True)
class CelOptional:
    """An optional value."""

    #: The value in a tuple; an empty tuple without a value.
    content: tuple[Any, ...] = ()

    @property
    def value(self) -> Any:
        """The value.

        Raises:
            EvaluationError: there is no value, or cel-go cannot convert it.
        """
        if not self.content:
            raise EvaluationError("optional.none() dereference")
        if isinstance(self.content[0], EvaluationError):
            raise self.content[0]
        return self.content[0]


class CelOpaque:
    """A value that only functions read; subclasses name its type."""

    #: Type of the value.
    kind: CelType = DYN

    @property
    def native(self) -> str:
        """Go's type and text of the value, if cel-go cannot convert it back; else empty."""
        return ""


_KINDS: Final[Mapping[type, CelType]] = {
    bool: BOOL,
    int: INT,
    CelUint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
    CelDuration: DURATION,
    CelTime: TIMESTAMP,
    CelOptional: optional_of(DYN),
}
SCALARS: Final = frozenset(_KINDS)
"""Types of Python whose values all have the same type."""
_NAMES: Final = {
    DURATION: "google.protobuf.Duration",
    TIMESTAMP: "google.protobuf.Timestamp",
    NULL: "null_type",
}
"""Names of types at run time that differ from their notation."""


def kind_of(value: Any) -> CelType:
    """Return the type of a value."""
    known = _KINDS.get(type(value))
    if known is not None:
        return known
    if isinstance(value, Mapping):
        name = value.get(TYPE_MEMBER)
        return map_of(DYN, DYN) if name is None else struct(name)
    if isinstance(value, list | tuple):
        return list_of(DYN)
    if isinstance(value, CelType):
        return type_of_type(value)
    return value.kind if isinstance(value, CelOpaque) else DYN


def type_name(kind: CelType) -> str:
    """Return the name of a type at run time."""
    return _NAMES.get(kind, kind.name)


def is_number(value: Any) -> bool:
    """True for whole numbers and floats."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_nan(value: Any) -> bool:
    """True for the float that is no number."""
    return isinstance(value, float) and isnan(value)


def equal(one: Any, two: Any) -> bool:
    """True if two values are equal; numbers of different types may be."""
    return _equal(one, two, None)


def _equal(one: Any, two: Any, known: set[tuple[int, int]] | None) -> bool:
    """Compare two values.

    Args:
        one: a value.
        two: another value.
        known: identities of equal lists and maps. Parts of a value may be the same object, and
            a comparison of each occurrence would take exponential time.
    """
    first, second = type(one), type(two)
    if first is second and first in (str, int, bool, float, bytes):
        return bool(one == two)
    if is_number(one) or is_number(two):
        return is_number(one) and is_number(two) and bool(one == two)
    if isinstance(one, KeyedList):
        return isinstance(two, list | tuple) and one.is_same(two)
    if isinstance(one, list | tuple | Mapping):
        known = set() if known is None else known
        pair = id(one), id(two)
        if pair not in known and not _same_parts(one, two, known):
            return False
        known.add(pair)
        return True
    if isinstance(one, CelOptional) and isinstance(two, CelOptional):
        return _equal(one.content, two.content, known)
    if isinstance(one, CelType) and isinstance(two, CelType):
        return type_name(one) == type_name(two)
    return first is second and bool(one == two)


def _same_parts(one: Any, two: Any, known: set[tuple[int, int]]) -> bool:
    """Return whether two lists or two maps have equal parts."""
    if isinstance(one, Mapping):
        if not isinstance(two, Mapping) or len(one) != len(two):
            return False
        return all(key in two and _equal(each, two[key], known) for key, each in one.items())
    same = isinstance(two, list | tuple) and len(one) == len(two)
    return same and all(map(_equal, one, two, repeat(known)))


def contains(items: Any, value: Any) -> bool:
    """True if a list has an item, or a map a key."""
    if isinstance(items, Mapping):
        return has_key(items, value)
    return any(equal(each, value) for each in items)


def has_key(items: Mapping[Any, Any], key: Any) -> bool:
    """True if a map has a key; equal numbers of different types are the same key."""
    try:
        return key in items and (not isinstance(key, bool) or any(k is key for k in items))
    except TypeError:
        return False


@dataclass(frozen=True, eq=False)
class ReferenceKey:
    """A list or a map as the key of a map: it is equal to no other key."""

    #: The list or the map.
    value: Any


def map_from(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a map of keys and values.

    Raises:
        EvaluationError: a key is of bytes.
    """
    found: dict[Any, Any] = {}
    for key, value in pairs:
        if isinstance(key, bytes):
            problem = "internal error: runtime error: hash of unhashable type types.Bytes"
            raise EvaluationError(problem)
        found[ReferenceKey(key) if isinstance(key, list | tuple | Mapping) else key] = value
    return found


def order(one: Any, two: Any) -> int:
    """-1, 0 or 1: the order of two values.

    Raises:
        EvaluationError: the values have no order.
    """
    if is_nan(one) or is_nan(two):
        raise EvaluationError("NaN values cannot be ordered")
    same = type(one) is type(two) and isinstance(one, _ORDERED)
    if not same and not (is_number(one) and is_number(two)):
        raise EvaluationError("no such overload")
    return int(one > two) - int(one < two)


_ORDERED: Final = (str, bytes, bool, int, float, CelDuration, CelTime)


def size_of(value: Any) -> int:
    """Return the size of a value in the accounting of costs: 1 for scalars."""
    if isinstance(value, str | bytes | list | tuple | Mapping):
        return len(value)
    if isinstance(value, CelOptional) and value.content:
        return size_of(value.content[0])
    return 1


def bounded(value: int, kind: str = "integer") -> int:
    """Return a whole number of 64 bits.

    Raises:
        EvaluationError: the number needs more bits.
    """
    if kind == "unsigned integer":
        if not 0 <= value < 1 << 64:
            raise EvaluationError("unsigned integer overflow")
        return CelUint(value)
    if not -(1 << 63) <= value < 1 << 63:
        raise EvaluationError("integer overflow")
    return value


class GrowingList(list[Any]):
    """The list that a loop accumulates; a sum with it changes it until the loop ends."""


class GrowingMap(dict[Any, Any]):
    """The map that a loop accumulates; an insertion changes it until the loop ends."""


class KeyedList(list[Any]):
    """A list whose order has no meaning: a set, or a list of objects with keys."""

    def __init__(self, items: Iterable[Any], keys: tuple[str, ...]) -> None:
        """Create a list.

        Args:
            items: the items.
            keys: names of the fields that identify an item; none for a set.
        """
        super().__init__(items)
        self._keys = keys

    def identity(self, item: Any) -> Any:
        """Return the part of an item that identifies it."""
        if not self._keys or not isinstance(item, Mapping):
            return item
        return [item.get(key) for key in self._keys]

    def joined(self, items: Iterable[Any]) -> "KeyedList":
        """Return the list with other items, which replace those with the same identity."""
        found = list(self)
        known = [self.identity(each) for each in found]
        for each in items:
            wanted = self.identity(each)
            place = next((i for i, one in enumerate(known) if equal(one, wanted)), None)
            if place is None:
                found.append(each)
                known.append(wanted)
            else:
                found[place] = each
        return KeyedList(found, self._keys)

    def is_same(self, items: Sequence[Any]) -> bool:
        """Return whether another list has the same items in any order."""
        return len(self) == len(items) and all(contains(self, each) for each in items)


def adapted(found: CelOptional) -> CelOptional:
    """Return the optional result of a choice between values.

    cel-go converts its content to a value of Go and back, which fails for some types.
    """
    content = found.content[0] if found.content else None
    if not isinstance(content, CelOpaque) or not content.native:
        return found
    return CelOptional((EvaluationError(f"unsupported conversion to ref.Val: {content.native}"),))


def growing(value: Any) -> Any:
    """Return an accumulator for the first value of a loop."""
    if isinstance(value, list) and not value:
        return GrowingList()
    return GrowingMap() if isinstance(value, dict) and not value else value


def grown(value: Any) -> Any:
    """Return the value of an accumulator after its loop."""
    if isinstance(value, GrowingList):
        return list(value)
    return dict(value) if isinstance(value, GrowingMap) else value

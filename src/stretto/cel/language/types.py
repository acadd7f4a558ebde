"""Types of CEL: their notation, and which values may be used in place of others.

The rules are those of ``checker/types.go`` in cel-go.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final


class Sort(Enum):
    """Sorts of types."""

    #: A scalar type, ``null`` or ``dyn``.
    BASIC = "basic"
    #: A list.
    LIST = "list"
    #: A map.
    MAP = "map"
    #: A type with named fields or with functions only.
    STRUCT = "struct"
    #: A type that only functions read, with or without parameters.
    OPAQUE = "opaque"
    #: The type of a type.
    TYPE = "type"
    #: A parameter, which the checker replaces.
    PARAMETER = "parameter"


@dataclass(frozen=True, eq=False)
class CelType:
    """A type. Most comparisons are of a type with itself, so they begin with the identity."""

    #: Sort of the type.
    sort: Sort
    #: Name of the type without its parameters.
    name: str
    #: Types of the items, of keys and values, or of the optional value.
    parameters: tuple["CelType", ...] = ()

    def __eq__(self, other: object) -> bool:
        """True for types with the same sort, name and parameters."""
        if self is other:
            return True
        return (
            isinstance(other, CelType)
            and self.name == other.name
            and self.sort is other.sort
            and self.parameters == other.parameters
        )

    def __hash__(self) -> int:
        """The hash of the name and of the parameters; a name rarely has several sorts."""
        return hash((self.name, self.parameters))

    def __str__(self) -> str:
        """The notation of Go."""
        if not self.parameters:
            return self.name
        return f"{self.name}({', '.join(map(str, self.parameters))})"


def _basic(name: str) -> CelType:
    return CelType(Sort.BASIC, name)


DYN: Final = _basic("dyn")
ANY: Final = _basic("any")
ERROR: Final = _basic("!error!")
NULL: Final = _basic("null")
BOOL: Final = _basic("bool")
INT: Final = _basic("int")
UINT: Final = _basic("uint")
DOUBLE: Final = _basic("double")
STRING: Final = _basic("string")
BYTES: Final = _basic("bytes")
TIMESTAMP: Final = _basic("timestamp")
DURATION: Final = _basic("duration")
_BASICS: Final = {
    each.name: each
    for each in (DYN, NULL, BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION)
}
_OPAQUE: Final = ("optional_type", "net.IP", "net.CIDR")
_DYNAMIC: Final = frozenset(each.name for each in (DYN, ANY, ERROR))
_SIZED: Final = frozenset((BOOL, INT, UINT, DOUBLE, TIMESTAMP, DURATION))


def list_of(item: CelType) -> CelType:
    """Return the type of a list of items of a type."""
    return CelType(Sort.LIST, "list", (item,))


def map_of(key: CelType, value: CelType) -> CelType:
    """Return the type of a map."""
    return CelType(Sort.MAP, "map", (key, value))


def optional_of(inner: CelType) -> CelType:
    """Return the type of an optional value."""
    return CelType(Sort.OPAQUE, "optional_type", (inner,))


def type_of_type(inner: CelType) -> CelType:
    """Return the type of a type."""
    return CelType(Sort.TYPE, "type", (inner,))


def struct(name: str) -> CelType:
    """Return the type of an object with a name."""
    return CelType(Sort.STRUCT, name)


@lru_cache(maxsize=512)
def parsed_type(text: str) -> CelType:
    """Return the type that a notation names; a single capital letter is a parameter."""
    name, _, inner = text.partition("(")
    if name in _BASICS:
        return _BASICS[name]
    if re.fullmatch(r"[A-Z]", name):
        return CelType(Sort.PARAMETER, name)
    parameters = tuple(map(parsed_type, split_types(inner[:-1]))) if inner else ()
    sorts = {"list": Sort.LIST, "map": Sort.MAP, "type": Sort.TYPE}
    sort = sorts.get(name, Sort.OPAQUE if name in _OPAQUE else Sort.STRUCT)
    return CelType(sort, name, parameters)


def split_types(text: str) -> list[str]:
    """Split a list of notations at the commas outside of parentheses."""
    found, depth, start = [], 0, 0
    for index, each in enumerate(text):
        depth += (each == "(") - (each == ")")
        if each == "," and depth == 0:
            found.append(text[start:index].strip())
            start = index + 1
    return [*found, text[start:].strip()] if text.strip() else []


def is_dynamic(kind: CelType) -> bool:
    """True for ``dyn``, for ``any`` and for the type of a faulty expression."""
    return kind.sort is Sort.BASIC and kind.name in _DYNAMIC


def is_scalar(kind: CelType) -> bool:
    """True if all values of a type have the same size."""
    if kind.name == "optional_type" and kind.parameters:
        return is_scalar(kind.parameters[0])
    return kind in _SIZED


def unwrapped(kind: CelType) -> tuple[CelType, bool]:
    """Return the type in an optional type, and whether there is one."""
    if kind.sort is Sort.OPAQUE and kind.name == "optional_type":
        return kind.parameters[0], True
    return kind, False


def _is_nullable(kind: CelType) -> bool:
    return kind.sort in (Sort.OPAQUE, Sort.STRUCT) or kind in (NULL, TIMESTAMP, DURATION)


def _is_general(one: CelType, two: CelType) -> bool:
    """True if a type is equal to another or less specific."""
    if one in (DYN, ANY) or one.sort is Sort.PARAMETER:
        return True
    if two in (DYN, ANY) or two.sort is Sort.PARAMETER or one.sort is not two.sort:
        return False
    if one.sort in (Sort.LIST, Sort.MAP, Sort.OPAQUE):
        same = one.name == two.name and len(one.parameters) == len(two.parameters)
        return same and all(map(_is_general, one.parameters, two.parameters))
    return one.sort is Sort.TYPE or one == two


def most_general(one: CelType, two: CelType) -> CelType:
    """Return the less specific of two types."""
    return one if _is_general(one, two) else two


class Substitutions:
    """Types of the parameters that the checker has found."""

    def __init__(self) -> None:
        self._known: dict[str, CelType] = {}
        self._before: list[tuple[str, CelType | None]] = []

    def accepts(self, pairs: Iterable[tuple[CelType, CelType]]) -> bool:
        """Return whether all pairs of types agree; only then parameters get types."""
        self._before.clear()
        if all(self._agree(one, two) for one, two in pairs):
            return True
        for name, kind in reversed(self._before):
            if kind is None:
                del self._known[name]
            else:
                self._known[name] = kind
        return False

    def resolved(self, kind: CelType, *, final: bool = False) -> CelType:
        """Return a type with the types of its parameters.

        Args:
            kind: the type.
            final: whether unknown parameters become ``dyn``.
        """
        if kind.sort is Sort.PARAMETER:
            known = self._known.get(kind.name)
            if known is not None:
                return self.resolved(known, final=final)
            return DYN if final else kind
        if not kind.parameters:
            return kind
        inner = tuple(self.resolved(each, final=final) for each in kind.parameters)
        return kind if inner == kind.parameters else CelType(kind.sort, kind.name, inner)

    def _agree(self, one: CelType, two: CelType) -> bool:
        if two.sort is Sort.PARAMETER:
            valid, has_type = self._bind(one, two)
            if valid or has_type:
                return valid
        if one.sort is Sort.PARAMETER:
            return self._bind(two, one)[0]
        if is_dynamic(one) or is_dynamic(two):
            return True
        if NULL in (one, two):
            return _is_nullable(two if one == NULL else one)
        if one.sort is Sort.TYPE:
            return two.sort is Sort.TYPE
        if one.sort in (Sort.LIST, Sort.MAP, Sort.OPAQUE):
            same = one.sort is two.sort and one.name == two.name
            same = same and len(one.parameters) == len(two.parameters)
            return same and all(map(self._agree, one.parameters, two.parameters))
        return one == two

    def _bind(self, kind: CelType, parameter: CelType) -> tuple[bool, bool]:
        """Return whether a type fits a parameter, and whether the parameter had a type."""
        if kind == parameter:
            return True, True
        known = self._known.get(parameter.name)
        if known is None:
            if not self._is_outside(parameter, kind):
                return False, False
            self._set(parameter.name, kind)
            return True, False
        if kind == known:
            return True, True
        if not self._agree(kind, known):
            return False, True
        wider = most_general(kind, known)
        if self._is_outside(parameter, wider):
            self._set(parameter.name, wider)
        return True, True

    def _set(self, name: str, kind: CelType) -> None:
        """Give a parameter a type, and note its former one in case that another pair differs."""
        self._before.append((name, self._known.get(name)))
        self._known[name] = kind

    def _is_outside(self, parameter: CelType, kind: CelType) -> bool:
        """True if a type does not contain a parameter."""
        if kind == parameter:
            return False
        if kind.sort is Sort.PARAMETER:
            known = self._known.get(kind.name)
            return known is None or self._is_outside(parameter, known)
        return all(self._is_outside(parameter, each) for each in kind.parameters)


def instantiated(kind: CelType, names: Mapping[str, CelType]) -> CelType:
    """Return a declared type with other parameters."""
    if kind.sort is Sort.PARAMETER:
        return names[kind.name]
    if not kind.parameters:
        return kind
    inner = tuple(instantiated(each, names) for each in kind.parameters)
    return CelType(kind.sort, kind.name, inner)


def is_closed(kind: CelType) -> bool:
    """True for a type without parameters."""
    return kind.sort is not Sort.PARAMETER and all(map(is_closed, kind.parameters))


def parameters_in(kind: CelType) -> frozenset[str]:
    """Return the names of the parameters in a type."""
    if kind.sort is Sort.PARAMETER:
        return frozenset((kind.name,))
    return frozenset().union(*map(parameters_in, kind.parameters))

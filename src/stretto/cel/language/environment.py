"""Names that an expression may read: variables, types, and the fields of objects."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from stretto.cel.language.signatures import FunctionForm, declared_functions
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
    Sort,
    list_of,
    map_of,
    optional_of,
    parsed_type,
    struct,
    type_of_type,
)

TYPES: Final[Mapping[str, CelType]] = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "int": INT,
    "uint": UINT,
    "string": STRING,
    "null_type": NULL,
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "type": type_of_type(DYN),
    "dyn": DYN,
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    "optional_type": optional_of(DYN),
    "net.IP": parsed_type("net.IP"),
    "net.CIDR": parsed_type("net.CIDR"),
}
"""Types that an expression may name."""
_PATCHES: Final = "jsonpatch.escapeKey"
"""Function that only the expressions of mutations may call."""
_CONFIGURATION: Final = re.compile(r"Object(?:\.[A-Za-z_]\w*)*")
_OPERATION: Final = "JSONPatch"
"""Type of an operation of a JSON patch."""


@dataclass(frozen=True, eq=False)
class Environment:
    """The variables and types of expressions; all environments have the same functions."""

    #: Types of the variables; a name may be dotted.
    variables: Mapping[str, CelType]
    #: Types of the fields of objects by the name of their type.
    objects: Mapping[str, Mapping[str, CelType]] = field(default_factory=dict)
    #: Whether expressions create configurations and operations of a mutation.
    has_mutations: bool = False
    #: Whether expressions may use ``cel.bind``.
    has_bindings: bool = False

    def variable(self, name: str) -> CelType | None:
        """Return the type of a variable; ``None`` if it is not declared."""
        return self.variables.get(name)

    def named_type(self, name: str) -> CelType | None:
        """Return the type that a name stands for; ``None`` for other names."""
        if name in TYPES:
            return TYPES[name]
        return struct(name) if self.fields(name) is not None else None

    def functions(self, name: str) -> tuple[FunctionForm, ...]:
        """Return the forms of a function; none if it is not declared."""
        if name == _PATCHES and not self.has_mutations:
            return ()
        return declared_functions().get(name, ())

    def fields(self, name: str) -> Mapping[str, CelType] | None:
        """Return the fields of a type; ``None`` if it is not declared as an object."""
        if self.has_mutations and name == _OPERATION:
            return _OPERATION_FIELDS
        if self.has_mutations and _CONFIGURATION.fullmatch(name):
            return _ANY_FIELDS
        return self.objects.get(name)


class _OpenFields(Mapping[str, CelType]):
    """Fields of an object that may have any further ones."""

    def __init__(self, known: Mapping[str, CelType], other: CelType) -> None:
        """Declare fields.

        Args:
            known: types of the known fields.
            other: type of all others.
        """
        self._known = known
        self._other = other

    def __getitem__(self, name: str) -> CelType:
        return self._known.get(name, self._other)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


_ANY_FIELDS: Final = _OpenFields({}, DYN)
_OPERATION_FIELDS: Final = _OpenFields(
    {"op": STRING, "path": STRING, "from": STRING, "value": DYN}, CelType(Sort.BASIC, "")
)

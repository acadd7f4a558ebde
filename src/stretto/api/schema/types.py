"""Types of API objects: structs, lists, maps and scalars, for merging and encoding.

A type defines how a value is encoded (Kubernetes' Go types omit empty optional fields), how a list
merges under server-side apply and under strategic merge, and the default of a field.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Final


class Form(Enum):
    """Form of a value."""

    STRUCT = "struct"
    LIST = "list"
    MAP = "map"
    STRING = "string"
    BYTES = "bytes"
    BOOL = "bool"
    INT32 = "int32"
    INT64 = "int64"
    DOUBLE = "double"
    TIME = "time"
    MICRO_TIME = "micro"
    DURATION = "duration"
    QUANTITY = "quantity"
    INT_OR_STRING = "intstr"
    #: Any JSON value.
    ANY = "any"

    # each member is one object; the hash of its name would take as long as a decoded value
    __hash__ = object.__hash__


EMBEDDED: Final = "\x1e"
"""Separator around the names of embedded structs in a path."""


class Merge(Enum):
    """Merge strategy of a list or a map under server-side apply."""

    ATOMIC = "atomic"
    #: A list of distinct scalars.
    SET = "set"
    #: A list of objects that are identified by keys.
    KEYED = "map"
    #: A map or a struct whose members have separate owners.
    GRANULAR = "granular"


SCALARS: Final = frozenset(set(Form) - {Form.STRUCT, Form.LIST, Form.MAP, Form.ANY})
"""Forms without members."""
NUMBERS: Final = frozenset({Form.INT32, Form.INT64, Form.DOUBLE})
"""Forms of numbers."""
TEXTS: Final = frozenset({Form.STRING, Form.BYTES, Form.TIME, Form.MICRO_TIME, Form.DURATION})
"""Forms whose values are texts."""


@dataclass(frozen=True, eq=False)
class StructType:
    """The fields of an object."""

    #: Name in the data file, such as ``core/v1.Container``; empty for a type of a CRD.
    name: str
    #: Fields by name.
    fields: Mapping[str, "FieldType"]
    #: Type of members that are not fields; ``None``: such members are unknown.
    others: "ValueType | None" = None
    #: True if unknown members are kept.
    is_open: bool = False
    #: True if server-side apply treats the struct as a whole in every field.
    is_atomic: bool = False

    @cached_property
    def go_name(self) -> str:
        """The name in messages of decoding: ``Container``."""
        return self.name.rpartition(".")[2]

    @cached_property
    def emitted(self) -> tuple["FieldType", ...]:
        """Fields that are encoded even without a value."""
        return tuple(each for each in self.fields.values() if each.is_emitted)

    @cached_property
    def keeping(self) -> tuple["FieldType", ...]:
        """Lists and maps that a decoded object keeps although they are empty."""
        return tuple(each for each in self.fields.values() if each.keeps_empty)

    @cached_property
    def above_keeping(self) -> tuple["FieldType", ...]:
        """Fields with such lists and maps anywhere below."""
        return tuple(each for each in self.fields.values() if _is_above_keeping(each.type, ()))

    @cached_property
    def defaulted(self) -> tuple["FieldType", ...]:
        """Fields with a default."""
        return tuple(
            each
            for each in self.fields.values()
            if each.default not in (None, {}) and (each.is_pointer or each.default != "")
        )


@dataclass(frozen=True, eq=False)
class ValueType:
    """The type of a value."""

    #: Form of the value.
    form: Form
    #: Type of the items of a list or of the values of a map.
    item: "ValueType | None" = None
    #: Returns the struct, for the form STRUCT.
    find: Callable[[], StructType] | None = None
    #: Merge strategy; scalars are atomic.
    merge: Merge = Merge.ATOMIC
    #: Keys of a keyed list.
    keys: tuple[str, ...] = ()
    #: Defaults of the keys of a keyed list.
    key_defaults: Mapping[str, Any] = field(default_factory=dict)
    #: Name of the Go type in messages of decoding; empty: derived from the form.
    go_type: str = ""
    #: Protobuf encoding of a value that is a struct or something else; only for the form ANY.
    union: "Union | None" = None

    @cached_property
    def struct(self) -> StructType:
        """The struct; only for the form STRUCT and for unions."""
        if self.find is None:
            return StructType("", {}, is_open=True)
        return self.find()

    @cached_property
    def sorted_keys(self) -> tuple[str, ...]:
        """The keys of a keyed list by their names: path elements have them in this order."""
        return tuple(sorted(self.keys))

    @cached_property
    def taken(self) -> type | None:
        """The Python type of JSON values that are accepted unchanged; ``None`` if there is none."""
        return {Form.STRING: str, Form.BOOL: bool}.get(self.form)

    @cached_property
    def applied(self) -> frozenset[type]:
        """The Python types of JSON values of a scalar that an apply accepts without a check."""
        if self.form in NUMBERS:
            return frozenset({int, float})
        if self.form in TEXTS:
            return frozenset({str})
        return frozenset({bool} if self.form is Form.BOOL else ())


@dataclass(frozen=True, eq=False)
class Union:
    """A struct or a value of another type: in protobuf, two fields of a separate message."""

    #: Number of the field of the struct.
    struct: int
    #: Number of the field of the other value.
    other: int
    #: Type of the other value: a list or a boolean.
    type: ValueType


@dataclass(frozen=True, eq=False)
class FieldType:
    """A field of a struct."""

    #: Name in JSON.
    name: str
    #: Type of its value.
    type: ValueType
    #: True if an absent value differs from the empty value.
    is_pointer: bool = False
    #: True if an empty value is not encoded.
    omits_empty: bool = True
    #: True if a struct without any value is not encoded.
    omits_zero: bool = False
    #: Value of an absent field; ``None``: no default.
    default: Any = None
    #: Words of the patch strategy: ``merge``, ``replace``, ``retainKeys``.
    strategy: tuple[str, ...] = ()
    #: Key by which a strategic merge patch identifies items.
    merge_key: str = ""
    #: True if the OpenAPI document requires it.
    is_required: bool = False
    #: Values of an enumeration in the OpenAPI document.
    enum: tuple[str, ...] = ()
    #: Field numbers in protobuf messages, through embedded messages; empty for none.
    numbers: tuple[int, ...] = ()
    #: True if the default of the struct depends on whether the list is empty or absent.
    is_read_empty: bool = False
    #: Names of the embedded structs through which Go finds the field, each with a dot at its end.
    embedded: str = ""

    @cached_property
    def step(self) -> str:
        """The name in paths, after the names of embedded structs between separators."""
        return f"{EMBEDDED}{self.embedded}{EMBEDDED}{self.name}" if self.embedded else self.name

    @cached_property
    def shows_empty(self) -> bool:
        """Return whether a decoded object contains the empty value of the field."""
        return self.is_pointer or self.is_read_empty or not self.omits_empty

    @cached_property
    def keeps_empty(self) -> bool:
        """Return whether a decoded object contains the empty list or map of the field."""
        is_collection = self.type.form in (Form.LIST, Form.MAP)
        return is_collection and self.shows_empty and not self.is_pointer

    @cached_property
    def is_emitted(self) -> bool:
        """Return whether the field is encoded even without a value."""
        if self.omits_zero:
            return False
        if self.is_pointer:
            return not self.omits_empty
        is_struct = self.type.form in _STRUCTS
        return is_struct or not self.omits_empty


def _is_above_keeping(kind: ValueType, above: tuple[str, ...]) -> bool:
    """Return whether a type contains a struct with lists that are kept although empty."""
    if kind.form is not Form.STRUCT:
        return kind.item is not None and _is_above_keeping(kind.item, above)
    struct = kind.struct
    if struct.name in above:
        return False
    below = (*above, struct.name)
    return bool(struct.keeping) or any(
        _is_above_keeping(each.type, below) for each in struct.fields.values()
    )


_STRUCTS: Final = frozenset(
    (Form.STRUCT, Form.TIME, Form.MICRO_TIME, Form.QUANTITY, Form.DURATION, Form.INT_OR_STRING)
)
"""Forms that Go represents as structs, which ``omitempty`` does not omit."""

ANY: Final = ValueType(Form.ANY)
"""Any JSON value; under server-side apply each member of an object has its own owner."""
RAW: Final = "runtime.RawExtension"
"""Go type of a JSON value that has one owner under server-side apply."""
STRING: Final = ValueType(Form.STRING)
"""A string."""

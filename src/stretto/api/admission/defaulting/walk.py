"""Defaults of an object: first its own, then those of its fields, recursively."""

import copy
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from stretto.api.admission.defaulting.cluster import CLUSTER
from stretto.api.admission.defaulting.core import CORE
from stretto.api.admission.defaulting.extension import EXTENSION
from stretto.api.admission.defaulting.pod import POD
from stretto.api.admission.defaulting.workloads import WORKLOADS
from stretto.api.schema.kubernetes import struct
from stretto.api.schema.types import Form, StructType, ValueType

Json = dict[str, Any]

DEFAULTS: Final[Mapping[str, Callable[[Json], None]]] = {
    **POD,
    **CORE,
    **WORKLOADS,
    **CLUSTER,
    **EXTENSION,
}
"""Defaulting functions by struct name."""


def set_defaults(value: Json, kind: StructType) -> None:
    """Set the defaults of an object in place."""
    own = DEFAULTS.get(kind.name)
    if own is not None:
        own(value)
    for field in kind.defaulted:
        if field.name not in value or value[field.name] is None:
            value[field.name] = copy.deepcopy(field.default)
    for name, inner in _paths(kind.name):
        member = value.get(name)
        if member is not None:
            _inside(member, inner)


def _inside(value: Any, kind: ValueType) -> None:
    if kind.form is Form.STRUCT:
        if isinstance(value, dict):
            set_defaults(value, kind.struct)
        return
    each_kind = kind.item
    if each_kind is None:
        return
    members = value.values() if isinstance(value, dict) else value
    for each in members:
        if each is not None:
            _inside(each, each_kind)


@cache
def _paths(name: str) -> tuple[tuple[str, ValueType], ...]:
    """The fields of a struct whose values have defaults."""
    return tuple(
        (field.name, field.type)
        for field in struct(name).fields.values()
        if any(_has_defaults(inner) for inner in _structs(field.type))
    )


@cache
def _has_defaults(name: str) -> bool:
    """Return whether a struct, or one that it contains, has defaults."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        found = waiting.pop()
        if found in seen:
            continue
        seen.add(found)
        kind = struct(found)
        if found in DEFAULTS or kind.defaulted:
            return True
        waiting += [inner for field in kind.fields.values() for inner in _structs(field.type)]
    return False


def _structs(kind: ValueType) -> list[str]:
    if kind.form is Form.STRUCT:
        return [kind.struct.name]
    return _structs(kind.item) if kind.item is not None else []

"""The keys of trace formats in a scenario, from the table of formats.

A format adds the key of its name to workloads, and to the fleet if it has node lists. The type of a
scenario file is therefore created from the table, and a new format needs no change here.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeVar, cast

import msgspec

from stretto.inputs.scenario.schema import FleetSpec, ScenarioFile, WorkloadSpec
from stretto.inputs.traces.formats import TRACES, TraceFormat

T = TypeVar("T", bound=msgspec.Struct)

BUNDLED: Final = "bundled"
"""Value of a trace key that selects the data that ships with Stretto."""


class TraceKey(NamedTuple):
    """The trace of a fleet or workload."""

    #: Name of its format.
    name: str
    #: The format.
    format: TraceFormat
    #: Its keys (``TraceFormat.keys`` or ``node_keys``), or ``BUNDLED``.
    keys: Any


def file_type(data: Mapping[str, Any]) -> type[ScenarioFile]:
    """The type of a scenario file; it includes the formats of packages if unknown keys are used."""
    return _file_type(TRACES.built_in() if _uses(data, TRACES.built_in()) else TRACES.names())


def trace_of(spec: FleetSpec | WorkloadSpec) -> TraceKey | None:
    """The trace of a fleet or workload; ``None`` if its source is not a trace."""
    for name in trace_names(spec):
        keys = getattr(spec, _field(name))
        if keys is not None:
            return TraceKey(name, TRACES.get(name), keys)
    return None


def trace_names(spec: FleetSpec | WorkloadSpec) -> tuple[str, ...]:
    """The keys of a fleet or workload that are trace formats."""
    plain = FleetSpec if isinstance(spec, FleetSpec) else WorkloadSpec
    known = set(plain.__struct_encode_fields__)
    return tuple(name for name in spec.__struct_encode_fields__ if name not in known)


def _uses(data: Mapping[str, Any], names: tuple[str, ...]) -> bool:
    """True if fleet and workloads have only known keys."""
    workloads = data.get("workloads")
    known = {*WorkloadSpec.__struct_encode_fields__, *FleetSpec.__struct_encode_fields__, *names}
    parts = [data.get("fleet"), *(workloads if isinstance(workloads, list) else ())]
    return all(set(part) <= known for part in parts if isinstance(part, dict))


@cache
def _file_type(names: tuple[str, ...]) -> type[ScenarioFile]:
    formats = {name: TRACES.get(name) for name in names}
    fleet = _extended(
        FleetSpec,
        {n: _choice(f, f.node_keys) for n, f in formats.items() if f.node_keys is not None},
    )
    workload = _extended(WorkloadSpec, {n: _choice(f, f.keys) for n, f in formats.items()})
    fields = [("fleet", fleet), ("workloads", tuple[workload, ...], ())]  # type: ignore[valid-type]
    return _struct(ScenarioFile, fields)


def _choice(found: TraceFormat, keys: type[msgspec.Struct]) -> Any:
    """The type of a format's key."""
    return keys | Literal["bundled"] if found.bundled is not None else keys


def _extended(base: type[T], keys: Mapping[str, Any]) -> type[T]:
    """A struct with one more optional key for each format."""
    return _struct(
        base,
        [
            (_field(name), kind | None, msgspec.field(default=None, name=name))
            for name, kind in keys.items()
        ],
    )


def _struct(base: type[T], fields: list[Any]) -> type[T]:
    """A subclass of a struct with more fields."""
    made: Any = msgspec.defstruct(
        base.__name__, fields, bases=(base,), module=__name__, frozen=True, kw_only=True
    )
    return cast("type[T]", made)


def _field(name: str) -> str:
    """The attribute of a format's key."""
    return "trace_" + "".join(c if c.isalnum() else "_" for c in name)

"""Types of schemas in CEL: the fields that the rules of a definition may read, and their types."""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, struct_pb2, timestamp_pb2

from stretto.api.schema.structural import EMBEDDED, INT_OR_STRING
from stretto.api.wire.durations import seconds_of
from stretto.base.errors import InputError

Json = dict[str, Any]

_Field = descriptor_pb2.FieldDescriptorProto
_RESERVED: Final = frozenset(
    (
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for",
        "function", "if", "import", "let", "loop", "package", "namespace", "return", "var", "void",
        "while",
    )
)  # fmt: skip
"""Names that an expression cannot contain; a field with such a name is escaped."""
_ESCAPED: Final = re.compile(r"__|[-./]")
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_NAME: Final = re.compile(r"[A-Za-z_./-][\w./-]*", re.ASCII)
_TEXT: Final[Json] = {"type": "string"}
_METADATA: Final[Json] = {
    "type": "object",
    "properties": {"name": _TEXT, "generateName": _TEXT},
}
_FORMATS: Final = {
    "byte": cel.Type.BYTES,
    "date": cel.Type.TIMESTAMP,
    "date-time": cel.Type.TIMESTAMP,
    "duration": cel.Type.DURATION,
}
_SCALARS: Final = {
    "string": cel.Type.STRING,
    "boolean": cel.Type.BOOL,
    "number": cel.Type.DOUBLE,
    "integer": cel.Type.INT,
}
_CODES: Final = {
    "STRING": _Field.TYPE_STRING,
    "BOOL": _Field.TYPE_BOOL,
    "DOUBLE": _Field.TYPE_DOUBLE,
    "INT": _Field.TYPE_INT64,
    "BYTES": _Field.TYPE_BYTES,
}
"""Types of protobuf by the names of types in CEL."""
_MESSAGES: Final = {
    "TIMESTAMP": ".google.protobuf.Timestamp",
    "DURATION": ".google.protobuf.Duration",
    "DYN": ".google.protobuf.Value",
}
_FILE: Final = "schema.proto"
_MOST_FIELDS: Final = 10_000
"""Maximum fields of an object with types; protobuf reserves some larger numbers."""
_KNOWN: Final = (struct_pb2, timestamp_pb2, duration_pb2)


def escaped(name: str) -> str:
    """Return the name of a field in an expression; empty if no expression can contain it."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return ""
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


def _names(name: str) -> tuple[str, ...]:
    """Return the names that select a field; a keyword also does so without its escape."""
    return (f"__{name}__", name) if name in _RESERVED else (escaped(name) or name,)


def rule_value(value: Any, schema: Json) -> Any:
    """Return a value as rules read it: with the names of fields in expressions, and with types."""
    if isinstance(value, dict):
        known, extra = schema.get("properties") or {}, schema.get("additionalProperties")
        found: Json = {}
        for name, each in value.items():
            if name in known:
                found |= dict.fromkeys(_names(name), rule_value(each, known[name]))
            else:
                found[name] = rule_value(each, extra if isinstance(extra, dict) else {})
        return found
    if isinstance(value, list):
        items = schema.get("items")
        return [rule_value(each, items if isinstance(items, dict) else {}) for each in value]
    read = _READ.get(schema.get("format") or "") if isinstance(value, str) else None
    try:
        return value if read is None or schema.get("type") != "string" else read(value)
    except (InputError, ValueError):
        return value


def _time(text: str) -> Any:
    found = timestamp_pb2.Timestamp()
    found.FromJsonString(text.upper().replace(" ", "T"))
    return found


def _duration(text: str) -> Any:
    found = duration_pb2.Duration()
    found.FromNanoseconds(round(seconds_of(text, "duration") * 1e9))
    return found


_READ: Final[Mapping[str, Callable[[str], Any]]] = {
    "byte": base64.b64decode,
    "date": lambda text: _time(f"{text}T00:00:00Z"),
    "date-time": _time,
    "duration": _duration,
}
"""Functions that read texts of a format as values of CEL."""


class SchemaTypes:
    """The types of a schema as messages of protobuf, which the compiler of CEL knows."""

    def __init__(self, schema: Json) -> None:
        """Declare the objects of a schema.

        Args:
            schema: the schema of the rules' value; its lists and maps may contain objects.
        """
        self._file = descriptor_pb2.FileDescriptorProto(name=_FILE, syntax="proto2")
        self._file.dependency.extend(each.DESCRIPTOR.name for each in _KNOWN)
        #: Type of the value; ``None`` if the schema does not declare it.
        self.value: Any = self._type(schema, "self")
        #: Descriptors of the types.
        self.pool: Any = descriptor_pool.DescriptorPool()
        for each in _KNOWN:
            self.pool.AddSerializedFile(each.DESCRIPTOR.serialized_pb)
        self.pool.AddSerializedFile(self._file.SerializeToString())

    def _type(self, schema: Json, name: str) -> Any:
        """Return the type of a schema; its objects have names that begin with ``name``."""
        if schema.get(INT_OR_STRING):
            return cel.Type.DYN
        kind, items = schema.get("type"), schema.get("items")
        if kind == "array":
            inner = self._type(items, f"{name}_item") if isinstance(items, dict) else None
            return None if inner is None else cel.Type.List(inner)
        if kind == "object":
            return self._map_or_object(schema, name)
        if kind == "string" and schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        return _SCALARS.get(kind or "")

    def _map_or_object(self, schema: Json, name: str) -> Any:
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            inner = self._type(extra, f"{name}_value")
            return None if inner is None else cel.Type.Map(cel.Type.STRING, inner)
        properties: Mapping[str, Json] = schema.get("properties") or {}
        if schema.get(EMBEDDED):
            properties = {**properties, "apiVersion": _TEXT, "kind": _TEXT, "metadata": _METADATA}
        if len(properties) > _MOST_FIELDS:
            return cel.Type.DYN
        fields: dict[str, Any] = {}
        for number, (key, each) in enumerate(sorted(properties.items()), start=1):
            shown = escaped(key)
            inner = self._type(each, f"{name}_{number}") if shown else None
            if inner is not None:
                fields |= dict.fromkeys(_names(key), inner)
        self._file.message_type.append(_message(name, fields))
        return cel.Type(name)


def _message(name: str, fields: Mapping[str, Any]) -> Any:
    """Return a message with fields of some types."""
    taken = set(fields)
    shown: list[Any] = []
    entries: list[Any] = []
    for number, (key, kind) in enumerate(fields.items(), start=1):
        text, entry = kind.name(), _entry_name(key)
        stated = {"name": key, "number": number, "json_name": f"j{number}"}
        if text.startswith("MAP<") and entry not in taken:
            taken.add(entry)
            entries.append(_map_entry(entry, text.partition(", ")[2][:-1]))
            place = f".{name}.{entry}"
            shown.append(_field(stated, _Field.LABEL_REPEATED, _message_type(place)))
        elif text.startswith("LIST<"):
            shown.append(_field(stated, _Field.LABEL_REPEATED, _kind_of(text[5:-1])))
        else:
            shown.append(_field(stated, _Field.LABEL_OPTIONAL, _kind_of(text)))
    return descriptor_pb2.DescriptorProto(name=name, field=shown, nested_type=entries)


def _field(stated: Json, label: Any, kind: Json) -> Any:
    return _Field(label=label, **stated, **kind)


def _entry_name(key: str) -> str:
    """Return the name of the type of a map's entries, which protobuf prescribes."""
    return "".join(f"{each[:1].upper()}{each[1:]}" for each in key.split("_")) + "Entry"


def _map_entry(name: str, value: str) -> Any:
    """Return the type of the entries of a map with texts as keys."""
    label = _Field.LABEL_OPTIONAL
    key = _field({"name": "key", "number": 1}, label, _kind_of("STRING"))
    inner = _field({"name": "value", "number": 2}, label, _kind_of(value))
    options = descriptor_pb2.MessageOptions(map_entry=True)
    return descriptor_pb2.DescriptorProto(name=name, field=[key, inner], options=options)


def _kind_of(text: str) -> Json:
    """Return the type of a field; the items of lists and maps in it have no declared type."""
    if text in _CODES:
        return {"type": _CODES[text]}
    if text.startswith("LIST<"):
        return _message_type(".google.protobuf.ListValue")
    if text.startswith("MAP<"):
        return _message_type(".google.protobuf.Struct")
    return _message_type(_MESSAGES.get(text, f".{text}"))


def _message_type(name: str) -> Json:
    return {"type": _Field.TYPE_MESSAGE, "type_name": name}

"""Types of schemas in CEL: the fields that the rules of a definition may read, and their limits.

The types and the limits of sizes are those of ``pkg/cel/common/schemas.go`` in kube-apiserver.
"""

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from stretto.api.checks.custom.formats import worded_duration
from stretto.api.schema.structural import EMBEDDED, INT_OR_STRING
from stretto.cel.estimates.operands import Path
from stretto.cel.functions.conversions import parsed_duration, parsed_time
from stretto.cel.language.environment import Environment
from stretto.cel.language.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelType,
    list_of,
    map_of,
    optional_of,
    struct,
)
from stretto.cel.running.values import CelDuration, EvaluationError, KeyedList

Json = dict[str, Any]

MOST_BYTES: Final = 3 << 20
"""Bytes of the largest request."""
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
_ANY_TEXT: Final = MOST_BYTES - 2
_BYTES_PER_CHARACTER: Final = 4
_FORMATS: Final = {
    "duration": (DURATION, 3, 32),
    "date": (TIMESTAMP, 12, 12),
    "date-time": (TIMESTAMP, 21, 32),
}
"""Types of formats, and the bytes of the shortest and of the longest text."""
_SCALARS: Final = {"boolean": (BOOL, 4), "number": (DOUBLE, 1), "integer": (INT, 1)}
"""Types of scalars, and the bytes of the shortest text."""


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


# ---------------------------------------------------------------- types


@dataclass(frozen=True, eq=False)
class SchemaType:
    """The type of a schema, and the limits of its values."""

    #: Type in expressions.
    kind: CelType
    #: Bytes of the smallest value in JSON.
    least: int
    #: Maximum characters, items or entries; 0 for other values.
    most: int = 0
    #: Types of the fields of an object by their escaped names.
    fields: Mapping[str, "SchemaType"] = field(default_factory=dict)
    #: Type of the items of a list or of the values of a map.
    item: "SchemaType | None" = None
    #: Type of the keys of a map.
    key: "SchemaType | None" = None

    def limit(self, path: Path) -> int | None:
        """Return the maximum size of the value at a path below a variable of this type."""
        found: SchemaType | None = self
        for step in path[1:]:
            if found is None:
                return None
            if step in ("@items", "@values"):
                found = found.item
            else:
                found = found.key if step == "@keys" else found.fields.get(step)
        return None if found is None else found.most

    @property
    def cardinality(self) -> int:
        """Maximum number of such values in a request."""
        return MOST_BYTES // (self.least + 1)


class SchemaTypes:
    """The types of one schema; objects have names, which follow their place in the schema."""

    def __init__(self) -> None:
        self._objects: dict[str, Mapping[str, CelType]] = {}
        self._environments: dict[tuple[CelType, bool], Environment] = {}

    def environment(self, kind: CelType, *, has_optional_old: bool = False) -> Environment:
        """Return the environment of rules; equal types share it, and so their equal rules.

        Args:
            kind: type of the rules' value.
            has_optional_old: whether the former value may be absent.
        """
        found = self._environments.get((kind, has_optional_old))
        if found is None:
            old = optional_of(kind) if has_optional_old else kind
            found = Environment({"self": kind, "oldSelf": old}, self._objects)
            self._environments[kind, has_optional_old] = found
        return found

    def of(self, schema: Json, name: str, *, is_root: bool = False) -> SchemaType | None:
        """Return the type of a schema; ``None`` if expressions cannot read its values.

        Args:
            schema: the schema.
            name: prefix of the names of its objects.
            is_root: whether the value is a whole object, with metadata.
        """
        if schema.get(INT_OR_STRING):
            return _scalar(DYN, 1, _characters(schema, _ANY_TEXT))
        if is_root:
            extra = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _METADATA}
            schema = {**schema, "properties": {**(schema.get("properties") or {}), **extra}}
        kind = schema.get("type") or ""
        if kind == "array":
            return self._list(schema, name)
        if kind == "object":
            extra_schema = schema.get("additionalProperties")
            is_map = isinstance(extra_schema, dict)
            return self._map(schema, name) if is_map else self._object(schema, name)
        if kind == "string":
            return _text_type(schema)
        return _scalar(*_SCALARS[kind]) if kind in _SCALARS else None

    def _inner(self, schema: Json, name: str) -> SchemaType | None:
        return self.of(schema, name, is_root=bool(schema.get(EMBEDDED)))

    def _list(self, schema: Json, name: str) -> SchemaType | None:
        items = schema.get("items")
        item = self._inner(items, f"{name}.@idx") if isinstance(items, dict) else None
        if item is None:
            return None
        most = _stated(schema, "maxItems", (MOST_BYTES - 2) // (item.least + 1))
        return SchemaType(list_of(item.kind), 2, most, item=item)

    def _map(self, schema: Json, name: str) -> SchemaType | None:
        value = self._inner(schema["additionalProperties"], f"{name}.@elem")
        if value is None:
            return None
        most = _stated(schema, "maxProperties", (MOST_BYTES - 2) // (value.least + 6))
        key = SchemaType(STRING, 2)
        return SchemaType(map_of(STRING, value.kind), 2, most, item=value, key=key)

    def _object(self, schema: Json, name: str) -> SchemaType:
        required = set(schema.get("required") or ())
        fields: dict[str, SchemaType] = {}
        kinds: dict[str, CelType] = {}
        least = 2
        for key, each in (schema.get("properties") or {}).items():
            shown = escaped(key)
            inner = self._inner(each, f"{name}.{shown or key}")
            if inner is None:
                continue
            if shown:
                fields[shown] = inner
                kinds |= dict.fromkeys(_names(key), inner.kind)
            if key in required and "default" not in each:
                least += len(key.encode()) + inner.least + 4
        self._objects[name] = kinds
        return SchemaType(struct(name), least, fields=fields)


def _stated(schema: Json, word: str, default: int) -> int:
    stated = schema.get(word)
    return default if stated is None else max(int(stated), 0)


def _characters(schema: Json, default: int) -> int:
    stated = schema.get("maxLength")
    return default if stated is None else max(int(stated), 0) * _BYTES_PER_CHARACTER


@lru_cache(maxsize=256)
def _scalar(kind: CelType, least: int, most: int = 0) -> SchemaType:
    """Return the type of scalars; equal rules for values of one type have the same costs."""
    return SchemaType(kind, least, most)


def _text_type(schema: Json) -> SchemaType:
    stated = schema.get("format") or ""
    if stated == "byte":
        return _scalar(BYTES, 2, _stated(schema, "maxLength", _ANY_TEXT))
    if stated in _FORMATS:
        return _scalar(*_FORMATS[stated])
    texts = [each for each in schema.get("enum") or () if isinstance(each, str)]
    longest = max((len(each.encode()) for each in texts), default=0)
    return _scalar(STRING, 2, _characters(schema, longest if schema.get("enum") else _ANY_TEXT))


# ---------------------------------------------------------------- values


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
        return _list_value(value, schema)
    if schema.get("type") == "number" and type(value) is int:
        return float(value)
    read = _READ.get(schema.get("format") or "") if isinstance(value, str) else None
    try:
        return value if read is None or schema.get("type") != "string" else read(value)
    except (EvaluationError, ValueError):
        return value


def _list_value(value: list[Any], schema: Json) -> list[Any]:
    items = schema.get("items")
    inner = items if isinstance(items, dict) else {}
    found = [rule_value(each, inner) for each in value]
    order = schema.get("x-kubernetes-list-type")
    if order not in ("set", "map"):
        return found
    keys = schema.get("x-kubernetes-list-map-keys") or () if order == "map" else ()
    return KeyedList(found, tuple(escaped(each) or each for each in keys))


def _duration(text: str) -> CelDuration:
    try:
        return parsed_duration(text)
    except EvaluationError:
        nanos = worded_duration(text)
        if nanos is None:
            raise
        return CelDuration(nanos)


_READ: Final[Mapping[str, Callable[[str], Any]]] = {
    "byte": base64.b64decode,
    "date": lambda text: parsed_time(f"{text}T00:00:00Z"),
    "date-time": lambda text: parsed_time(text.upper().replace(" ", "T")),
    "duration": _duration,
}
"""Functions that read texts of a format as values of CEL."""

"""The part of JSON Schema 2020-12 that msgspec's schemas use, as a check of plain values."""

from collections.abc import Iterator
from typing import Any

TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}


def violations(value: Any, schema: dict[str, Any], top: dict[str, Any], at: str) -> Iterator[str]:
    """Yield the paths at which a value violates a schema; ``top`` contains the definitions."""
    if "$ref" in schema:
        schema = top["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in schema:
        found = [list(violations(value, each, top, at)) for each in schema["anyOf"]]
        yield from () if any(not each for each in found) else min(found, key=len)
        return
    if "type" in schema and not _is_of(value, schema["type"]):
        yield f"{at}: {value!r} is not of type {schema['type']}"
    elif value not in schema.get("enum", [value]):
        yield f"{at}: {value!r} is not one of {schema['enum']}"
    elif isinstance(value, dict):
        yield from _of_object(value, schema, top, at)
    elif isinstance(value, list):
        items = schema.get("prefixItems", [schema.get("items") or {}] * len(value))
        for number, (each, item) in enumerate(zip(value, items, strict=False)):
            yield from violations(each, item or {}, top, f"{at}[{number}]")


def _is_of(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def _of_object(
    value: dict[str, Any], schema: dict[str, Any], top: dict[str, Any], at: str
) -> Iterator[str]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    yield from (
        f"{at}.{name} is missing" for name in schema.get("required", ()) if name not in value
    )
    for name, each in value.items():
        below = known.get(name, others if isinstance(others, dict) else {})
        yield from violations(each, below, top, f"{at}.{name}")

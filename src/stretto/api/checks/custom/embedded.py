"""Objects inside custom objects: ``x-kubernetes-embedded-resource``.

Their metadata follows the rules of Kubernetes: unknown members are dropped, and the others must be
valid.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import structs

from stretto.api.checks.fields.errors import Errors, FieldError, invalid, required
from stretto.api.checks.fields.metadata import check_metadata
from stretto.api.checks.fields.texts import dns_1035, path_segment
from stretto.api.schema.decoding import DecodeError, Decoding, decode
from stretto.api.schema.kubernetes import struct
from stretto.api.schema.structural import EMBEDDED

Json = dict[str, Any]

_METADATA: Final = "metadata"
_TYPE_FIELDS: Final = ("apiVersion", "kind")


def read_embedded(value: Any, schema: Json) -> list[str]:
    """Decode the metadata of embedded objects in place.

    Return the paths of unknown members, sorted.

    Args:
        value: a custom object.
        schema: its schema.

    Raises:
        DecodeError: a type field or the metadata of an embedded object has the wrong type.
    """
    unknown: list[str] = []
    for item, path in _embedded(value, schema, ""):
        for name in _TYPE_FIELDS:
            if name in item and not isinstance(item[name], str):
                raise _refused(invalid(f"{path}.{name}", item[name], "must be a string"))
        if _METADATA in item:
            item[_METADATA] = _metadata(item[_METADATA], f"{path}.{_METADATA}", unknown)
    return sorted(unknown)


def check_embedded(value: Any, schema: Json) -> Errors:
    """Return the refused fields of the embedded objects of a decoded custom object."""
    return [
        error for item, path in _embedded(value, schema, "") for error in _errors(item, f"{path}.")
    ]


def _embedded(value: Any, schema: Any, path: str) -> Iterator[tuple[Json, str]]:
    """Yield the embedded objects of a value with their paths, outer ones first."""
    if not isinstance(schema, dict):
        return
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _embedded(each, schema.get("items"), f"{path}[{index}]")
    elif isinstance(value, dict):
        if path and schema.get(EMBEDDED):
            yield value, path
        known, others = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, each in value.items():
            if name in known:
                yield from _embedded(each, known[name], f"{path}.{name}" if path else name)
            else:
                yield from _embedded(each, others, f"{path}[{name}]")


def _metadata(stated: Any, path: str, unknown: list[str]) -> Json:
    found = Decoding()
    if stated is None:
        return {}
    try:
        metadata = decode(stated, struct("meta/v1.ObjectMeta"), found)
    except DecodeError as error:
        raise _refused(invalid(path, stated, str(error))) from error
    unknown += [f"{path}.{each}" for each in found.unknown]
    return metadata


def _refused(error: FieldError) -> DecodeError:
    return DecodeError(f"{error.field}: {error.message}")


def _errors(item: Json, prefix: str) -> Iterator[FieldError]:
    for name in _TYPE_FIELDS:
        if name not in item:
            yield required(f"{prefix}{name}")
    for name, check in (("apiVersion", _version_problems), ("kind", _kind_problems)):
        if name in item:
            yield from (invalid(f"{prefix}{name}", item[name], why) for why in check(item[name]))
    metadata = item.get(_METADATA)
    if metadata is not None:
        named = {"name": "fakename", **metadata}
        namespaced = bool(metadata.get("namespace"))
        for error in check_metadata(named, path_segment, namespaced=namespaced):
            yield structs.replace(error, field=f"{prefix}{error.field}")


def _version_problems(version: str) -> list[str]:
    if not version:
        return ["must not be empty"]
    return [f"unexpected GroupVersion string: {version}"] if version.count("/") > 1 else []


def _kind_problems(kind: str) -> list[str]:
    if not kind:
        return ["must not be empty"]
    problems = dns_1035(kind.lower())
    text = "may have mixed case, but should otherwise match: "
    return [text + ",".join(problems)] if problems else []

"""The JSON of a record as a client sees it.

Uid, version, times, node and the bind's annotations are fields of the record, so that a write need
not change the body. Only this module merges them into the body; all other bytes stay unchanged.
"""

from typing import Any

import msgspec

from stretto.api.codec import Path, set_fields
from stretto.stores.generation import generation_of, is_counted
from stretto.stores.store import Record


def render(record: Record) -> bytes:
    """Return the object's JSON: the body with the record's fields merged in."""
    fields: dict[Path, Any] = {
        ("metadata", name): value for name, value in _metadata_of(record).items()
    }
    if record.node:
        fields["spec", "nodeName"] = record.node
    if record.annotations:
        fields |= annotation_fields(record)
    return _named(record, set_fields(record.body, fields))


def rendered_fields(record: Record) -> dict[str, Any]:
    """Return the decoded form of ``render``, without encoding it first.

    Raises:
        InputError: the body is not an object with an object as metadata.
    """
    fields: Any = msgspec.json.decode(record.body)
    metadata: Any = (fields.get("metadata") or {}) if isinstance(fields, dict) else None
    if record.node or record.annotations or not isinstance(metadata, dict):
        rendered: dict[str, Any] = msgspec.json.decode(render(record))
        return rendered
    for name, value in _metadata_of(record).items():
        if value is not None:
            metadata[name] = value
        else:
            metadata.pop(name, None)
    fields["metadata"] = metadata
    if "apiVersion" not in fields or "kind" not in fields:
        fields = {"apiVersion": record.kind.api_version, "kind": record.kind.kind, **fields}
    found: dict[str, Any] = fields
    return found


def annotation_fields(record: Record) -> dict[Path, Any]:
    """The annotations written by the bind, as fields to set."""
    return {
        ("metadata", "annotations", key): value for key, value in (record.annotations or {}).items()
    }


def _metadata_of(record: Record) -> dict[str, Any]:
    """The fields of the metadata that a record replaces; ``None`` removes a field."""
    found: dict[str, Any] = {
        "name": record.name,
        "namespace": record.namespace or None,
        "uid": record.uid,
        "resourceVersion": str(record.version),
        "creationTimestamp": record.created or None,
        "deletionTimestamp": record.deleting or None,
    }
    if is_counted(record.kind):
        found["generation"] = generation_of(record.body)
    return found


def _named(record: Record, body: bytes) -> bytes:
    """Return the object with apiVersion and kind first; a manifest inside a list may omit them."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    if "apiVersion" in fields and "kind" in fields:
        return body
    kind = record.kind
    named = {"apiVersion": msgspec.Raw(msgspec.json.encode(kind.api_version))}
    named["kind"] = msgspec.Raw(msgspec.json.encode(kind.kind))
    return msgspec.json.encode(named | fields)

"""A record as the JSON that a client sees.

Uid, version, times, node and the bind's annotations stand beside the body, so that a write does not
touch it; they are put in only here. All else keeps its place and its bytes.
"""

from typing import Any

import msgspec

from stretto.api.codec import Path, set_fields
from stretto.stores.store import Record


def render(record: Record) -> bytes:
    """The object's JSON: the body with the record's own fields put in."""
    fields: dict[Path, Any] = {
        ("metadata", "name"): record.name,
        ("metadata", "namespace"): record.namespace or None,
        ("metadata", "uid"): record.uid,
        ("metadata", "resourceVersion"): str(record.version),
        ("metadata", "creationTimestamp"): record.created or None,
        ("metadata", "deletionTimestamp"): record.deleting or None,
    }
    if record.node:
        fields["spec", "nodeName"] = record.node
    if record.annotations:
        fields |= annotation_fields(record)
    return _named(record, set_fields(record.body, fields))


def annotation_fields(record: Record) -> dict[Path, Any]:
    """The annotations that the bind wrote, as fields to set."""
    return {
        ("metadata", "annotations", key): value for key, value in (record.annotations or {}).items()
    }


def _named(record: Record, body: bytes) -> bytes:
    """The object with its type, which a manifest may leave out inside a list, in front."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    if "apiVersion" in fields and "kind" in fields:
        return body
    kind = record.kind
    named = {"apiVersion": msgspec.Raw(msgspec.json.encode(kind.api_version))}
    named["kind"] = msgspec.Raw(msgspec.json.encode(kind.kind))
    return msgspec.json.encode(named | fields)

"""A record as the JSON that a client sees.

Uid, version, times, node and the bind's annotations are fields of the record, so that a write need
not change the body. Only this module merges them into the body; all other bytes stay as they are.
"""

from typing import Any

import msgspec

from stretto.api.codec import Path, set_fields
from stretto.stores.generation import generation_of, is_counted
from stretto.stores.store import Record


def render(record: Record) -> bytes:
    """The object's JSON: the body with the record's fields merged in."""
    fields: dict[Path, Any] = {
        ("metadata", "name"): record.name,
        ("metadata", "namespace"): record.namespace or None,
        ("metadata", "uid"): record.uid,
        ("metadata", "resourceVersion"): str(record.version),
        ("metadata", "creationTimestamp"): record.created or None,
        ("metadata", "deletionTimestamp"): record.deleting or None,
    }
    if is_counted(record.kind):
        fields["metadata", "generation"] = generation_of(record.body)
    if record.node:
        fields["spec", "nodeName"] = record.node
    if record.annotations:
        fields |= annotation_fields(record)
    return _named(record, set_fields(record.body, fields))


def annotation_fields(record: Record) -> dict[Path, Any]:
    """The annotations written by the bind, as fields to set."""
    return {
        ("metadata", "annotations", key): value for key, value in (record.annotations or {}).items()
    }


def _named(record: Record, body: bytes) -> bytes:
    """The object with apiVersion and kind first; a manifest inside a list may omit them."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    if "apiVersion" in fields and "kind" in fields:
        return body
    kind = record.kind
    named = {"apiVersion": msgspec.Raw(msgspec.json.encode(kind.api_version))}
    named["kind"] = msgspec.Raw(msgspec.json.encode(kind.kind))
    return msgspec.json.encode(named | fields)

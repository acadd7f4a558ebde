"""Conversion of objects to the form for clients, and to the form for the store.

The store assigns uid, version and times, so a stored body does not contain them.
"""

from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.stores.store import Record

Json = dict[str, Any]

_RAW: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
ASSIGNED: Final = ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "selfLink")
"""Metadata that the store keeps outside the body."""


def rendered(record: Record, kept: Json | None = None) -> Json:
    """Return the object of a record.

    Args:
        record: the record.
        kept: the decoded body; if ``None``, the body is decoded.
    """
    item: Json = msgspec.json.decode(record.body) if kept is None else dict(kept)
    metadata = dict(item.get("metadata") or {})
    metadata["name"] = record.name
    if record.namespace:
        metadata["namespace"] = record.namespace
    metadata["uid"] = record.uid
    metadata["resourceVersion"] = str(record.version)
    if record.created:
        metadata["creationTimestamp"] = _seconds(record.created)
    if record.deleting:
        metadata["deletionTimestamp"] = _seconds(record.deleting)
    if record.annotations:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **record.annotations}
    if record.node:
        item["spec"] = {**(item.get("spec") or {}), "nodeName": record.node}
    kind = record.kind
    return {"kind": kind.kind, "apiVersion": kind.api_version, **item, "metadata": metadata}


def item_text(record: Record) -> bytes:
    """Return the object of a record in a list: its JSON without kind and version.

    Only metadata and, for a bound pod, the spec are decoded; everything else is copied.
    """
    item: Json = _RAW(record.body)
    item.pop("kind", None)
    item.pop("apiVersion", None)
    metadata: Json = _RAW(item["metadata"]) if "metadata" in item else {}
    metadata["name"] = record.name
    if record.namespace:
        metadata["namespace"] = record.namespace
    metadata["uid"] = record.uid
    metadata["resourceVersion"] = str(record.version)
    if record.created:
        metadata["creationTimestamp"] = _seconds(record.created)
    if record.deleting:
        metadata["deletionTimestamp"] = _seconds(record.deleting)
    if record.annotations:
        stated = msgspec.json.decode(metadata.get("annotations", b"{}"))
        metadata["annotations"] = {**stated, **record.annotations}
    item["metadata"] = metadata
    if record.node:
        spec: Json = _RAW(item["spec"]) if "spec" in item else {}
        item["spec"] = {**spec, "nodeName": record.node}
    return msgspec.json.encode(item)


def _seconds(time: str) -> str:
    """Return a time without its fraction, as in objects."""
    return time if "." not in time else f"{time.partition('.')[0]}Z"


def kept_form(item: Json, kind: Kind, *, is_custom: bool = False) -> Json:
    """Return the form of an object in the store.

    Its apiVersion is that of the stored kind. A custom object has its storage version, because its
    definition may change the storage version later.
    """
    metadata = {key: each for key, each in item["metadata"].items() if key not in ASSIGNED}
    version = item.get("apiVersion", kind.api_version) if is_custom else kind.api_version
    named = {"kind": kind.kind, "apiVersion": version}
    return {**item, **named, "metadata": metadata}


def without_type(item: Json) -> Json:
    """Return an object without its kind and version."""
    return {key: each for key, each in item.items() if key not in ("kind", "apiVersion")}

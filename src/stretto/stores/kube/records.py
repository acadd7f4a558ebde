"""Conversion of objects of an API server to records.

A body keeps the received bytes except ``managedFields``, which is often half of an object, is never
read here, and is optional in writes.
"""

from sys import intern
from typing import Final

import msgspec

from stretto.api.types.heads import MetaHead, PodHead
from stretto.api.wire.kinds import POD, Kind
from stretto.base.errors import InputError
from stretto.stores.store import EventType, Record, WatchEvent

_MANAGED: Final = b'"managedFields"'


class _RecordMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Metadata that a record stores outside the body."""

    #: Name within kind and namespace.
    name: str = ""
    #: Namespace; empty for cluster-scoped kinds.
    namespace: str = ""
    #: Unique identity.
    uid: str = ""
    #: Version, a number: servers guarantee that versions can be compared.
    resource_version: str = ""
    #: Creation time.
    creation_timestamp: str | None = None
    #: Time at which the deletion was requested.
    deletion_timestamp: str | None = None


class _RecordSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The part of a pod's spec that a record stores outside the body."""

    #: Node of a bound pod.
    node_name: str = ""


class _RecordObject(msgspec.Struct, frozen=True, gc=False):
    """Any object."""

    #: Metadata.
    metadata: _RecordMeta


class _RecordPod(msgspec.Struct, frozen=True, gc=False):
    """A pod."""

    #: Metadata.
    metadata: _RecordMeta
    #: Spec.
    spec: _RecordSpec


Fields = dict[str, msgspec.Raw]

_OBJECT: Final = msgspec.json.Decoder(_RecordObject)
_POD: Final = msgspec.json.Decoder(_RecordPod)
_HEAD: Final = msgspec.json.Decoder(PodHead)
_FIELDS: Final = msgspec.json.Decoder(Fields)
_ENCODER: Final = msgspec.json.Encoder()
_ERRORS: Final = (msgspec.DecodeError, RecursionError, ValueError, KeyError)


def record_of(kind: Kind, raw: bytes | msgspec.Raw) -> Record:
    """Return the record of an object.

    Raises:
        InputError: the text is not an object, or has no name, uid or version.
    """
    try:
        body = lean(kind, bytes(raw))
        found = _POD.decode(body) if kind is POD else _OBJECT.decode(body)
        node = found.spec.node_name if isinstance(found, _RecordPod) else ""
        return _record(kind, found.metadata, body, node)
    except _ERRORS as error:
        raise InputError(kind.kind.lower(), None, f"an object of the server: {error}") from error


def event_of(kind: Kind, change: EventType, raw: bytes | msgspec.Raw) -> WatchEvent:
    """Return the event of a change; the head of a pod is decoded once, here.

    Raises:
        InputError: as ``record_of``.
    """
    if kind is not POD:
        return WatchEvent(change, record_of(kind, raw))
    try:
        body = lean(kind, bytes(raw))
        head = _HEAD.decode(body)
        return WatchEvent(change, _record(kind, head.metadata, body, head.spec.node_name), head)
    except _ERRORS:
        return WatchEvent(change, record_of(kind, raw))  # the reader of the pod reports the error


def version_of(raw: bytes | msgspec.Raw) -> int:
    """The resourceVersion of an object or a list.

    Raises:
        InputError: the version is missing or not a number.
    """
    try:
        return int(_OBJECT.decode(raw).metadata.resource_version)
    except _ERRORS as error:
        raise InputError("metadata.resourceVersion", None, f"a number: {error}") from error


def lean(kind: Kind, raw: bytes) -> bytes:
    """An object's JSON without managedFields and with apiVersion and kind, which lists omit."""
    raw = raw.strip()
    if _MANAGED not in raw and not raw.startswith(b'{"metadata"'):
        return raw
    fields = _FIELDS.decode(raw)
    if "kind" not in fields:
        named = {"kind": kind.kind, "apiVersion": kind.api_version}
        fields = {key: msgspec.Raw(_ENCODER.encode(text)) for key, text in named.items()} | fields
    meta = _FIELDS.decode(fields["metadata"])
    if meta.pop("managedFields", None) is not None:
        fields["metadata"] = msgspec.Raw(_ENCODER.encode(meta))
    return memoryview(_ENCODER.encode(fields)).tobytes()  # drops the spare capacity


def _record(kind: Kind, meta: _RecordMeta | MetaHead, body: bytes, node: str) -> Record:
    if not meta.name or not meta.uid:
        raise ValueError("no name or no uid")
    return Record(
        kind,
        intern(meta.namespace),
        meta.name,
        meta.uid,
        int(meta.resource_version),
        body,
        intern(node),
        None,
        meta.creation_timestamp or "",
        meta.deletion_timestamp or "",
    )

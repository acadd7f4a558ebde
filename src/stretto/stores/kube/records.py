"""Objects of an API server as records.

A body stays the bytes that came, without ``managedFields``: the server's own notes, often half of
an object, that nobody here reads and that a write may leave out.
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
    """What a record keeps beside the body."""

    #: Name within kind and namespace.
    name: str = ""
    #: Namespace; empty for cluster-scoped kinds.
    namespace: str = ""
    #: Identity for life.
    uid: str = ""
    #: Version: a number since servers promise that versions can be compared.
    resource_version: str = ""
    #: When it was made.
    creation_timestamp: str | None = None
    #: When its deletion was asked for.
    deletion_timestamp: str | None = None


class _RecordSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a record keeps of a pod's spec."""

    #: Node of a bound pod.
    node_name: str = ""


class _RecordObject(msgspec.Struct, frozen=True, gc=False):
    """Any object."""

    #: Identity.
    metadata: _RecordMeta


class _RecordPod(msgspec.Struct, frozen=True, gc=False):
    """A pod."""

    #: Identity.
    metadata: _RecordMeta
    #: Where it is.
    spec: _RecordSpec


Fields = dict[str, msgspec.Raw]

_OBJECT: Final = msgspec.json.Decoder(_RecordObject)
_POD: Final = msgspec.json.Decoder(_RecordPod)
_HEAD: Final = msgspec.json.Decoder(PodHead)
_FIELDS: Final = msgspec.json.Decoder(Fields)
_ENCODER: Final = msgspec.json.Encoder()
_ERRORS: Final = (msgspec.DecodeError, RecursionError, ValueError, KeyError)


def record_of(kind: Kind, raw: bytes | msgspec.Raw) -> Record:
    """The record of an object.

    Raises:
        InputError: it is no object, or has no name, uid or version.
    """
    try:
        body = lean(kind, bytes(raw))
        found = _POD.decode(body) if kind is POD else _OBJECT.decode(body)
        node = found.spec.node_name if isinstance(found, _RecordPod) else ""
        return _record(kind, found.metadata, body, node)
    except _ERRORS as error:
        raise InputError(kind.kind.lower(), None, f"an object of the server: {error}") from error


def event_of(kind: Kind, change: EventType, raw: bytes | msgspec.Raw) -> WatchEvent:
    """The event of a change; a pod's head is decoded here, once for everybody.

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
        return WatchEvent(change, record_of(kind, raw))  # its reader will say what is wrong with it


def version_of(raw: bytes | msgspec.Raw) -> int:
    """The resourceVersion of an object or a list.

    Raises:
        InputError: it has none that is a number.
    """
    try:
        return int(_OBJECT.decode(raw).metadata.resource_version)
    except _ERRORS as error:
        raise InputError("metadata.resourceVersion", None, f"a number: {error}") from error


def lean(kind: Kind, raw: bytes) -> bytes:
    """An object's JSON without managed fields, and with its type, which lists leave out."""
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
    return memoryview(_ENCODER.encode(fields)).tobytes()  # an encoder's own bytes hold room to grow


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

"""Changes of raw JSON; all but a strategic merge keep all other bytes.

An object is decoded only along the path that changes; every other sub-tree stays raw. Unknown
fields survive, with their order and number formats.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from stretto.api.codec import parse, set_fields
from stretto.api.edit.patch import PatchType
from stretto.api.edit.strategic import StrategicPatchError, strategic_merge
from stretto.api.schema.kubernetes import struct_of_kind
from stretto.api.wire.kinds import DEPLOYMENT, POD, Kind
from stretto.api.wire.limits import measured
from stretto.base.errors import InputError
from stretto.stores.render import annotation_fields
from stretto.stores.store import Record

Fields = dict[str, msgspec.Raw]
"""A JSON object with raw values."""

_ANNOTATED: Final = (POD, DEPLOYMENT)
"""Kinds whose annotations a write of the status may change."""
_DECODER: Final = msgspec.json.Decoder(Fields)
_ENCODER: Final = msgspec.json.Encoder()


def fields_of(body: bytes | msgspec.Raw) -> Fields:
    """Decode the fields of a JSON object."""
    return _DECODER.decode(body)


def join_fields(fields: Fields) -> bytes:
    """Encode fields as a JSON object."""
    return _ENCODER.encode(fields)


def merged(body: bytes | msgspec.Raw, patch: Mapping[str, Any]) -> bytes:
    """Apply an RFC 7386 merge patch to a JSON object."""
    return _ENCODER.encode(_after(fields_of(body), patch))


def strategically_merged(body: bytes, patch: Mapping[str, Any], kind: Kind) -> bytes:
    """Return a JSON object after a strategic merge patch.

    Raises:
        InputError: the patch does not fit the kind, or the kind is not one of Kubernetes, whose
            merge keys are not known.
    """
    where = kind.kind.lower()
    struct = struct_of_kind(kind.group, kind.version, kind.kind)
    if struct is None:
        hint = "only the kinds of Kubernetes have merge keys"
        raise InputError(f"patch of {where}", PatchType.STRATEGIC.value, "a merge patch", hint)
    plain = msgspec.json.decode(_ENCODER.encode(patch))
    try:
        result = strategic_merge(parse(body, where), plain, struct)
    except StrategicPatchError as error:
        expected = f"a strategic merge patch: {error}"
        raise InputError(f"patch of {where}", plain, expected) from error
    return measured(_ENCODER.encode(result), where)


def _after(fields: Fields, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Fields after a merge patch: changed values as decoded objects, others raw."""
    made = cast("dict[str, Any]", fields)
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        elif type(value) is dict or isinstance(value, Mapping):
            old = fields.get(key)
            made[key] = _after(fields_of(old) if old and is_object(old) else {}, value)
        else:
            made[key] = value
    return made


def is_object(value: msgspec.Raw) -> bool:
    """Return whether a raw value is a JSON object."""
    return bytes(value).lstrip()[:1] == b"{"


def with_status_of(body: bytes, old: bytes) -> bytes:
    """Return a new body with the status of the old one."""
    fields, before = fields_of(body), fields_of(old)
    status = before.get("status")
    if status is None and "status" not in fields:
        return body
    if status is None:
        del fields["status"]
        return join_fields(fields)
    if bytes(fields.get("status", b"")) == bytes(status):
        return body
    fields["status"] = status
    return join_fields(fields)


def status_change(kind: Kind, patch: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a patch that a status write applies.

    An API server lets a status write change annotations. Gödel's components hand pods over that
    way, and the revision of a Deployment is set without a new generation.
    """
    change = {key: value for key, value in patch.items() if key == "status"}
    notes = (patch.get("metadata") or {}).get("annotations") if kind in _ANNOTATED else None
    return {**change, "metadata": {"annotations": notes}} if notes else change


def with_annotations(record: Record) -> bytes:
    """Return the body with the annotations of the bind merged in."""
    return set_fields(record.body, annotation_fields(record))

"""Decoding of recurring objects: those of one template have equal specs and different names."""

from typing import Any

import msgspec

from stretto.api.schema.decoding import DecodeError, Decoding, decode
from stretto.api.schema.types import Form, StructType
from stretto.web.api.objects.recurring.cache import ANY_NAME, recent, recurs

Json = dict[str, Any]


def decode_recurring(
    value: Json, kind: StructType, found: Decoding, *, shares: bool = False
) -> Json:
    """Decode an object as Go does; a recurring spec is decoded once.

    Args:
        value: the object.
        kind: its struct.
        found: the findings.
        shares: whether the result may contain parts of the object itself.

    Raises:
        DecodeError: a value has the wrong type.
    """
    known, spec = kind.fields.get("spec"), value.get("spec")
    if known is None or known.type.form is not Form.STRUCT or not isinstance(spec, dict):
        return decode(value, kind, found)
    decoded = _known(spec, spec, known.type.struct, shares=shares)
    if decoded is None:  # the order of unknown members and the paths of messages need all of it
        return decode(value, kind, found)
    rest = _decoded_rest({**value, "spec": {}}, kind, found, shares=shares)
    if "spec" not in rest:  # Go omits an empty spec
        found.unknown.clear()
        return decode(value, kind, found)
    rest["spec"] = decoded
    return rest


def _decoded_rest(value: Json, kind: StructType, found: Decoding, *, shares: bool) -> Json:
    """Decode an object without its spec; new objects of a template differ only in their names.

    Raises:
        DecodeError: a value has the wrong type.
    """
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or "uid" in metadata or not (name and isinstance(name, str)):
        return decode(value, kind, found)
    nameless = {**value, "metadata": {**metadata, "name": ANY_NAME}}
    decoded = _known(value, nameless, kind, shares=shares)
    if decoded is None:
        return decode(value, kind, found)
    decoded["metadata"]["name"] = name
    return decoded


def _known(value: Json, keyed: Json, kind: StructType, *, shares: bool) -> Json | None:
    """Return a decoded value.

    It is ``None`` if the value is new, has unknown members or cannot be decoded: the conversion to
    JSON and back takes as long as decoding.

    Args:
        value: the value.
        keyed: the value as the cache contains it.
        kind: its struct.
        shares: whether a value that decoding does not change is returned itself.
    """
    text = msgspec.json.encode(keyed)
    try:
        decoded = _decoded(text, kind) if recurs(text) else b""
    except DecodeError:
        return None
    if not decoded:
        return None
    return value if shares and decoded == text else msgspec.json.decode(decoded)


@recent
def _decoded(text: bytes, kind: StructType) -> bytes:
    found = Decoding()
    decoded = decode(msgspec.json.decode(text), kind, found)
    return b"" if found.unknown else msgspec.json.encode(decoded)

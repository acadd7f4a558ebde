"""Decoding of recurring objects: those of one template have equal specs and different names."""

from typing import Any, Final

import msgspec

from stretto.api.schema.decoding import DecodeError, Decoding, decode
from stretto.api.schema.types import Form, StructType
from stretto.web.api.objects.recent import LARGEST, recent

Json = dict[str, Any]

_ANY_NAME: Final = "x"
"""Placeholder for the name of an object in the cache key of its decoded form."""


def decode_recurring(value: Json, kind: StructType, found: Decoding) -> Json:
    """Decode an object as Go does; a recurring spec is decoded once.

    Raises:
        DecodeError: a value has the wrong type.
    """
    known, spec = kind.fields.get("spec"), value.get("spec")
    if known is None or known.type.form is not Form.STRUCT or not isinstance(spec, dict):
        return decode(value, kind, found)
    text = _known(spec, known.type.struct)
    if not text:  # the order of unknown members and the paths of messages need the whole object
        return decode(value, kind, found)
    rest = _decoded_rest({**value, "spec": {}}, kind, found)
    if "spec" not in rest:  # Go omits an empty spec
        found.unknown.clear()
        return decode(value, kind, found)
    rest["spec"] = msgspec.json.decode(text)
    return rest


def _decoded_rest(value: Json, kind: StructType, found: Decoding) -> Json:
    """Decode an object without its spec; new objects of a template differ only in their names.

    Raises:
        DecodeError: a value has the wrong type.
    """
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or "uid" in metadata or not (name and isinstance(name, str)):
        return decode(value, kind, found)
    text = _known({**value, "metadata": {**metadata, "name": _ANY_NAME}}, kind)
    if not text:
        return decode(value, kind, found)
    decoded: Json = msgspec.json.decode(text)
    decoded["metadata"]["name"] = name
    return decoded


def _known(value: Json, kind: StructType) -> bytes:
    """Return a decoded value as JSON.

    It is empty if the value has unknown members, cannot be decoded, or is too large to recur: the
    conversion to JSON and back takes as long as decoding.
    """
    text = msgspec.json.encode(value)
    try:
        return _decoded(text, kind) if len(text) <= LARGEST else b""
    except DecodeError:
        return b""


@recent
def _decoded(text: bytes, kind: StructType) -> bytes:
    found = Decoding()
    decoded = decode(msgspec.json.decode(text), kind, found)
    return b"" if found.unknown else msgspec.json.encode(decoded)

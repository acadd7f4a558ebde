"""Decoding of objects whose specs recur: those of one template differ in their metadata only."""

from typing import Any

import msgspec

from stretto.api.schema.decoding import DecodeError, Decoding, decode
from stretto.api.schema.types import Form, StructType
from stretto.web.api.objects.recent import recent

Json = dict[str, Any]


def decode_recurring(value: Json, kind: StructType, found: Decoding) -> Json:
    """An object as Go decodes it; a spec that recurs is decoded once.

    Raises:
        DecodeError: a value has the wrong type.
    """
    known, spec = kind.fields.get("spec"), value.get("spec")
    if known is None or known.type.form is not Form.STRUCT or not isinstance(spec, dict):
        return decode(value, kind, found)
    text = _known_spec(spec, known.type.struct)
    if not text:  # the order of unknown members and the paths of messages need the whole object
        return decode(value, kind, found)
    rest = decode({**value, "spec": {}}, kind, found)
    if "spec" not in rest:  # Go omits it where it is empty
        found.unknown.clear()
        return decode(value, kind, found)
    rest["spec"] = msgspec.json.decode(text)
    return rest


def _known_spec(spec: Json, kind: StructType) -> bytes:
    """A decoded spec as JSON; empty if it has unknown members or cannot be decoded."""
    try:
        return _decoded_spec(msgspec.json.encode(spec), kind)
    except DecodeError:
        return b""


@recent
def _decoded_spec(text: bytes, kind: StructType) -> bytes:
    found = Decoding()
    decoded = decode(msgspec.json.decode(text), kind, found)
    return b"" if found.unknown else msgspec.json.encode(decoded)

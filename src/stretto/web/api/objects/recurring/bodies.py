"""Decoding of recurring request bodies: those of one template differ only in their names."""

import re
from typing import Any, Final

import msgspec

from stretto.api.admission.defaulting.walk import set_defaults
from stretto.api.schema.decoding import DecodeError
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError
from stretto.web.api.message import JSON
from stretto.web.api.objects.reading import decoded_object, media_type, parse_body
from stretto.web.api.objects.recurring.cache import LARGEST, recent, recurs
from stretto.web.api.resources import ServedResource

Json = dict[str, Any]

_NAME: Final = re.compile(rb'"name":\s*"([a-z0-9.-]+)"')
"""Pattern of a name without escaped characters."""
_ANY_NAME: Final = "name-of-any-object"
"""Placeholder for the name in a body."""


def recurring_object(call: Call) -> Json | None:
    """Return the object in a recurring body; ``None`` if the body is new or has problems."""
    body = call.request.body
    is_json = media_type(call.request.header("content-type")) == JSON
    if call.resource.definition is not None or len(body) > LARGEST or not is_json:
        return None
    found = _NAME.search(body)
    if found is not None:
        start, end = found.span(1)
        text = _complete(body[:start] + _ANY_NAME.encode() + body[end:], call.resource)
        if text:
            named: Json = msgspec.json.decode(text)
            named["metadata"]["name"] = found[1].decode()
            call.sent = msgspec.Raw(body)
            return named
    text = _complete(body, call.resource)
    if not text:
        return None
    call.sent = msgspec.Raw(body)
    whole: Json = msgspec.json.decode(text)
    return whole


def _complete(body: bytes, resource: ServedResource) -> bytes:
    return _complete_text(body, resource) if recurs(body) else b""


@recent
def _complete_text(body: bytes, resource: ServedResource) -> bytes:
    """Return the object in a body with its defaults, as JSON; empty if the body has problems.

    It is also empty if more than the name of the object depends on the placeholder of the name.
    """
    try:
        value, repeated = parse_body(body, JSON, resource.kind.kind)
        item, unknown = decoded_object(value, resource)
    except (ApiError, DecodeError):
        return b""
    set_defaults(item, resource.struct)
    text, any_name = msgspec.json.encode(item), _ANY_NAME.encode()
    is_name = item["metadata"].get("name") == _ANY_NAME and b"\\u" not in body
    is_name &= body.count(any_name) == text.count(any_name) == 1
    is_sound = not (repeated or unknown) and (is_name or any_name not in body)
    return text if is_sound and len(text) <= 2 * LARGEST else b""

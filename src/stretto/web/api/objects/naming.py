"""The object in the body of a request, with the name and the namespace of the path."""

import re
from typing import Any, Final

import msgspec

from stretto.api.admission.defaulting.walk import set_defaults
from stretto.api.schema.decoding import DecodeError
from stretto.web.api.call import Call
from stretto.web.api.crds.stated import check_body
from stretto.web.api.failures import ApiError, bad_request, other_namespace
from stretto.web.api.message import JSON
from stretto.web.api.objects.reading import decoded_object, media_type, parse_body, read_object
from stretto.web.api.objects.recent import LARGEST, recent, recurs
from stretto.web.api.resources import ServedResource

Json = dict[str, Any]

_NAME: Final = re.compile(rb'"name":\s*"([a-z0-9.-]+)"')
"""Pattern of a name without escaped characters."""
_ANY_NAME: Final = "name-of-any-object"
"""Placeholder for the name in a body."""


def default_object(call: Call, item: Json) -> Json:
    """Return an object with the defaults of its kind."""
    if call.resource.definition is None:
        set_defaults(item, call.resource.struct)
    return item


def complete_object(call: Call) -> Json:
    """Return the object in the body of a request with the defaults of its kind.

    Bodies of one template, which differ only in their names, are decoded once.

    Raises:
        ApiError: the body is malformed, or is no object of the kind of the path.
    """
    return _recurring(call) or default_object(call, sent_object(call))


def _recurring(call: Call) -> Json | None:
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


def given_object(call: Call, value: Json) -> Json:
    """Return an object of the server's own components with the defaults of its kind.

    Raises:
        ApiError: it is no object of the kind of the path.
    """
    item, _ = read_object(value, [], call.resource, "Ignore")
    return default_object(call, item)


def sent_object(call: Call) -> Json:
    """Decode the object in the body of a request; its warnings are kept for the answer.

    Raises:
        ApiError: the body is malformed, or is no object of the kind of the path.
    """
    request, resource = call.request, call.resource
    value, repeated = parse_body(request.body, request.header("content-type"), resource.kind.kind)
    if resource.definition is not None:
        check_body(request.body, value, resource)
    call.sent = value
    item, warnings = read_object(value, repeated, resource, call.options.validation)
    call.warnings += warnings
    return item


def sent_value(call: Call) -> Any:
    """Return the written object before it is decoded; ``None`` if it was not read."""
    sent = call.sent
    return msgspec.json.decode(sent) if isinstance(sent, msgspec.Raw) else sent


def named(call: Call, item: Json) -> Json:
    """Return an object with the name and the namespace of the path.

    Raises:
        ApiError: the object has a different name or namespace.
    """
    place(call, item)
    check_name(item["metadata"].get("name", ""), call.route.name)
    return item


def place(call: Call, item: Json) -> None:
    """Set the namespace of the path; remove it for a cluster-scoped kind.

    Raises:
        ApiError: the object has a different namespace.
    """
    metadata = item.setdefault("metadata", {})
    namespace = call.route.namespace if call.resource.kind.namespaced else ""
    if not namespace:
        metadata.pop("namespace", None)
    elif not metadata.get("namespace"):
        metadata["namespace"] = namespace
    elif metadata["namespace"] != namespace:
        raise other_namespace()


def check_name(stated: str, name: str) -> None:
    """Refuse an object whose name differs from that of the path."""
    if not stated:
        text = f"the name of the object ({name} based on URL) was undeterminable: "
        raise bad_request(text + "name must be provided")
    if stated != name:
        text = f"the name of the object ({stated}) does not match the name on the URL ({name})"
        raise bad_request(text)

"""Documents of discovery as protobuf messages.

Go writes each field that is no pointer, including empty ones; an empty list has no field.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stretto.api.schema.protobuf import bytes_field, envelope, varint_field
from stretto.web.api.encoding import PROTOBUF
from stretto.web.api.message import NO_CACHE, ApiResponse
from stretto.web.api.negotiation import Accepted, encoded

Json = dict[str, Any]

_TEXT: Final = ""
_NAME: Final = "metadata"
_FLAG: Final = "flag"
_WORDS: Final = "words"
_Field = tuple[int, str, str]
"""Number, name in JSON, and type: a text, a flag, the message of words, or a message."""
_MESSAGES: Final[Mapping[str, Sequence[_Field]]] = {
    "APIVersions": ((1, "versions", _TEXT), (2, "serverAddressByClientCIDRs", "Address")),
    "Address": ((1, "clientCIDR", _TEXT), (2, "serverAddress", _TEXT)),
    "APIGroupList": ((1, "groups", "APIGroup"),),
    "APIGroup": (
        (1, "name", _TEXT),
        (2, "versions", "Version"),
        (3, "preferredVersion", "Version"),
        (4, "serverAddressByClientCIDRs", "Address"),
    ),
    "Version": ((1, "groupVersion", _TEXT), (2, "version", _TEXT)),
    "APIResourceList": ((1, "groupVersion", _TEXT), (2, "resources", "Resource")),
    "Resource": (
        (1, "name", _TEXT),
        (2, "namespaced", _FLAG),
        (3, "kind", _TEXT),
        (4, "verbs", _WORDS),
        (5, "shortNames", _TEXT),
        (6, "singularName", _TEXT),
        (7, "categories", _TEXT),
        (8, "group", _TEXT),
        (9, "version", _TEXT),
        (10, "storageVersionHash", _TEXT),
    ),
    "APIGroupDiscoveryList": ((1, "metadata", "ListMeta"), (2, "items", "Group")),
    "ListMeta": ((1, "selfLink", _TEXT), (2, "resourceVersion", _TEXT), (3, "continue", _TEXT)),
    "Group": ((1, "metadata", _NAME), (2, "versions", "GroupVersion")),
    "GroupVersion": (
        (1, "version", _TEXT),
        (2, "resources", "GroupResource"),
        (3, "freshness", _TEXT),
    ),
    "GroupResource": (
        (1, "resource", _TEXT),
        (2, "responseKind", "Kind"),
        (3, "scope", _TEXT),
        (4, "singularResource", _TEXT),
        (5, "verbs", _TEXT),
        (6, "shortNames", _TEXT),
        (7, "categories", _TEXT),
        (8, "subresources", "Subresource"),
    ),
    "Subresource": (
        (1, "subresource", _TEXT),
        (2, "responseKind", "Kind"),
        (3, "acceptedTypes", "Kind"),
        (4, "verbs", _TEXT),
    ),
    "Kind": ((1, "group", _TEXT), (2, "version", _TEXT), (3, "kind", _TEXT)),
}
"""Fields of messages in the order of their numbers."""
_LISTS: Final = frozenset(
    {
        "serverAddressByClientCIDRs", "groups", "versions", "resources", "shortNames", "categories",
        "items", "subresources", "acceptedTypes", "verbs",
    }
)  # fmt: skip
"""Fields that are lists."""
_METADATA: Final = b"".join(bytes_field(number, b"") for number in range(2, 7))
"""Texts of metadata after the name, which are empty."""


def discovery_answer(document: Json, accepted: Accepted) -> ApiResponse:
    """Encode a document in the form that the client accepts."""
    if accepted.media != PROTOBUF:
        return encoded(document, accepted)
    kind = document["kind"]
    body = envelope(str(document.get("apiVersion", "")), kind, _message(document, kind))
    return ApiResponse(200, body, PROTOBUF, NO_CACHE)


def _message(value: Json, name: str) -> bytes:
    found = bytearray()
    for number, member, kind in _MESSAGES[name]:
        stated = value.get(member)
        if kind == _WORDS:
            words = b"".join(bytes_field(1, each.encode()) for each in stated or ())
            found += bytes_field(number, words)
        elif member in _LISTS:
            found += b"".join(_field(number, each, kind) for each in stated or ())
        elif stated is not None or kind != "Kind":
            found += _field(number, stated, kind)
    return bytes(found)


def _field(number: int, value: Any, kind: str) -> bytes:
    if kind == _TEXT:
        return bytes_field(number, str(value or "").encode())
    if kind == _FLAG:
        return varint_field(number, bool(value))
    if kind == _NAME:
        name = bytes_field(1, str((value or {}).get("name", "")).encode())
        times = varint_field(7, 0) + bytes_field(8, b"")
        return bytes_field(number, name + _METADATA + times)
    return bytes_field(number, _message(value or {}, kind))

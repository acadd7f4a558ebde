"""Content negotiation: accepted media types, and the encoding of responses."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from stretto.api.wire.limits import MAX_WARNING, MAX_WARNINGS
from stretto.web.api.encoding import JSON, PROTOBUF, SERVED, YAML, dumped
from stretto.web.api.failures import ApiError
from stretto.web.api.message import NO_CACHE, ApiResponse

_META: Final = "meta.k8s.io"
STREAMED: Final = tuple(f"{each};stream=watch" for each in (JSON, PROTOBUF))
"""Media types of watches."""
_TABLE_MEDIA: Final = (JSON, YAML)
_SERVER_VERSION: Final = "v1"
KEPT_LENGTH: Final = 1024
"""Maximum length of an ``Accept`` header whose result is cached, in characters."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Accepted:
    """The served form that the client prefers."""

    #: Media type.
    media: str = JSON
    #: ``Table``, ``PartialObjectMetadata``, ``PartialObjectMetadataList`` or empty.
    form: str = ""
    #: Version of the form.
    version: str = "v1"


class ServedForm(NamedTuple):
    """A kind in which a response is served instead of its own kind."""

    #: Group.
    group: str
    #: Version.
    version: str
    #: Kind.
    kind: str


def _meta_forms(*kinds: str) -> frozenset[ServedForm]:
    return frozenset(
        ServedForm(_META, version, kind) for version in ("v1", "v1beta1") for kind in kinds
    )


METADATA_FORMS: Final = _meta_forms("PartialObjectMetadata", "PartialObjectMetadataList")
"""Forms of objects of every resource."""
OBJECT_FORMS: Final = METADATA_FORMS | _meta_forms("Table")
"""Forms of objects of a resource with columns."""
PLAIN: Final = Accepted()
"""JSON of the kind itself."""


@dataclass(frozen=True)
class _Range:
    """One media range of an ``Accept`` header."""

    #: Type.
    kind: str
    #: Subtype.
    part: str
    #: Parameters.
    params: Mapping[str, str] = field(default_factory=dict)
    #: Quality.
    quality: float = 1.0

    def matches(self, media: str) -> bool:
        """Return whether a media type is in the range."""
        kind, _, part = media.partition("/")
        if self.kind == "*":
            return self.part == "*"
        return self.kind == kind and self.part in (part, "*")

    def precedes(self, other: "_Range") -> bool:
        """Return whether this range is preferred, by quality or because it is more specific."""
        if self.quality > other.quality:
            return True
        if self.kind != "*" and other.kind == "*":
            return True
        return self.part != "*" and other.part == "*"


def _ranges(header: str) -> list[_Range]:
    """Return the media ranges of a header, best first, in the order of kube-apiserver.

    The order is that of an insertion sort, because ``precedes`` is no strict order.
    """
    found: list[_Range] = []
    for part in header.split(","):
        each = _range(part.strip(" "))
        if each is None:
            continue
        place = len(found)
        while place and each.precedes(found[place - 1]):
            place -= 1
        found.insert(place, each)
    return found


def _range(text: str) -> _Range | None:
    """Parse a media range; ``None`` if it is malformed."""
    media, *options = text.split(";")
    kind, *parts = (each.strip(" ") for each in media.split("/"))
    if not parts or (len(parts) == 1 and not parts[0]):
        parts = ["*"] if kind == "*" else []
    if len(parts) != 1:
        return None
    params, quality = {}, 1.0
    for option in options:
        key, *values = option.split("=")
        if len(values) != 1 or not values[0]:
            continue
        if key.strip(" ") == "q":
            quality = _quality(values[0])
        else:
            params[key.strip(" ")] = values[0].strip(" ")
    return _Range(kind, parts[0], params, quality)


def _quality(text: str) -> float:
    """Parse a quality; 0 if it is malformed."""
    try:
        return float(text) if text == text.strip() else 0.0
    except ValueError:
        return 0.0


def negotiate(
    header: str, media: tuple[str, ...] = SERVED, forms: frozenset[ServedForm] = frozenset()
) -> Accepted | None:
    """Return the preferred served form for an ``Accept`` header; ``None`` if none is accepted.

    Args:
        header: the header.
        media: served media types of the object itself.
        forms: other forms of the object that are served, in every media type.
    """
    chosen = _kept_best if len(header) <= KEPT_LENGTH else _best
    return chosen(header, media, forms)


def _best(header: str, media: tuple[str, ...], forms: frozenset[ServedForm]) -> Accepted | None:
    if not header:
        return PLAIN
    for each in _ranges(header):
        for candidate in SERVED:
            if each.matches(candidate):
                found = _chosen(each.params, candidate, media, forms)
                if found is not None:
                    return found
    return None


_kept_best: Final = lru_cache(maxsize=256)(_best)


def _chosen(
    params: Mapping[str, str], candidate: str, media: tuple[str, ...], forms: frozenset[ServedForm]
) -> Accepted | None:
    """Return a media type with the form that parameters specify; ``None`` if it is not served."""
    stream = params.get("stream")
    if stream and (stream != "watch" or candidate == YAML):
        return None
    version = params.get("sv")
    if version and not (forms >= METADATA_FORMS and version == _SERVER_VERSION):
        return None
    if params.keys().isdisjoint(("as", "g", "v")):
        return Accepted(candidate) if candidate in media else None
    form = ServedForm(params.get("g", ""), params.get("v", ""), params.get("as", ""))
    if form not in forms or (form.kind == "Table" and candidate not in _TABLE_MEDIA):
        return None
    return Accepted(candidate, form.kind, form.version)


def not_acceptable(served: tuple[str, ...] = SERVED) -> ApiError:
    """406 about a header that accepts no served form."""
    return unserved_form(f"only the following media types are accepted: {', '.join(served)}")


def unserved_form(text: str) -> ApiError:
    """406 about a form that the response cannot have."""
    return ApiError(406, "NotAcceptable", text)


def check_routed(header: str, available: tuple[str, ...]) -> None:
    """Refuse a header without a media type of a route; parameters of the header do not matter.

    Args:
        header: the header.
        available: the media types of the route.

    Raises:
        ApiError: the header names no media type of the route.
    """
    if not header or header in available:
        return
    named = {part.partition(";")[0].strip(" ") for part in header.split(",")}
    if named.isdisjoint(("*/*", *available)):
        text = f"406: Not Acceptable\n\nAvailable representations: {', '.join(available)}"
        raise ApiError(406, "NotAcceptable", text, {})


def encoded(
    value: Any, accepted: Accepted, status: int = 200, warnings: list[str] | None = None
) -> ApiResponse:
    """Encode a response in the form that the client accepts."""
    headers: dict[str, Any] = {**NO_CACHE, **warning_headers(warnings)}
    return ApiResponse(status, dumped(value, accepted.media), accepted.media, headers)


def warning_headers(warnings: list[str] | None) -> dict[str, list[str]]:
    """Return the headers of warnings.

    Warnings with control characters get no header. If the total length is too large, each warning
    is cut, and those beyond the limit get no header.
    """
    if not warnings:
        return {}
    shown = [each for each in dict.fromkeys(warnings) if each and not _CONTROL.search(each)]
    if sum(map(len, shown)) > MAX_WARNINGS:
        shown = list(_cut(shown))
    return {"Warning": [f"299 - {_quoted(text)}" for text in shown]} if shown else {}


def _cut(warnings: list[str]) -> Iterator[str]:
    written = 0
    for each in warnings:
        if written >= MAX_WARNINGS:
            return
        written += min(len(each), MAX_WARNING)
        yield each[:MAX_WARNING]


def error_media(header: str) -> str:
    """Return the media type of an error; JSON if the client accepts no served one."""
    return (negotiate(header) or PLAIN).media


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

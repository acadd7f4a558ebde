"""Content negotiation: accepted media types, and the encoding of responses."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from stretto.web.api.encoding import JSON, PROTOBUF, SERVED, YAML, dumped
from stretto.web.api.failures import ApiError
from stretto.web.api.message import NO_CACHE, ApiResponse

_META: Final = "meta.k8s.io"
STREAMED: Final = tuple(f"{each};stream=watch" for each in (JSON, PROTOBUF))
"""Media types of watches."""
_KEPT_LENGTH: Final = 1024
"""Maximum length of an ``Accept`` header whose result is cached, in characters."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_ALL_WARNINGS: Final = 4096
"""Maximum total characters of the warnings of a response; above it, each warning is cut."""
_ONE_WARNING: Final = 256
"""Maximum characters of a cut warning."""


@dataclass(frozen=True)
class Accepted:
    """The served form that the client prefers."""

    #: ``application/json`` or ``application/yaml``.
    media: str = JSON
    #: ``Table``, ``PartialObjectMetadata``, ``PartialObjectMetadataList`` or empty.
    form: str = ""
    #: Version of the form.
    version: str = "v1"
    #: True if the client accepts a watch stream.
    stream: bool = False


PLAIN: Final = Accepted()
"""JSON of the kind itself."""


@dataclass(frozen=True)
class _Range:
    """One media range of an ``Accept`` header."""

    #: Type and subtype.
    media: str
    #: Parameters.
    params: dict[str, str] = field(default_factory=dict)
    #: Quality.
    quality: float = 1.0


def ranges(header: str) -> list[_Range]:
    """The media ranges of a header, best first."""
    found = []
    for part in header.split(","):
        media, *params = [each.strip() for each in part.split(";")]
        if not media:
            continue
        pairs = {key.strip(): value.strip() for key, _, value in (p.partition("=") for p in params)}
        try:
            quality = float(pairs.pop("q", "1"))
        except ValueError:
            quality = 0.0
        found.append(_Range(media.lower(), pairs, quality))
    return sorted(found, key=lambda each: -each.quality)


def negotiate(
    header: str, forms: tuple[str, ...], served: tuple[str, ...] = SERVED, *, watch: bool = False
) -> Accepted:
    """Return the preferred served form for an ``Accept`` header.

    Args:
        header: the header.
        forms: possible forms of the response.
        served: served media types.
        watch: whether the response is a stream.

    Raises:
        ApiError: the client accepts no served media type.
    """
    chosen = _kept_best if len(header) <= _KEPT_LENGTH else _best
    return chosen(header, forms, served, watch=watch)


def _best(header: str, forms: tuple[str, ...], served: tuple[str, ...], *, watch: bool) -> Accepted:
    if not header.strip():
        return Accepted()
    known = False
    for each in ranges(header):
        media = _served(each.media, served)
        if not media:
            continue
        known = True
        if watch and media == YAML:
            raise _unknown_form(STREAMED)
        form = each.params.get("as", "")
        if not form:
            return Accepted(media, stream=each.params.get("stream") == "watch")
        group, version = each.params.get("g", ""), each.params.get("v", "")
        if group == _META and version in ("v1", "v1beta1") and form in forms:
            return Accepted(media, form, version)
    may_stream = watch or "PartialObjectMetadataList" in forms  # so may the path of a list
    raise _unknown_form(SERVED) if known else _unknown_media(may_stream)


_kept_best: Final = lru_cache(maxsize=256)(_best)


def _unknown_form(served: tuple[str, ...]) -> ApiError:
    """406 about a form that the response cannot have."""
    text = f"only the following media types are accepted: {', '.join(served)}"
    return ApiError(406, "NotAcceptable", text)


def _unknown_media(may_stream: bool) -> ApiError:
    """406 about a media type that is not served."""
    streams = STREAMED if may_stream else ()
    text = f"406: Not Acceptable\n\nAvailable representations: {', '.join([*SERVED, *streams])}"
    return ApiError(406, "NotAcceptable", text, {})


def _served(media: str, served: tuple[str, ...]) -> str:
    if media == "*/*":
        return JSON
    return media if media in served else ""


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
    shown = [each for each in dict.fromkeys(warnings or ()) if each and not _CONTROL.search(each)]
    if sum(map(len, shown)) > _ALL_WARNINGS:
        shown = list(_cut(shown))
    return {"Warning": [f"299 - {_quoted(text)}" for text in shown]} if shown else {}


def _cut(warnings: list[str]) -> Iterator[str]:
    written = 0
    for each in warnings:
        if written >= _ALL_WARNINGS:
            return
        written += min(len(each), _ONE_WARNING)
        yield each[:_ONE_WARNING]


def error_media(header: str) -> str:
    """Return the media type of an error, independent of the accepted types."""
    for each in ranges(header):
        if each.media in (YAML, PROTOBUF):
            return each.media
        if each.media in (JSON, "*/*"):
            return JSON
    return JSON


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

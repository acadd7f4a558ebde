"""Lists as JSON that is copied from the bodies of records: the fast way of long lists."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from stretto.stores.store import Record
from stretto.web.api.call import Call
from stretto.web.api.message import JSON, NO_CACHE, Answer, ApiResponse, ApiStream
from stretto.web.api.negotiation import warning_headers
from stretto.web.api.objects.rendering import item_text

Json = dict[str, Any]

_LONG: Final = 2000
"""Objects beyond which a list is sent in parts, between which other requests are answered."""
_PART: Final = 250
"""Objects of a part."""


def text_list(call: Call, metadata: Json, records: Sequence[Record]) -> Answer:
    """A list of a kind whose objects are stored as they are served; a long one in parts."""
    kind = call.resource.kind
    name = call.resource.version.get("list_kind") or f"{kind.kind}List"
    head = {"kind": name, "apiVersion": kind.api_version, "metadata": metadata}
    start = msgspec.json.encode(head)[:-1] + b',"items":['
    headers = {**NO_CACHE, **warning_headers(call.warnings)}
    parts = _parts(start, records)
    if len(records) > _LONG:
        return ApiStream(200, JSON, lambda: next(parts, None), _no_news, _no_end, 0, headers)
    return ApiResponse(200, b"".join(chain.from_iterable(parts)), JSON, headers)


def _parts(start: bytes, records: Sequence[Record]) -> Iterator[list[bytes]]:
    yield [start]
    for first in range(0, len(records), _PART):
        texts = b",".join(item_text(each) for each in records[first : first + _PART])
        yield [b"," + texts if first else texts]
    yield [b"]}\n"]


def _no_news(_: Callable[[], None]) -> Callable[[], None]:
    """A list is complete: no event follows."""
    return _no_end


def _no_end() -> None:
    """Nothing to end."""

"""A page of a list in the form that its client accepts.

JSON is copied from the bodies of records, which makes long lists fast.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import msgspec

from stretto.stores.store import Record
from stretto.web.api.call import Call
from stretto.web.api.message import JSON, NO_CACHE, Answer, ApiResponse, ApiStream
from stretto.web.api.negotiation import PLAIN, Accepted, encoded, unserved_form, warning_headers
from stretto.web.api.objects.changes import is_canonical, shapes
from stretto.web.api.objects.rendering import item_text, rendered
from stretto.web.api.resources import go_type
from stretto.web.api.state import ApiState
from stretto.web.api.tables.rows import table_of
from stretto.web.api.verbs.answers import metadata_only

Json = dict[str, Any]

_LONG: Final = 2000
"""Number of objects above which a list is sent in parts, with other requests in between."""
_PART: Final = 250
"""Number of objects per part."""


@dataclass(frozen=True)
class ListPage:
    """One page of a list."""

    #: Its records.
    records: Sequence[Record]
    #: Metadata of the list.
    metadata: Json


def list_answer(state: ApiState, call: Call, page: ListPage, accepted: Accepted) -> Answer:
    """Return a page in the form that the client accepts."""
    if accepted == PLAIN and is_canonical(call.resource):
        return _copied(call, page)
    found = shapes(call, [rendered(each) for each in page.records])
    return items_answer(state, call, (found, page.metadata), accepted)


def items_answer(
    state: ApiState, call: Call, content: tuple[list[Json], Json], accepted: Accepted
) -> ApiResponse:
    """Return objects and the metadata of their list in the form that the client accepts.

    Raises:
        ApiError: the client accepts only the form of a single object.
    """
    found, metadata = content
    if accepted.form == "PartialObjectMetadata":
        text = "you requested PartialObjectMetadata, but the requested object is a list"
        raise unserved_form(f"{text} (*{go_type(call.resource, 'List')})")
    if accepted.form == "Table":
        table = table_of(state, call, found, metadata, accepted)
        return encoded(table, accepted, 200, call.warnings)
    if accepted.form == "PartialObjectMetadataList":
        body = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": f"meta.k8s.io/{accepted.version}",
            "metadata": metadata,
            "items": [metadata_only(each, accepted) for each in found] or None,
        }
        return encoded(body, accepted, 200, call.warnings)
    kind = call.resource.kind
    if call.resource.definition is None:
        for each in found:
            del each["kind"], each["apiVersion"]
    else:
        metadata = {"continue": "", **metadata}
    body = {
        "kind": call.resource.version.get("list_kind") or f"{kind.kind}List",
        "apiVersion": kind.api_version,
        "metadata": metadata,
        "items": found,
    }
    return encoded(body, accepted, 200, call.warnings)


def _copied(call: Call, page: ListPage) -> Answer:
    """Return a list of objects that are stored as served; a long list is sent in parts."""
    kind = call.resource.kind
    name = call.resource.version.get("list_kind") or f"{kind.kind}List"
    head = {"kind": name, "apiVersion": kind.api_version, "metadata": page.metadata}
    start = msgspec.json.encode(head)[:-1] + b',"items":['
    headers = {**NO_CACHE, **warning_headers(call.warnings)}
    parts = _parts(start, page.records)
    if len(page.records) > _LONG:
        return ApiStream(200, JSON, lambda: next(parts, None), _no_news, _no_end, 0, headers)
    return ApiResponse(200, b"".join(chain.from_iterable(parts)), JSON, headers)


def _parts(start: bytes, records: Sequence[Record]) -> Iterator[list[bytes]]:
    yield [start]
    for first in range(0, len(records), _PART):
        texts = b",".join(item_text(each) for each in records[first : first + _PART])
        yield [b"," + texts if first else texts]
    yield [b"]}\n"]


def _no_news(_: Callable[[], None]) -> None:
    """Do nothing: a list is complete, and no event follows."""


def _no_end() -> None:
    """Do nothing: there is nothing to stop."""

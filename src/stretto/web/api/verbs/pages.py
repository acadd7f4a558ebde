"""A page of a list in the form that its client accepts.

JSON is copied from the bodies of records, which makes long lists fast.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Final

from stretto.stores.store import Record
from stretto.web.api.call import Call
from stretto.web.api.encoding import JSON, PROTOBUF, part_text, protobuf_items, protobuf_list
from stretto.web.api.message import NO_CACHE, Answer, ApiResponse, ApiStream
from stretto.web.api.negotiation import PLAIN, Accepted, encoded, unserved_form, warning_headers
from stretto.web.api.objects.changes import is_canonical, shapes
from stretto.web.api.objects.rendering import item_text, rendered, without_type
from stretto.web.api.resources import go_type
from stretto.web.api.state import ApiState
from stretto.web.api.tables.columns import columns_of
from stretto.web.api.tables.rows import table_of
from stretto.web.api.verbs.answers import metadata_only

Json = dict[str, Any]

_LONG: Final = 2000
"""Number of objects above which a list is sent in parts, with other requests in between."""
_LONG_ENCODED: Final = 400
"""The same for objects that are encoded: more pods would take over 50 ms."""
_COPIED: Final = 250
"""Number of objects per part whose JSON is copied."""
_ENCODED: Final = 40
"""Number of objects per part that are encoded, which takes 5 ms for pods."""


@dataclass(frozen=True)
class ListPage:
    """One page of a list."""

    #: Its records.
    records: Sequence[Record]
    #: Metadata of the list.
    metadata: Json


def list_answer(state: ApiState, call: Call, page: ListPage, accepted: Accepted) -> Answer:
    """Return a page in the form that the client accepts; a long list is sent in parts."""
    _check_form(call, accepted)
    count = len(page.records)
    head = _head(state, call, page.metadata, accepted)
    if accepted == PLAIN and is_canonical(call.resource):
        parts = _parts(head, accepted, _divided(page, _COPIED), _copied)
        if count <= _LONG:
            headers = {**NO_CACHE, **warning_headers(call.warnings)}
            return ApiResponse(200, b"".join(chain.from_iterable(parts)), JSON, headers)
        return _stream(call, accepted, parts)
    is_ordered = accepted.form != "Table" or columns_of(call.resource).order is None
    if count > _LONG_ENCODED and is_ordered and call.resource.conversion is None:

        def show(records: Sequence[Record]) -> list[Json]:
            items = shapes(call, [rendered(each) for each in records])
            return _shown(state, call, accepted, items)

        if accepted.media == PROTOBUF:
            return _stream(call, accepted, _protobuf_parts(head, page, show))

        def texts(records: Sequence[Record]) -> Iterator[bytes]:
            return (part_text(each, accepted.media) for each in show(records))

        return _stream(call, accepted, _parts(head, accepted, _divided(page, _ENCODED), texts))
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
    _check_form(call, accepted)
    if accepted.form == "Table":
        table = table_of(state, call, found, metadata, accepted)
        return encoded(table, accepted, 200, call.warnings)
    shown: list[Json] | None = _shown(state, call, accepted, found)
    if accepted.form == "PartialObjectMetadataList":
        shown = shown or None
    body = {**_head(state, call, metadata, accepted), "items": shown}
    return encoded(body, accepted, 200, call.warnings)


def _check_form(call: Call, accepted: Accepted) -> None:
    """Refuse the form of a single object.

    Raises:
        ApiError: the client accepts only this form.
    """
    if accepted.form == "PartialObjectMetadata":
        text = "you requested PartialObjectMetadata, but the requested object is a list"
        raise unserved_form(f"{text} (*{go_type(call.resource, 'List')})")


def _head(state: ApiState, call: Call, metadata: Json, accepted: Accepted) -> Json:
    """Return a list without its items or rows."""
    kind = call.resource.kind
    if accepted.form == "Table":
        table = table_of(state, call, [], metadata, accepted)
        return {name: each for name, each in table.items() if name != "rows"}
    if accepted.form:
        return {
            "kind": accepted.form,
            "apiVersion": f"meta.k8s.io/{accepted.version}",
            "metadata": metadata,
        }
    if call.resource.definition is not None:
        metadata = {"continue": "", **metadata}
    name = call.resource.version.get("list_kind") or f"{kind.kind}List"
    return {"kind": name, "apiVersion": kind.api_version, "metadata": metadata}


def _shown(state: ApiState, call: Call, accepted: Accepted, items: list[Json]) -> list[Json]:
    """Return objects as the items or rows of a list in a form."""
    if accepted.form == "Table":
        rows: list[Json] = table_of(state, call, items, {}, accepted)["rows"] or []
        return rows
    if accepted.form:
        return [metadata_only(each, accepted) for each in items]
    return [without_type(each) for each in items] if call.resource.definition is None else items


def _stream(call: Call, accepted: Accepted, parts: Iterator[list[bytes]]) -> ApiStream:
    """Return a list that is sent in parts, with other requests in between."""
    headers = {**NO_CACHE, **warning_headers(call.warnings)}
    next_part = partial(next, parts, None)
    return ApiStream(200, accepted.media, next_part, _no_news, _no_end, 0, headers)


def _protobuf_parts(
    head: Json, page: ListPage, show: Callable[[Sequence[Record]], list[Json]]
) -> Iterator[list[bytes]]:
    """Yield a list in protobuf at once, because its length precedes it; it is encoded in parts."""
    found: list[bytes] = []
    for records in _divided(page, _ENCODED):
        found += protobuf_items(head, show(records))
        yield [b""]
    yield [protobuf_list(head, found)]


def _copied(records: Sequence[Record]) -> Iterator[bytes]:
    """Yield objects that are stored as served."""
    return map(item_text, records)


def _parts(
    head: Json,
    accepted: Accepted,
    divided: Iterable[Sequence[Record]],
    texts: Callable[[Sequence[Record]], Iterable[bytes]],
) -> Iterator[list[bytes]]:
    """Yield a list in JSON, or in YAML that is JSON too."""
    name = "rows" if accepted.form == "Table" else "items"
    whole = part_text({**head, name: []}, accepted.media)
    start, empty, end = whole.partition(b'"%b":[]' % name.encode())
    yield [start + empty[:-1]]
    for at, records in enumerate(divided):
        part = b",".join(texts(records))
        yield [b"," + part if at else part]
    yield [b"]" + end + b"\n"]


def _divided(page: ListPage, size: int) -> Iterator[Sequence[Record]]:
    records = page.records
    return (records[first : first + size] for first in range(0, len(records), size))


def _no_news(_: Callable[[], None]) -> None:
    """Do nothing: a list is complete, and no event follows."""


def _no_end() -> None:
    """Do nothing: there is nothing to stop."""

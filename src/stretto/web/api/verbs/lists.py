"""GET of a collection: selection, pages and versions."""

from collections.abc import Callable, Sequence
from typing import Any

from stretto.stores.store import Record
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError, bad_request, expired, too_new
from stretto.web.api.message import Answer
from stretto.web.api.objects.changes import shapes
from stretto.web.api.objects.rendering import rendered
from stretto.web.api.selection.options import EXACT, Selection, selected_version, selection_of
from stretto.web.api.selection.pages import PageToken, Snapshots, decode_token, encode_token
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import accept
from stretto.web.api.verbs.pages import ListPage, list_answer

Json = dict[str, Any]
Render = Callable[[Record], Json]
"""Returns the object of a record."""


def lists(state: ApiState, call: Call, snapshots: Snapshots) -> Answer:
    """List objects."""
    page = page_of(state, call, snapshots)
    accepted = accept(call)
    if accepted.form:
        page.metadata.pop("shardInfo", None)  # only lists of whole objects state their shards
    return list_answer(state, call, page, accepted)


def page_of(state: ApiState, call: Call, snapshots: Snapshots) -> ListPage:
    """Return the page that a request selects.

    Raises:
        ApiError: its version or its token is not valid.
    """
    selection = selection_of(call)
    start = ""
    if selection.token:
        token = decode_token(selection.token)
        if selection.version and selection.version != "0":
            raise bad_request("specifying resource version is not allowed when using continue")
        records, version, start = _page_records(state, call, snapshots, token)
    else:
        records, version = _records(state, call, snapshots, selection)
        if not selection.namespace and call.resource.kind.namespaced:
            records = in_key_order(records)
    render = _renderer(call, records, selection)
    items, further, left = _select(records, selection, start, render)
    metadata: Json = {"resourceVersion": str(version)}
    if further:
        metadata["continue"] = encode_token(version, further)
        if not selection.reads_content and selection.part is None:
            metadata["remainingItemCount"] = left
        snapshots.keep(call.resource.stored, version, records)
    if selection.shards is not None:
        metadata["shardInfo"] = {"selector": str(selection.shards)}
    return ListPage(items, metadata)


def _records(
    state: ApiState, call: Call, snapshots: Snapshots, selection: Selection
) -> tuple[Sequence[Record], int]:
    """Return all objects of the kind at the version that the client requests."""
    kind = call.resource.stored
    wanted = selected_version(selection.version)
    listing = state.storage.listing(kind)
    if wanted > listing.version:
        raise too_new(selection.version, listing.version)
    exact = selection.match == EXACT or (
        selection.limit and wanted and not selection.match and selection.version != "0"
    )
    if exact and wanted != listing.version:
        found = snapshots.at(kind, wanted)
        if found is None:
            raise _too_old()
        return found, wanted
    return listing.records, listing.version


def _too_old() -> ApiError:
    return expired("The resourceVersion for the provided list is too old.")


def _page_records(
    state: ApiState, call: Call, snapshots: Snapshots, token: PageToken
) -> tuple[Sequence[Record], int, str]:
    """Return the objects of a later page, at the first page's version."""
    kind = call.resource.stored
    if token.rv < 0:
        listing = state.storage.listing(kind)
        return listing.records, listing.version, token.start
    latest = state.storage.listing(kind).version
    if token.rv > latest:
        raise too_new(str(token.rv), latest)
    records = snapshots.at(kind, token.rv)
    if records is None:
        raise _expired_page(token)
    return records, token.rv, token.start


def _expired_page(token: PageToken) -> ApiError:
    text = (
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results. Continuing with the provided token "
        "results in an inconsistent list - objects that were created, modified, or deleted between "
        "the time the first chunk was returned and now may show up in the list."
    )
    return ApiError(410, "Expired", text, None, {"continue": encode_token(-1, token.start)})


def _renderer(call: Call, records: Sequence[Record], selection: Selection) -> Render:
    """Return a function from record to object, in the call's version if it is converted."""
    if call.resource.conversion is None or selection.is_everything:
        return rendered
    found = [each for each in records if selection.covers(each)]
    items = shapes(call, [rendered(each) for each in found])
    shown = {each.uid: item for each, item in zip(found, items, strict=True)}
    return lambda record: shown[record.uid]


def _select(
    records: Sequence[Record], selection: Selection, start: str, render: Render
) -> tuple[list[Record], str, int]:
    """Return the records of a page, the key of the next page, and the number of the rest.

    A page of a selection has a next page as long as objects remain, selected or not. The number
    includes the objects that are not selected.
    """
    found: list[Record] = []
    passed = 0
    limit = 0 if selection.version == "0" else selection.limit
    for index, record in enumerate(records):
        if selection.namespace and record.namespace != selection.namespace:
            continue
        if start and _key(record, selection) < start:
            continue
        if limit > 0 and len(found) == limit:
            left = sum(
                1
                for each in records[index:]
                if not selection.namespace or each.namespace == selection.namespace
            )
            return found, _key(found[-1], selection) + "\0", passed + left - limit
        passed += 1
        if not selection.covers(record):
            continue
        if not selection.reads_content or selection.matches(render(record)):
            found.append(record)
    return found, "", 0


def _key(record: Record, selection: Selection) -> str:
    if selection.namespace or not record.namespace:
        return record.name
    return f"{record.namespace}/{record.name}"


def in_key_order(records: Sequence[Record]) -> Sequence[Record]:
    """Sort records by their keys in etcd: ``a-b/x`` comes before ``a/x``."""
    names = list(dict.fromkeys(each.namespace for each in records))
    ordered = sorted(names, key=lambda name: f"{name}/")
    if names == ordered:
        return records
    place = {name: number for number, name in enumerate(ordered)}
    return sorted(records, key=lambda each: place[each.namespace])

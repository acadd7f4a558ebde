"""Single objects and lists.

A whole kind is read as a stream (WatchList), which costs the server no copy of everything; where a
server cannot, and for selections, lists come in pages. All lists are consistent: they reflect at
least what was written before they were asked for.
"""

import contextlib
from typing import Final

import aiohttp
import msgspec

from stretto.api.wire.kinds import POD, Kind
from stretto.base.errors import InputError, StrettoError, TooOldError, UnreachableError
from stretto.stores.kube.login.messages import HttpResponse, LostError, NotSentError
from stretto.stores.kube.paths import collection_path, object_path, with_query
from stretto.stores.kube.records import record_of, version_of
from stretto.stores.kube.transport.answers import read_error, status_of
from stretto.stores.kube.transport.gates import RequestPurpose, purpose_of
from stretto.stores.kube.transport.retry import RequestSender
from stretto.stores.kube.transport.streams import changes_of, refusal_of
from stretto.stores.store import Listing, ListOptions, Record

_STREAMED: Final = {
    "watch": "1",
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
    "timeoutSeconds": "120",
}
"""Asks for a list as a stream."""


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """What a page says of its list."""

    #: Version that the list reflects.
    resource_version: str = ""
    #: Token of the next page.
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, frozen=True):
    """One page of a list."""

    #: About the list.
    metadata: _ListMeta
    #: The objects.
    items: list[msgspec.Raw] | None = None


_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
"""Where custom kinds are defined."""
_BEGINNINGS: Final = 3
"""How often a list in pages is begun whose pages the server no longer keeps."""
_PAGE: Final = msgspec.json.Decoder(_Page)


class _NoStreamError(StrettoError):
    """This list cannot be had as a stream."""


class ReadCalls:
    """Reads of one line."""

    def __init__(self, sender: RequestSender) -> None:
        self._sender = sender
        #: Whether the server gives lists as streams, as far as is known.
        self.streams = True
        self._served: set[Kind] = set()

    async def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The object as it is now, or ``None``.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the right to get it is missing.
        """
        path = object_path(kind, namespace, name)
        answer = await self._sender.read(path, purpose_of(kind, RequestPurpose.READ))
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise read_error(kind, "get", answer)
        return record_of(kind, answer.body)

    async def list(self, kind: Kind, selection: ListOptions) -> Listing:
        """The objects that a selection names.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the right to list them is missing.
            InputError: a selector or a page token is none.
            TooOldError: a page of a list that the server no longer keeps.
        """
        if selection.limit or selection.page:
            return await self._page(kind, selection)
        if self.streams and not (selection.namespace or selection.labels or selection.fields):
            try:
                return await self._streamed(kind)
            except (_NoStreamError, LostError, NotSentError):
                pass  # pages say what is wrong, where something is
        return await self._all_pages(kind, selection)

    async def _streamed(self, kind: Kind) -> Listing:
        """The list of a whole kind from a stream's initial events.

        A server that has no time for it now (429) has none for pages either: they cost it more.
        """
        patience = self._sender.patience()
        while True:
            found = await self._stream(kind)
            if isinstance(found, Listing):
                return found
            await patience.wait(status_of(found).message, found.retry_after)

    async def _stream(self, kind: Kind) -> Listing | HttpResponse:
        """The same at one try; an answer where the server says "not now"."""
        line = self._sender.line
        path = with_query(collection_path(kind), _STREAMED)
        response = await line.open(path, line.options.read_patience)
        try:
            if response.status in (400, 422):
                self.streams = False
            if response.status == 429:
                return await refusal_of(response, line.options.answer)
            if response.status != 200:
                raise _NoStreamError(str(response.status))
            return await self._collected(kind, response)
        finally:
            response.close()

    async def _collected(self, kind: Kind, response: aiohttp.ClientResponse) -> Listing:
        records: list[Record] = []
        async for changes in changes_of(response, self._sender.options.most_line):
            for change in changes:
                if change.ends_the_list:
                    self._served.add(kind)
                    return Listing(_ordered(records), version_of(change.object))
                if change.type != "ADDED":
                    raise _NoStreamError(change.type)
                records.append(record_of(kind, change.object))
        raise _NoStreamError("the stream ended before the list did")

    async def _all_pages(self, kind: Kind, selection: ListOptions) -> Listing:
        """All pages of one list, begun anew where the server forgets it half-way."""
        for _ in range(_BEGINNINGS):
            with contextlib.suppress(TooOldError):
                return await self._pages(kind, selection)
        why = f"it forgot its list within {_BEGINNINGS} readings"
        raise UnreachableError(f"list {kind.resource}", why, "try again when it is less busy")

    async def _pages(self, kind: Kind, selection: ListOptions) -> Listing:
        asked = msgspec.structs.replace(selection, limit=self._sender.options.page)
        records: list[Record] = []
        while True:
            listing = await self._page(kind, asked)
            records += listing.records
            if not listing.next_page:
                return Listing(_ordered(records), listing.version)
            asked = msgspec.structs.replace(asked, page=listing.next_page)

    async def _page(self, kind: Kind, selection: ListOptions) -> Listing:
        answer = await self._sender.read(_list_path(kind, selection))
        if answer.status == 404:
            await self._check_absent(kind)
            return Listing([], await self._version())
        if answer.status != 200:
            raise read_error(kind, "list", answer)
        self._served.add(kind)
        page, version = _decoded(answer, kind)
        records = [record_of(kind, raw) for raw in page.items or ()]
        return Listing(records, version, page.metadata.continue_)

    async def _check_absent(self, kind: Kind) -> None:
        """Make sure that a kind which is not served is not there.

        A server that starts has yet to find its custom kinds, and an empty list would mean that
        all their objects are gone.

        Raises:
            UnreachableError: it is defined, or was served before.
        """
        answer = await self._sender.read(f"{_DEFINITIONS}/{kind.resource}")
        if answer.status == 404 or (answer.status == 403 and kind not in self._served):
            return
        raise UnreachableError(f"list {kind.resource}", "the server does not serve it yet")

    async def _version(self) -> int:
        """The server's version now: what stands for the list of a kind that it does not have.

        Pods are asked for, because whoever schedules may list them.
        """
        answer = await self._sender.read(_list_path(POD, ListOptions(limit=1)))
        if answer.status != 200:
            raise read_error(POD, "list", answer)
        return version_of(answer.body)


def _list_path(kind: Kind, selection: ListOptions) -> str:
    asked = {
        "labelSelector": selection.labels,
        "fieldSelector": selection.fields,
        "limit": str(selection.limit or ""),
        "continue": selection.page,
    }
    query = {name: value for name, value in asked.items() if value}
    return with_query(collection_path(kind, selection.namespace), query)


def _decoded(answer: HttpResponse, kind: Kind) -> tuple[_Page, int]:
    """A page, and the version that its list reflects."""
    try:
        page = _PAGE.decode(answer.body)
        return page, int(page.metadata.resource_version)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        hint = "does this address lead to a Kubernetes API server?"
        raise InputError(f"list {kind.resource}", None, f"a list: {error}", hint) from error


def _ordered(records: list[Record]) -> list[Record]:
    """By namespace and name: servers order by key, in which ``a-b/x`` comes before ``a/x``."""
    return sorted(records, key=lambda record: (record.namespace, record.name))

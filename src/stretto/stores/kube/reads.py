"""Reads of single objects and lists.

A whole kind is read as a stream (WatchList), for which the server does not copy all objects.
Servers without WatchList, and selections, return pages. All lists are consistent: they contain at
least what was written before the request.
"""

import contextlib
from collections.abc import Sequence
from typing import Final, TypeVar

import aiohttp
import msgspec

from stretto.api.wire.kinds import POD, Kind
from stretto.base.errors import InputError, StrettoError, TooOldError, UnreachableError
from stretto.stores.kube.login.messages import HttpResponse, LostError, NotSentError
from stretto.stores.kube.paths import collection_path, object_path, with_query
from stretto.stores.kube.records import record_of, version_of
from stretto.stores.kube.selections import is_foreign, selection_query
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
"""Query of a list as a stream."""


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """Metadata of a page."""

    #: Version that the list reflects.
    resource_version: str = ""
    #: Token of the next page.
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, frozen=True):
    """One page of a list."""

    #: Metadata of the list.
    metadata: _ListMeta
    #: The objects.
    items: list[msgspec.Raw] | None = None


class _ComputedList(msgspec.Struct, frozen=True):
    """A list of objects without versions."""

    #: The objects.
    items: list[msgspec.Raw] = []


_COMPUTED: Final = msgspec.json.Decoder(_ComputedList)
_S = TypeVar("_S")
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
"""Path of custom resource definitions."""
_BEGINNINGS: Final = 3
"""Number of attempts at a paged list whose later pages the server drops."""
_PAGE: Final = msgspec.json.Decoder(_Page)


class _NoStreamError(StrettoError):
    """The server does not return this list as a stream."""


class ReadCalls:
    """Read calls through one sender."""

    def __init__(self, sender: RequestSender) -> None:
        self._sender = sender
        #: True if the server returns lists as streams, as far as known.
        self.streams = True
        self._served: set[Kind] = set()

    async def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """Return the current object, or ``None``.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the permission to get the object is missing.
        """
        path = object_path(kind, namespace, name)
        answer = await self._sender.read(path, purpose_of(kind, RequestPurpose.READ))
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise read_error(kind, "get", answer)
        return record_of(kind, answer.body)

    async def list(self, kind: Kind, selection: ListOptions) -> Listing:
        """The selected objects.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the permission to list them is missing.
            InputError: a selector or a page token is malformed.
            TooOldError: the page belongs to a list that the server no longer keeps.
        """
        if selection.limit or selection.page:
            return await self._page(kind, selection)
        if self.streams and not (selection.namespace or selection.labels or selection.fields):
            try:
                return await self._streamed(kind, selection)
            except (_NoStreamError, LostError, NotSentError):
                pass  # the paged list raises the error, if there is one
        return await self._all_pages(kind, selection)

    async def computed(self, kind: Kind, namespace: str, struct: type[_S]) -> Sequence[_S]:
        """Return objects that the server computes for each request, without versions.

        Raises:
            UnreachableError: the server does not answer, or does not serve the kind.
            NotAllowedError: the permission to list them is missing.
            InputError: the answer is malformed.
        """
        answer = await self._sender.read(collection_path(kind, namespace))
        if answer.status == 404:
            raise UnreachableError(f"list {kind.resource}", "the server does not serve it")
        if answer.status != 200:
            raise read_error(kind, "list", answer)
        try:
            items = _COMPUTED.decode(answer.body).items
            return [msgspec.json.decode(each, type=struct) for each in items]
        except (msgspec.DecodeError, RecursionError) as error:
            raise InputError(f"list {kind.resource}", None, f"a list: {error}") from error

    async def _streamed(self, kind: Kind, selection: ListOptions) -> Listing:
        """List a kind, or a shard of it, from the initial events of a stream.

        A 429 is retried here, because pages cost an overloaded server more than a stream.
        """
        deadline = self._sender.retry_deadline()
        while True:
            found = await self._stream(kind, selection)
            if isinstance(found, Listing):
                return found
            await deadline.wait(status_of(found).message, found.retry_after)

    async def _stream(self, kind: Kind, selection: ListOptions) -> Listing | HttpResponse:
        """Make one attempt; return the response if the server is overloaded."""
        line = self._sender.line
        path = with_query(collection_path(kind), _STREAMED | selection_query(selection))
        response = await line.open(path, line.options.read_timeout)
        try:
            if response.status in (400, 422):
                self.streams = False
            if response.status == 429:
                return await refusal_of(response, line.options.answer)
            if response.status != 200:
                raise _NoStreamError(str(response.status))
            return await self._collected(kind, selection, response)
        finally:
            response.close()

    async def _collected(
        self, kind: Kind, selection: ListOptions, response: aiohttp.ClientResponse
    ) -> Listing:
        records: list[Record] = []
        async for changes in changes_of(response, self._sender.options.most_line):
            for change in changes:
                if change.ends_the_list:
                    self._served.add(kind)
                    return Listing(_ordered(records), version_of(change.object))
                if change.type != "ADDED":
                    raise _NoStreamError(change.type)
                if not is_foreign(selection.shard, change.object):
                    records.append(record_of(kind, change.object))
        raise _NoStreamError("the stream ended before the list did")

    async def _all_pages(self, kind: Kind, selection: ListOptions) -> Listing:
        """Read all pages of one list; start again if the server drops the list."""
        for _ in range(_BEGINNINGS):
            with contextlib.suppress(TooOldError):
                return await self._pages(kind, selection)
        why = f"it dropped its list during each of {_BEGINNINGS} attempts"
        raise UnreachableError(
            f"list {kind.resource}", why, "try again when the server is less busy"
        )

    async def _pages(self, kind: Kind, selection: ListOptions) -> Listing:
        paged = msgspec.structs.replace(selection, limit=self._sender.options.page)
        records: list[Record] = []
        while True:
            listing = await self._page(kind, paged)
            records += listing.records
            if not listing.next_page:
                return Listing(_ordered(records), listing.version)
            paged = msgspec.structs.replace(paged, page=listing.next_page)

    async def _page(self, kind: Kind, selection: ListOptions) -> Listing:
        answer = await self._sender.read(_list_path(kind, selection))
        if answer.status == 404:
            await self._check_absent(kind)
            return Listing([], await self._version())
        if answer.status != 200:
            raise read_error(kind, "list", answer)
        self._served.add(kind)
        page, version = _decoded(answer, kind)
        own = (raw for raw in page.items or () if not is_foreign(selection.shard, raw))
        records = [record_of(kind, raw) for raw in own]
        return Listing(records, version, page.metadata.continue_)

    async def _check_absent(self, kind: Kind) -> None:
        """Verify that a kind that is not served does not exist.

        A starting server does not serve its custom kinds yet, and an empty list would mean that all
        their objects are deleted.

        Raises:
            UnreachableError: the kind is defined, or was served before.
        """
        answer = await self._sender.read(f"{_DEFINITIONS}/{kind.resource}")
        if answer.status == 404 or (answer.status == 403 and kind not in self._served):
            return
        raise UnreachableError(f"list {kind.resource}", "the server does not serve it yet")

    async def _version(self) -> int:
        """Return the server's current version, for the list of a kind that it does not serve.

        It is read from a list of pods, which every scheduler may list.
        """
        answer = await self._sender.read(_list_path(POD, ListOptions(limit=1)))
        if answer.status != 200:
            raise read_error(POD, "list", answer)
        return version_of(answer.body)


def _list_path(kind: Kind, selection: ListOptions) -> str:
    paged = {"limit": str(selection.limit or ""), "continue": selection.page}
    query = selection_query(selection) | {name: value for name, value in paged.items() if value}
    return with_query(collection_path(kind, selection.namespace), query)


def _decoded(answer: HttpResponse, kind: Kind) -> tuple[_Page, int]:
    """A page, and the version of its list."""
    try:
        page = _PAGE.decode(answer.body)
        return page, int(page.metadata.resource_version)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        hint = "does this address lead to a Kubernetes API server?"
        raise InputError(f"list {kind.resource}", None, f"a list: {error}", hint) from error


def _ordered(records: list[Record]) -> list[Record]:
    """Sort by namespace and name: servers sort by key, in which ``a-b/x`` precedes ``a/x``."""
    return sorted(records, key=lambda record: (record.namespace, record.name))

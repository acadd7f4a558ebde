"""Objects of the API in a store: reads, conditional writes, removals."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.api.wire.names import LABEL_CHARS
from stretto.base.limited import LimitedMap
from stretto.stores.store import (
    Listing,
    ListOptions,
    Record,
    Reply,
    StatusReason,
    Store,
    Update,
    Watch,
    WriteOutcome,
)
from stretto.web.api.failures import MODIFIED, ApiError, already_exists, conflict, not_found
from stretto.web.api.objects.rendering import kept_form, rendered
from stretto.web.api.objects.versions import served_form, stored_form
from stretto.web.api.objects.views import RecordViews
from stretto.web.api.resources import ServedResource
from stretto.web.api.streams.feeds import SharedFeeds
from stretto.web.api.streams.signals import ChangeSignals

Json = dict[str, Any]

_NAMESPACES: Final = 1024
"""Maximum namespaces whose lists of a kind are cached; a request may name any namespace."""
_FEW: Final = 256
"""Maximum size of a cached list; every write reads several lists that are usually empty."""
_NO_LISTS: Final[Mapping[str, Sequence[Json]]] = {}


@runtime_checkable
class PastStore(Protocol):
    """A store that can return older states."""

    def records_at(self, kind: Kind, version: int) -> Sequence[Record] | None:
        """Return the records of a kind at a version; ``None`` if its history was dropped."""
        ...

    def compact(self, kinds: Sequence[Kind] = ()) -> None:
        """Drop the history of some kinds, or of all; watches from older versions become too old."""
        ...

    def watch_matching(self, kind: Kind, since: int, matches: Callable[[Record], bool]) -> Watch:
        """Watch changes of the selected objects of a kind after a version."""
        ...

    def next_uid(self) -> str:
        """The uid of the next object, if it is created in a call of its own."""
        ...


class StoredItem(msgspec.Struct, frozen=True):
    """An object with its record."""

    #: The object in the form for clients.
    item: Json
    #: Its record.
    record: Record

    @property
    def version(self) -> str:
        """Its resource version."""
        return str(self.record.version)


class ObjectStorage:
    """Reader and writer of objects of served resources."""

    def __init__(self, store: Store) -> None:
        """Use an embedded store."""
        self.store = store
        #: Decoded objects and encoded events.
        self.views = RecordViews()
        self._lists: dict[Kind, LimitedMap[str, Sequence[Json]]] = {}
        #: Wakes open watches.
        self.signals = ChangeSignals()
        #: Feeds of open watches.
        self.feeds = SharedFeeds()
        store.subscribe(self._changed)

    def find(self, kind: Kind, namespace: str, name: str) -> StoredItem | None:
        """Return an object, or ``None``."""
        record = self.store.get(kind, namespace, name)
        return None if record is None else StoredItem(rendered(record), record)

    def view(self, kind: Kind, namespace: str, name: str) -> Json | None:
        """Return an object for reading only, or ``None``; it is decoded once until it changes."""
        record = self.store.get(kind, namespace, name)
        return None if record is None else self.views.item(record)

    def views_of(self, kind: Kind, namespace: str = "") -> Sequence[Json]:
        """Return the objects of a kind for reading only.

        Short lists are cached until one changes.
        """
        kept = self._lists.get(kind, _NO_LISTS).get(namespace)
        if kept is not None:
            return kept
        found = [self.views.item(record) for record in self.listing(kind, namespace).records]
        if len(found) <= _FEW and len(namespace) <= LABEL_CHARS:
            self._lists.setdefault(kind, LimitedMap(_NAMESPACES))[namespace] = found
        return found

    def _changed(self, kind: Kind) -> None:
        """Drop the lists of a kind that has changed, then wake its watches."""
        self._lists.pop(kind, None)
        self.signals.notify(kind)

    def served(self, resource: ServedResource, namespace: str, name: str) -> StoredItem | None:
        """Return an object in the version of a resource, or ``None``."""
        found = self.find(resource.stored, namespace, name)
        return (
            None if found is None else StoredItem(served_form(resource, found.item), found.record)
        )

    def get(self, resource: ServedResource, namespace: str, name: str) -> StoredItem:
        """Return an object.

        Raises:
            ApiError: the object does not exist.
        """
        found = self.served(resource, namespace, name)
        if found is None:
            raise not_found(resource.group, resource.resource, name)
        return found

    def uid_of(self, kind: Kind, namespace: str, name: str) -> str:
        """Return the uid of an object; empty if it does not exist."""
        record = self.store.get(kind, namespace, name)
        return "" if record is None else record.uid

    def listing(self, kind: Kind, namespace: str = "") -> Listing:
        """The records of a kind."""
        return self.store.list(kind, ListOptions(namespace))

    def items(self, kind: Kind, namespace: str = "") -> list[Json]:
        """The objects of a kind."""
        return [rendered(record) for record in self.listing(kind, namespace).records]

    @property
    def version(self) -> int:
        """Version of the last write of any kind."""
        return self.store.list(_NO_KIND).version

    def next_uid(self) -> str:
        """The uid of the next object that is created."""
        store = self.store
        return store.next_uid() if isinstance(store, PastStore) else ""

    def records_at(self, kind: Kind, version: int) -> Sequence[Record] | None:
        """Return the records of a kind at an older version; ``None`` if its history was dropped."""
        store = self.store
        return store.records_at(kind, version) if isinstance(store, PastStore) else None

    def watch(self, kind: Kind, since: int, matches: Callable[[Record], bool] | None) -> Watch:
        """Watch changes of a kind after a version.

        Args:
            kind: the kind.
            since: the version.
            matches: returns whether a record is selected; ``None`` selects all.

        Raises:
            TooOldError: the version is too old.
        """
        store = self.store
        if matches is None or not isinstance(store, PastStore):
            return store.watch(kind, since)
        return store.watch_matching(kind, since, matches)

    def create(self, resource: ServedResource, item: Json) -> StoredItem:
        """Store a new object.

        Raises:
            ApiError: its name exists, or the store refuses it.
        """
        kept, body = _body(resource, item)
        reply = self.store.create(resource.stored, [body])[0]
        name = item["metadata"]["name"]
        if reply.code is StatusReason.ALREADY_EXISTS and reply.record and reply.record.deleting:
            error = already_exists(resource.group, resource.resource, name)
            text = f"object is being deleted: {error.message}"
            raise ApiError(error.code, error.reason, text, error.details)
        return self._stored(reply, resource, name, (kept, body))

    def create_all(self, kind: Kind, bodies: Sequence[bytes]) -> bool:
        """Store new objects, encoded in the form of the store; return whether all are stored."""
        replies = self.store.create(kind, bodies)
        return all(each.outcome is WriteOutcome.OK for each in replies)

    def replace(
        self, resource: ServedResource, old: Record, item: Json, deleting: str = ""
    ) -> StoredItem:
        """Replace an object if its record is still current.

        Raises:
            ApiError: the object was changed meanwhile, or the store refuses the write.
        """
        kept, body = _body(resource, item)
        update = Update(old.namespace, old.name, body, old.version, whole=True, deleting=deleting)
        reply = self.store.update(resource.stored, [update])[0]
        return self._stored(reply, resource, old.name, (kept, body))

    def remove(self, resource: ServedResource, old: Record) -> StoredItem:
        """Delete an object if its record is still current, even with finalizers.

        Watches get its stored state with the version of the deletion.

        Raises:
            ApiError: the object was changed meanwhile, or the store refuses the write.
        """
        kept, body = _body(resource, rendered(old))
        update = Update(old.namespace, old.name, body, old.version, whole=True, ends=True)
        reply = self.store.update(resource.stored, [update])[0]
        return self._stored(reply, resource, old.name, (kept, body))

    def _stored(
        self, reply: Reply, resource: ServedResource, name: str, sent: tuple[Json, bytes]
    ) -> StoredItem:
        """Return the stored object; it is decoded again only if the store has changed it."""
        record = reply.record
        if reply.outcome is WriteOutcome.OK and record is not None:
            kept, body = sent
            item = rendered(record, kept if record.body is body else None)
            return StoredItem(served_form(resource, item), record)
        raise _failure(reply, resource, name)


def _body(resource: ServedResource, item: Json) -> tuple[Json, bytes]:
    """Return the stored form of an object of a resource, and its JSON."""
    form, is_custom = stored_form(resource, item), resource.definition is not None
    kept = kept_form(form, resource.stored, is_custom=is_custom)
    return kept, msgspec.json.encode(kept)


_NO_KIND = Kind("stretto.dev", "v1", "Nothing", "nothings", namespaced=False)


def _failure(reply: Reply, resource: ServedResource, name: str) -> ApiError:
    """Return an API failure for a write that the store did not accept."""
    group, plural = resource.group, resource.resource
    if reply.code is StatusReason.ALREADY_EXISTS:
        return already_exists(group, plural, name)
    if reply.code is StatusReason.NOT_FOUND:
        return not_found(group, plural, name)
    if reply.outcome is WriteOutcome.CONFLICT:
        return conflict(group, plural, name, MODIFIED)
    if reply.outcome is WriteOutcome.UNKNOWN:
        return ApiError(504, "Timeout", reply.message)
    if reply.code is StatusReason.UNAVAILABLE:
        return ApiError(503, "ServiceUnavailable", reply.message)
    return ApiError(422, "Invalid", reply.message)

"""Caches of the objects of one store for controllers: decoded on read, indexed, up to date.

An ``ObjectCache`` follows one kind by a reflector. All readers share the decoded objects and must
not change them. A decoded object needs several times the memory of the stored bytes, so only the
last decoded ones are kept.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final, TypeVar

import msgspec

from stretto.api.codec import decode_as
from stretto.api.wire.kinds import Kind
from stretto.base.errors import NotAllowedError
from stretto.reconcile.own_writes import OwnWrites
from stretto.stores.later_lists import NotListedError
from stretto.stores.reflector import Reflector, ReflectorSettings
from stretto.stores.render import render, rendered_fields
from stretto.stores.scoped import ScopedStore
from stretto.stores.store import (
    EVERYTHING,
    EventType,
    Listing,
    ListOptions,
    Record,
    Store,
    WatchEvent,
)

Fields = dict[str, Any]
"""An object, or a part of one, as decoded JSON."""

Name = tuple[str, str]
"""Namespace (empty for cluster-scoped kinds) and name of an object."""

KindSelection = Callable[[Kind], ListOptions]
"""Returns the followed objects of a kind."""

IndexKey = Callable[["StoredObject"], Iterable[str]]
"""Maps an object to the keys of an index under which the index contains it."""

REFUSED_FOR: Final = 30.0
"""Seconds before a kind is read again after the store refused the read."""
KEPT_FORMS: Final = 1 << 14
"""Maximum number of decoded objects of a loop: about 100 MB of federated Deployments."""
_RAW: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_S = TypeVar("_S")
_NOTHING: Final[dict[Name, "StoredObject"]] = {}


def every_object(_: Kind) -> ListOptions:
    """Select all objects of every kind."""
    return EVERYTHING


class DecodedForms:
    """Limit on the number of decoded objects: the oldest is dropped first."""

    def __init__(self, most: int = KEPT_FORMS) -> None:
        """Keep at most ``most`` decoded objects."""
        self._most = most
        self._objects: deque[StoredObject] = deque()

    def keep(self, item: "StoredObject") -> None:
        """Keep the decoded form of an object that was just decoded."""
        self._objects.append(item)
        if len(self._objects) > self._most:
            self._objects.popleft().forget_form()


class StoredObject:
    """One version of one object, decoded on first use."""

    __slots__ = ("_form", "_forms", "record", "source")

    def __init__(self, record: Record, source: str = "", forms: DecodedForms | None = None) -> None:
        """Create the object of a record in the store with this name.

        Args:
            record: the stored form.
            source: name of its store.
            forms: limits the number of decoded objects; ``None``: the decoded form lives as long as
                the object.
        """
        #: The stored form.
        self.record = record
        #: Name of its store: the host or a member cluster.
        self.source = source
        self._forms = forms
        self._form: Fields | None = None

    @property
    def name(self) -> Name:
        """Namespace and name."""
        return self.record.namespace, self.record.name

    @property
    def fields(self) -> Fields:
        """The object as a client reads it; readers share it and must not change it."""
        form = self._form
        if form is None:
            form = self._form = rendered_fields(self.record)
            if self._forms is not None:
                self._forms.keep(self)
        return form

    def forget_form(self) -> None:
        """Free the decoded form; the next read decodes the record again."""
        self._form = None

    @property
    def raw(self) -> dict[str, msgspec.Raw]:
        """The members of the stored form, not decoded; names and versions may be missing in it.

        Raises:
            msgspec.DecodeError: the stored form is not an object.
        """
        return _RAW.decode(self.record.body)

    def read(self, struct: type[_S]) -> _S:
        """The object as a struct.

        Raises:
            InputError: a field is malformed; the message contains its path.
        """
        return decode_as(struct, render(self.record), self.record.name)

    @property
    def metadata(self) -> Fields:
        """``metadata``."""
        found: Fields = self.fields["metadata"]
        return found

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels; empty without any."""
        found: Mapping[str, str] = self.metadata.get("labels") or {}
        return found

    @property
    def annotations(self) -> Mapping[str, str]:
        """Annotations; empty without any."""
        found: Mapping[str, str] = self.metadata.get("annotations") or {}
        return found

    @property
    def spec(self) -> Fields:
        """``spec``; empty without one."""
        found: Fields = self.fields.get("spec") or {}
        return found

    @property
    def status(self) -> Fields:
        """``status``; empty without one."""
        found: Fields = self.fields.get("status") or {}
        return found

    @property
    def is_terminating(self) -> bool:
        """Return whether the object is being deleted and waits for its finalizers."""
        return bool(self.record.deleting)


class Change(msgspec.Struct, frozen=True):
    """One object that was added, changed or deleted."""

    #: Name of the store: the host or a member cluster.
    source: str
    #: Kind of the object.
    kind: Kind
    #: The previous object; ``None`` if the object is new.
    old: StoredObject | None
    #: The current object; ``None`` if the object is deleted.
    new: StoredObject | None

    @property
    def object(self) -> StoredObject:
        """The current object, or the last state of a deleted one."""
        found = self.new or self.old
        assert found is not None
        return found


class ObjectCache:
    """All objects of one kind in one store; it is the target of a reflector."""

    def __init__(
        self,
        kind: Kind,
        source: str,
        publish: Callable[[Change], None],
        forms: DecodedForms | None = None,
    ) -> None:
        """Create an empty cache.

        Args:
            kind: the kind.
            source: name of the store.
            publish: receives each change.
            forms: limits the number of decoded objects; ``None`` keeps all.
        """
        #: The kind.
        self.kind = kind
        #: Number of changes so far. A reader compares it to detect that derived values are stale.
        self.revision = 0
        self._source = source
        self._publish = publish
        self._forms = forms
        self._records: dict[str, Record] = {}
        self._spaces: dict[str, dict[Name, StoredObject]] = {}
        self._indexes: dict[str, _Index] = {}

    # ---------------------------------------------------------------- reads

    def get(self, namespace: str, name: str) -> StoredObject | None:
        """Return the object with this name, or ``None``."""
        return self._spaces.get(namespace, _NOTHING).get((namespace, name))

    def active(self, key: Hashable) -> StoredObject | None:
        """Return the object of a key ``(namespace, name)``; ``None`` if missing or terminating."""
        assert isinstance(key, tuple)
        item = self.get(*key)
        return None if item is None or item.is_terminating else item

    def __iter__(self) -> Iterator[StoredObject]:
        """All objects, in no particular order."""
        for space in self._spaces.values():
            yield from space.values()

    def __len__(self) -> int:
        """Number of objects."""
        return sum(map(len, self._spaces.values()))

    def in_namespace(self, namespace: str) -> Iterable[StoredObject]:
        """The objects of a namespace, in no particular order."""
        return self._spaces.get(namespace, _NOTHING).values()

    def add_index(self, name: str, keys: IndexKey) -> None:
        """Maintain an index from now on; a second call with the same name has no effect."""
        if name in self._indexes:
            return
        index = self._indexes[name] = _Index(keys)
        for each in self:
            index.put(None, each)

    def indexed(self, name: str, key: str) -> Iterable[StoredObject]:
        """Return the objects under a key of an index, in the order in which they were added."""
        return self._indexes[name].found(key)

    # ---------------------------------------------------------------- target of the reflector

    def known(self) -> Mapping[str, Record]:
        """Map each uid to its last record."""
        return self._records

    def apply(self, events: Sequence[WatchEvent], now: float) -> None:
        """Apply changes of a watch or of a list."""
        for event in events:
            record = event.record
            name = record.namespace, record.name
            old = self._spaces.get(record.namespace, _NOTHING).get(name)
            if event.type is EventType.DELETED:
                self._records.pop(record.uid, None)
                if old is not None and old.record.uid == record.uid:
                    self._replace(name, old, None)
                continue
            is_same = old is not None and old.record.uid == record.uid
            if is_same and old is not None and old.record.version >= record.version:
                continue  # our own write was noted before the watch reported it
            self._records[record.uid] = record
            if old is not None and old.record.uid != record.uid:
                self._records.pop(old.record.uid, None)
            self._replace(name, old, StoredObject(record, self._source, self._forms))

    def listed(self, listing: Listing) -> None:
        """Do nothing: the differences are already applied."""

    def clear(self) -> None:
        """Drop every object, as if each was deleted."""
        for each in list(self):
            self._replace(each.name, each, None)
        self._records.clear()

    def _replace(self, name: Name, old: StoredObject | None, new: StoredObject | None) -> None:
        self.revision += 1
        space = self._spaces.setdefault(name[0], {})
        if new is None:
            space.pop(name, None)
            if not space:
                del self._spaces[name[0]]
        else:
            space[name] = new
        for index in self._indexes.values():
            index.put(old, new)
        self._publish(Change(self._source, self.kind, old, new))


class _Index:
    """An index: objects by the keys that a function computes from them."""

    def __init__(self, keys: IndexKey) -> None:
        self._keys = keys
        self._found: dict[str, dict[Name, StoredObject]] = {}

    def put(self, old: StoredObject | None, new: StoredObject | None) -> None:
        """Replace an object in the index; ``None`` stands for an absent one."""
        after = tuple(self._keys(new)) if new is not None else ()
        for key in self._keys(old) if old is not None else ():
            entries = self._found.get(key)
            if entries is not None and old is not None and key not in after:
                entries.pop(old.name, None)
                if not entries:
                    del self._found[key]
        for key in after:
            assert new is not None
            self._found.setdefault(key, {})[new.name] = new

    def found(self, key: str) -> Iterable[StoredObject]:
        return self._found.get(key, _NOTHING).values()


class StoreCache:
    """Caches of several kinds of one store; a cache is created on first use."""

    def __init__(
        self,
        name: str,
        store: Store,
        publish: Callable[[Change], None],
        forms: DecodedForms | None = None,
        select: KindSelection = every_object,
    ) -> None:
        """Create caches without any kind.

        Args:
            name: name of the store in changes.
            store: the store that contains the objects.
            publish: receives each change.
            forms: limits the number of decoded objects; ``None`` keeps all.
            select: the followed objects of each kind; a kind that is followed in one namespace is
                followed there as a whole.
        """
        #: Name of the store in changes.
        self.name = name
        #: The store of the objects; the caches show writes through it at once.
        self.store = OwnWrites(store, self.note) if store.capabilities.answers_later else store
        self._publish = publish
        self._forms = forms
        self._select = select
        self._caches: dict[Kind, ObjectCache] = {}
        self._reflectors: dict[Kind, Reflector] = {}
        self._numbers: dict[Kind, int] = {}
        self._waiting: set[Kind] = set()
        self._scoped: set[Kind] = set()
        self._refused: dict[Kind, tuple[float, NotAllowedError]] = {}
        self._now = 0.0
        self._end = store.subscribe(self._mark)

    def follow(self, kind: Kind) -> ObjectCache:
        """Return the cache of a kind; it is empty until the next ``poll``."""
        cache = self._caches.get(kind)
        if cache is None:
            return self._followed(kind, self.store, self._select(kind))
        if kind in self._scoped:
            self._scoped.discard(kind)
            self._read_from(self.store, cache, self._select(kind))
        return cache

    def follow_in(self, kind: Kind, namespace: str) -> ObjectCache:
        """Return the cache of a kind for the objects of one namespace.

        The cache contains all namespaces if another caller follows the whole kind.
        """
        cache = self._caches.get(kind)
        if cache is None:
            cache = self._followed(kind, ScopedStore(self.store, namespace), EVERYTHING)
            self._scoped.add(kind)
        return cache

    def follow_synced(self, kind: Kind) -> ObjectCache:
        """Return the cache of a kind, complete as of now.

        Raises:
            NotListedError: the list was requested and has not arrived yet.
            NotAllowedError: the permission to read the kind is missing. The error is raised again
                without a read until ``poll`` reads the kind after ``REFUSED_FOR``.
            UnreachableError: the store does not answer.
        """
        cache = self.follow(kind)
        reflector = self._reflectors[kind]
        if kind in self._refused:
            raise self._refused[kind][1].with_traceback(None)
        if not reflector.synced:
            try:
                reflector.poll(0.0)
            except NotAllowedError as error:
                self._refused[kind] = self._now + REFUSED_FOR, error
                raise
        return cache

    def unfollow(self, kind: Kind) -> None:
        """Stop following a kind; its objects count as deleted."""
        cache = self._caches.pop(kind, None)
        if cache is not None:
            self._reflectors.pop(kind).close()
            self._refused.pop(kind, None)
            cache.clear()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The followed kinds."""
        return tuple(self._caches)

    @property
    def refused(self) -> dict[Kind, str]:
        """The kinds whose read the store refuses, with its answer."""
        return {kind: str(error) for kind, (_, error) in self._refused.items()}

    @property
    def has_work(self) -> bool:
        """Return whether a poll may find changes."""
        return bool(self._waiting)

    def note(self, record: Record) -> None:
        """Show an object as it is after our own write, before the watch reports it."""
        reflector = self._reflectors.get(record.kind)
        if reflector is None or not reflector.synced or record.version <= reflector.version:
            return  # the kind is not read yet, or the watch has already reported the write
        self._caches[record.kind].apply([WatchEvent(EventType.MODIFIED, record)], 0.0)

    def poll(self, now: float) -> int:
        """Read all changes of all kinds; return their number.

        Raises:
            UnreachableError: the store does not answer.
        """
        self._now = now
        waiting = sorted(self._waiting, key=self._numbers.__getitem__)
        return sum(self._poll(kind, now) for kind in waiting)

    def _poll(self, kind: Kind, now: float) -> int:
        """Read all changes of one kind; keep it in the waiting set only if more changes wait."""
        reflector, read = self._reflectors.get(kind), 0
        if kind in self._refused and self._refused[kind][0] > now:
            return 0
        self._waiting.discard(kind)  # first: a change during the poll adds it again
        try:
            while reflector is not None and reflector.is_due(now):
                found = reflector.poll(now)
                read += found
                if not found:
                    break
            self._refused.pop(kind, None)
        except NotListedError:
            pass  # the kind is read once its list has arrived
        except NotAllowedError as error:  # the other kinds continue
            self._refused[kind] = now + REFUSED_FOR, error
        finally:
            if reflector is not None and (reflector.is_due(now) or reflector.list_at < inf):
                self._waiting.add(kind)
        return read

    def close(self) -> None:
        """Stop following all kinds; their objects count as deleted."""
        self._end()
        for kind in self.kinds:
            self.unfollow(kind)

    def _followed(self, kind: Kind, store: Store, selection: ListOptions) -> ObjectCache:
        cache = self._caches[kind] = ObjectCache(kind, self.name, self._publish, self._forms)
        self._numbers.setdefault(kind, len(self._numbers))
        self._read_from(store, cache, selection)
        return cache

    def _read_from(self, store: Store, cache: ObjectCache, selection: ListOptions) -> None:
        """Read a kind from the beginning."""
        before = self._reflectors.get(cache.kind)
        if before is not None:
            before.close()
        self._refused.pop(cache.kind, None)
        settings = ReflectorSettings(selection=selection)
        self._reflectors[cache.kind] = Reflector(store, cache.kind, cache, settings)
        self._waiting.add(cache.kind)

    def _mark(self, kind: Kind) -> None:
        reflector = self._reflectors.get(kind)
        if reflector is not None:
            reflector.mark()
            self._waiting.add(kind)

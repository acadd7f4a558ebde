"""Records in the form for watches, computed once for all watches: objects and encoded events."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, Generic, TypeVar

from stretto.api.wire.kinds import Kind
from stretto.base.limited import LimitedMap
from stretto.stores.store import Record, WatchEvent
from stretto.web.api.objects.rendering import rendered

Json = dict[str, Any]
Made = TypeVar("Made")

_KEPT: Final = 4096
"""Maximum entries of each cache: watches read a change soon after it happens, or never."""
_KEPT_NEW: Final = 512
"""Maximum new objects that are kept for watches: those of one round of events."""
_KEPT_BATCHES: Final = 4
"""Maximum batches of each form: one group of writes wakes many watches."""
_FORMS: Final = 64
"""Maximum forms of batches: combinations of kind and accepted form."""
_LARGE: Final = 32 << 10
"""Maximum body size in bytes for caching, so that the memory is bounded in bytes too."""
_LARGE_NEW: Final = 8 << 10
"""Maximum body size in bytes of a new object that is kept, watched or not."""


class RecordViews:
    """Bounded cache of decoded objects and encoded events; large ones are not cached."""

    def __init__(self, kept: int = _KEPT) -> None:
        """Keep at most this many entries of each."""
        self._items: _Latest[Json] = _Latest(kept)
        self._events: _Latest[bytes] = _Latest(kept)
        self._converted: _Latest[Json] = _Latest(kept)
        self._new: _Latest[Json] = _Latest(_KEPT_NEW)
        self._watched: set[Kind] = set()
        self._batches: _Latest[BatchViews] = _Latest(_FORMS)

    def item(self, record: Record) -> Json:
        """Return the object of a record; callers must not change it."""
        if len(record.body) > _LARGE:
            return rendered(record)
        return self._items.get(_state(record), lambda: rendered(record))

    def event(self, record: Record, form: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return an encoded event about a record, in some form."""
        if len(record.body) > _LARGE:
            return make()
        return self._events.get((_state(record), form), make)

    def keep_new(self, record: Record, kind: Kind, item: Json) -> None:
        """Cache the object of a new record as served in a kind; callers must not change it.

        Only kinds of which a watch has requested a new object are cached.
        """
        if kind in self._watched and len(record.body) <= _LARGE_NEW:
            self._new.get((record.uid, record.version, kind), lambda: item)

    def new(self, record: Record, kind: Kind) -> Json | None:
        """Return the object of a new record as served in a kind; ``None`` if it is not cached."""
        self._watched.add(kind)
        return self._new.find((record.uid, record.version, kind))

    def converted(self, record: Record, form: Hashable) -> Json | None:
        """Return the object of a record as converted by a webhook; ``None`` if it is not cached."""
        return self._converted.find((_state(record), form))

    def keep_converted(self, record: Record, form: Hashable, item: Json) -> None:
        """Cache a converted object; callers must not change it."""
        if len(record.body) <= _LARGE:
            self._converted.get((_state(record), form), lambda: item)

    def batches(self, form: Hashable) -> "BatchViews":
        """Return the encoded batches of one form, which all watches of this form share."""
        return self._batches.get(form, BatchViews)


class BatchViews:
    """Batches of changes that many watches send, encoded once for all of them.

    Watches of one kind get the same objects from the history of the store. Therefore the identities
    of the first and the last change and the size identify a batch.
    """

    def __init__(self) -> None:
        """Create a cache without batches."""
        self._kept: _Latest[tuple[Sequence[WatchEvent], bytes]] = _Latest(_KEPT_BATCHES)

    def get(self, changes: Sequence[WatchEvent], make: Callable[[], bytes]) -> bytes:
        """Return the encoded events of successive changes, of which there is at least one."""
        key = id(changes[0]), id(changes[-1]), len(changes)
        # The changes are kept with their events, so that their identities stay unique.
        return self._kept.get(key, lambda: (changes, make()))[1]


def _state(record: Record) -> Hashable:
    """Return the identity of the shown form of an object.

    An object that leaves a selection is shown in its old state with the new version. The hash of a
    body is computed once, and equal bodies are usually the same object.
    """
    return record.uid, record.version, record.body, record.node, record.deleting


class _Latest(Generic[Made]):
    """The most recent values."""

    def __init__(self, kept: int) -> None:
        self._values = LimitedMap[Hashable, Made](kept)

    def find(self, key: Hashable) -> Made | None:
        """Return a value; ``None`` if it is not cached."""
        return self._values.get(key)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return a value; create it if it is not cached."""
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = make()
        return found

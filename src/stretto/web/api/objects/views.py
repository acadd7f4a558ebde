"""Records in the form for watches, once for all watches: decoded objects and encoded events."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, Generic, TypeVar

from stretto.stores.store import Record, WatchEvent
from stretto.web.api.objects.rendering import rendered

Json = dict[str, Any]
Made = TypeVar("Made")

_KEPT: Final = 4096
"""Entries of each kind: watches read a change soon after it was made, or not at all."""
_KEPT_BATCHES: Final = 4
"""Batches of each form: many watches are woken by one group of writes."""
_FORMS: Final = 64
"""Forms of batches: kinds as clients accept them."""
_LARGE: Final = 32 << 10
"""Bytes of a body beyond which nothing is kept, so that the memory is bounded in bytes too."""


class RecordViews:
    """A bounded memory of decoded objects and of encoded events; large ones are made each time."""

    def __init__(self, kept: int = _KEPT) -> None:
        """Keep at most that many of each."""
        self._items: _Latest[Json] = _Latest(kept)
        self._events: _Latest[bytes] = _Latest(kept)
        self._converted: _Latest[Json] = _Latest(kept)
        self._batches: _Latest[BatchViews] = _Latest(_FORMS)

    def item(self, record: Record) -> Json:
        """The object of a record; it must not be changed."""
        if len(record.body) > _LARGE:
            return rendered(record)
        return self._items.get(_state(record), lambda: rendered(record))

    def event(self, record: Record, form: Hashable, make: Callable[[], bytes]) -> bytes:
        """An encoded event about a record, in some form."""
        if len(record.body) > _LARGE:
            return make()
        return self._events.get((_state(record), form), make)

    def converted(self, record: Record, form: Hashable) -> Json | None:
        """The object of a record as a webhook has converted it; ``None`` if it is not kept."""
        return self._converted.find((_state(record), form))

    def keep_converted(self, record: Record, form: Hashable, item: Json) -> None:
        """Keep a converted object; it must not be changed."""
        if len(record.body) <= _LARGE:
            self._converted.get((_state(record), form), lambda: item)

    def batches(self, form: Hashable) -> "BatchViews":
        """The encoded batches of one form, which all watches of that form share."""
        return self._batches.get(form, BatchViews)


class BatchViews:
    """Changes that many watches yield together, encoded once for all of them.

    Watches of one kind get the same objects from the history of the store, so that a batch is known
    by the identities of its first and its last change and by its size.
    """

    def __init__(self) -> None:
        """Without batches."""
        self._kept: _Latest[tuple[Sequence[WatchEvent], bytes]] = _Latest(_KEPT_BATCHES)

    def get(self, changes: Sequence[WatchEvent], make: Callable[[], bytes]) -> bytes:
        """The events about successive changes, of which there is at least one."""
        key = id(changes[0]), id(changes[-1]), len(changes)
        # The changes are kept with their events, so that no others have their identities.
        return self._kept.get(key, lambda: (changes, make()))[1]


def _state(record: Record) -> Hashable:
    """The shown form of an object: if it leaves a selection, its old state with the new version.

    The hash of a body is computed once, and equal bodies are usually the same object.
    """
    return record.uid, record.version, record.body, record.node, record.deleting


class _Latest(Generic[Made]):
    """The values that were made last."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._values: dict[Hashable, Made] = {}

    def find(self, key: Hashable) -> Made | None:
        """A value; ``None`` if it is not kept."""
        return self._values.get(key)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """A value, made if it is not kept."""
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = make()
            if len(self._values) > self._kept:
                del self._values[next(iter(self._values))]
        return found

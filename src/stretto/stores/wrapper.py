"""A store that passes everything on to another: what stands before a store is made from it."""

from collections.abc import Sequence

from stretto.api.wire.kinds import Kind
from stretto.stores.capabilities import Capabilities
from stretto.stores.store import (
    EVERYTHING,
    Bind,
    Deletion,
    Eviction,
    Listing,
    ListOptions,
    Patch,
    Record,
    Replies,
    Store,
    Update,
    Watch,
)


class StoreWrapper:
    """Answers as the store behind it does; what it does otherwise is said by whoever is made of it.

    Only what every store has is passed on: binding whole units is not.
    """

    def __init__(self, inner: Store) -> None:
        """Stand before a store."""
        self._inner = inner

    @property
    def capabilities(self) -> Capabilities:
        """Those of the store behind."""
        return self._inner.capabilities

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The object as it is now, or ``None``."""
        return self._inner.get(kind, namespace, name)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The objects of a kind that the selection names."""
        return self._inner.list(kind, selection)

    def watch(self, kind: Kind, since: int) -> Watch:
        """Changes of a kind after version ``since``."""
        return self._inner.watch(kind, since)

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Add objects."""
        return self._inner.create(kind, bodies)

    def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects."""
        return self._inner.update(kind, updates)

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; status is left alone."""
        return self._inner.patch(kind, patches)

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change the status of objects (and annotations of pods); all else is left alone."""
        return self._inner.patch_status(kind, patches)

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Remove objects."""
        return self._inner.delete(kind, deletions)

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods to nodes."""
        return self._inner.bind(binds)

    def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods within their disruption budgets."""
        return self._inner.evict(evictions)

    def close(self) -> None:
        """Close the store behind."""
        self._inner.close()

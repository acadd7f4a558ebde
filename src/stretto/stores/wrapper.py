"""Base class of stores that forward to another store and change some calls."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future

from stretto.api.wire.kinds import Kind
from stretto.stores.capabilities import Capabilities
from stretto.stores.store import (
    EVERYTHING,
    Bind,
    ChangeCallback,
    Deletion,
    Eviction,
    Listing,
    ListOptions,
    Patch,
    Record,
    Replies,
    Store,
    UnitReplies,
    Update,
    Watch,
    Write,
)


class StoreWrapper:
    """Store wrapper that forwards every call to an inner store.

    A subclass that changes a write must also override ``begin``.
    """

    def __init__(self, inner: Store) -> None:
        """Forward to ``inner``."""
        self._inner = inner

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the inner store."""
        return self._inner.capabilities

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """Return the current object, or ``None``."""
        return self._inner.get(kind, namespace, name)

    def get_at_once(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """Return the same as ``get``, without waiting for an unreachable store."""
        return self._inner.get_at_once(kind, namespace, name)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The selected objects of a kind."""
        return self._inner.list(kind, selection)

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        """Changes of the selected objects of a kind after version ``since``."""
        return self._inner.watch(kind, since, selection)

    def subscribe(self, callback: ChangeCallback) -> Callable[[], None]:
        """Call ``callback`` whenever a watch may have changes to poll."""
        return self._inner.subscribe(callback)

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Create objects."""
        return self._inner.create(kind, bodies)

    def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects."""
        return self._inner.update(kind, updates)

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; their status does not change."""
        return self._inner.patch(kind, patches)

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change only the status of objects, and annotations of pods."""
        return self._inner.patch_status(kind, patches)

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Delete objects."""
        return self._inner.delete(kind, deletions)

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods to nodes."""
        return self._inner.bind(binds)

    def bind_units(self, units: Sequence[Sequence[Bind]]) -> UnitReplies:
        """Bind units."""
        return self._inner.bind_units(units)

    def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods within their disruption budgets."""
        return self._inner.evict(evictions)

    def begin(self, write: Write) -> Future[Replies]:
        """Send a batch without waiting."""
        return self._inner.begin(write)

    def allowances(self) -> Mapping[str, int]:
        """Disruptions that each disruption budget allows now, by uid of the budget."""
        return self._inner.allowances()

    def close(self) -> None:
        """Close the inner store."""
        self._inner.close()

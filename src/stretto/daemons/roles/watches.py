"""Watches of a store view."""

from collections.abc import Callable, Sequence

from stretto.stores.store import Watch, WatchEvent


class MappedWatch:
    """A watch whose events are translated."""

    def __init__(
        self, inner: Watch, turned: Callable[[Sequence[WatchEvent]], Sequence[WatchEvent]]
    ) -> None:
        """Translate the events of another watch."""
        self._inner = inner
        self._mapped = turned

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """The next changes."""
        return list(self._mapped(self._inner.poll(limit)))

    def close(self) -> None:
        """Stop watching."""
        self._inner.close()


class EmptyWatch:
    """A watch without events."""

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """No events."""
        del limit
        return []

    def close(self) -> None:
        """Stop watching."""

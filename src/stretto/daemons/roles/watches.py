"""What a view's watches do with the changes that they see."""

from collections.abc import Callable, Sequence

from stretto.stores.store import Watch, WatchEvent


class MappedWatch:
    """Changes as somebody else reads them."""

    def __init__(
        self, inner: Watch, turned: Callable[[Sequence[WatchEvent]], Sequence[WatchEvent]]
    ) -> None:
        """See what another watch sees, after it was turned into what it means."""
        self._inner = inner
        self._mapped = turned

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """The next changes."""
        return list(self._mapped(self._inner.poll(limit)))

    def close(self) -> None:
        """Stop watching."""
        self._inner.close()


class EmptyWatch:
    """A watch that sees nothing."""

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """Nothing."""
        del limit
        return []

    def close(self) -> None:
        """Stop watching."""

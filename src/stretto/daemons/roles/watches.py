"""What a view's watches do with the changes that they see."""

from collections.abc import Callable, Sequence

from stretto.stores.store import Event, Watch


class TurnedWatch:
    """Changes as somebody else reads them."""

    def __init__(self, inner: Watch, turned: Callable[[Sequence[Event]], Sequence[Event]]) -> None:
        """See what another watch sees, after it was turned into what it means."""
        self._inner = inner
        self._turned = turned

    def poll(self, limit: int = 4096) -> list[Event]:
        """The next changes."""
        return list(self._turned(self._inner.poll(limit)))

    def close(self) -> None:
        """Stop watching."""
        self._inner.close()


class Silence:
    """A watch that sees nothing."""

    def poll(self, limit: int = 4096) -> list[Event]:
        """Nothing."""
        del limit
        return []

    def close(self) -> None:
        """Stop watching."""

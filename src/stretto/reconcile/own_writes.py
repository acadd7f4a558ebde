"""Store wrapper that shows the results of writes in a cache at once.

A server reports a write to its watches a moment after its answer. A controller that decides in
between would use the old object and write it again. Therefore the answer of a write is applied as
if the watch had reported it.
"""

from collections.abc import Callable, Sequence

from stretto.api.wire.kinds import Kind
from stretto.stores.store import Patch, Record, Replies, Store, Update, WriteOutcome
from stretto.stores.wrapper import StoreWrapper


class OwnWrites(StoreWrapper):
    """Store wrapper that passes the records of successful writes to a cache.

    Answers of asynchronous writes (``begin_…``) are not passed on: the caller notes them itself.
    """

    def __init__(self, inner: Store, note: Callable[[Record], None]) -> None:
        """Wrap a store; ``note`` receives each record after a write."""
        super().__init__(inner)
        self._note = note

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Create objects."""
        return self._noted(super().create(kind, bodies))

    def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects."""
        return self._noted(super().update(kind, updates))

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects."""
        return self._noted(super().patch(kind, patches))

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change the status of objects."""
        return self._noted(super().patch_status(kind, patches))

    def _noted(self, replies: Replies) -> Replies:
        for reply in replies:
            if reply.outcome is WriteOutcome.OK and reply.record is not None:
                self._note(reply.record)
        return replies

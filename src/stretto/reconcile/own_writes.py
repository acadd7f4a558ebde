"""Writes whose results a cache shows at once.

A server reports a write to its watches a moment after its answer. A controller that decides in
between would decide on the object as it was, and would write it again. Therefore the answer of a
write counts as if the watch had reported it.
"""

from collections.abc import Callable, Sequence

from stretto.api.wire.kinds import Kind
from stretto.stores.store import Patch, Record, Replies, Store, Update, WriteOutcome
from stretto.stores.wrapper import StoreWrapper


class OwnWrites(StoreWrapper):
    """Passes the records of successful writes on.

    Writes that are only begun are not passed on: the caller notes their answers itself.
    """

    def __init__(self, inner: Store, note: Callable[[Record], None]) -> None:
        """Wrap a store; ``note`` receives each record as it is after a write."""
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

"""The store of an embedded member as its clients access it: it serves kinds and checks types."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial

from stretto.api.codec import decode_as
from stretto.api.kinds.table import TABLE
from stretto.api.wire.kinds import Kind
from stretto.base.errors import InputError
from stretto.stores.immediate import answered
from stretto.stores.store import (
    Deletion,
    Patch,
    Replies,
    Reply,
    StatusReason,
    Store,
    Update,
    Write,
    WriteOutcome,
)
from stretto.stores.wrapper import StoreWrapper


class MemberStore(StoreWrapper):
    """Forwards requests for served kinds to the store of a member."""

    def __init__(self, inner: Store, serves: Callable[[Kind], bool]) -> None:
        """Forward to ``inner``.

        Args:
            inner: the objects of the member.
            serves: returns true if the member serves a kind at present.
        """
        super().__init__(inner)
        self._serves = serves

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Create objects."""
        if (refusal := self._refusal(kind)) is not None:
            return [refusal] * len(bodies)
        return [
            refused or self._inner.create(kind, [body])[0]
            for body, refused in zip(bodies, map(partial(_mistyped, kind), bodies), strict=True)
        ]

    def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects."""
        if (refusal := self._refusal(kind)) is not None:
            return [refusal] * len(updates)
        return [
            _mistyped(kind, each.body) or self._inner.update(kind, [each])[0] for each in updates
        ]

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; the status stays."""
        if (refusal := self._refusal(kind)) is not None:
            return [refusal] * len(patches)
        return self._inner.patch(kind, patches)

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Delete objects."""
        if (refusal := self._refusal(kind)) is not None:
            return [refusal] * len(deletions)
        return self._inner.delete(kind, deletions)

    def begin(self, write: Write) -> Future[Replies]:
        """Perform a write; the returned future is finished."""
        return answered(self, write)

    def _refusal(self, kind: Kind) -> Reply | None:
        if self._serves(kind):
            return None
        message = f"the member does not serve {kind.resource} {kind.version}"
        return Reply(WriteOutcome.REFUSED, StatusReason.NOT_FOUND, message)


def _mistyped(kind: Kind, body: bytes) -> Reply | None:
    """The refusal of an object with a field of a wrong type; ``None`` if there is none."""
    struct = TABLE.struct(kind) if kind in TABLE else None
    if struct is None:
        return None
    try:
        decode_as(struct, body, kind.kind)
    except InputError as error:
        return Reply(WriteOutcome.REFUSED, StatusReason.INVALID, str(error))
    return None

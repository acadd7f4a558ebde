"""The store of an embedded member as its clients reach it: it may be silent, and serves kinds."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from enum import Enum
from functools import partial
from typing import Final

from stretto.api.codec import decode_as
from stretto.api.kinds.table import TABLE
from stretto.api.wire.kinds import Kind
from stretto.base.errors import InputError, UnreachableError
from stretto.stores.immediate import answered
from stretto.stores.store import (
    EVERYTHING,
    ChangeCallback,
    Deletion,
    Listing,
    ListOptions,
    Patch,
    Record,
    Replies,
    Reply,
    StatusReason,
    Store,
    Update,
    Watch,
    WatchEvent,
    Write,
    WriteOutcome,
)
from stretto.stores.wrapper import StoreWrapper


class MemberMood(Enum):
    """How a member answers."""

    #: As usual.
    ANSWERS = "answers"
    #: Not at all.
    SILENT = "silent"
    #: With 429 to every request.
    BUSY = "busy"
    #: With 401 to every request: the credentials have expired.
    REFUSES = "refusing"


_REPLIES: Final = {
    MemberMood.SILENT: Reply(
        WriteOutcome.UNKNOWN, StatusReason.TIMEOUT, "the member does not answer"
    ),
    MemberMood.BUSY: Reply(
        WriteOutcome.REFUSED, StatusReason.TOO_MANY_REQUESTS, "the member is overloaded"
    ),
    MemberMood.REFUSES: Reply(
        WriteOutcome.REFUSED, StatusReason.FORBIDDEN, "the client certificate has expired"
    ),
}


class MemberStore(StoreWrapper):
    """Forwards to the store of a member, in its mood, for the kinds that it serves."""

    def __init__(self, inner: Store, serves: Callable[[Kind], bool]) -> None:
        """Forward to ``inner``.

        Args:
            inner: the objects of the member.
            serves: whether the member serves a kind now.
        """
        super().__init__(inner)
        self._serves = serves
        self._mood = MemberMood.ANSWERS
        self._callbacks: list[ChangeCallback] = []
        self._missed: set[Kind] = set()
        inner.subscribe(self._notify)

    @property
    def mood(self) -> MemberMood:
        """How it answers now."""
        return self._mood

    def set_mood(self, mood: MemberMood) -> None:
        """Answer otherwise from now on; watches catch up."""
        self._mood = mood
        if mood is MemberMood.ANSWERS:
            missed, self._missed = self._missed, set()
            for kind in missed:
                self._notify(kind)

    # ---------------------------------------------------------------- reads

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The current object, or ``None``.

        Raises:
            UnreachableError: the member does not answer.
        """
        self._check()
        return self._inner.get(kind, namespace, name)

    def get_at_once(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """As ``get``."""
        return self.get(kind, namespace, name)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The selected objects of a kind.

        Raises:
            UnreachableError: the member does not answer.
        """
        self._check()
        return self._inner.list(kind, selection)

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        """Changes of the selected objects of a kind; none while the member is silent."""
        return _MoodyWatch(self._inner.watch(kind, since, selection), self)

    def subscribe(self, callback: ChangeCallback) -> Callable[[], None]:
        """Call ``callback`` whenever a watch may have something to poll."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    # ---------------------------------------------------------------- writes

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

    # ---------------------------------------------------------------- inside

    def _check(self) -> None:
        if self._mood is not MemberMood.ANSWERS:
            raise UnreachableError("the member", _REPLIES[self._mood].message)

    def _refusal(self, kind: Kind) -> Reply | None:
        if self._mood is not MemberMood.ANSWERS:
            return _REPLIES[self._mood]
        if self._serves(kind):
            return None
        message = f"the member does not serve {kind.resource} {kind.version}"
        return Reply(WriteOutcome.REFUSED, StatusReason.NOT_FOUND, message)

    def _notify(self, kind: Kind) -> None:
        if self._mood is not MemberMood.ANSWERS:
            self._missed.add(kind)
            return
        for callback in tuple(self._callbacks):
            callback(kind)


def _mistyped(kind: Kind, body: bytes) -> Reply | None:
    """The refusal of an object with a field of a wrong type; API servers know all types."""
    struct = TABLE.struct(kind) if kind in TABLE else None
    if struct is None:
        return None
    try:
        decode_as(struct, body, kind.kind)
    except InputError as error:
        return Reply(WriteOutcome.REFUSED, StatusReason.INVALID, str(error))
    return None


class _MoodyWatch:
    """A watch that yields nothing while the member does not answer."""

    def __init__(self, inner: Watch, store: MemberStore) -> None:
        self._inner = inner
        self._store = store

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """The next changes."""
        return self._inner.poll(limit) if self._store.mood is MemberMood.ANSWERS else []

    def close(self) -> None:
        """Stop watching."""
        self._inner.close()

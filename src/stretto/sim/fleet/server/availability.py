"""An API server that is not always available: silent, busy, slow, or with stalled watches."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from enum import Enum
from typing import Final

from stretto.api.wire.kinds import POD, Kind
from stretto.base.errors import TooOldError, UnreachableError
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.stores.immediate import answered, perform
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
    Reply,
    StatusReason,
    Store,
    Update,
    Watch,
    WatchEvent,
    Write,
    WriteOutcome,
    WriteVerb,
)
from stretto.stores.wrapper import StoreWrapper


class ServerAvailability(Enum):
    """Availability of an API server."""

    #: It answers normally.
    ANSWERS = "answers"
    #: It does not answer.
    SILENT = "silent"
    #: It answers every request with 429.
    BUSY = "busy"
    #: It answers every request with 401, because the credentials have expired.
    REFUSES = "refusing"
    #: It answers after the time limit of every request: writes take effect, their answers are lost.
    SLOW = "slow"
    #: It answers normally, but its watches send nothing, so that caches become stale.
    STALLED = "stalled"


_REPLIES: Final = {
    ServerAvailability.SILENT: Reply(
        WriteOutcome.UNKNOWN, StatusReason.TIMEOUT, "the member does not answer"
    ),
    ServerAvailability.BUSY: Reply(
        WriteOutcome.REFUSED, StatusReason.TOO_MANY_REQUESTS, "the member is overloaded"
    ),
    ServerAvailability.REFUSES: Reply(
        WriteOutcome.REFUSED, StatusReason.FORBIDDEN, "the client certificate has expired"
    ),
    ServerAvailability.SLOW: Reply(
        WriteOutcome.UNKNOWN, StatusReason.TIMEOUT, "the member has not answered in time"
    ),
}
_READABLE: Final = frozenset({ServerAvailability.ANSWERS, ServerAvailability.STALLED})


class UnreliableStore(StoreWrapper):
    """The store of an API server that is not always available."""

    def __init__(self, inner: Store, failpoint: Failpoint = no_failpoint) -> None:
        """Forward to ``inner``.

        Args:
            inner: the objects of the server.
            failpoint: called before each write takes effect and before it is answered.
        """
        super().__init__(inner)
        self._failpoint = failpoint
        self._availability = ServerAvailability.ANSWERS
        self._callbacks: list[ChangeCallback] = []
        self._missed: set[Kind] = set()
        self._restarts = 0
        inner.subscribe(self._notify)

    @property
    def availability(self) -> ServerAvailability:
        """The present availability."""
        return self._availability

    @property
    def restarts(self) -> int:
        """Number of restarts of the server."""
        return self._restarts

    @property
    def is_readable(self) -> bool:
        """True if it answers requests that read."""
        return self._availability in _READABLE

    def set_availability(self, availability: ServerAvailability) -> None:
        """Set the availability; watches catch up when the server answers again."""
        self._availability = availability
        if availability is ServerAvailability.ANSWERS:
            missed, self._missed = self._missed, set()
            for kind in missed:
                self._notify(kind)

    def restart(self) -> None:
        """Restart the server: it answers, and every open watch has ended."""
        self._restarts += 1
        self.set_availability(ServerAvailability.ANSWERS)

    # ---------------------------------------------------------------- reads

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The current object, or ``None``.

        Raises:
            UnreachableError: the server does not answer.
        """
        self._check()
        return self._inner.get(kind, namespace, name)

    def get_at_once(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """As ``get``."""
        return self.get(kind, namespace, name)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The selected objects of a kind.

        Raises:
            UnreachableError: the server does not answer.
        """
        self._check()
        return self._inner.list(kind, selection)

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        """Changes of the selected objects of a kind; none while the server does not answer."""
        return _UnreliableWatch(self._inner.watch(kind, since, selection), self, since)

    def subscribe(self, callback: ChangeCallback) -> Callable[[], None]:
        """Call ``callback`` whenever a watch may have something to poll."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    # ---------------------------------------------------------------- writes

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Create objects."""
        return self._write(Write(WriteVerb.CREATE, kind, bodies))

    def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects."""
        return self._write(Write(WriteVerb.UPDATE, kind, updates))

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; the status stays."""
        return self._write(Write(WriteVerb.PATCH, kind, patches))

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change the status of objects; all else stays."""
        return self._write(Write(WriteVerb.PATCH_STATUS, kind, patches))

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Delete objects."""
        return self._write(Write(WriteVerb.DELETE, kind, deletions))

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods to nodes."""
        return self._write(Write(WriteVerb.BIND, POD, binds))

    def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods within their disruption budgets."""
        return self._write(Write(WriteVerb.EVICT, POD, evictions))

    def begin(self, write: Write) -> Future[Replies]:
        """Perform a write; the returned future is finished."""
        return answered(self, write)

    # ---------------------------------------------------------------- inside

    def _write(self, write: Write) -> Replies:
        """Perform a write, or return the error of an unavailable server."""
        if self._availability in _REPLIES and self._availability is not ServerAvailability.SLOW:
            return [_REPLIES[self._availability]] * len(write.items)
        where = f"{write.verb.value} {write.kind.kind}"
        self._failpoint(f"{where} sent")
        replies = perform(self._inner, write)
        self._failpoint(f"{where} done")
        if self._availability is ServerAvailability.SLOW:
            return [_REPLIES[self._availability]] * len(write.items)
        return replies

    def _check(self) -> None:
        if not self.is_readable:
            raise UnreachableError("the member", _REPLIES[self._availability].message)

    def _notify(self, kind: Kind) -> None:
        if self._availability is not ServerAvailability.ANSWERS:
            self._missed.add(kind)
            return
        for callback in tuple(self._callbacks):
            callback(kind)


class _UnreliableWatch:
    """A watch that yields nothing while the server does not answer, and ends with the server."""

    def __init__(self, inner: Watch, store: UnreliableStore, since: int) -> None:
        self._inner = inner
        self._store = store
        self._since = since
        self._restarts = store.restarts

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """The next changes.

        Raises:
            TooOldError: the server was restarted, so the reader must list again.
        """
        if self._store.availability is not ServerAvailability.ANSWERS:
            return []
        if self._restarts != self._store.restarts:
            raise TooOldError(f"{self._since} of an ended watch", "the next list")
        return self._inner.poll(limit)

    def close(self) -> None:
        """Stop watching."""
        self._inner.close()

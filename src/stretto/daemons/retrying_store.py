"""Store wrapper whose reads wait while the server is unreachable.

The plane reads in the middle of a step, where an error would leave the step half done. Without the
server the plane cannot decide. Therefore a read waits until the server answers again, the daemon
stops or the lease is lost.
"""

from collections.abc import Callable
from typing import TypeVar

from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock
from stretto.base.errors import NotAllowedError, UnreachableError
from stretto.stores.lease import GRANTED_WITHIN
from stretto.stores.store import EVERYTHING, Listing, ListOptions, Record, Store
from stretto.stores.wrapper import StoreWrapper

T = TypeVar("T")

PAUSE = 0.5
"""Seconds between attempts; the inner store has already retried."""


class StoppedError(Exception):
    """The daemon stops or has lost the lease; waiting reads end."""


class RetryingStore(StoreWrapper):
    """Store wrapper that retries reads until the server answers or ``check`` ends the wait."""

    def __init__(
        self,
        inner: Store,
        clock: Clock,
        check: Callable[[], None],
        notify: Callable[[str, str], None],
    ) -> None:
        """Wrap a store.

        Args:
            inner: the store.
            clock: waits between attempts.
            check: called after each failure; raises ``StoppedError`` to end the wait.
            notify: called with the read and its error; with an empty text once it succeeds.
        """
        super().__init__(inner)
        self._clock = clock
        self._check = check
        self._notify = notify
        self._worked: set[str] = set()

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The current object, or ``None``; waits for the server."""
        return self._read(f"get {kind.resource}", lambda: self._inner.get(kind, namespace, name))

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The selected objects; waits for the server.

        Raises:
            NotAllowedError: the permission is missing and was never granted.
        """
        return self._read(f"list {kind.resource}", lambda: self._inner.list(kind, selection))

    def _read(self, what: str, read: Callable[[], T]) -> T:
        refused_since = float("inf")
        while True:
            try:
                found = read()
            except UnreachableError as error:
                self._notify(what, str(error))
            except NotAllowedError as error:
                now = self._clock.monotonic()
                refused_since = min(refused_since, now)
                if what not in self._worked and now - refused_since >= GRANTED_WITHIN:
                    raise  # never granted: a wait would hide the missing permission
                self._notify(what, str(error))
            else:
                self._worked.add(what)
                self._notify(what, "")
                return found
            self._check()
            self._clock.sleep(PAUSE)

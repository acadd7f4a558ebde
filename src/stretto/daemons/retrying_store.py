"""A store whose reads wait for a server that is away.

The plane reads in the middle of a step, where an error would leave the step half done. While the
server is away there is nothing to decide; so a read waits until it is back, and ends only when
the daemon stops or no longer leads, with which the whole plane goes.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock
from stretto.base.errors import NotAllowedError, UnreachableError
from stretto.control.lease import GRANTED_WITHIN
from stretto.stores.store import EVERYTHING, Listing, ListOptions, Record, Store
from stretto.stores.wrapper import StoreWrapper

T = TypeVar("T")

LATE: Final = ("begin_bind", "begin_patch_status", "begin_evict", "begin_delete")
"""Writes that are sent without waiting, where the store behind can."""
PAUSE = 0.5
"""Seconds between tries: the store behind has had patience of its own."""


class StoppedError(Exception):
    """Whoever waits for the server need not wait any more."""


class RetryingStore(StoreWrapper):
    """Any store, with reads that do not fail while there is hope."""

    def __init__(
        self,
        inner: Store,
        clock: Clock,
        check: Callable[[], None],
        tell: Callable[[str, str], None],
    ) -> None:
        """Stand before a store.

        Args:
            inner: the store.
            clock: waits between tries.
            check: asked after each failure; raises ``StoppedError`` when waiting is over.
            tell: told what is read and what is wrong; an empty text when it is well again.
        """
        super().__init__(inner)
        for name in LATE:
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))
        self._clock = clock
        self._check = check
        self._tell = tell
        self._worked: set[str] = set()

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The object as it is now, or ``None``; waits for the server."""
        return self._read(f"get {kind.resource}", lambda: self._inner.get(kind, namespace, name))

    def get_at_once(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The same for those who can do without.

        Raises:
            UnreachableError: the server does not answer.
        """
        return self._inner.get(kind, namespace, name)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The objects that a selection names; waits for the server.

        Raises:
            NotAllowedError: the right is missing, and always was.
        """
        return self._read(f"list {kind.resource}", lambda: self._inner.list(kind, selection))

    def _read(self, what: str, read: Callable[[], T]) -> T:
        refused_since = float("inf")
        while True:
            try:
                found = read()
            except UnreachableError as error:
                self._tell(what, str(error))
            except NotAllowedError as error:
                now = self._clock.monotonic()
                refused_since = min(refused_since, now)
                if what not in self._worked and now - refused_since >= GRANTED_WITHIN:
                    raise  # nobody has granted it: waiting would hide that
                self._tell(what, str(error))
            else:
                self._worked.add(what)
                self._tell(what, "")
                return found
            self._check()
            self._clock.sleep(PAUSE)

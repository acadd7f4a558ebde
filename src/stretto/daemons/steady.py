"""A store whose reads wait for a server that is away.

The plane reads in the middle of a step, where an error would leave the step half done. While the
server is away there is nothing to decide; so a read waits until it is back, and ends only when
the daemon stops or no longer leads, with which the whole plane goes.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from stretto.api.kinds import Kind
from stretto.base.clock import Clock
from stretto.base.errors import NotAllowedError, UnreachableError
from stretto.stores.capabilities import Capabilities
from stretto.stores.store import (
    EVERYTHING,
    Bind,
    Deletion,
    Eviction,
    Listing,
    Patch,
    Record,
    Replies,
    Selection,
    Store,
    Update,
    Watch,
)

T = TypeVar("T")

PAUSE = 0.5
"""Seconds between tries: the store behind has had patience of its own."""


class StoppedError(Exception):
    """Whoever waits for the server need not wait any more."""


class SteadyStore:
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
        self._inner = inner
        self._clock = clock
        self._check = check
        self._tell = tell
        self._worked: set[str] = set()

    @property
    def capabilities(self) -> Capabilities:
        """Those of the store behind."""
        return self._inner.capabilities

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The object as it is now, or ``None``; waits for the server."""
        return self._read(f"get {kind.resource}", lambda: self._inner.get(kind, namespace, name))

    def list(self, kind: Kind, selection: Selection = EVERYTHING) -> Listing:
        """The objects that a selection names; waits for the server.

        Raises:
            NotAllowedError: the right is missing, and always was.
        """
        return self._read(f"list {kind.resource}", lambda: self._inner.list(kind, selection))

    def watch(self, kind: Kind, since: int) -> Watch:
        """Changes of a kind after version ``since``."""
        return self._inner.watch(kind, since)

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Add objects."""
        return self._inner.create(kind, bodies)

    def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects."""
        return self._inner.update(kind, updates)

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; status is left alone."""
        return self._inner.patch(kind, patches)

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change the status of objects; all else is left alone."""
        return self._inner.patch_status(kind, patches)

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Remove objects."""
        return self._inner.delete(kind, deletions)

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods to nodes."""
        return self._inner.bind(binds)

    def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods within their disruption budgets."""
        return self._inner.evict(evictions)

    def close(self) -> None:
        """Close the store behind."""
        self._inner.close()

    def _read(self, what: str, read: Callable[[], T]) -> T:
        while True:
            try:
                found = read()
            except UnreachableError as error:
                self._tell(what, str(error))
            except NotAllowedError as error:
                if what not in self._worked:
                    raise  # nobody has granted it: waiting would hide that
                self._tell(what, str(error))
            else:
                self._worked.add(what)
                self._tell(what, "")
                return found
            self._check()
            self._clock.sleep(PAUSE)

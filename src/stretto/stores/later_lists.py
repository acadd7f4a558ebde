"""Lists of a store that answers later: the caller lists again instead of waiting.

A controller that follows many clusters must not wait for a slow or silent cluster. The first call
begins the list. Later calls raise ``NotListedError`` until the list has arrived.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from stretto.api.wire.kinds import Kind
from stretto.base.errors import StrettoError
from stretto.stores.store import EVERYTHING, ChangeCallback, Listing, ListOptions, Store
from stretto.stores.wrapper import StoreWrapper


class NotListedError(StrettoError):
    """A list was requested and has not arrived yet."""

    def __init__(self, kind: Kind) -> None:
        """Create the error for a kind."""
        super().__init__(kind)
        #: The kind.
        self.kind = kind

    def __str__(self) -> str:
        return f"{self.kind.resource} are not listed yet"


class ListingStore(Store, Protocol):
    """A store that can begin a list."""

    def begin_list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Future[Listing]:
        """Begin to list a kind; the future raises the errors of ``list``."""
        ...


class LaterLists(StoreWrapper):
    """Store wrapper that answers ``list`` from a list that was begun before."""

    def __init__(self, inner: ListingStore) -> None:
        """Wrap a store; nothing is listed yet."""
        super().__init__(inner)
        self._listing = inner
        self._begun: dict[tuple[Kind, ListOptions], Future[Listing]] = {}
        self._callbacks: tuple[ChangeCallback, ...] = ()

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The objects of a kind, once the list has arrived.

        Raises:
            NotListedError: the list has not arrived yet.
            UnreachableError: the store did not answer; the next call begins another list.
            NotAllowedError: the permission to list them is missing.
        """
        place = kind, selection
        begun = self._begun.get(place)
        if begun is None:
            begun = self._begun[place] = self._listing.begin_list(kind, selection)
            begun.add_done_callback(lambda _: self._announce(kind))
        if not begun.done():
            raise NotListedError(kind)
        del self._begun[place]
        return begun.result()

    def subscribe(self, callback: ChangeCallback) -> Callable[[], None]:
        """Call ``callback`` also when a list has arrived, on any thread."""
        end_inner = super().subscribe(callback)
        self._callbacks = (*self._callbacks, callback)

        def end() -> None:
            end_inner()
            self._callbacks = tuple(each for each in self._callbacks if each is not callback)

        return end

    def _announce(self, kind: Kind) -> None:
        for callback in self._callbacks:
            callback(kind)

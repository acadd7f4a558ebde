"""A store of which one namespace is read, for readers without rights on other namespaces."""

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.stores.store import EVERYTHING, Listing, ListOptions, Store, Watch
from stretto.stores.wrapper import StoreWrapper


class ScopedStore(StoreWrapper):
    """Store wrapper that lists and watches one namespace; other calls are forwarded unchanged."""

    def __init__(self, inner: Store, namespace: str) -> None:
        """Read ``namespace`` of ``inner``."""
        super().__init__(inner)
        self._namespace = namespace

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The selected objects of the namespace."""
        return self._inner.list(kind, self._scoped(selection))

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        """Changes of the selected objects of the namespace."""
        return self._inner.watch(kind, since, self._scoped(selection))

    def _scoped(self, selection: ListOptions) -> ListOptions:
        return msgspec.structs.replace(selection, namespace=self._namespace)

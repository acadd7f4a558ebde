"""Ends namespaces: the objects in a namespace that is deleted go with it."""

from collections.abc import Callable, Hashable, Iterable
from typing import Final

from stretto.api.wire.kinds import NAMESPACE, Kind
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, StoreCache


class NamespaceEnd:
    """Deletes what is left in a namespace that is gone."""

    def __init__(self, cache: StoreCache, kinds: Callable[[], Iterable[Kind]]) -> None:
        """For one cluster.

        Args:
            cache: caches of its store.
            kinds: the kinds that it serves.
        """
        #: Name in logs and messages.
        self.name: Final = f"{cache.name}/namespaces"
        self._cache = cache
        self._kinds = kinds
        cache.follow(NAMESPACE)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """A namespace that is gone."""
        if change.kind == NAMESPACE and change.new is None:
            yield change.object.record.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Delete the objects of one namespace."""
        assert isinstance(key, str)
        store = self._cache.store
        if store.get(NAMESPACE, "", key) is not None:
            return None
        for kind in self._kinds():
            if kind.namespaced:
                for item in tuple(self._cache.follow_synced(kind).in_namespace(key)):
                    if not item.is_terminating:
                        writes.delete(store, item)
        return None

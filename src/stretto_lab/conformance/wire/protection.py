"""Finalizers that the recorded API servers add, and that nothing removed during a recording."""

from collections.abc import Hashable, Iterable
from typing import Final

from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, PERSISTENT_VOLUME_CLAIM, Kind
from stretto.federation import names
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, StoreCache, StoredObject

_KINDS: Final = (PERSISTENT_VOLUME_CLAIM, CUSTOM_RESOURCE_DEFINITION)
_FINALIZERS: Final = {
    PERSISTENT_VOLUME_CLAIM.kind: "kubernetes.io/pvc-protection",
    CUSTOM_RESOURCE_DEFINITION.kind: "customresourcecleanup.apiextensions.k8s.io",
}
"""Finalizers by kind."""


class ProtectionController:
    """Adds the finalizers to the objects of a member."""

    def __init__(self, cache: StoreCache) -> None:
        """Initialize for the objects of one member."""
        #: Name in logs and messages.
        self.name = f"{cache.name}/protection"
        self._cache = cache
        for kind in _KINDS:
            cache.follow(kind)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Key of a new object of a protected kind."""
        if change.source != self._cache.name or change.kind.kind not in _FINALIZERS:
            return
        if change.old is None:
            yield change.kind, *change.object.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Add the finalizer to one object."""
        assert isinstance(key, tuple)
        kind, namespace, name = key
        assert isinstance(kind, Kind)
        item = self._cache.follow(kind).get(namespace, name)
        if item is not None and not item.is_terminating and _stays(item):
            fields = writes.with_finalizer(item.fields, _FINALIZERS[kind.kind], present=True)
            if fields is not None:
                writes.update(self._cache.store, item, fields)
        return None


def _stays(item: StoredObject) -> bool:
    """True if recordings show an object that waits for its finalizer, as other clients end it."""
    return item.record.kind.kind != "CustomResourceDefinition" or names.MANAGED in item.labels

"""Ends of namespaces: their content is deleted, the pods before the rest."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Final

from stretto.api.wire.kinds import NAMESPACE, POD, Kind
from stretto.reconcile.cache import Change, StoreCache, StoredObject
from stretto.stores.store import ListOptions
from stretto.workloads.deletion import DeletableObjects, Propagation

_AGAIN_S: Final = 0.1
"""Seconds before a namespace with content is looked at again."""


def _pods_first(kind: Kind) -> tuple[bool, str, str]:
    return kind != POD, kind.resource, kind.version


@dataclass
class NamespaceContent:
    """What is left in a namespace."""

    #: Objects by kind.
    remaining: Counter[Kind] = field(default_factory=Counter)
    #: Objects by finalizer.
    finalizers: Counter[str] = field(default_factory=Counter)

    def note(self, item: StoredObject) -> None:
        """Count an object that is left."""
        self.remaining[item.record.kind] += 1
        self.finalizers.update(item.metadata.get("finalizers") or ())


SettleNamespace = Callable[[str, NamespaceContent], None]
"""Reports what is left in a namespace that is being deleted, or removes it if nothing is."""


class NamespaceEndController:
    """Deletes what namespaces contain that are being deleted or are gone.

    Where the server holds a namespace until it is empty, everything else waits for the last pod
    (KEP 5080).
    """

    def __init__(
        self,
        cache: StoreCache,
        objects: DeletableObjects,
        settle: SettleNamespace = lambda _name, _content: None,
    ) -> None:
        """For the namespaces of a cluster.

        Args:
            cache: caches of its store.
            objects: the kinds that it serves, and their deletion.
            settle: called with what is left, for a namespace that exists.
        """
        #: Name in logs and messages.
        self.name = f"{cache.name}/namespace-end"
        self._store = cache.store
        self._objects = objects
        self._settle = settle
        cache.follow(NAMESPACE)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """A namespace that is being deleted or is gone."""
        if change.kind == NAMESPACE and (change.new is None or change.new.is_terminating):
            yield change.object.record.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Delete what a namespace contains; the next attempt follows until nothing is left."""
        found = self._store.get(NAMESPACE, "", str(key))
        if found is not None and not found.deleting:
            return None
        content = self._delete_content(str(key), waits=found is not None)
        if found is None:
            return None
        self._settle(str(key), content)
        return _AGAIN_S if content.remaining else None

    def _delete_content(self, namespace: str, *, waits: bool) -> NamespaceContent:
        content = NamespaceContent()
        kinds = {each for each in self._objects.kinds().values() if each.namespaced}
        for kind in sorted(kinds, key=_pods_first):
            if kind != POD and waits and content.remaining[POD]:
                break
            self._empty(kind, namespace, content)
        return content

    def _empty(self, kind: Kind, namespace: str, content: NamespaceContent) -> None:
        """Delete the objects of a kind, and note which remain."""
        within = ListOptions(namespace)
        records = self._store.list(kind, within).records
        for record in records:
            if not record.deleting:
                self._objects.delete(StoredObject(record), Propagation.BACKGROUND)
        if records:
            for record in self._store.list(kind, within).records:
                content.note(StoredObject(record))

"""Ends of namespaces: the pods are deleted first, then the other objects."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Final

from stretto.api.wire.kinds import NAMESPACE, POD, Kind
from stretto.reconcile.cache import Change, StoreCache, StoredObject
from stretto.stores.store import ListOptions
from stretto.workloads.deletion import DeletableObjects, Propagation

_AGAIN_S: Final = 0.1
"""Seconds before a namespace with content is reconciled again."""


def _pods_first(kind: Kind) -> tuple[bool, str, str]:
    return kind != POD, kind.resource, kind.version


@dataclass
class NamespaceContent:
    """Remaining objects of a namespace."""

    #: Number of objects by kind.
    remaining: Counter[Kind] = field(default_factory=Counter)
    #: Number of objects by finalizer.
    finalizers: Counter[str] = field(default_factory=Counter)

    def note(self, item: StoredObject) -> None:
        """Count a remaining object."""
        self.remaining[item.record.kind] += 1
        self.finalizers.update(item.metadata.get("finalizers") or ())


SettleNamespace = Callable[[str, NamespaceContent], None]
"""Reports the remaining objects of a namespace that is being deleted; removes an empty one."""


class NamespaceEndController:
    """Controller that deletes the contents of namespaces that are being deleted or are gone.

    If the server keeps a namespace until it is empty, all other objects wait for the last pod (KEP
    5080).
    """

    def __init__(
        self,
        cache: StoreCache,
        objects: DeletableObjects,
        settle: SettleNamespace = lambda _name, _content: None,
    ) -> None:
        """Control the namespaces of a cluster.

        Args:
            cache: caches of its store.
            objects: the kinds that it serves, and their deletion.
            settle: called with the remaining objects of an existing namespace.
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
        """Delete the contents of a namespace; return the seconds until the next attempt, if any."""
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
        """Delete the objects of a kind, and count the remaining ones."""
        within = ListOptions(namespace)
        records = self._store.list(kind, within).records
        for record in records:
            if not record.deleting:
                self._objects.delete(StoredObject(record), Propagation.BACKGROUND)
        if records:
            for record in self._store.list(kind, within).records:
                content.note(StoredObject(record))

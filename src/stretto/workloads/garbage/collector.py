"""The garbage collector: orphan, foreground and background deletion of dependents.

As in kube-controller-manager: an object is deleted once none of its owners exists. A reference to a
missing owner is removed while other owners exist. ``orphan`` removes the references of all
dependents. ``foregroundDeletion`` waits for dependents that block the deletion of their owner.
"""

from collections.abc import Collection, Hashable, Iterable
from typing import Final

from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, StoreCache, StoredObject
from stretto.workloads.deletion import FOREGROUND, ORPHAN, DeletableObjects, Propagation
from stretto.workloads.garbage.graph import (
    DependencyGraph,
    OwnerState,
    Reference,
    key_of,
    references_of,
    waits_for_dependents,
)

_SERVED: Final = "served kinds"
_STATED: Final = {ORPHAN: Propagation.ORPHAN, FOREGROUND: Propagation.FOREGROUND}
"""Propagation policy of each finalizer."""


class GarbageCollector:
    """Controller that deletes objects without owners, and completes deletions that wait."""

    def __init__(self, cache: StoreCache, objects: DeletableObjects) -> None:
        """Collect over all kinds of a cluster.

        Args:
            cache: caches of its store.
            objects: the kinds that it serves, and their deletion.
        """
        #: Name in logs and messages.
        self.name = f"{cache.name}/garbage-collector"
        self._cache = cache
        self._objects = objects
        self._graph = DependencyGraph(cache, objects)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Objects with new or changed owners, and objects whose owner or dependent has changed."""
        if change.source != self._cache.name:
            return
        if change.kind == CUSTOM_RESOURCE_DEFINITION:
            yield _SERVED
        before = references_of(change.old) if change.old is not None else []
        now = references_of(change.new) if change.new is not None else []
        if change.new is None:
            yield from (key_of(each) for each in self._graph.dependents(change.object.record.uid))
        elif change.new.is_terminating or (now and now != before):
            yield key_of(change.new)
        for reference in before:
            if reference not in now:  # an owner may have waited for this dependent
                owner = self._graph.owner_key(change.object, reference)
                if owner is not None:
                    yield owner

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Collect one object, or continue its deletion."""
        if key == _SERVED:
            self._graph.follow_served()
            return None
        assert isinstance(key, tuple)
        item = self._graph.get(key)
        if item is None:
            return None
        if item.is_terminating:
            self._continue_deletion(item)
        else:
            self._collect(item)
        return None

    # ---------------------------------------------------------------- objects being deleted

    def _continue_deletion(self, item: StoredObject) -> None:
        finalizers = item.metadata.get("finalizers") or ()
        if ORPHAN in finalizers:
            for each in self._graph.dependents(item.record.uid):
                self._remove_references(each, {item.record.uid})
            self._remove_finalizer(item, ORPHAN)
        elif FOREGROUND in finalizers:
            dependents = list(self._graph.dependents(item.record.uid))
            for each in dependents:
                if not each.is_terminating:
                    self._collect(each)
            if not any(_blocks(each, item.record.uid) for each in dependents):
                self._remove_finalizer(item, FOREGROUND)

    def _remove_finalizer(self, item: StoredObject, finalizer: str) -> None:
        kept = [each for each in item.metadata["finalizers"] if each != finalizer]
        writes.patch(self._cache.store, item, {"metadata": {"finalizers": kept or None}})

    # ---------------------------------------------------------------- objects with owners

    def _collect(self, item: StoredObject) -> None:
        references = references_of(item)
        if not references:
            return
        states = [self._graph.owner_state(item, each) for each in references]
        if OwnerState.PRESENT in states or OwnerState.UNKNOWN in states:
            pairs = zip(references, states, strict=True)
            ended = (OwnerState.ABSENT, OwnerState.WAITING)
            self._remove_references(item, {each["uid"] for each, found in pairs if found in ended})
            return
        if OwnerState.WAITING in states and self._unblocks(item, references):
            return  # the change of its references makes the object due again
        self._objects.delete(item, self._propagation(item, states))

    def _propagation(self, item: StoredObject, states: Collection[OwnerState]) -> Propagation:
        """Propagation for the dependents of an object that is deleted with its owner."""
        if OwnerState.WAITING in states and any(self._graph.dependents(item.record.uid)):
            return Propagation.FOREGROUND
        finalizers = item.metadata.get("finalizers") or ()
        stated = (found for each, found in _STATED.items() if each in finalizers)
        return next(stated, Propagation.BACKGROUND)

    def _unblocks(self, item: StoredObject, references: Collection[Reference]) -> bool:
        """Break a cycle of waiting owners: the object stops blocking its owners."""
        if not any(each.get("blockOwnerDeletion") for each in references):
            return False
        if not any(map(waits_for_dependents, self._graph.dependents(item.record.uid))):
            return False
        freed = [{**each, "blockOwnerDeletion": False} for each in references]
        writes.patch(self._cache.store, item, {"metadata": {"ownerReferences": freed}})
        return True

    def _remove_references(self, item: StoredObject, uids: Collection[str]) -> None:
        """Remove the references to some owners."""
        references = references_of(item)
        kept = [each for each in references if each["uid"] not in uids]
        if kept != references:
            change = {"metadata": {"ownerReferences": kept or None}}
            writes.patch(self._cache.store, item, change)


def _blocks(item: StoredObject, uid: str) -> bool:
    """Return whether an object blocks the foreground deletion of an owner."""
    owners: list[Reference] = references_of(item)
    return any(each["uid"] == uid and each.get("blockOwnerDeletion") for each in owners)

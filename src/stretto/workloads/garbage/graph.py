"""Owners and dependents over all kinds of a cluster."""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final

from stretto.api.wire.kinds import EVENT, Kind
from stretto.reconcile.cache import StoreCache, StoredObject
from stretto.workloads.deletion import FOREGROUND, DeletableObjects, KindName

Reference = Mapping[str, Any]
"""An entry of ``metadata.ownerReferences``."""
ObjectKey = tuple[Kind, str, str]
"""Kind, namespace and name of an object."""

_OWNERS: Final = "owners"
_WORD: Final = b'"ownerReferences"'


class OwnerState(Enum):
    """State of the owner in an owner reference."""

    #: The owner exists.
    PRESENT = "present"
    #: The owner does not exist.
    ABSENT = "absent"
    #: The owner is being deleted and waits for its dependents.
    WAITING = "waiting"
    #: The kind is not served, or its objects cannot own this one.
    UNKNOWN = "unknown"


def references_of(item: StoredObject) -> list[Reference]:
    """The owner references of an object; an object without owners is not decoded."""
    if _WORD not in item.record.body:
        return []
    return list(item.metadata.get("ownerReferences") or ())


def waits_for_dependents(item: StoredObject) -> bool:
    """Return whether an object is being deleted in the foreground."""
    return item.is_terminating and FOREGROUND in (item.metadata.get("finalizers") or ())


def key_of(item: StoredObject) -> ObjectKey:
    """The key of an object."""
    return item.record.kind, item.record.namespace, item.record.name


def _owner_uids(item: StoredObject) -> Iterable[str]:
    return dict.fromkeys(str(each["uid"]) for each in references_of(item))


class DependencyGraph:
    """The objects of all kinds that can be deleted, indexed by their owners."""

    def __init__(self, cache: StoreCache, objects: DeletableObjects) -> None:
        """Follow the kinds that can be deleted.

        Args:
            cache: caches of the cluster's store.
            objects: the kinds that it serves.
        """
        self._cache = cache
        self._objects = objects
        self._stored: dict[KindName, Kind] = {}
        self._kinds: tuple[Kind, ...] = ()
        self.follow_served()

    def follow_served(self) -> None:
        """Follow newly served kinds, and stop following kinds that are no longer served."""
        served = self._objects.kinds().items()
        self._stored = {name: kind for name, kind in served if kind != EVENT}
        kinds = tuple(dict.fromkeys(self._stored.values()))
        for kind in self._kinds:
            if kind not in kinds:
                self._cache.unfollow(kind)
        for kind in kinds:
            self._cache.follow(kind).add_index(_OWNERS, _owner_uids)
        self._kinds = kinds

    def get(self, key: ObjectKey) -> StoredObject | None:
        """Return an object, or ``None``."""
        kind, namespace, name = key
        return self._cache.follow(kind).get(namespace, name) if kind in self._kinds else None

    def dependents(self, uid: str) -> Iterator[StoredObject]:
        """The objects that an object owns."""
        for kind in self._kinds:
            yield from list(self._cache.follow(kind).indexed(_OWNERS, uid))

    def owner_key(self, item: StoredObject, reference: Reference) -> ObjectKey | None:
        """The key of an owner; ``None`` if its kind is not served or cannot own the object."""
        kind = self._stored.get((str(reference["apiVersion"]), str(reference["kind"])))
        if kind is None or (kind.namespaced and not item.record.namespace):
            return None
        return kind, item.record.namespace if kind.namespaced else "", str(reference["name"])

    def owner_state(self, item: StoredObject, reference: Reference) -> OwnerState:
        """The current state of the owner in an owner reference of an object."""
        key = self.owner_key(item, reference)
        if key is None:
            return OwnerState.UNKNOWN
        record = self._cache.store.get(*key)
        if record is None or record.uid != reference["uid"]:
            return OwnerState.ABSENT
        if record.deleting and FOREGROUND in (
            StoredObject(record).metadata.get("finalizers") or ()
        ):
            return OwnerState.WAITING
        return OwnerState.PRESENT

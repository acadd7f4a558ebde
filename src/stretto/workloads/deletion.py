"""The interface of controllers that delete dependents and contents to a cluster.

An API server and a bare store implement it: it lists the stored kinds and deletes one object.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from stretto.api.wire.kinds import Kind
from stretto.reconcile import writes
from stretto.reconcile.cache import StoredObject
from stretto.stores.store import Store

ORPHAN: Final = "orphan"
"""Finalizer of an object whose dependents are orphaned."""
FOREGROUND: Final = "foregroundDeletion"
"""Finalizer of an object that waits until its dependents are deleted."""

KindName = tuple[str, str]
"""``apiVersion`` and ``kind``, as in an owner reference."""


class Propagation(Enum):
    """Effect of a deletion on the dependents of an object."""

    #: The dependents are deleted after the object.
    BACKGROUND = "Background"
    #: The dependents are deleted before the object.
    FOREGROUND = "Foreground"
    #: The dependents are orphaned: they are not deleted.
    ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True)
class DeletableObjects:
    """The kinds of a cluster whose objects can be deleted, and the deletion of one object."""

    #: Maps each name under which a kind is served to the kind under which its objects are stored.
    kinds: Callable[[], Mapping[KindName, Kind]]
    #: Deletes an object; raises ``RetryError`` if the object has changed since it was read.
    delete: Callable[[StoredObject, Propagation], None]


def objects_of_store(store: Store, kinds: Callable[[], Iterable[Kind]]) -> DeletableObjects:
    """The objects of a store without an API server; finalizers replace propagation policies.

    Args:
        store: the store that contains the objects.
        kinds: returns the kinds that it stores now.
    """

    def delete(item: StoredObject, propagation: Propagation) -> None:
        if propagation is Propagation.FOREGROUND:
            finalizers = item.metadata.get("finalizers") or []
            if FOREGROUND not in finalizers:
                changed = {"metadata": {"finalizers": [*finalizers, FOREGROUND]}}
                writes.patch(store, item, changed)
        writes.delete(store, item)

    return DeletableObjects(
        lambda: {(each.api_version, each.kind): each for each in kinds()}, delete
    )

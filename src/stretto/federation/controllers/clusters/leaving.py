"""Removal of objects from a member that leaves: managed objects, then system objects."""

from collections.abc import Iterator

from stretto.api.wire.kinds import NAMESPACE
from stretto.federation import names
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.members.orphans import is_orphaned
from stretto.federation.objects.naming import federated_name
from stretto.reconcile import writes
from stretto.reconcile.cache import StoreCache, StoredObject
from stretto.stores.store import Store


def managed(fleet: ClusterFleet, member: StoreCache) -> list[StoredObject]:
    """The managed objects of a member, except those that outlive the federation.

    Namespaces that are being deleted do not count: a controller of the member removes them.

    Raises:
        NotListedError: the objects of a kind are not listed yet.
    """
    found = _managed(fleet, member)
    return [each for each in found if not (each.is_terminating and each.record.kind == NAMESPACE)]


def delete(store: Store, objects: list[StoredObject]) -> int:
    """Delete the objects that are not being deleted yet.

    Returns:
        The number of objects that existed before the deletions.

    Raises:
        RetryError: the member refused a deletion.
    """
    for item in objects:
        if not item.is_terminating:
            writes.delete(store, item)
    return len(objects)


def release_namespace(store: Store, namespace: str, cluster: StoredObject) -> None:
    """Delete the system namespace in a member if it belongs to this cluster.

    The service account and its rights are deleted with it.

    Raises:
        RetryError: the member refused the deletion.
        UnreachableError: the member does not answer.
    """
    record = store.get_at_once(NAMESPACE, "", namespace)
    if record is None:
        return
    found = StoredObject(record)
    if not found.is_terminating and found.annotations.get(names.CLUSTER_UID) == cluster.record.uid:
        writes.delete(store, found)


def _managed(fleet: ClusterFleet, member: StoreCache) -> Iterator[StoredObject]:
    """The managed objects of a member that do not outlive the federation."""
    for type_ in fleet.types:
        for item in tuple(member.follow_synced(type_.kind)):
            if item.labels.get(names.MANAGED) != "true":
                continue
            namespace, name = item.name
            own = federated_name(name, type_.name)
            federated = fleet.federated(type_.federated_kind, namespace, own)
            if federated is None or not is_orphaned(federated, item):
                yield item

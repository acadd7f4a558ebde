"""What leaving removes from a member: managed objects if their owner wants it, then our own."""

from collections.abc import Iterator

from stretto.api.wire.kinds import NAMESPACE
from stretto.federation import names
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.members.orphans import is_orphaned
from stretto.federation.objects.naming import federated_name
from stretto.reconcile import writes
from stretto.reconcile.cache import StoreCache, StoredObject
from stretto.stores.store import Store


def delete_managed(fleet: ClusterFleet, member: StoreCache) -> int:
    """Delete the managed objects of a member, except those that outlive the federation.

    Returns:
        The number of objects that are still there. Namespaces that are being deleted do not count:
        a controller of the member ends them.

    Raises:
        RetryError: the member refused a deletion.
    """
    left = 0
    for item in _managed(fleet, member):
        if not item.is_terminating:
            writes.delete(member.store, item)
        elif item.record.kind == NAMESPACE:
            continue
        left += 1
    return left


def release_namespace(store: Store, namespace: str, cluster: StoredObject) -> None:
    """Delete the system namespace in a member if it belongs to this cluster.

    The service account and its rights end with it.

    Raises:
        RetryError: the member refused it.
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

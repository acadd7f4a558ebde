"""Garbage collection: objects whose controller is gone are deleted."""

from collections.abc import Hashable, Iterable

from stretto.api.wire.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    POD,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)
from stretto.reconcile.cache import Change
from stretto.workloads.cluster import LocalCluster, owner_of

_OWNERS = {
    each.kind: each
    for each in (
        DEPLOYMENT,
        REPLICA_SET,
        REPLICATION_CONTROLLER,
        STATEFUL_SET,
        DAEMON_SET,
        JOB,
    )
}
"""Kinds whose deletion deletes their pods and ReplicaSets."""


class GarbageController:
    """Deletes pods and ReplicaSets without their controller."""

    def __init__(self, cluster: LocalCluster) -> None:
        """For the workloads of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/garbage"
        self._cluster = cluster

    def affected(self, change: Change) -> Iterable[Hashable]:
        """What a deleted controller owned, and new objects, whose controller may be gone."""
        if change.source != self._cluster.name:
            return
        if change.new is None and change.kind.kind in _OWNERS:
            for kind in (REPLICA_SET, POD):
                for each in self._cluster.owned(kind, change.object):
                    yield kind, *each.name
        elif change.old is None and change.kind in (POD, REPLICA_SET):
            yield change.kind, *change.object.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Delete one object if its controller is gone."""
        assert isinstance(key, tuple)
        kind, namespace, name = key
        item = self._cluster.objects(kind).get(namespace, name)
        owner = owner_of(item) if item is not None else None
        if item is None or owner is None or item.is_terminating:
            return None
        owners = _OWNERS.get(owner["kind"])
        if owners is None:
            return None
        found = self._cluster.objects(owners).get(namespace, owner["name"])
        if found is None or found.record.uid != owner["uid"]:
            self._cluster.delete([item])
        return None

"""Objects that wait for capacity, by the clusters whose reports reschedule them."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

from stretto.federation.controllers.keys import sweep
from stretto.federation.fleet import ClusterFleet, is_joined
from stretto.reconcile.cache import Change, StoredObject

_MANY: Final = 64
"""Maximum number of clusters of one object; with more, a report of any cluster reschedules it."""


class WaitingObjects:
    """Keys of waiting objects, each with the clusters that it waits for."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """Start without waiting objects."""
        self._fleet = fleet
        self._clusters: dict[Hashable, tuple[str, ...]] = {}
        self._keys: dict[str, dict[Hashable, None]] = {}
        self._anywhere: dict[Hashable, None] = {}

    def note(self, key: Hashable, clusters: Sequence[str] | None, *, waits: bool) -> None:
        """Record a decision.

        Args:
            key: the object.
            clusters: clusters whose capacity may change the decision; ``None`` for all.
            waits: true if the object waits for capacity.
        """
        self.forget(key)
        if not waits:
            return
        if clusters is None or len(clusters) > _MANY:
            self._anywhere[key] = None
            return
        self._clusters[key] = tuple(clusters)
        for name in clusters:
            self._keys.setdefault(name, {})[key] = None

    def forget(self, key: Hashable) -> None:
        """Drop an object that does not wait any more."""
        self._anywhere.pop(key, None)
        for name in self._clusters.pop(key, ()):
            del self._keys[name][key]

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Keys of the objects that a change of a FederatedCluster reschedules.

        A change of fields that policies read concerns all objects. A change of health concerns all
        waiting objects. A change of amounts concerns the objects that wait for this cluster.
        """
        old, new = change.old, change.new
        if _read(old) != _read(new):
            yield sweep(self._fleet)
        elif old is not None and new is not None and _health(old) == _health(new):
            name = change.object.record.name
            yield from (*self._keys.get(name, ()), *self._anywhere)
        else:
            yield from (*self._clusters, *self._anywhere)


def _read(cluster: StoredObject | None) -> Any:
    """Fields of a cluster that policies read; ``None`` if the cluster has not joined."""
    if cluster is None or not is_joined(cluster):
        return None
    return (
        cluster.metadata.get("labels"),
        cluster.spec.get("taints"),
        cluster.status.get("apiResourceTypes"),
    )


def _health(cluster: StoredObject) -> Any:
    """Conditions without their times; true in first place if the cluster leaves."""
    conditions = cluster.status.get("conditions") or ()
    return cluster.is_terminating, [(each.get("type"), each.get("status")) for each in conditions]

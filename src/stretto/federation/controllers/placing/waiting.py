"""Objects that wait for capacity, by the clusters whose reports decide them again."""

from collections.abc import Hashable, Sequence
from typing import Any, Final

from stretto.federation.fleet import is_joined
from stretto.reconcile.cache import StoredObject

_MANY: Final = 64
"""Clusters of one object beyond which a report of any cluster decides it again."""


class WaitingObjects:
    """Keys of objects, each with the clusters that it waits for."""

    def __init__(self) -> None:
        """No object waits."""
        self._clusters: dict[Hashable, tuple[str, ...]] = {}
        self._keys: dict[str, dict[Hashable, None]] = {}
        self._anywhere: dict[Hashable, None] = {}

    def note(self, key: Hashable, clusters: Sequence[str] | None, *, waits: bool) -> None:
        """Note a decision.

        Args:
            key: the object.
            clusters: clusters whose capacity may change the decision; ``None`` for all.
            waits: whether the object waits at all.
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
        """An object does not wait any more."""
        self._anywhere.pop(key, None)
        for name in self._clusters.pop(key, ()):
            del self._keys[name][key]

    def of_cluster(self, name: str) -> list[Hashable]:
        """Objects that the capacity of a cluster may decide again."""
        return [*self._keys.get(name, ()), *self._anywhere]

    def __iter__(self) -> Any:
        """All objects that wait."""
        yield from (*self._clusters, *self._anywhere)


def is_trigger(old: StoredObject | None, new: StoredObject | None) -> bool:
    """Whether a change of a cluster may schedule any object again.

    Amounts and health do not: they concern objects that wait.
    """
    return bool(_read(old) != _read(new))


def is_amounts_only(old: StoredObject | None, new: StoredObject | None) -> bool:
    """Whether only the amounts, or the times, in the report of a cluster have changed."""
    if old is None or new is None or is_trigger(old, new):
        return False
    return _health(old) == _health(new) and old.is_terminating == new.is_terminating


def _read(cluster: StoredObject | None) -> Any:
    """What policies read of a cluster; ``None`` for one that has not joined."""
    if cluster is None or not is_joined(cluster):
        return None
    return (
        cluster.metadata.get("labels"),
        cluster.spec.get("taints"),
        cluster.status.get("apiResourceTypes"),
    )


def _health(cluster: StoredObject) -> list[tuple[Any, Any]]:
    conditions = cluster.status.get("conditions") or ()
    return [(each.get("type"), each.get("status")) for each in conditions]

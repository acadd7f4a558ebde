"""The nodes of one tidal pool, and the writes that change their roles."""

from collections.abc import Iterable, Mapping
from typing import Any

from stretto.capacity.tides.pool import RESERVED, SWITCHED, NodeRole, TidePool, assigned
from stretto.reconcile import writes
from stretto.reconcile.cache import StoredObject
from stretto.stores.store import Eviction, Store


class PoolMembers:
    """The nodes that a pool selects, with their roles."""

    def __init__(self, store: Store, pool: TidePool, nodes: Iterable[StoredObject]) -> None:
        """Select the nodes of a pool among the nodes of a cluster.

        Raises:
            InputError: the reserve of the pool is malformed.
        """
        self._store = store
        self._pool = pool
        found = [each for each in nodes if not each.is_terminating]
        self._nodes = {each.record.name: each for each in found if pool.selects(each.labels)}
        self._left = [
            each for each in found if pool.has(each.labels) and not pool.selects(each.labels)
        ]
        #: Role of each node.
        self.roles: Mapping[str, NodeRole] = assigned(
            pool, {name: pool.role_of(each.labels) for name, each in self._nodes.items()}
        )

    def node(self, name: str) -> StoredObject:
        """Return a node by name."""
        return self._nodes[name]

    def with_role(self, role: NodeRole) -> dict[str, StoredObject]:
        """Return the nodes of a role, by name."""
        return {name: self._nodes[name] for name, each in self.roles.items() if each is role}

    def switching(self) -> dict[str, StoredObject]:
        """Return the nodes that may switch, by name."""
        return {
            name: self._nodes[name] for name, each in self.roles.items() if each not in RESERVED
        }

    def draining(self) -> list[str]:
        """Return the nodes whose offline pods are evicted because the nodes become online."""
        found = self.switching().items()
        drains = self._pool.is_draining
        return sorted(name for name, each in found if drains(each.spec.get("taints") or ()))

    def change(self, name: str, role: NodeRole) -> dict[str, Any]:
        """Merge patch that moves a node to a side."""
        taints = self._pool.taints_of(role, self._nodes[name].spec.get("taints") or ())
        return {"metadata": {"labels": self._pool.labels_of(role)}, "spec": {"taints": taints}}

    def settle(self) -> None:
        """Label nodes with a new role, and release nodes that the pool no longer selects.

        Raises:
            RetryError: a write was refused.
        """
        for node in self._left:
            self._dismiss(node)
        for name, role in self.roles.items():
            labels = self._pool.labels_of(role)
            node = self._nodes[name]
            if any(node.labels.get(key) != value for key, value in labels.items()):
                self._patch(node, {"metadata": {"labels": labels}})

    def turn(self, name: str, role: NodeRole, at: str) -> None:
        """Switch a node to a side at an RFC 3339 time.

        Raises:
            RetryError: the write was refused.
        """
        change = self.change(name, role)
        change["metadata"]["annotations"] = {SWITCHED: at}
        change["spec"]["taints"] = self._pool.draining(change["spec"]["taints"])
        self._patch(self._nodes[name], change)

    def finish(self, name: str) -> None:
        """Give a drained node the taint of its pool.

        Raises:
            RetryError: the write was refused.
        """
        self._patch(self._nodes[name], self.change(name, NodeRole.ONLINE))

    def evict(self, pods: Iterable[StoredObject], reason: str) -> None:
        """Evict pods; a pod whose budget forbids it now is retried in the next round."""
        records = [each.record for each in pods]
        evictions = [Eviction(each.namespace, each.name, each.uid, reason) for each in records]
        self._store.evict(evictions)

    def dismiss_all(self) -> None:
        """Remove the labels and taints of the pool from all nodes.

        Raises:
            RetryError: a write was refused.
        """
        for node in (*self._left, *self._nodes.values()):
            if self._pool.has(node.labels):
                self._dismiss(node)

    def _dismiss(self, node: StoredObject) -> None:
        taints = self._pool.taints_of(None, node.spec.get("taints") or ())
        metadata = {"labels": self._pool.no_labels(), "annotations": {SWITCHED: None}}
        self._patch(node, {"metadata": metadata, "spec": {"taints": taints or None}})

    def _patch(self, node: StoredObject, change: dict[str, Any]) -> None:
        writes.patch(self._store, node, change)

"""Writes the nodes of NodeOvercommitConfigs to their status, by name, as in Katalyst's controller.

A configuration applies to the nodes whose pool label has its value. If several apply to one node,
the smallest ratio counts, and each of them lists the node.
"""

from collections.abc import Hashable, Iterable
from typing import Final

from stretto.api.types.capacity.overcommit import NodeOvercommitConfig
from stretto.api.wire.kinds import NODE, NODE_OVERCOMMIT_CONFIG
from stretto.base.errors import InputError
from stretto.framework.profile.capacity.overcommit import POOL_LABEL
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, StoreCache, StoredObject

_BY_POOL: Final = "nodes by overcommit pool"


class MatchedNodesController:
    """Computes ``status.matchedNodeList`` of NodeOvercommitConfigs from the nodes."""

    def __init__(self, cache: StoreCache) -> None:
        """Reconcile the configurations of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cache.name}/overcommit-nodes"
        self._cache = cache
        self._configs = cache.follow(NODE_OVERCOMMIT_CONFIG)
        self._nodes = cache.follow(NODE)
        self._nodes.add_index(_BY_POOL, _pool)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Return the configuration; for a node that joins or leaves a pool, those of the pools."""
        if change.source != self._cache.name:
            return
        if change.kind == NODE_OVERCOMMIT_CONFIG:
            yield change.object.record.name
        elif change.kind == NODE and _pool(change.old) != _pool(change.new):
            yield from (each.record.name for each in self._configs)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """List the nodes of one configuration.

        Raises:
            RetryError: the write was refused.
        """
        item = self._configs.active(("", key))
        if item is None:
            return None
        try:
            pool = item.read(NodeOvercommitConfig).spec.node_overcommit_selector_val
        except InputError:
            return None  # the scheduler reports an object that it cannot read
        found = self._nodes.indexed(_BY_POOL, pool) if pool else ()
        names = sorted(each.record.name for each in found if not each.is_terminating)
        if names != (item.status.get("matchedNodeList") or []):
            writes.patch_status(self._cache.store, item, {"matchedNodeList": names})
        return None


def _pool(node: StoredObject | None) -> tuple[str, ...]:
    """Pool of a node; empty for none."""
    value = "" if node is None else node.labels.get(POOL_LABEL, "")
    return (value,) if value else ()

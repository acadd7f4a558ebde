"""Replicas that decisions have started and that clusters do not report yet, by cluster.

A cluster's free amounts include a replica only after its pod exists and the cluster has reported.
Until then a decision is a promise, and later decisions count it. The first read rebuilds all
promises from the federated objects, so that a restart forgets none.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stretto.federation.controllers.keys import FederatedItem, everything
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.current import current_replicas
from stretto.federation.objects.demand import request_of
from stretto.federation.planner.supply.capacity import Amounts
from stretto.reconcile.cache import Change

_NOTHING: Final[Amounts] = {}


@dataclass(slots=True)
class _Promised:
    """What one decision placed."""

    #: The federated object.
    item: FederatedItem
    #: Requests of one replica.
    request: Amounts
    #: Replicas by cluster.
    planned: Mapping[str, int]
    #: Replicas by cluster whose pods the cluster's last report includes.
    seen: dict[str, int] = field(default_factory=dict)

    def left(self, cluster: str) -> int:
        """Replicas that the cluster does not report yet."""
        return max(0, self.planned.get(cluster, 0) - self.seen.get(cluster, 0))


class PromiseLedger:
    """All promises, with their sums by cluster."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """For the federated objects of a fleet."""
        self._fleet = fleet
        self._entries: dict[Hashable, _Promised] | None = None
        self._clusters: dict[str, set[Hashable]] = {}
        self._sums: dict[str, dict[str, int]] = {}

    # ---------------------------------------------------------------- writes

    def planned(self, item: FederatedItem, replicas: Mapping[str, int]) -> None:
        """Note a decision about an object; no replicas remove its promises."""
        self._ledger()
        self._put(item, replicas)

    def forget(self, key: Hashable) -> None:
        """An object is gone, or is not scheduled any more."""
        if self._entries is not None:
            self._drop(key)

    def reported(self, change: Change) -> None:
        """A FederatedCluster changed: what its new report includes is no promise any more."""
        old, new = change.old, change.new
        if new is None or self._entries is None or _resources(old) == _resources(new):
            return
        name = new.record.name
        for key in self._clusters.get(name, ()):
            entry = self._entries[key]
            before = entry.left(name)
            entry.seen[name] = self._pods(entry.item, name, entry.planned.get(name, 0))
            self._add(name, entry.request, entry.left(name) - before)

    # ---------------------------------------------------------------- reads

    def starting(self, key: Hashable) -> dict[str, int]:
        """Replicas of an object that its clusters do not report yet."""
        entry = self._ledger().get(key)
        if entry is None:
            return {}
        return {name: left for name in entry.planned if (left := entry.left(name))}

    def besides(self, key: Hashable) -> dict[str, Amounts]:
        """Amounts that are promised to all other objects, by cluster."""
        entry = self._ledger().get(key)
        found: dict[str, Amounts] = dict(self._sums)
        for name in entry.planned if entry is not None else ():
            assert entry is not None
            left, sums = entry.left(name), self._sums.get(name, _NOTHING)
            if left:
                found[name] = {x: n - left * entry.request.get(x, 0) for x, n in sums.items()}
        return found

    # ---------------------------------------------------------------- inside

    def _ledger(self) -> dict[Hashable, _Promised]:
        """The promises; the first call reads them from the federated objects."""
        if self._entries is None:
            self._entries = {}
            for item in everything(self._fleet):
                found = current_replicas(item.federated, item.type)
                planned = {name: count for name, count in found.items() if count}
                self._put(item, planned, unknown=planned)
        return self._entries

    def _put(
        self,
        item: FederatedItem,
        replicas: Mapping[str, int],
        unknown: Mapping[str, int] = _NOTHING,
    ) -> None:
        """Note a decision; ``unknown`` are the pods of members that are not connected."""
        assert self._entries is not None
        key = item.key
        before = self._drop(key)
        if not replicas:
            return
        seen = dict(before.seen) if before is not None else {}
        for name in replicas:
            if name not in seen:
                seen[name] = self._pods(item, name, unknown.get(name, 0))
        request = request_of(item.federated.spec["template"])
        entry = self._entries[key] = _Promised(item, request, dict(replicas), seen)
        for name in replicas:
            self._add(name, request, entry.left(name))
            self._clusters.setdefault(name, set()).add(key)

    def _drop(self, key: Hashable) -> _Promised | None:
        assert self._entries is not None
        before = self._entries.pop(key, None)
        for name in before.planned if before is not None else ():
            assert before is not None
            self._add(name, before.request, -before.left(name))
            self._clusters[name].discard(key)
        return before

    def _pods(self, item: FederatedItem, cluster: str, unknown: int) -> int:
        """Pods of an object that exist in a cluster; ``unknown`` if they cannot be read."""
        template = item.federated.spec["template"]["metadata"]
        cache = self._fleet.listed(cluster, item.type.kind)
        if cache is None:
            return unknown
        found = cache.get(item.federated.record.namespace, template["name"])
        return int(found.status.get("replicas") or 0) if found is not None else 0

    def _add(self, cluster: str, request: Amounts, replicas: int) -> None:
        sums = self._sums.setdefault(cluster, {})
        for name, count in request.items():
            sums[name] = sums.get(name, 0) + count * replicas


def _resources(cluster: Any) -> Any:
    return cluster.status.get("resources") if cluster is not None else None

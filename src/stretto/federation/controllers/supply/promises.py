"""Replicas that decisions have placed and that clusters do not report yet, by cluster.

A cluster's free amounts include a replica only after its pod exists and the cluster has reported.
Until then a decision is a promise, and later decisions deduct it. The first read rebuilds all
promises from the federated objects, so they survive a restart.
"""

import logging
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from stretto.api.wire.kinds import POD, Kind
from stretto.base.amounts import add_amounts
from stretto.base.errors import InputError
from stretto.federation.controllers.keys import FederatedItem, everything
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.current import current_replicas
from stretto.federation.objects.demand import request_of
from stretto.federation.objects.members.pods import (
    UNBOUND,
    unbound_keys,
    workload_key,
)
from stretto.federation.objects.members.units import DEFAULT_QUEUE, queue_name
from stretto.federation.planner.supply.capacity import Amounts
from stretto.reconcile.cache import Change, Name, StoredObject
from stretto.reconcile.pods import unschedulable_for

_LOG: Final = logging.getLogger(__name__)
_NOTHING: Final[Amounts] = {}
_NONE: Final[Mapping[str, Amounts]] = {}
OwnKeys = Callable[[Hashable], bool]
"""True for the keys of some objects."""
PromiseListener = Callable[[Sequence[str], Sequence[int], Amounts], None]
"""Callback with clusters, the change of promised replicas in each, and the requests of one."""


@dataclass(slots=True)
class _Promised:
    """Replicas that one decision placed."""

    #: Kind of the object.
    kind: Kind
    #: Namespace and name of the object in members.
    name: Name
    #: Requests of one replica.
    request: Amounts
    #: Replicas by cluster.
    planned: Mapping[str, int]
    #: Replicas by cluster that the last report of the cluster includes.
    seen: dict[str, int] = field(default_factory=dict)
    #: Replicas of ``seen`` without a node at that time, by cluster that had any.
    unbound: dict[str, int] = field(default_factory=dict)
    #: Queue of the object.
    queue: str = DEFAULT_QUEUE

    def left(self, cluster: str) -> int:
        """Number of replicas that the cluster does not report yet."""
        return max(0, self.planned.get(cluster, 0) - self.seen.get(cluster, 0))

    def bound(self, cluster: str) -> int:
        """Number of replicas whose requests the last report of the cluster deducts."""
        return max(0, self.seen.get(cluster, 0) - self.unbound.get(cluster, 0))

    def lefts(self) -> dict[str, int]:
        """Number of replicas that each cluster does not report yet."""
        seen = self.seen
        return {
            name: left
            for name, count in self.planned.items()
            if (left := count - seen.get(name, 0)) > 0
        }


def every_key(_: Hashable) -> bool:
    """Select the objects of all shards."""
    return True


class PromiseLedger:
    """All promises, with their sums by cluster."""

    def __init__(self, fleet: ClusterFleet, owns: OwnKeys = every_key) -> None:
        """Initialize for the federated objects of a fleet.

        Args:
            fleet: the fleet.
            owns: true for the keys of the objects that this process schedules. It also reads the
                cluster-scoped objects of other processes, whose promises these report.
        """
        self._fleet = fleet
        self._owns = owns
        self._entries: dict[Hashable, _Promised] | None = None
        self._clusters: dict[str, set[Hashable]] = {}
        self._sums: dict[str, dict[str, int]] = {}
        self._queues: dict[str, dict[str, int]] = {}
        self._listener: PromiseListener | None = None
        self._unpublished: set[Hashable] = set()
        self._foreign: Mapping[str, Amounts] = _NONE
        self._foreign_queues: Mapping[str, Amounts] = _NONE

    def listen(self, listener: PromiseListener) -> None:
        """Call the listener on every change of a sum from now on."""
        self._listener = listener

    # ---------------------------------------------------------------- writes

    def planned(self, item: FederatedItem, replicas: Mapping[str, int] | None) -> None:
        """Record a decision about an object.

        Without replicas its promises are removed; ``None`` keeps its last placement.
        """
        if replicas is None:
            replicas = _placed(item)
        before = self._ledger().get(item.key)
        old = before.lefts() if before is not None else {}
        self._put(item, replicas)
        after = self._ledger().get(item.key)
        lefts = after.lefts() if after is not None else {}
        if any(count > old.get(name, 0) for name, count in lefts.items()):
            self._unpublished.add(item.key)

    def published(self, key: Hashable) -> None:
        """Record that the promise of an object is published."""
        self._unpublished.discard(key)

    def forget(self, key: Hashable) -> None:
        """Drop an object that is deleted or not scheduled any more."""
        self._unpublished.discard(key)
        if self._entries is not None:
            self._drop(key)

    def reported(self, change: Change) -> None:
        """Drop the promises that a changed FederatedCluster includes in its report."""
        old, new = change.old, change.new
        if new is None or self._entries is None or _resources(old) == _resources(new):
            return
        name = new.record.name
        for key in self._clusters.get(name, ()):
            entry = self._entries[key]
            before = entry.left(name)
            self._look(entry, name, entry.planned.get(name, 0))
            if more := entry.left(name) - before:
                self._add(entry.request, {name: more})

    def count_foreign(self, promised: Mapping[str, Amounts], used: Mapping[str, Amounts]) -> bool:
        """Replace what other processes promise and use; true if an amount has become smaller.

        Args:
            promised: promised amounts by cluster.
            used: requests of all placed replicas by queue.
        """
        before, self._foreign = self._foreign, promised
        fewer = _shrinks(self._foreign_queues, used)
        self._foreign_queues = used
        for name in {**before, **promised}:
            old, new = before.get(name, _NOTHING), promised.get(name, _NOTHING)
            delta = {key: new.get(key, 0) - old.get(key, 0) for key in {**old, **new}}
            if self._listener is not None and any(delta.values()):
                self._listener((name,), (1,), delta)
        return fewer or _shrinks(before, promised)

    # ---------------------------------------------------------------- reads

    def unpublished(self, key: Hashable) -> Iterator[tuple[str, str]]:
        """Clusters and resources that an object is promised, if it was promised more of one.

        The result does not change until the promise is published.
        """
        entry = self._ledger().get(key) if key in self._unpublished else None
        if entry is not None:
            yield from ((name, resource) for name in entry.lefts() for resource in entry.request)

    @property
    def own_sums(self) -> Mapping[str, Amounts]:
        """Amounts that this process has promised, by cluster."""
        self._ledger()
        return self._sums

    @property
    def own_queues(self) -> Mapping[str, Amounts]:
        """Requests of all placed replicas of this process by queue."""
        self._ledger()
        return self._queues

    def running(self, key: Hashable) -> dict[str, int] | None:
        """Replicas of an object that the reports of their clusters deduct, by cluster.

        Pods that a rollout or a smaller placement will still remove count. ``None`` if the object
        is unknown.
        """
        entry = self._ledger().get(key)
        return {name: self._running(entry, name) for name in entry.seen} if entry else None

    @property
    def sums(self) -> Mapping[str, Amounts]:
        """Promised amounts of all processes, by cluster."""
        self._ledger()
        return _added(self._sums, self._foreign) if self._foreign else self._sums

    def by_queue(self, key: Hashable) -> dict[str, Amounts]:
        """Requests of all placed replicas by queue, without those of one object."""
        entry = self._ledger().get(key)
        found: dict[str, Amounts] = dict(self._queues)
        if entry is not None:
            total, used = sum(entry.planned.values()), found.get(entry.queue, _NOTHING)
            found[entry.queue] = {x: n - total * entry.request.get(x, 0) for x, n in used.items()}
        return _added(found, self._foreign_queues) if self._foreign_queues else found

    @contextmanager
    def lifted(self, key: Hashable) -> Iterator[None]:
        """Remove the promises of one object during a decision about it."""
        entry = self._ledger().get(key)
        left = entry.lefts() if entry is not None else {}
        if entry is not None and left:
            self._add(entry.request, left, -1)
        try:
            yield
        finally:
            if entry is not None and left:
                self._add(entry.request, left, 1)

    # ---------------------------------------------------------------- inside

    def _ledger(self) -> dict[Hashable, _Promised]:
        """The promises; the first call reads them from the federated objects."""
        if self._entries is None:
            # An error here leaves the promises unread.
            items = [each for each in everything(self._fleet) if self._owns(each.key)]
            self._entries = {}
            for item in items:
                planned = _placed(item)
                try:
                    self._put(item, planned, unknown=planned)
                except InputError as error:
                    _LOG.warning("%s promises nothing: %s", "/".join(item.key), error)
        return self._entries

    def _put(
        self,
        item: FederatedItem,
        replicas: Mapping[str, int],
        unknown: Mapping[str, int] = _NOTHING,
    ) -> None:
        """Record a decision; ``unknown``: pods in each member that is not connected."""
        assert self._entries is not None
        key = item.key
        before, after = self._entries.get(key), None
        if replicas:
            after = self._promised(item, replicas, before, unknown)
        self._replace(key, before, after)

    def _promised(
        self,
        item: FederatedItem,
        replicas: Mapping[str, int],
        before: _Promised | None,
        unknown: Mapping[str, int],
    ) -> _Promised:
        """The promise of a decision; in a new cluster, all present pods count as reported."""
        kind, template = item.type.kind, item.federated.spec["template"]
        place = item.federated.record.namespace, template["metadata"]["name"]
        old = before.seen if before is not None else {}
        seen = {name: count for name, count in old.items() if count or name in replicas}
        unbound = dict(before.unbound) if before is not None else {}
        queue = sys.intern(queue_name(item.federated))
        made = _Promised(kind, place, request_of(template), dict(replicas), seen, unbound, queue)
        for name in replicas:
            if name not in seen:
                self._look(made, name, unknown.get(name, 0))
        return made

    def _drop(self, key: Hashable) -> None:
        assert self._entries is not None
        self._replace(key, self._entries.get(key), None)

    def _replace(self, key: Hashable, before: _Promised | None, after: _Promised | None) -> None:
        """Replace the promise of an object, in all sums."""
        assert self._entries is not None
        if before is not None:
            self._count(before, -1)
        if after is None:
            self._entries.pop(key, None)
        else:
            self._entries[key] = after
            self._count(after, 1)
        old = before.lefts() if before is not None else {}
        new = after.lefts() if after is not None else {}
        if before is not None and after is not None and before.request == after.request:
            more = {x: new.get(x, 0) - old.get(x, 0) for x in {**old, **new}}
            self._add(after.request, {name: count for name, count in more.items() if count})
        else:
            if before is not None:
                self._add(before.request, old, -1)
            if after is not None:
                self._add(after.request, new)
        left, joined = _clusters(before), _clusters(after)
        for name in left - joined:
            self._clusters[name].discard(key)
        for name in joined - left:
            self._clusters.setdefault(name, set()).add(key)

    def _count(self, entry: _Promised, sign: int) -> None:
        """Add the requests of an object to its queue, or subtract them."""
        used = self._queues.setdefault(entry.queue, {})
        total = sign * sum(entry.planned.values())
        add_amounts(used, entry.request.items(), total)

    def _pods(self, kind: Kind, place: Name, cluster: str, unknown: int) -> int:
        """Number of pods of an object in a cluster; ``unknown`` if they cannot be read."""
        cache = self._fleet.listed(cluster, kind)
        if cache is None:
            return unknown
        found = cache.get(*place)
        return int(found.status.get("replicas") or 0) if found is not None else 0

    def _look(self, entry: _Promised, cluster: str, unknown: int) -> None:
        """Record the pods in a cluster; ``unknown`` if they cannot be read."""
        entry.seen[cluster] = self._pods(entry.kind, entry.name, cluster, unknown)
        entry.unbound.pop(cluster, None)
        if count := len(self._unbound(entry, cluster)):
            entry.unbound[cluster] = count

    def _running(self, entry: _Promised, cluster: str) -> int:
        """Replicas in a cluster that its report deducts, without those that found no node since."""
        bound = entry.bound(cluster)
        unbound = self._unbound(entry, cluster) if bound else []
        if all(unschedulable_for(pod, 0.0) is None for pod in unbound):
            return bound  # pods that are replaced just now have no node for a moment
        now = self._pods(entry.kind, entry.name, cluster, bound)
        return max(0, min(bound, now - len(unbound)))

    def _unbound(self, entry: _Promised, cluster: str) -> list[StoredObject]:
        """Pods of an object in a cluster without a node; empty if they cannot be read."""
        cache = self._fleet.listed(cluster, POD)
        if cache is None:
            return []
        cache.add_index(UNBOUND, unbound_keys)
        return list(cache.indexed(UNBOUND, workload_key(entry.kind.kind, *entry.name)))

    def _add(self, request: Amounts, replicas: Mapping[str, int], sign: int = 1) -> None:
        """Add replicas by cluster to the sums, or subtract them."""
        for cluster, count in replicas.items():
            sums = self._sums.setdefault(cluster, {})
            add_amounts(sums, request.items(), sign * count)
        if self._listener is not None and replicas:
            counts = [sign * count for count in replicas.values()]
            self._listener(tuple(replicas), counts, request)


def _added(one: Mapping[str, Amounts], other: Mapping[str, Amounts]) -> dict[str, Amounts]:
    """Sums of the amounts of two tables."""
    found: dict[str, dict[str, int]] = {name: dict(each) for name, each in one.items()}
    for name, each in other.items():
        add_amounts(found.setdefault(name, {}), each.items(), 1)
    return {**found}


def _shrinks(before: Mapping[str, Amounts], after: Mapping[str, Amounts]) -> bool:
    """True if an amount of a table has become smaller."""
    return any(
        amount > after.get(name, _NOTHING).get(key, 0)
        for name, each in before.items()
        for key, amount in each.items()
    )


def _placed(item: FederatedItem) -> dict[str, int]:
    """Replicas of the last placement of an object, by cluster."""
    found = current_replicas(item.federated, item.type)
    return {name: count for name, count in found.items() if count}


def _clusters(entry: _Promised | None) -> Set[str]:
    return entry.seen.keys() if entry is not None else frozenset()


def _resources(cluster: Any) -> Any:
    return cluster.status.get("resources") if cluster is not None else None

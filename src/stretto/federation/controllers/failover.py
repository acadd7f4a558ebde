"""Moves objects off lost clusters, and back once these return, within a budget and at a rate.

An object that leaves a lost cluster gets an annotation with the name of the cluster; the scheduler
then places the object elsewhere. The workloads in the lost cluster stay until it answers again. If
too many clusters are lost at once, the host itself is probably disconnected, and nothing moves.
"""

import json
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from stretto.federation import names
from stretto.federation.controllers.keys import FEDERATED, FederatedItem, find, key_of, sweep
from stretto.federation.fleet import HOST, ClusterFleet, is_joined, is_ready
from stretto.federation.objects import pending
from stretto.federation.objects.current import current_replicas
from stretto.federation.settings import FailoverRule
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields


class ClusterTimes(NamedTuple):
    """State of a cluster and the time of its last change."""

    #: True if the cluster is ready.
    ready: bool
    #: Monotonic time of the change.
    since: float


class FailoverController:
    """Writes lost clusters to an annotation of the federated objects that leave them."""

    name = "failover"

    def __init__(self, fleet: ClusterFleet, rule: FailoverRule) -> None:
        """Initialize for the objects of a fleet.

        Args:
            fleet: the fleet.
            rule: delays, budget and rate of the moves.
        """
        self._fleet = fleet
        self._rule = rule
        self._times: dict[str, ClusterTimes] = {}
        self._free_at = 0.0

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Key of the federated object, or of all after a change of a cluster."""
        if change.source != HOST:
            return
        if change.kind.kind in FEDERATED and change.new is not None:
            yield from key_of(self._fleet, change.object)
        elif change.kind.kind == "FederatedCluster" and _turned(change):
            yield sweep(self._fleet)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Move one object off lost clusters, or back."""
        self._look(now)
        item = find(self._fleet, key)
        if item is None or item.federated.is_terminating:
            return None
        before = read(item)
        after, wait = self._wanted(item, before, now)
        if after == before:
            return wait
        if now < self._free_at:
            return self._free_at - now
        self._free_at = max(now, self._free_at) + 60.0 / self._rule.objects_per_minute
        text = json.dumps(after, separators=(",", ":")) if after else None
        change = {"metadata": {"annotations": {names.FAILOVER: text}}}
        writes.patch(self._fleet.host.store, item.federated, change)
        return wait

    # ---------------------------------------------------------------- inside

    def _look(self, now: float) -> None:
        """Record when each cluster became ready or not ready; drop deleted clusters."""
        present = {each.record.name for each in self._fleet.clusters}
        self._times = {name: times for name, times in self._times.items() if name in present}
        for cluster in filter(is_joined, self._fleet.clusters):
            name, ready = cluster.record.name, is_ready(cluster)
            known = self._times.get(name)
            if known is None or known.ready != ready:
                self._times[name] = ClusterTimes(ready, now)

    def _is_cut_off(self) -> bool:
        """True if so many clusters are lost that the host itself is probably disconnected."""
        lost = sum(not each.ready for each in self._times.values())
        return lost > self._rule.most_lost * len(self._times)

    def _wanted(
        self, item: FederatedItem, before: Fields, now: float
    ) -> tuple[Fields, float | None]:
        """The annotation, and seconds until it may change without another event."""
        left = before.get("left") or ()
        lost = {name for name in left if self._fleet.cluster(name) is not None}
        returning = bool(before.get("returning"))
        waits = []
        for name, times in self._times.items():
            due = times.since + (self._rule.back_after if times.ready else self._rule.after)
            if times.ready and name in lost:
                if now >= due:
                    lost.discard(name)
                    returning = True
                else:
                    waits.append(due - now)
            elif not times.ready and name not in lost and self._is_in(item, name):
                if self._is_cut_off():
                    waits.append(self._rule.after)
                elif now >= due:
                    lost.add(name)
                else:
                    waits.append(due - now)
        if (
            returning
            and before.get("returning")
            and not pending.pending(item.federated.annotations)
        ):
            returning = False
        found: Fields = {"left": sorted(lost)} if lost else {}
        if returning:
            found["returning"] = True
        return found, min(waits, default=None)

    def _is_in(self, item: FederatedItem, cluster: str) -> bool:
        return cluster in current_replicas(item.federated, item.type)


def read(item: FederatedItem) -> Fields:
    """The annotation of an object; empty if there is none."""
    try:
        found = json.loads(item.federated.annotations.get(names.FAILOVER) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _turned(change: Change) -> bool:
    """True if a cluster became ready, was lost, was added or was removed."""
    if change.old is None or change.new is None:
        return True
    return is_ready(change.old) != is_ready(change.new)

"""Records pods that no node of their cluster can run, so that the scheduler moves them elsewhere.

The record is an annotation of the federated object. It lists the replicas that run in each cluster,
and the number that a cluster can hold if that is less than its desired number.
"""

import json
from collections.abc import Hashable, Iterable, Iterator
from typing import Final

from stretto.api.wire.kinds import POD, REPLICA_SET
from stretto.base.clock import Clock
from stretto.federation import names
from stretto.federation.controllers.keys import FEDERATED, FederatedItem, FederatedKey, find, key_of
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects import pending, placements
from stretto.federation.objects.members.pods import ClusterPods, PodLook, count, first_owner
from stretto.federation.objects.naming import federated_name
from stretto.reconcile import writes
from stretto.reconcile.cache import Change
from stretto.reconcile.reconciler import Later

_NOTHING: Final = "{}"
"""Annotation of an object that has left all clusters; one that was in none has no annotation."""
POD_DELAY: Final = 10.0
"""Seconds between a change and the next observation, in which the members schedule new pods."""


class AutoMigrationController:
    """Records unschedulable pods of members in an annotation of their federated objects."""

    name = "automigration"

    def __init__(self, fleet: ClusterFleet, clock: Clock) -> None:
        """Initialize for the federated objects of a fleet; ages are those of the wall clock."""
        self._fleet = fleet
        self._clock = clock

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Keys of the federated objects of a change, also for a workload or pod of a member."""
        keys: Iterable[FederatedKey] = ()
        if change.source != HOST:
            keys = self._of_pod(change) if change.kind == POD else self._of_workload(change)
        elif change.kind.kind in FEDERATED:
            keys = key_of(self._fleet, change.object)
            if names.UNSCHEDULABLE_FOR not in change.object.annotations:
                yield from keys
                return
        for key in keys:
            yield Later(key, POD_DELAY)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Update the annotation of one workload; return the seconds until the next look."""
        item = find(self._fleet, key)
        if item is None or item.federated.is_terminating or not item.type.migrates:
            return None
        federated = item.federated
        threshold = federated.annotations.get(names.UNSCHEDULABLE_FOR)
        if pending.pending(federated.annotations):
            return None
        found = dict(self._observed(item, threshold)) if threshold is not None else None
        text = _annotation(found)
        if text == _NOTHING and names.AUTO_MIGRATION not in federated.annotations:
            return None
        if federated.annotations.get(names.AUTO_MIGRATION) != text:
            change = {"metadata": {"annotations": {names.AUTO_MIGRATION: text}}}
            writes.patch(self._fleet.host.store, federated, change)
        looks = [each.next_look for each in (found or {}).values() if each.next_look is not None]
        return min(looks, default=None)

    # ---------------------------------------------------------------- inside

    def _of_workload(self, change: Change) -> Iterator[FederatedKey]:
        """The federated object of a workload whose pods may move."""
        type_ = self._fleet.types.of(change.kind.group, change.kind.kind)
        if type_ is not None and type_.migrates:
            namespace, name = change.object.name
            yield FederatedKey(type_.name, namespace, federated_name(name, type_.name))

    def _of_pod(self, change: Change) -> Iterator[FederatedKey]:
        """The federated object of the Deployment whose ReplicaSet owns a pod."""
        sets = self._fleet.listed(change.source, REPLICA_SET)
        type_ = self._fleet.types.of("apps", "Deployment")
        if sets is None or type_ is None:
            return
        owner = sets.get(change.object.record.namespace, first_owner(change.object))
        if owner is not None:
            name = federated_name(first_owner(owner), type_.name)
            yield FederatedKey(type_.name, owner.record.namespace, name)

    def _observed(self, item: FederatedItem, threshold: str) -> Iterator[tuple[str, ClusterPods]]:
        """Pods of the object in each cluster of its placement."""
        look = PodLook(threshold, self._clock.now())
        place = item.federated.record.namespace, item.federated.spec["template"]["metadata"]["name"]
        for cluster in sorted(placements.placement(item.federated.spec)):
            member = self._fleet.member(cluster)
            workload = member.follow_synced(item.type.kind).get(*place) if member else None
            if member is not None and workload is not None:
                yield cluster, count(item.type.paths, member, workload, look)


def _annotation(found: dict[str, ClusterPods] | None) -> str | None:
    """The annotation of an observation; ``None`` if the object does not migrate."""
    if found is None:
        return None
    capacity = {name: each.capacity for name, each in found.items() if each.capacity is not None}
    made: dict[str, dict[str, int]] = {"estimatedCapacity": capacity} if capacity else {}
    if found:
        made["scheduledReplicas"] = {name: each.scheduled for name, each in found.items()}
    return json.dumps(made, separators=(",", ":"))

"""Observes pods that no node of their cluster takes, so that the scheduler moves them elsewhere.

The observation is an annotation of the federated object: the replicas that run in each cluster, and
how many a cluster can hold where that is less than it should run.
"""

import json
from collections.abc import Hashable, Iterable, Iterator
from typing import Final, NamedTuple

from stretto.api.wire.kinds import POD, REPLICA_SET
from stretto.base.clock import Clock, parse_timestamp
from stretto.federation import names, writes
from stretto.federation.controllers.keys import FEDERATED, FederatedItem, FederatedKey, find, key_of
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects import pending, placements
from stretto.federation.objects.durations import seconds_of
from stretto.federation.objects.naming import federated_name
from stretto.federation.objects.paths import field_at
from stretto.reconcile.cache import Change, StoreCache, StoredObject
from stretto.reconcile.reconciler import Later

POD_DELAY: Final = 10.0
"""Seconds between a change of a pod and the next observation."""
_UNSCHEDULABLE: Final = ("PodScheduled", "False", "Unschedulable")


class ClusterPods(NamedTuple):
    """The replicas of a workload in one cluster."""

    #: Replicas that run or will run.
    scheduled: int
    #: Replicas that the cluster can hold; ``None`` if it holds what it should.
    capacity: int | None = None
    #: Seconds until a pod counts as unschedulable; ``None`` if none waits for that.
    next_look: float | None = None


class AutoMigrationController:
    """From pods in members to the annotation of federated objects."""

    name = "automigration"

    def __init__(self, fleet: ClusterFleet, clock: Clock) -> None:
        """For the federated objects of a fleet; ages are those of the wall clock."""
        self._fleet = fleet
        self._clock = clock

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The federated object, also that of a workload or of a pod in a member."""
        if change.source == HOST:
            if change.kind.kind in FEDERATED:
                yield from key_of(self._fleet, change.object)
        elif change.kind == POD:
            for key in self._of_pod(change):
                yield Later(key, POD_DELAY)
        else:
            yield from self._of_workload(change)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Observe one workload."""
        item = find(self._fleet, key)
        if item is None or item.federated.is_terminating or not item.type.migrates:
            return None
        federated = item.federated
        threshold = federated.annotations.get(names.UNSCHEDULABLE_FOR)
        if pending.pending(federated.annotations):
            return None
        found = dict(self._observed(item, threshold)) if threshold is not None else None
        text = _annotation(found)
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
        member = self._fleet.member(change.source)
        type_ = self._fleet.types.of("apps", "Deployment")
        if member is None or type_ is None:
            return
        replica_set = _owner(change.object)
        owner = member.follow_synced(REPLICA_SET).get(change.object.record.namespace, replica_set)
        if owner is not None:
            name = federated_name(_owner(owner), type_.name)
            yield FederatedKey(type_.name, owner.record.namespace, name)

    def _observed(self, item: FederatedItem, threshold: str) -> Iterator[tuple[str, ClusterPods]]:
        """The replicas in each cluster of the placement."""
        least = seconds_of(threshold, "autoMigration.when.podUnschedulableFor")
        place = item.federated.record.namespace, item.federated.spec["template"]["metadata"]["name"]
        for cluster in sorted(placements.placement(item.federated.spec)):
            member = self._fleet.member(cluster)
            workload = member.follow_synced(item.type.kind).get(*place) if member else None
            if member is not None and workload is not None:
                yield cluster, self._count(item, member, workload, least)

    def _count(
        self, item: FederatedItem, member: StoreCache, workload: StoredObject, least: float
    ) -> ClusterPods:
        """The replicas in one cluster."""
        paths = item.type.paths
        wanted = int(field_at(workload.fields, paths.replicas_spec) or 0)
        ready = int(field_at(workload.fields, paths.ready_replicas_status) or 0)
        if wanted == ready:
            return ClusterPods(wanted)
        pods = _newest_pods(member, workload)
        ages = [age for pod in pods if (age := self._unschedulable_for(pod)) is not None]
        late = sum(age >= least for age in ages)
        waits = [least - age for age in ages if age < least]
        capacity = len(pods) - late if len(pods) >= wanted else wanted - late
        return ClusterPods(
            len(pods) - len(ages),
            capacity if capacity < wanted else None,
            min(waits, default=None),
        )

    def _unschedulable_for(self, pod: StoredObject) -> float | None:
        """Seconds since no node takes a pod; ``None`` for other pods."""
        for each in pod.status.get("conditions") or ():
            found = each.get("type"), each.get("status"), each.get("reason")
            if found == _UNSCHEDULABLE:
                since = each.get("lastTransitionTime") or pod.record.created
                return self._clock.now() - parse_timestamp(since)
        return None


def _newest_pods(member: StoreCache, workload: StoredObject) -> list[StoredObject]:
    """The pods of the newest ReplicaSet of a Deployment."""
    sets = [
        each
        for each in member.follow_synced(REPLICA_SET).in_namespace(workload.record.namespace)
        if _owner_uid(each) == workload.record.uid
    ]
    if not sets:
        return []
    newest = max(sets, key=lambda each: each.record.created)
    pods = member.follow_synced(POD).in_namespace(workload.record.namespace)
    return [pod for pod in pods if _owner_uid(pod) == newest.record.uid and not pod.is_terminating]


def _owner(item: StoredObject) -> str:
    """Name of the first owner; empty without one."""
    references = item.metadata.get("ownerReferences") or ()
    return str(references[0]["name"]) if references else ""


def _owner_uid(item: StoredObject) -> str:
    references = item.metadata.get("ownerReferences") or ()
    return str(references[0]["uid"]) if references else ""


def _annotation(found: dict[str, ClusterPods] | None) -> str | None:
    """The annotation of an observation; ``None`` where objects do not migrate."""
    if found is None:
        return None
    capacity = {name: each.capacity for name, each in found.items() if each.capacity is not None}
    made: dict[str, dict[str, int]] = {"estimatedCapacity": capacity} if capacity else {}
    made["scheduledReplicas"] = {name: each.scheduled for name, each in found.items()}
    return json.dumps(made, separators=(",", ":"))

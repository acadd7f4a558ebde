"""StatefulSets: pods with ordinals, created, deleted and replaced in order.

As in the StatefulSet controller of Kubernetes.
"""

from collections.abc import Hashable, Iterable
from typing import Final

from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import POD, STATEFUL_SET
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.workloads.adoption import Claims
from stretto.workloads.cluster import LocalCluster, available, ready_since
from stretto.workloads.revisions import POD_REVISION, RevisionKeeper
from stretto.workloads.stateful.claims import ClaimKeeper
from stretto.workloads.stateful.members import Members, ordinal_of, ordinals
from stretto.workloads.stateful.notes import MemberNotes

_HASH: Final = "controller.kubernetes.io/hash"


class StatefulSetController:
    """Controller that creates the pods of StatefulSets."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Control the StatefulSets of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/statefulsets"
        self._cluster = cluster
        self._pods = Claims(cluster)
        self._notes = MemberNotes(cluster)
        self._claims = ClaimKeeper(cluster, self._notes)
        self._revisions = RevisionKeeper(cluster, _HASH)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed StatefulSet, that of a changed pod or PVC, and those that may adopt a pod."""
        yield from self._pods.affected(change, STATEFUL_SET)
        yield from self._claims.affected(change)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Run one step of one StatefulSet: create, delete or replace the next pod."""
        item = self._cluster.objects(STATEFUL_SET).active(key)
        if item is None:
            return None
        history = self._revisions.history(item)
        if history is None:
            return 0.0
        pods = self._pods.claimed(item, lambda pod: ordinal_of(item, pod.record.name) is not None)
        by_ordinal = {ordinal_of(item, pod.record.name): pod for pod in pods}
        members = Members(
            item, {number: pod for number, pod in by_ordinal.items() if number is not None}, history
        )
        self._step(members)
        self._count(members)
        named = {pod.labels.get(POD_REVISION) for pod in pods} | {members.before.record.name}
        used = [each for each in history.old if each.record.name in named]
        self._revisions.clean(item, history, used)
        waits = any(ready_since(pod) and not self._is_available(item, pod) for pod in pods)
        return (_wait_of(item) or None) if waits else None

    def _is_available(self, item: StoredObject, pod: StoredObject) -> bool:
        return not pod.is_terminating and available(self._cluster, pod, _wait_of(item))

    # ---------------------------------------------------------------- steps

    def _step(self, members: Members) -> None:
        """Create missing pods, delete pods beyond the size, replace pods of old revisions."""
        for ordinal, pod in members.pods.items():
            is_wanted = ordinal in ordinals(members.item)
            self._claims.bind(members.item, pod, ordinal, is_wanted=is_wanted)
        if self._complete(members) and self._shrink(members) and members.is_rolling:
            self._replace_one(members)

    def _complete(self, members: Members) -> bool:
        """Create missing and replace ended pods; return whether other steps may follow."""
        wanted = ordinals(members.item)
        left = self._cluster.creatable(len(wanted), members.pods.values())
        for ordinal in wanted:
            pod = members.pods.get(ordinal)
            if pod is None and not left:
                break
            if pod is None and self._claims.is_leaving(members.item, ordinal):
                return False
            self._claims.create(members.item, ordinal)
            if pod is None:
                left -= 1
                self._create(members, ordinal)
            elif pod.status.get("phase") in ENDED and not pod.is_terminating:
                self._recreate(members.item, pod)
            is_available = pod is not None and self._is_available(members.item, pod)
            if not members.is_parallel and not is_available:
                return False
        return True

    def _shrink(self, members: Members) -> bool:
        """Delete pods beyond the size one by one; return whether none remains.

        As in Kubernetes, a pod that is not available is deleted only once all pods with smaller
        ordinals are available.
        """
        beyond = [(each, members.pods[each]) for each in members.beyond()]
        unavailable = [pod for _, pod in beyond if not self._is_available(members.item, pod)]
        for _, pod in beyond:
            if members.is_parallel:
                self._delete(members.item, [] if pod.is_terminating else [pod])
                continue
            is_first = unavailable[-1:] == [pod]
            if not pod.is_terminating and (pod not in unavailable or is_first):
                self._delete(members.item, [pod])
            break
        return not beyond

    def _replace_one(self, members: Members) -> None:
        """Delete the last outdated pod if all later pods are available."""
        first = ordinals(members.item).start
        for ordinal in sorted(members.pods, reverse=True):
            pod = members.pods[ordinal]
            if ordinal < first + members.partition:
                return
            outdated = pod.labels.get(POD_REVISION) != members.update.record.name
            if outdated and not pod.is_terminating:
                self._delete(members.item, [pod])
                return
            if not self._is_available(members.item, pod):
                return

    # ---------------------------------------------------------------- pods

    def _create(self, members: Members, ordinal: int) -> None:
        """Create a pod, and write an event about it.

        Raises:
            RetryError: the store refused the pod.
        """
        pod = members.new_pod(ordinal)
        with self._notes.creation(members.item, f"Pod {pod['metadata']['name']} in"):
            self._cluster.create(POD, pod)

    def _delete(self, item: StoredObject, pods: list[StoredObject]) -> None:
        """Delete pods, and write an event about each."""
        self._cluster.delete(pods)
        for pod in pods:
            self._notes.deleted(item, pod.record.name)

    def _recreate(self, item: StoredObject, pod: StoredObject) -> None:
        """Delete an ended pod, and write an event about it."""
        self._notes.recreated(item, pod)
        self._delete(item, [pod])

    # ---------------------------------------------------------------- status

    def _count(self, members: Members) -> None:
        """Write the status."""
        item, pods = members.item, list(members.pods.values())
        ready = [pod for pod in pods if ready_since(pod) is not None]
        usable = [pod for pod in ready if available(self._cluster, pod, _wait_of(item))]
        update, before = members.update.record.name, members.before.record.name
        revisions = [pod.labels.get(POD_REVISION) for pod in pods if not pod.is_terminating]
        updated, current = revisions.count(update), revisions.count(before)
        if members.is_rolling and updated == len(pods) == len(ready):
            before, current = update, updated
        status: Fields = {
            "observedGeneration": item.metadata.get("generation", 1),
            "replicas": len(pods),
            "readyReplicas": len(ready) or None,
            "availableReplicas": len(usable),
            "currentReplicas": current or None,
            "updatedReplicas": updated or None,
            "currentRevision": before,
            "updateRevision": update,
            "collisionCount": item.status.get("collisionCount") or 0,
        }
        self._cluster.set_status(item, status)


def _wait_of(item: StoredObject) -> float:
    """Seconds that a pod must be ready to count as available."""
    return float(item.spec.get("minReadySeconds") or 0)

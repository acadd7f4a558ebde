"""DaemonSets: one pod for each eligible node."""

from collections.abc import Hashable, Iterable

from stretto.api.admission.tolerations import daemon_tolerations
from stretto.api.wire.kinds import DAEMON_SET, NODE, POD
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.workloads.adoption import Claims
from stretto.workloads.cluster import (
    CONTROLLER_REVISION,
    LocalCluster,
    available,
    is_active,
    ready_since,
)
from stretto.workloads.daemons.eligible import eligible, target_of
from stretto.workloads.daemons.updates import DaemonPlace, daemon_window, next_step
from stretto.workloads.pods import pod_of
from stretto.workloads.revisions import POD_REVISION, RevisionKeeper


class DaemonSetController:
    """From DaemonSets to pods."""

    def __init__(self, cluster: LocalCluster) -> None:
        """For the DaemonSets of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/daemonsets"
        self._cluster = cluster
        self._claims = Claims(cluster)
        self._revisions = RevisionKeeper(cluster, POD_REVISION)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The DaemonSet, also that of a pod; all of them after a change of a node."""
        if change.source == self._cluster.name and change.kind == NODE:
            return [each.name for each in self._cluster.objects(DAEMON_SET)]
        if change.kind == CONTROLLER_REVISION and change.new is not None:
            return ()
        return self._claims.affected(change, DAEMON_SET)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Create the missing pods of one DaemonSet, delete the others, and count them."""
        assert isinstance(key, tuple)
        item = self._cluster.objects(DAEMON_SET).get(*key)
        if item is None or item.is_terminating:
            return None
        history = self._revisions.history(item)
        if history is None:
            return 0.0
        revision = self._revisions.hash_of(history.current)
        wait = float(item.spec.get("minReadySeconds") or 0)
        spec = {**item.spec["template"]["spec"]}
        spec["tolerations"] = daemon_tolerations(spec)
        nodes = {each.record.name for each in eligible(self._cluster.objects(NODE), spec)}
        pods = self._claims.claimed(item, lambda pod: not pod.is_terminating)
        places = [self._place(node, pods, revision, wait) for node in sorted(nodes)]
        step = next_step(places, daemon_window(item.spec, len(nodes)))
        kept = {pod.record.uid for place in places for pod in place.pods}
        unwanted = [pod for pod in pods if pod.record.uid not in kept]
        self._cluster.delete([*unwanted, *step.deleted])
        for node in step.created:
            self._create(item, spec, node, revision)
        self._count(item, places, unwanted)
        hashes = {pod.labels.get(POD_REVISION) for pod in pods}
        used = [each for each in history.old if self._revisions.hash_of(each) in hashes]
        self._revisions.clean(item, history, used)
        is_waiting = any(
            ready_since(pod) and not available(self._cluster, pod, wait) for pod in pods
        )
        return (wait or None) if is_waiting else None

    def _place(
        self, node: str, pods: list[StoredObject], revision: str, wait: float
    ) -> DaemonPlace:
        """The pods of one node: at most one of each revision, and none that has ended."""
        running = [pod for pod in pods if target_of(pod) == node and is_active(pod)]
        new = [pod for pod in running if pod.labels.get(POD_REVISION) == revision]
        old = [pod for pod in running if pod.labels.get(POD_REVISION) != revision]
        usable = {pod.record.uid for pod in running if available(self._cluster, pod, wait)}
        return DaemonPlace(node, next(iter(new), None), next(iter(old), None), frozenset(usable))

    def _create(self, item: StoredObject, spec: Fields, node: str, revision: str) -> None:
        """Create the pod of one node, with an affinity that names it."""
        affinity = dict(spec.get("affinity") or {})
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        required = {"nodeSelectorTerms": [term]}
        affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": required}
        template = {**item.spec["template"], "spec": {**spec, "affinity": affinity}}
        labels = {POD_REVISION: revision}
        made = pod_of(item, template, generateName=f"{item.record.name}-", labels=labels)
        self._cluster.create(POD, made)

    def _count(
        self, item: StoredObject, places: list[DaemonPlace], unwanted: list[StoredObject]
    ) -> None:
        """Write the status; a node counts by its oldest pod."""
        shown = [(place, place.old or place.new) for place in places]
        there = [(place, pod) for place, pod in shown if pod is not None]
        ready = sum(ready_since(pod) is not None for _, pod in there)
        usable = sum(pod.record.uid in place.available for place, pod in there)
        status: Fields = {
            "observedGeneration": item.metadata.get("generation", 1),
            "currentNumberScheduled": len(there),
            "desiredNumberScheduled": len(places),
            "numberMisscheduled": sum(is_active(pod) for pod in unwanted),
            "numberReady": ready,
            "numberAvailable": usable or None,
            "numberUnavailable": (len(places) - usable) or None,
            "updatedNumberScheduled": sum(pod is place.new for place, pod in there) or None,
        }
        self._cluster.set_status(item, status)

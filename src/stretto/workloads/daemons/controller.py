"""DaemonSets: one pod for each eligible node."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from stretto.api.wire.kinds import DAEMON_SET, NODE, POD
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.reconciler import RetryError
from stretto.workloads.adoption import Claims
from stretto.workloads.cluster import (
    CONTROLLER_REVISION,
    DAEMON_SETS,
    LocalCluster,
    available,
    ready_since,
)
from stretto.workloads.daemons.eligible import NO_FIT, daemon_spec, fit_of, target_of
from stretto.workloads.daemons.failures import FailureDelays
from stretto.workloads.daemons.places import DaemonPlace, DaemonStep, has_ended, repaired
from stretto.workloads.daemons.updates import daemon_window, next_step
from stretto.workloads.notices import create_failed, created, deleted, ended
from stretto.workloads.pods import pod_of
from stretto.workloads.revisions import POD_REVISION, RevisionKeeper

GENERATION: Final = "pod-template-generation"
"""Label of a pod that contains the generation of its template."""
_GENERATION: Final = "deprecated.daemonset.template.generation"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


class DaemonSetController:
    """Controller that creates the pods of DaemonSets."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Control the DaemonSets of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/daemonsets"
        self._cluster = cluster
        self._claims = Claims(cluster)
        self._revisions = RevisionKeeper(cluster, POD_REVISION)
        self._failures = FailureDelays()

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed DaemonSet, or that of a changed pod.

        All DaemonSets after a change of a node.
        """
        if change.source == self._cluster.name and change.kind == NODE:
            return [each.name for each in self._cluster.objects(DAEMON_SET)]
        if change.kind == CONTROLLER_REVISION and change.new is not None:
            return ()
        return self._claims.affected(change, DAEMON_SET)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Create and delete pods of one DaemonSet, and write its status."""
        item = self._cluster.objects(DAEMON_SET).active(key)
        if item is None:
            return None
        history = self._revisions.history(item)
        if history is None:
            return 0.0
        revision = self._revisions.hash_of(history.current)
        wait = float(item.spec.get("minReadySeconds") or 0)
        pods = self._claims.claimed(item, lambda pod: not (pod.is_terminating and has_ended(pod)))
        spec = daemon_spec(item.spec["template"]["spec"])
        places = self._places(spec, pods, revision, wait)
        retry = self._end_failed(item, places, now)
        window = daemon_window(item.spec, sum(place.fit.runs for place in places))
        step = repaired(places, surges=window.surge > 0)
        if step.is_empty:
            step = next_step([place for place in places if place.pods], window)
        self._count(item, places)
        self._apply(item, spec, revision, step)
        hashes = {pod.labels.get(POD_REVISION) for pod in pods}
        used = [each for each in history.old if self._revisions.hash_of(each) in hashes]
        self._revisions.clean(item, history, used)
        is_waiting = any(
            ready_since(pod) and not available(self._cluster, pod, wait) for pod in pods
        )
        delays = [each for each in (wait if is_waiting else 0.0, retry) if each]
        return min(delays, default=None)

    def _places(
        self, spec: Fields, pods: Iterable[StoredObject], revision: str, wait: float
    ) -> list[DaemonPlace]:
        """The nodes that get a pod or have one, by name, including nodes that no longer exist."""
        fit = fit_of(spec)
        fits = {each.record.name: fit(each) for each in self._cluster.objects(NODE)}
        by_node: dict[str, list[StoredObject]] = {}
        for pod in pods:
            by_node.setdefault(target_of(pod), []).append(pod)
        found: list[DaemonPlace] = []
        for node in sorted({*(name for name, each in fits.items() if each.runs), *by_node}):
            mine = sorted(by_node.get(node, ()), key=_oldest_first)
            new = {pod.record.uid for pod in mine if pod.labels.get(POD_REVISION) == revision}
            usable = {pod.record.uid for pod in mine if available(self._cluster, pod, wait)}
            place = (node, fits.get(node, NO_FIT), mine, frozenset(new), frozenset(usable))
            found.append(DaemonPlace(*place))
        return found

    def _end_failed(
        self, item: StoredObject, places: Iterable[DaemonPlace], now: float
    ) -> float | None:
        """Delete ended pods on nodes that keep a pod; return the seconds until the next attempt."""
        due: list[float] = []
        for place in places:
            for pod in place.ended if place.fit.keeps else ():
                key = item.record.uid, place.node
                if pod.status.get("phase") != "Succeeded":
                    if rest := self._failures.remaining(key, now):
                        due.append(rest)
                        continue
                    self._failures.note(key, now)
                self._cluster.note(DAEMON_SETS, item, ended(pod, place.node))
                self._delete(item, [pod])
        return min(due, default=None)

    def _apply(self, item: StoredObject, spec: Fields, revision: str, step: DaemonStep) -> None:
        """Delete and create pods, and write an event about each.

        Raises:
            RetryError: the store refused a pod.
        """
        self._delete(item, step.deleted)
        for node in step.created:
            try:
                name = self._create(item, spec, node, revision)
            except RetryError as error:
                self._cluster.note(DAEMON_SETS, item, create_failed(error))
                raise
            self._cluster.note(DAEMON_SETS, item, created(name))

    def _delete(self, item: StoredObject, pods: Sequence[StoredObject]) -> None:
        self._cluster.delete(pods)
        self._cluster.note(DAEMON_SETS, item, *(deleted(pod.record.name) for pod in pods))

    def _create(self, item: StoredObject, spec: Fields, node: str, revision: str) -> str:
        """Create the pod of one node, with an affinity to that node; return its name."""
        affinity = dict(spec.get("affinity") or {})
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        required = {_REQUIRED: {"nodeSelectorTerms": [term]}}
        affinity["nodeAffinity"] = {**(affinity.get("nodeAffinity") or {}), **required}
        template = {**item.spec["template"], "spec": {**spec, "affinity": affinity}}
        labels = {POD_REVISION: revision}
        if generation := item.annotations.get(_GENERATION):
            labels[GENERATION] = generation
        made = pod_of(item, template, generateName=f"{item.record.name}-", labels=labels)
        return self._cluster.create(POD, made)

    def _count(self, item: StoredObject, places: Iterable[DaemonPlace]) -> None:
        """Write the status; the oldest pod of a node represents the node."""
        wanted = [place for place in places if place.fit.runs]
        there = [(place, place.pods[0]) for place in wanted if place.pods]
        usable = sum(place.is_available(pod) for place, pod in there)
        status: Fields = {
            "observedGeneration": item.metadata.get("generation", 1),
            "currentNumberScheduled": len(there),
            "desiredNumberScheduled": len(wanted),
            "numberMisscheduled": sum(
                bool(place.pods) for place in places if not place.fit.runs and place.fit != NO_FIT
            ),
            "numberReady": sum(ready_since(pod) is not None for _, pod in there),
            "numberAvailable": usable or None,
            "numberUnavailable": (len(wanted) - usable) or None,
            "updatedNumberScheduled": sum(pod.record.uid in place.current for place, pod in there)
            or None,
        }
        self._cluster.set_status(item, status)


def _oldest_first(pod: StoredObject) -> tuple[bool, str, str]:
    """Sort key: pods with a node first, then by age."""
    return not pod.record.node, str(pod.record.created), pod.record.name

"""Jobs: pods that run to completion, with retries."""

from collections.abc import Hashable, Iterable, Iterator
from itertools import islice
from typing import Final

from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import JOB, POD
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.conditions import condition_of, true_condition
from stretto.reconcile.events import EventLevel, EventText
from stretto.reconcile.reconciler import RetryError
from stretto.workloads.adoption import Claims
from stretto.workloads.cluster import JOBS, LocalCluster, is_active, ready_since
from stretto.workloads.jobs.ends import JobEnd, JobPods, end_of
from stretto.workloads.jobs.indexes import INDEX, as_text, index_of, indexes_of
from stretto.workloads.notices import create_failed, created, deleted
from stretto.workloads.pods import pod_of

_ENDS: Final = ("Complete", "Failed")
_SUSPENDED: Final = "Suspended"
_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
_OWN: Final = "kubernetes.io/job-controller"
"""Value of ``managedBy`` in Jobs of this controller."""


class JobController:
    """Controller that creates the pods of Jobs."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Control the Jobs of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/jobs"
        self._cluster = cluster
        self._claims = Claims(cluster)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed Job, that of a changed pod, and those that may adopt a pod."""
        return self._claims.affected(change, JOB)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Create pods of one Job, write its end, and delete it after its time to live."""
        item = self._cluster.objects(JOB).active(key)
        if item is None or item.spec.get("managedBy", _OWN) != _OWN:
            return None
        finished = _finished_at(item)
        if finished is not None:
            return self._expire(item, finished)
        owned = self._claims.claimed(item, lambda _: True)
        pods = JobPods(
            item.spec,
            active=[pod for pod in owned if is_active(pod)],
            succeeded=_ended(owned, "Succeeded"),
            failed=_ended(owned, "Failed"),
            stopping=[
                pod for pod in owned if pod.is_terminating and pod.status.get("phase") not in ENDED
            ],
        )
        started = item.status.get("startTime")
        age = self._cluster.age(started) if started else None
        end = end_of(pods, age)
        self._delete(item, self._surplus(pods, end))
        if end is None and not item.spec.get("suspend"):
            self._create(item, pods)
        self._report(item, pods, end)
        deadline = item.spec.get("activeDeadlineSeconds")
        if end is not None or deadline is None or item.spec.get("suspend"):
            return None
        return max(0.1, float(deadline) - (age or 0.0))

    def _expire(self, item: StoredObject, finished: str) -> float | None:
        """Delete a finished Job after its time to live; return the seconds until then.

        The Job stays for at least one second, so that a client that waits for its end sees it.
        """
        lives = item.spec.get("ttlSecondsAfterFinished")
        if lives is None:
            return None
        left = max(float(lives), 1.0) - self._cluster.age(finished)
        if left <= 0:
            self._cluster.delete([item])
            return None
        return left

    def _surplus(self, pods: JobPods, end: JobEnd | None) -> list[StoredObject]:
        """Pods to delete: all at the end or while suspended, otherwise the surplus."""
        if end is not None or pods.spec.get("suspend"):
            return pods.active
        waiting = sorted(pods.active, key=lambda pod: ready_since(pod) is not None)
        return waiting[: max(0, len(waiting) - int(pods.spec.get("parallelism", 1)))]

    def _create(self, item: StoredObject, pods: JobPods) -> None:
        """Create pods up to the number that may run at the same time."""
        parallelism = int(item.spec.get("parallelism", 1))
        running = len(pods.active) + (len(pods.stopping) if pods.waits_for_stopping else 0)
        if pods.is_indexed:
            count = self._cluster.creatable(parallelism - running, pods.active)
            for index in islice(self._free_indexes(pods), count):
                failures = [index_of(pod) for pod in pods.failed].count(index)
                self._create_pod(item, _pod(item, index, failures))
            return
        left = parallelism
        if pods.completions is not None:
            left = pods.completions - pods.done
        elif pods.succeeded:
            left = 0  # a success ends the work queue; running pods finish
        for _ in range(self._cluster.creatable(min(parallelism, left) - running, pods.active)):
            self._create_pod(item, _pod(item, None))

    def _create_pod(self, item: StoredObject, pod: Fields) -> None:
        """Create a pod, and write an event about it.

        Raises:
            RetryError: the store refused the pod.
        """
        try:
            name = self._cluster.create(POD, pod)
        except RetryError as error:
            self._cluster.note(JOBS, item, create_failed(error))
            raise
        self._cluster.note(JOBS, item, created(name))

    def _delete(self, item: StoredObject, pods: list[StoredObject]) -> None:
        """Delete pods, and write an event about each."""
        self._cluster.delete(pods)
        self._cluster.note(JOBS, item, *(deleted(pod.record.name) for pod in pods))

    def _free_indexes(self, pods: JobPods) -> Iterator[int]:
        """Indexes that are not running, not succeeded and not permanently failed."""
        taken = indexes_of([*pods.active, *pods.succeeded]) | pods.failed_indexes()
        if pods.waits_for_stopping:
            taken |= indexes_of(pods.stopping)
        return (index for index in range(pods.completions or 0) if index not in taken)

    def _report(self, item: StoredObject, pods: JobPods, end: JobEnd | None) -> None:
        """Write the status."""
        now, suspended = self._cluster.now_text(), bool(item.spec.get("suspend"))
        active = [] if end is not None or suspended else pods.active
        status: Fields = {
            "startTime": None if suspended else item.status.get("startTime") or now,
            "active": len(active) or None,
            "ready": sum(ready_since(pod) is not None for pod in active),
            "succeeded": pods.done or None,
            "failed": len(pods.failed) + _ended_by(pods, end) or None,
            "terminating": len(pods.stopping),
            "uncountedTerminatedPods": {},
        }
        if pods.is_indexed:
            status["completedIndexes"] = as_text(indexes_of(pods.succeeded)) or None
            if item.spec.get("backoffLimitPerIndex") is not None:
                status["failedIndexes"] = as_text(pods.failed_indexes())
        if end is not None and end.is_success:
            status["completionTime"] = now
        conditions = self._conditions(item, end)
        if conditions:
            status["conditions"] = conditions
        self._cluster.set_status(item, status)
        self._cluster.note(JOBS, item, *_news(item, conditions, end))

    def _conditions(self, item: StoredObject, end: JobEnd | None) -> list[Fields]:
        """The conditions of suspension and of the end."""
        before: list[Fields] = item.status.get("conditions") or []
        old = condition_of(before, _SUSPENDED)
        suspends = bool(item.spec.get("suspend")) and end is None
        found = [each for each in before if each["type"] != _SUSPENDED]
        if suspends:
            found.append(self._condition(_SUSPENDED, old, ("JobSuspended", "Job suspended")))
        elif old is not None:
            made = self._condition(_SUSPENDED, old, ("JobResumed", "Job resumed"), "False")
            found.append(made)
        if end is not None:
            names = ("SuccessCriteriaMet", "Complete") if end.is_success else _FAILURE
            found += [self._condition(name, None, (end.reason, end.message)) for name in names]
        return found

    def _condition(
        self, name: str, old: Fields | None, why: tuple[str, str], status: str = "True"
    ) -> Fields:
        if old is not None and old.get("status") == status:
            return old
        now = self._cluster.now_text()
        return {
            "type": name,
            "status": status,
            "lastProbeTime": now,
            "lastTransitionTime": now,
            "reason": why[0],
            "message": why[1],
        }


_FAILURE: Final = ("FailureTarget", "Failed")


def _ended_by(pods: JobPods, end: JobEnd | None) -> int:
    """Number of running pods that the failure of their Job ends; they count as failed."""
    return 0 if end is None or end.is_success else len(pods.active)


def _news(item: StoredObject, conditions: list[Fields], end: JobEnd | None) -> Iterator[EventText]:
    """The events about a new suspension, a resumption, and the end of a Job."""
    suspended = condition_of(conditions, _SUSPENDED)
    before = condition_of(item.status.get("conditions") or [], _SUSPENDED)
    if suspended is not None and suspended != before:
        reason = "Suspended" if suspended["status"] == "True" else "Resumed"
        yield EventText(EventLevel.NORMAL, reason, str(suspended["message"]))
    if end is not None and end.is_success:
        yield EventText(EventLevel.NORMAL, "Completed", "Job completed")
    elif end is not None:
        yield EventText(EventLevel.WARNING, end.reason, end.message)


def _finished_at(item: StoredObject) -> str | None:
    """Time at which a Job ended, in RFC 3339; ``None`` while it runs."""
    end = true_condition(item.status.get("conditions"), *_ENDS)
    return None if end is None else str(end["lastTransitionTime"])


def _ended(pods: Iterable[StoredObject], phase: str) -> list[StoredObject]:
    return [pod for pod in pods if pod.status.get("phase") == phase]


def _pod(item: StoredObject, index: int | None, failures: int = 0) -> Fields:
    """A new pod of a Job, with its completion index and the number of failures of the index."""
    labels = {
        "batch.kubernetes.io/job-name": item.record.name,
        "job-name": item.record.name,
        "batch.kubernetes.io/controller-uid": item.record.uid,
        "controller-uid": item.record.uid,
    }
    prefix, notes = f"{item.record.name}-", {}
    if index is not None:
        prefix, notes = f"{item.record.name}-{index}-", {INDEX: str(index)}
        labels[INDEX] = str(index)
        if item.spec.get("backoffLimitPerIndex") is not None:
            notes[_FAILURES] = str(failures)
    template = item.spec["template"]
    made = pod_of(item, template, generateName=prefix, labels=labels, annotations=notes)
    if index is not None:
        made["spec"] = _indexed(made["spec"], f"{item.record.name}-{index}")
    return made


def _indexed(spec: Fields, hostname: str) -> Fields:
    """A pod spec with the host name and the environment variable of its completion index."""
    found = {"hostname": hostname, **spec}
    for key in ("initContainers", "containers"):
        if spec.get(key):
            found[key] = [_with_index(each) for each in spec[key]]
    return found


def _with_index(container: Fields) -> Fields:
    variables = container.get("env") or []
    if any(each.get("name") == _VARIABLE for each in variables):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*variables, {"name": _VARIABLE, "valueFrom": source}]}

"""Jobs: pods that run to completion, with retries."""

from collections.abc import Hashable, Iterable

from stretto.api.wire.kinds import JOB, POD
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.workloads.cluster import LocalCluster, is_active, ready_since
from stretto.workloads.pods import pod_of

_INDEX = "batch.kubernetes.io/job-completion-index"


class JobController:
    """From Jobs to pods."""

    def __init__(self, cluster: LocalCluster) -> None:
        """For the Jobs of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/jobs"
        self._cluster = cluster

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The Job, also that of a pod."""
        return self._cluster.keys(change, JOB)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Create pods of one Job, and note how it ends."""
        assert isinstance(key, tuple)
        item = self._cluster.objects(JOB).get(*key)
        if item is None or item.is_terminating or _is_finished(item):
            return None
        pods = self._cluster.owned(POD, item)
        active = [pod for pod in pods if is_active(pod)]
        succeeded = _ended(pods, "Succeeded")
        failed = _ended(pods, "Failed")
        conditions = self._end(item, len(succeeded), len(failed))
        if conditions:
            self._cluster.delete(active)
            active = []
        elif not item.spec.get("suspend"):
            self._create(item, active, succeeded)
        self._count(item, (active, succeeded, failed), conditions)
        return None

    def _create(
        self, item: StoredObject, active: list[StoredObject], succeeded: list[StoredObject]
    ) -> None:
        """Create as many pods as may run beside those that do."""
        completions = item.spec.get("completions")
        parallelism = int(item.spec.get("parallelism", 1))
        left = parallelism if completions is None else int(completions) - len(succeeded)
        missing = min(parallelism, max(0, left)) - len(active)
        indexed = item.spec.get("completionMode") == "Indexed"
        taken = {pod.annotations.get(_INDEX) for pod in [*active, *succeeded]}
        free = (str(number) for number in range(int(completions or 0)) if str(number) not in taken)
        for _ in range(missing):
            self._cluster.create(POD, _pod(item, next(free, "0") if indexed else None))

    def _end(self, item: StoredObject, succeeded: int, failed: int) -> list[Fields]:
        """The conditions of a Job that has ended; none while it runs."""
        wanted = int(item.spec.get("completions") or 1)
        if succeeded >= wanted:
            return self._conditions("SuccessCriteriaMet", "Complete", "CompletionsReached")
        if failed > int(item.spec.get("backoffLimit", 6)):
            return self._conditions("FailureTarget", "Failed", "BackoffLimitExceeded")
        return []

    def _conditions(self, first: str, last: str, reason: str) -> list[Fields]:
        now = self._cluster.now_text()
        return [
            {
                "type": each,
                "status": "True",
                "reason": reason,
                "lastProbeTime": now,
                "lastTransitionTime": now,
            }
            for each in (first, last)
        ]

    def _count(
        self,
        item: StoredObject,
        pods: tuple[list[StoredObject], list[StoredObject], list[StoredObject]],
        conditions: list[Fields],
    ) -> None:
        """Write the status."""
        active, succeeded, failed = pods
        status: Fields = {
            "startTime": item.status.get("startTime") or self._cluster.now_text(),
            "active": len(active) or None,
            "ready": sum(ready_since(pod) is not None for pod in active),
            "succeeded": len(succeeded) or None,
            "failed": len(failed) or None,
            "terminating": 0,
            "uncountedTerminatedPods": {},
        }
        if conditions:
            status["conditions"] = conditions
            if conditions[-1]["type"] == "Complete":
                status["completionTime"] = conditions[-1]["lastTransitionTime"]
        self._cluster.set_status(item, status)


def _is_finished(item: StoredObject) -> bool:
    ends = ("Complete", "Failed")
    return any(each.get("type") in ends for each in item.status.get("conditions") or ())


def _ended(pods: Iterable[StoredObject], phase: str) -> list[StoredObject]:
    return [pod for pod in pods if pod.status.get("phase") == phase]


def _pod(item: StoredObject, index: str | None) -> Fields:
    """A new pod of a Job, with its completion index if the Job has indexes."""
    labels = {
        "batch.kubernetes.io/job-name": item.record.name,
        "job-name": item.record.name,
        "batch.kubernetes.io/controller-uid": item.record.uid,
        "controller-uid": item.record.uid,
    }
    prefix, notes = f"{item.record.name}-", {}
    if index is not None:
        prefix, notes = f"{item.record.name}-{index}-", {_INDEX: index}
        labels[_INDEX] = index
    template = item.spec["template"]
    return pod_of(item, template, generateName=prefix, labels=labels, annotations=notes)

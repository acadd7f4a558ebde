"""A simulated kubelet: bound pods start, become ready, restart and end."""

import math
from collections.abc import Callable, Hashable, Iterable
from typing import Final

from stretto.api.types.heads import ENDED
from stretto.api.types.quality import quality_of_service
from stretto.api.wire.kinds import POD
from stretto.reconcile.cache import Change, StoredObject
from stretto.workloads.cluster import LocalCluster
from stretto.workloads.kubelet.course import CourseOf, PodCourse, attempt_at, default_course
from stretto.workloads.kubelet.ports import MESSAGE, REASON, is_taken, node_with_ports
from stretto.workloads.kubelet.status import PodStatusWriter

_PORTS: Final = "node with ports"
_REJECTED_AFTER: Final = 1.0
_TERMINATED: Final = 143
"""Exit code of a container that SIGTERM has ended."""
_TICK: Final = 1e-6
"""Minimum seconds until the next reconciliation: a smaller step may not change a clock's time."""


class KubeletController:
    """Controller that moves bound pods through their phases."""

    def __init__(
        self,
        cluster: LocalCluster,
        course: CourseOf = default_course,
        runs: Callable[[StoredObject], bool] = lambda _: True,
    ) -> None:
        """Simulate the pods of a cluster that ``runs`` selects; the default selects all."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/kubelet"
        self._cluster = cluster
        self._course = course
        self._runs = runs
        self._status = PodStatusWriter(cluster)
        cluster.objects(POD).add_index(_PORTS, node_with_ports)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed pod."""
        is_ours = change.source == self._cluster.name and change.kind == POD
        if is_ours and change.new is not None and self._runs(change.new):
            yield change.object.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Move one pod to its current phase; return the seconds until its next change."""
        assert isinstance(key, tuple)
        pod = self._cluster.objects(POD).get(*key)
        if pod is None or not pod.record.node or pod.status.get("phase") in ENDED:
            return None
        if pod.is_terminating and pod.metadata.get("finalizers"):
            self._status.end(pod, _TERMINATED)
            return None
        course = self._course(pod)
        started = pod.status.get("startTime")
        if started is None:
            self._begin(pod)
            return None
        if pod.status.get("reason") == REASON:
            return self._reject(pod, self._cluster.age(started))
        age = self._cluster.age(started) - course.starts_after
        if age < 0:
            return max(_TICK, -age)
        if course.absent_image:
            self._status.wait_for_image(pod, course.absent_image)
            return None
        again = self._move(pod, course, age)
        return None if again is None else max(_TICK, again)

    def _begin(self, pod: StoredObject) -> None:
        """Admit a pod to its node, unless another pod uses its host ports."""
        quality = quality_of_service(pod.spec)
        status = {"startTime": self._cluster.now_text(), "qosClass": quality}
        if is_taken(pod, self._cluster.objects(POD).indexed(_PORTS, pod.record.node)):
            status |= {"reason": REASON, "message": MESSAGE}
        self._cluster.set_status(pod, status)

    def _reject(self, pod: StoredObject, age: float) -> float | None:
        """Fail a rejected pod after one second, so that retries take time."""
        if age < _REJECTED_AFTER:
            return _REJECTED_AFTER - age
        self._cluster.set_status(pod, {"phase": "Failed"})
        return None

    def _move(self, pod: StoredObject, course: PodCourse, age: float) -> float | None:
        """Show the attempt at this age; return the seconds until the next change."""
        attempt = attempt_at(course, pod.spec.get("restartPolicy", "Always"), age)
        if not attempt.is_running(age) and math.isinf(attempt.next_at):
            self._status.end(pod, course.exit_code)
            return None
        if not attempt.is_running(age):
            self._status.wait_for_restart(pod, attempt, course.exit_code)
            return attempt.next_at - age
        after = course.ready_after
        ready_at = math.inf if after is None else attempt.started_at + after
        is_ready = None if after is None else age >= ready_at
        self._status.run(pod, attempt, course.exit_code, is_ready=is_ready)
        waits = [at - age for at in (ready_at, attempt.ends_at) if age < at < math.inf]
        return min(waits, default=None)

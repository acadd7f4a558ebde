"""A simulated kubelet: bound pods start, become ready, and end."""

import zlib
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from stretto.api.types.quality import quality_of_service
from stretto.api.wire.kinds import POD
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.workloads.cluster import ENDED, LocalCluster


@dataclass(frozen=True, slots=True)
class PodCourse:
    """What becomes of a pod once it is bound."""

    #: Seconds until it runs.
    starts_after: float = 0.0
    #: Seconds after its start until it is ready; ``None`` for never.
    ready_after: float | None = 0.0
    #: Seconds after its start until it ends; ``None`` for never.
    ends_after: float | None = None
    #: Whether it ends in failure.
    fails: bool = False


CourseOf = Callable[[StoredObject], PodCourse]
"""The course of a pod."""


def default_course(pod: StoredObject) -> PodCourse:
    """Services never end; pods of Jobs succeed after a second."""
    runs_on = pod.spec.get("restartPolicy", "Always") == "Always"
    return PodCourse(ends_after=None if runs_on else 1.0)


class KubeletController:
    """Moves bound pods through their phases."""

    def __init__(self, cluster: LocalCluster, course: CourseOf = default_course) -> None:
        """For the pods of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/kubelet"
        self._cluster = cluster
        self._course = course

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The pod."""
        if change.source == self._cluster.name and change.kind == POD and change.new is not None:
            yield change.object.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Move one pod to the phase of this moment; seconds until its next change."""
        assert isinstance(key, tuple)
        pod = self._cluster.objects(POD).get(*key)
        if pod is None or not pod.record.node or pod.status.get("phase") in ENDED:
            return None
        course = self._course(pod)
        started = pod.status.get("startTime")
        if started is None:
            self._start(pod)
            return None
        age = self._cluster.age(started) - course.starts_after
        if age < 0:
            return -age
        if course.ends_after is not None and age >= course.ends_after:
            self._end(pod, course)
            return None
        self._run(pod, is_ready=course.ready_after is not None and age >= course.ready_after)
        times = (course.ready_after, course.ends_after)
        waits = [at - age for at in times if at is not None and at > age]
        return min(waits, default=None)

    def _start(self, pod: StoredObject) -> None:
        """Note the start of a pod."""
        status = {"startTime": self._cluster.now_text(), "qosClass": quality_of_service(pod.spec)}
        self._cluster.set_status(pod, status)

    def _run(self, pod: StoredObject, *, is_ready: bool) -> None:
        """Let a pod run."""
        text = "True" if is_ready else "False"
        if pod.status.get("phase") == "Running" and _shows(pod, text):
            return
        states = {"ContainersReady": text, "Initialized": "True", "Ready": text}
        running = {"running": {"startedAt": pod.status["startTime"]}}
        status: Fields = {
            "phase": "Running",
            "podIP": address_of(pod.record.uid),
            "conditions": self._conditions(pod, states),
            "containerStatuses": _containers(pod, running, is_ready=is_ready),
        }
        self._cluster.set_status(pod, status)

    def _end(self, pod: StoredObject, course: PodCourse) -> None:
        """Let a pod end."""
        states = {"ContainersReady": "False", "Initialized": "True", "Ready": "False"}
        code, reason = (1, "Error") if course.fails else (0, "Completed")
        ended: Fields = {"exitCode": code, "reason": reason, "startedAt": None}
        ended["finishedAt"] = self._cluster.now_text()
        status: Fields = {
            "phase": "Failed" if course.fails else "Succeeded",
            "conditions": self._conditions(pod, states),
            "containerStatuses": _containers(pod, {"terminated": ended}, is_ready=False),
        }
        self._cluster.set_status(pod, status)

    def _conditions(self, pod: StoredObject, states: dict[str, str]) -> list[Fields]:
        """The conditions of a pod with some of them changed."""
        found = {each["type"]: each for each in pod.status.get("conditions") or ()}
        for type_, status in {"PodScheduled": "True", **states}.items():
            if found.get(type_, {}).get("status") != status:
                now = self._cluster.now_text()
                found[type_] = {"type": type_, "status": status, "lastTransitionTime": now}
        return [found[type_] for type_ in sorted(found)]


def address_of(uid: str) -> str:
    """The address of a pod: one of 10.0.0.0/8, by its uid."""
    number = zlib.crc32(uid.encode())
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _shows(pod: StoredObject, ready: str) -> bool:
    """Whether the status says already whether a pod is ready; images of running pods stay."""
    conditions = pod.status.get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == ready for each in conditions)


def _containers(pod: StoredObject, state: Fields, *, is_ready: bool) -> list[Fields]:
    """The status of each container."""
    return [
        {
            "name": each["name"],
            "state": state,
            "lastState": {},
            "ready": is_ready,
            "restartCount": 0,
            "image": each.get("image", ""),
            "imageID": "",
        }
        for each in pod.spec.get("containers") or ()
    ]

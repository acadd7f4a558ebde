"""The status of simulated pods."""

import zlib
from typing import Final

from stretto.base.clock import parse_timestamp, timestamp
from stretto.reconcile.cache import Fields, StoredObject
from stretto.reconcile.conditions import condition_of
from stretto.workloads.cluster import LocalCluster
from stretto.workloads.kubelet.course import PodAttempt
from stretto.workloads.kubelet.events import PodEvents

_CONDITIONS: Final = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
"""Conditions of a pod, in the order in which they become true."""


class PodStatusWriter:
    """Writer of the status that a kubelet reports."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Write for the pods of a cluster."""
        self._cluster = cluster
        self._events = PodEvents(cluster)

    def run(
        self, pod: StoredObject, attempt: PodAttempt, code: int, *, is_ready: bool | None
    ) -> None:
        """Report running containers; the reported images of running containers do not change.

        Args:
            pod: the pod.
            attempt: the running attempt.
            code: exit code of the previous attempts.
            is_ready: whether the pod is ready; ``None`` if its probes always fail.
        """
        text = "True" if is_ready else "False"
        if pod.status.get("phase") == "Running" and _shows(pod, text, attempt.restarts):
            return
        if not _runs(pod, attempt.restarts):
            self._events.started(pod)
            if is_ready is None:
                self._events.unhealthy(pod)
        started = self._moment(pod, attempt.started_at)
        containers = _containers(pod, {"running": {"startedAt": started}}, is_ready=bool(is_ready))
        self._write(pod, "Running", text, self._restarted(containers, pod, attempt, code))

    def wait_for_restart(self, pod: StoredObject, attempt: PodAttempt, code: int) -> None:
        """Report containers that have ended and wait for their restart."""
        if not _waits(pod, "CrashLoopBackOff"):
            self._events.backed_off(pod)
        wait = f"back-off {attempt.next_at - attempt.ends_at:.0f}s restarting failed container"
        waiting = {"reason": "CrashLoopBackOff", "message": wait}
        containers = _containers(pod, {"waiting": waiting}, is_ready=False)
        ended = self._terminated(pod, attempt.started_at, attempt.ends_at, code)
        for each in containers:
            each["restartCount"] = attempt.restarts
            each["lastState"] = {"terminated": ended}
        self._write(pod, "Running", "False", containers)

    def wait_for_image(self, pod: StoredObject, image: str) -> None:
        """Report a container whose image cannot be pulled."""
        if not _waits(pod, "ImagePullBackOff"):
            self._events.not_pulled(pod, image)
        message = f'Back-off pulling image "{image}"'
        waiting = {"reason": "ImagePullBackOff", "message": message}
        containers = _containers(pod, {"waiting": waiting}, is_ready=False)
        for each in containers:
            if each["image"] != image:
                each["state"] = {"running": {"startedAt": pod.status["startTime"]}}
        self._write(pod, "Pending", "False", containers)

    def end(self, pod: StoredObject, code: int) -> None:
        """Report the end of a pod."""
        ended: Fields = {"exitCode": code, "reason": _reason(code), "startedAt": None}
        ended["finishedAt"] = self._cluster.now_text()
        containers = _containers(pod, {"terminated": ended}, is_ready=False)
        self._write(pod, "Failed" if code else "Succeeded", "False", containers)

    def _write(self, pod: StoredObject, phase: str, ready: str, containers: list[Fields]) -> None:
        address = pod_address(pod.record.uid)
        states = {"ContainersReady": ready, "Initialized": "True", "Ready": ready}
        status: Fields = {
            "phase": phase,
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": self._conditions(pod, states),
            "containerStatuses": containers,
        }
        self._cluster.set_status(pod, status)

    def _restarted(
        self, containers: list[Fields], pod: StoredObject, attempt: PodAttempt, code: int
    ) -> list[Fields]:
        """Containers with their number of restarts and their last termination."""
        if attempt.restarts:
            end = self._terminated(pod, attempt.started_at, attempt.started_at, code)
            for each in containers:
                each["restartCount"] = attempt.restarts
                each["lastState"] = {"terminated": end}
        return containers

    def _terminated(self, pod: StoredObject, start: float, end: float, code: int) -> Fields:
        started, finished = (self._moment(pod, seconds) for seconds in (start, end))
        return {
            "exitCode": code,
            "reason": _reason(code),
            "startedAt": started,
            "finishedAt": finished,
        }

    def _moment(self, pod: StoredObject, seconds: float) -> str:
        """RFC 3339 time ``seconds`` after the start of a pod."""
        return timestamp(int(parse_timestamp(pod.status["startTime"]) + seconds))

    def _conditions(self, pod: StoredObject, states: dict[str, str]) -> list[Fields]:
        """The conditions of a pod with some statuses changed."""
        found = {each["type"]: each for each in pod.status.get("conditions") or ()}
        for type_, status in {"PodScheduled": "True", **states}.items():
            if found.get(type_, {}).get("status") != status:
                now = self._cluster.now_text()
                times = {"lastProbeTime": None, "lastTransitionTime": now}
                found[type_] = {"type": type_, "status": status, **times}
        others = [each for each in found if each not in _CONDITIONS]
        return [found[type_] for type_ in (*_CONDITIONS, *others) if type_ in found]


def pod_address(uid: str) -> str:
    """The address of a simulated pod in 10.0.0.0/8, derived from its uid."""
    number = zlib.crc32(uid.encode())
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _reason(code: int) -> str:
    return "Error" if code else "Completed"


def _shows(pod: StoredObject, ready: str, restarts: int) -> bool:
    """Return whether the status already contains this readiness for this attempt."""
    condition = condition_of(pod.status.get("conditions") or (), "Ready")
    return condition is not None and condition["status"] == ready and _runs(pod, restarts)


def _runs(pod: StoredObject, restarts: int) -> bool:
    """Return whether the status already shows running containers in this attempt."""
    statuses = pod.status.get("containerStatuses") or ()
    return bool(statuses) and all(
        each.get("restartCount", 0) == restarts and "running" in (each.get("state") or {})
        for each in statuses
    )


def _waits(pod: StoredObject, reason: str) -> bool:
    """Return whether the status already shows a container that waits for this reason."""
    return any(
        ((each.get("state") or {}).get("waiting") or {}).get("reason") == reason
        for each in pod.status.get("containerStatuses") or ()
    )


def _containers(pod: StoredObject, state: Fields, *, is_ready: bool) -> list[Fields]:
    """The status of each container."""
    return [
        {
            "name": each["name"],
            "state": state,
            "lastState": {},
            "ready": is_ready,
            "started": "running" in state,
            "restartCount": 0,
            "image": each.get("image", ""),
            "imageID": "",
        }
        for each in pod.spec.get("containers") or ()
    ]

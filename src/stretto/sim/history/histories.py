"""A recording by pod: the arrival, start and end of each, and the changes of all other objects.

A pod's identity is its uid. Names are reused (a StatefulSet's pod is replaced by one of the same
name), so a later pod of a name gets another name in the replay, where both can exist at once.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import inf
from typing import Any

import msgspec

from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import POD, Kind
from stretto.control.dispatcher.membership import DURATION, read_duration
from stretto.inputs.objects.recordings import ChangeType, RecordedChange, Recording


class PodHistory(msgspec.Struct, frozen=True):
    """History of one recorded pod."""

    #: Namespace.
    namespace: str
    #: Name in the replay: the recorded name, or a derived one if the name was used before.
    name: str
    #: The pod as it was submitted, without node and uid.
    body: dict[str, Any]
    #: Second of the creation; 0 for pods that existed at the start.
    arrived: float
    #: Second of the bind; 0 for pods that were bound at the start, infinity for never.
    bound: float
    #: Node of the pod; empty for none.
    node: str
    #: True if no scheduler decided on it: its first version had a node.
    fixed: bool
    #: Second at which it ended or was deleted; infinity if it outlived the recording.
    ended: float
    #: Run time that its annotation states, in seconds; infinity for none.
    stated: float = inf

    @property
    def run_time(self) -> float:
        """Seconds from bind to end, or the stated ones if it was never bound; else infinity."""
        if self.bound == inf:
            return self.stated
        return self.ended - self.bound if self.ended < inf else inf


class ReplayHistory(msgspec.Struct, frozen=True):
    """A recording in the form of a replay's input."""

    #: All initial objects except pods, in the order of the file.
    objects: Sequence[RecordedChange]
    #: Changes of all objects except pods, in order.
    changes: Sequence[RecordedChange]
    #: Pods in the order of their arrival.
    pods: Sequence[PodHistory]
    #: Seconds covered.
    seconds: float

    @property
    def scheduler_names(self) -> frozenset[str]:
        """All scheduler names of the pods."""
        return frozenset(scheduler_of(pod.body) for pod in self.pods)


class _OpenPodHistory(msgspec.Struct):
    """A pod while its history is being read."""

    body: dict[str, Any]
    namespace: str
    name: str
    arrived: float
    bound: float = inf
    node: str = ""
    fixed: bool = False
    ended: float = inf


def history_of(recording: Recording) -> ReplayHistory:
    """The history of a recording."""
    pods: dict[str, _OpenPodHistory] = {}
    for number, change in enumerate(_of(POD, recording.start)):
        pods[change.uid or f"start-{number}"] = _first(change, 0.0)
    for change in _of(POD, recording.changes):
        _follow(pods, change)
    taken: dict[tuple[str, str], int] = {}
    return ReplayHistory(
        objects=[each for each in recording.start if each.kind is not POD],
        changes=[each for each in recording.changes if each.kind is not POD],
        pods=[_closed(each, taken) for each in sorted(pods.values(), key=lambda pod: pod.arrived)],
        seconds=recording.seconds,
    )


def scheduler_of(body: Mapping[str, Any]) -> str:
    """The scheduler name of a pod."""
    return str((body.get("spec") or {}).get("schedulerName") or "default-scheduler")


def _of(kind: Kind, changes: Sequence[RecordedChange]) -> list[RecordedChange]:
    return [each for each in changes if each.kind is kind]


def _first(change: RecordedChange, arrived: float) -> _OpenPodHistory:
    """Start the history of a pod at its first version."""
    pod = _OpenPodHistory(change.body, change.namespace, change.name, arrived)
    _note(pod, change.body, arrived)
    pod.fixed = bool(pod.node) and arrived > 0
    return pod


def _follow(pods: dict[str, _OpenPodHistory], change: RecordedChange) -> None:
    """Apply an event to the history of its pod."""
    pod = pods.get(change.uid)
    if pod is None:
        if change.type is not ChangeType.DELETED:
            pods[change.uid] = _first(change, change.time_s)
        return
    if change.type is ChangeType.DELETED:
        pod.ended = min(pod.ended, change.time_s)
        return
    _note(pod, change.body, change.time_s)


def _note(pod: _OpenPodHistory, body: Mapping[str, Any], time_s: float) -> None:
    """Record the bind and the end of a pod from one of its versions."""
    node = str((body.get("spec") or {}).get("nodeName") or "")
    if node and not pod.node:
        pod.node, pod.bound = node, time_s
    if (body.get("status") or {}).get("phase") in ENDED:
        pod.ended = min(pod.ended, time_s)


def _closed(pod: _OpenPodHistory, taken: dict[tuple[str, str], int]) -> PodHistory:
    """The finished history of a pod, with a name that is unique in the recording."""
    body = deepcopy(pod.body)
    count = taken[pod.namespace, pod.name] = taken.get((pod.namespace, pod.name), 0) + 1
    name = pod.name if count == 1 else f"{pod.name[:240]}-again-{count}"
    meta = body["metadata"]
    meta.update(name=name, namespace=pod.namespace)
    for field in ("uid", "creationTimestamp", "deletionTimestamp"):
        meta.pop(field, None)
    body.get("spec", {}).pop("nodeName", None)
    body.pop("status", None)
    notes = meta.get("annotations") or {}
    return PodHistory(
        pod.namespace, name, body, pod.arrived, pod.bound, pod.node, pod.fixed, pod.ended,
        stated=read_duration(str(notes.get(DURATION, "")))[0],
    )  # fmt: skip

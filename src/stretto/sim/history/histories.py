"""A recording, pod by pod: when each came, started and left, and what else changed when.

A pod's identity is its uid. Names come again (a StatefulSet's pod is replaced by its namesake), so
a later bearer of a name gets one of its own in the replay, where both may live at one time.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import inf
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import POD, Kind
from stretto.inputs.objects.recordings import ChangeType, RecordedChange, Recording

_OVER: Final = frozenset({"Succeeded", "Failed"})


class PodHistory(msgspec.Struct, frozen=True):
    """One pod of a recording."""

    #: Namespace.
    namespace: str
    #: Name in the replay: its own, or one made of it where the name had been used.
    name: str
    #: The pod as it was submitted: no node, no uid.
    body: dict[str, Any]
    #: Second at which it came; 0 for what was there.
    came: float
    #: Second at which it was bound; 0 for what was bound at the start, infinity for never.
    bound: float
    #: Node it was bound to; empty for none.
    node: str
    #: Whether nobody decided where it goes: its first version had a node.
    fixed: bool
    #: Second at which it ended or was deleted; infinity where it outlived the recording.
    left: float

    @property
    def run_time(self) -> float:
        """Seconds from bind to end; infinity where either is not known."""
        return self.left - self.bound if self.left < inf and self.bound < inf else inf


class ReplayHistory(msgspec.Struct, frozen=True):
    """A recording as a replay wants it."""

    #: Everything but pods that was there at the start, in the file's order.
    objects: Sequence[RecordedChange]
    #: Changes of everything but pods, in order.
    changes: Sequence[RecordedChange]
    #: Pods by the second at which they came.
    pods: Sequence[PodHistory]
    #: Seconds covered.
    seconds: float

    @property
    def scheduler_names(self) -> frozenset[str]:
        """Every scheduler that the pods asked for."""
        return frozenset(scheduler_of(pod.body) for pod in self.pods)


class _OpenPodHistory(msgspec.Struct):
    """A pod while its history is being read."""

    body: dict[str, Any]
    namespace: str
    name: str
    came: float
    bound: float = inf
    node: str = ""
    fixed: bool = False
    left: float = inf


def history_of(recording: Recording) -> ReplayHistory:
    """Read a recording pod by pod."""
    pods: dict[str, _OpenPodHistory] = {}
    for number, change in enumerate(_of(POD, recording.start)):
        pods[change.uid or f"start-{number}"] = _first(change, 0.0)
    for change in _of(POD, recording.changes):
        _follow(pods, change)
    taken: dict[tuple[str, str], int] = {}
    return ReplayHistory(
        objects=[each for each in recording.start if each.kind is not POD],
        changes=[each for each in recording.changes if each.kind is not POD],
        pods=[_closed(each, taken) for each in sorted(pods.values(), key=lambda pod: pod.came)],
        seconds=recording.seconds,
    )


def scheduler_of(body: Mapping[str, Any]) -> str:
    """The scheduler that a pod asks for."""
    return str((body.get("spec") or {}).get("schedulerName") or "default-scheduler")


def _of(kind: Kind, changes: Sequence[RecordedChange]) -> list[RecordedChange]:
    return [each for each in changes if each.kind is kind]


def _first(change: RecordedChange, came: float) -> _OpenPodHistory:
    """A pod as it was seen first."""
    pod = _OpenPodHistory(change.body, change.namespace, change.name, came)
    _note(pod, change.body, came)
    pod.fixed = bool(pod.node) and came > 0
    return pod


def _follow(pods: dict[str, _OpenPodHistory], change: RecordedChange) -> None:
    """One more event of a pod."""
    pod = pods.get(change.uid)
    if pod is None:
        if change.type is not ChangeType.DELETED:
            pods[change.uid] = _first(change, change.time_s)
        return
    if change.type is ChangeType.DELETED:
        pod.left = min(pod.left, change.time_s)
        return
    _note(pod, change.body, change.time_s)


def _note(pod: _OpenPodHistory, body: Mapping[str, Any], time_s: float) -> None:
    """What an event says of a pod's bind and end."""
    node = str((body.get("spec") or {}).get("nodeName") or "")
    if node and not pod.node:
        pod.node, pod.bound = node, time_s
    if (body.get("status") or {}).get("phase") in _OVER:
        pod.left = min(pod.left, time_s)


def _closed(pod: _OpenPodHistory, taken: dict[tuple[str, str], int]) -> PodHistory:
    """A pod's history, with a name that no other pod of the recording has."""
    body = deepcopy(pod.body)
    count = taken[pod.namespace, pod.name] = taken.get((pod.namespace, pod.name), 0) + 1
    name = pod.name if count == 1 else f"{pod.name[:240]}-again-{count}"
    meta = body["metadata"]
    meta.update(name=name, namespace=pod.namespace)
    for field in ("uid", "creationTimestamp", "deletionTimestamp"):
        meta.pop(field, None)
    body.get("spec", {}).pop("nodeName", None)
    body.pop("status", None)
    return PodHistory(pod.namespace, name, body, pod.came, pod.bound, pod.node, pod.fixed, pod.left)

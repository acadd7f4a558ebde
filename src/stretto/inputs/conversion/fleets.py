"""A fleet with its pods (a trace) as a timeline.

Second 0 is the start of the window, else the first arrival. A pod that runs at second 0 has the
rest of its run time. A pod with a node in the trace is bound
to it at its recorded start and deleted at its recorded end. Any other pod states its run time in an
annotation, and a replay decides when it starts; if the trace deletes it at a fixed second, it is
deleted then while it is pending. At each instant ends precede changes of nodes,
arrivals and starts. A run time below one second counts as one second.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import DEFAULT_NAMESPACE, NODE, POD, POD_GROUP, PRIORITY_CLASS, Kind
from stretto.inputs.conversion.timeline import TimedChange, Timeline, TimelineCounts
from stretto.inputs.neutral.fleet import Fleet, FleetNodeChange, FleetPod
from stretto.inputs.objects.objects import (
    node_body,
    object_name,
    pod_group_body,
    pod_object,
    priority_class_object,
)
from stretto.inputs.objects.recordings import ChangeType

_MIN_RUN_S: Final = 1.0
"""Minimum run time: traces round times to seconds or minutes, so 0 means short."""
_END, _NODE, _ARRIVE, _START = range(4)
"""Order of entries at the same time."""

_Body = dict[str, Any]


def fleet_timeline(fleet: Fleet, name: str, start_s: float = -inf) -> Timeline:
    """The timeline of a fleet.

    Args:
        fleet: nodes, pods by arrival, and changes of nodes.
        name: name of its format.
        start_s: second of the trace that is second 0; minus infinity for the first arrival.
    """
    pods = fleet.pods
    first = min((pod.arrival_s or 0.0 for pod in pods), default=0.0)
    origin = start_s if start_s > -inf else first
    script = _FleetScript(fleet, origin)
    seconds = max(
        [entry[0] for entry in script.entries[-1:]] + [script.last_s(pod) for pod in pods] + [0.0]
    )
    counts = TimelineCounts(
        nodes=len(fleet.nodes),
        pods=len(pods),
        gangs=len(script.gangs),
        placed=sum(bool(pod.node) for pod in pods),
    )
    return Timeline(
        format=name,
        counts=counts,
        objects=script.objects(),
        changes=script.changes(),
        seconds=seconds,
        origin_s=origin,
        notes=fleet.notes,
    )


class _FleetScript:
    """The entries of a fleet by time, as small tuples; objects are created one by one."""

    def __init__(self, fleet: Fleet, origin: float) -> None:
        self._fleet, self._origin = fleet, origin
        #: Number of pods of each gang.
        self.gangs: Mapping[str, int] = Counter(pod.group for pod in fleet.pods if pod.group)
        #: (second, step, number of the pod or change) in order.
        self.entries: list[tuple[float, int, int]] = sorted(self._entries())

    def last_s(self, pod: FleetPod) -> float:
        """The second at which a pod ends if it starts when it arrives."""
        return self._at(pod.arrival_s) + (self._run_time(pod) or 0.0)

    def objects(self) -> Iterator[tuple[Kind, _Body]]:
        """The objects at second 0."""
        classes = {pod.priority_class: pod.priority for pod in self._fleet.pods}
        for name, value in sorted(classes.items()):
            if name:
                yield PRIORITY_CLASS, priority_class_object(name, value)
        for node in self._fleet.nodes:
            yield NODE, _with_uid(msgspec.json.decode(node_body(node)))
        begun: set[str] = set()
        for number, pod in enumerate(self._fleet.pods):
            if self._at(pod.arrival_s) <= 0:
                yield from self._group(pod, begun)
                runs = bool(pod.node) and self._at(pod.start_s) <= 0
                yield POD, self._pod(number, bound=runs)

    def changes(self) -> Iterator[TimedChange]:
        """The later changes."""
        begun = {pod.group for pod in self._fleet.pods if self._at(pod.arrival_s) <= 0}
        known = {node.name for node in self._fleet.nodes}
        for time, step, number in self.entries:
            if step == _NODE:
                yield self._node(time, self._fleet.changes[number], known)
                continue
            pod = self._fleet.pods[number]
            if step == _ARRIVE:
                for kind, body in self._group(pod, begun):
                    yield time, ChangeType.ADDED, kind, body
                yield time, ChangeType.ADDED, POD, self._pod(number)
            else:
                what = ChangeType.MODIFIED if step == _START else ChangeType.DELETED
                yield time, what, POD, self._pod(number, bound=bool(pod.node))

    def _entries(self) -> Iterator[tuple[float, int, int]]:
        for number, change in enumerate(self._fleet.changes):
            yield self._at(change.time_s), _NODE, number
        for number, pod in enumerate(self._fleet.pods):
            arrival = self._at(pod.arrival_s)
            if arrival > 0:
                yield arrival, _ARRIVE, number
            if pod.node and pod.start_s is not None:
                start = max(self._at(pod.start_s), arrival)
                if start > 0:
                    yield start, _START, number
                if pod.duration_s is not None:
                    end = self._at(pod.start_s + pod.duration_s)
                    yield max(start + _MIN_RUN_S, end), _END, number
            elif pod.departure_s is not None:
                yield max(self._at(pod.departure_s), arrival + _MIN_RUN_S), _END, number

    def _at(self, second: float | None) -> float:
        """A second of the trace as a second of the recording."""
        return max(0.0, (second or 0.0) - self._origin)

    def _run_time(self, pod: FleetPod) -> float | None:
        """Run time of a pod from second 0 on; ``None`` if it stays."""
        arrival = pod.arrival_s or 0.0
        seconds = pod.duration_s
        if seconds is None and pod.departure_s is not None:
            seconds = pod.departure_s - arrival
        if seconds is None:
            return None
        return max(_MIN_RUN_S, seconds - max(0.0, self._origin - arrival))

    def _pod(self, number: int, *, bound: bool = False) -> _Body:
        pod = self._fleet.pods[number]
        if not pod.node:
            pod = msgspec.structs.replace(pod, duration_s=self._run_time(pod))
        body = _with_uid(pod_object(pod))
        if bound:
            body["spec"]["nodeName"] = object_name(pod.node)
            body["status"] = {"phase": "Running"}
        return body

    def _group(self, pod: FleetPod, begun: set[str]) -> Iterator[tuple[Kind, _Body]]:
        """The PodGroup of a pod, before the first of its pods."""
        if pod.group and pod.group not in begun:
            begun.add(pod.group)
            body = pod_group_body(pod.group, self.gangs[pod.group])
            yield POD_GROUP, _with_uid(msgspec.json.decode(body))

    @staticmethod
    def _node(time: float, change: FleetNodeChange, known: set[str]) -> TimedChange:
        name = object_name(change.name)
        if change.node is None:
            known.discard(change.name)
            meta = {"name": name, "uid": name}
            body = {"apiVersion": "v1", "kind": "Node", "metadata": meta}
            return time, ChangeType.DELETED, NODE, body
        what = ChangeType.MODIFIED if change.name in known else ChangeType.ADDED
        known.add(change.name)
        return time, what, NODE, _with_uid(msgspec.json.decode(node_body(change.node)))


def _with_uid(body: _Body) -> _Body:
    """An object with a uid: its namespace and name, which are unique in a trace."""
    meta = body["metadata"]
    namespace = meta.get("namespace", DEFAULT_NAMESPACE)
    meta["uid"] = f"{namespace}-{meta['name']}"
    return body

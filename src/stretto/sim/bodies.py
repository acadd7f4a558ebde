"""Pods of a trace as JSON, fast: pods that differ in their name alone are encoded once.

A trace has thousands of pods of a few hundred kinds. Each kind is encoded once and cut where the
name goes, so a pod is three pieces of text joined.
"""

from typing import Final

import msgspec

from stretto.inputs.neutral.fleet import FleetPod
from stretto.inputs.objects.objects import object_name, pod_object

KINDS_KEPT: Final = 10_000
"""Kinds remembered; a trace of gangs has a kind for each gang, and none is needed twice."""
_NAME: Final = "@name@"


class PodEncoder:
    """Encodes pods."""

    def __init__(self) -> None:
        """Start with no kind known."""
        self._cut: dict[tuple[object, ...], tuple[bytes, bytes]] = {}

    def body(self, pod: FleetPod, name: str = "") -> bytes:
        """The JSON of a pending pod, under another name where one is given."""
        kind = (
            pod.cpu_milli,
            pod.memory_mib,
            pod.gpus,
            pod.gpu_milli,
            pod.gpu_models,
            pod.qos,
            pod.group,
            pod.priority,
            pod.duration_s,
        )
        found = self._cut.get(kind)
        if found is None:
            if len(self._cut) >= KINDS_KEPT:
                self._cut.clear()
            found = self._cut[kind] = _encode(pod)
        head, tail = found
        return head + object_name(name or pod.name).encode() + tail


def _encode(pod: FleetPod) -> tuple[bytes, bytes]:
    """A kind's text before and behind the name."""
    made = pod_object(pod)
    made["metadata"]["name"] = _NAME
    head, _, tail = msgspec.json.encode(made).partition(_NAME.encode())
    return head, tail

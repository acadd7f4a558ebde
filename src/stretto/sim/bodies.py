"""Encodes the pods of a trace as JSON; pods that differ only in their names are encoded once.

A trace has thousands of pods and a few hundred distinct specs. Each spec is encoded once and split
at the name, so a body is a concatenation of three parts.
"""

from typing import Final

import msgspec

from stretto.inputs.neutral.fleet import FleetPod
from stretto.inputs.objects.objects import object_name, pod_object

CACHED_SPECS: Final = 10_000
"""Size of the cache; every gang has a spec of its own, which is not needed again."""
_NAME: Final = "@name@"


class PodEncoder:
    """Encodes pods."""

    def __init__(self) -> None:
        """Start with an empty cache."""
        self._parts: dict[tuple[object, ...], tuple[bytes, bytes]] = {}

    def body(self, pod: FleetPod, name: str = "") -> bytes:
        """The JSON of a pending pod, under another name if one is given."""
        spec = (
            pod.cpu_milli,
            pod.memory_mib,
            pod.gpus,
            pod.gpu_milli,
            pod.gpu_models,
            pod.qos,
            pod.group,
            pod.priority,
            pod.duration_s,
            pod.estimate_s,
            pod.queue,
            tuple(pod.labels.items()),
            pod.preemption_policy,
            pod.owner,
            pod.priority_class,
        )
        found = self._parts.get(spec)
        if found is None:
            if len(self._parts) >= CACHED_SPECS:
                self._parts.clear()
            found = self._parts[spec] = _encode(pod)
        head, tail = found
        return head + object_name(name or pod.name).encode() + tail


def _encode(pod: FleetPod) -> tuple[bytes, bytes]:
    """The JSON before and after the name."""
    made = pod_object(pod)
    made["metadata"]["name"] = _NAME
    head, _, tail = msgspec.json.encode(made).partition(_NAME.encode())
    return head, tail
